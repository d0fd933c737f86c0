//! How far a yes can be believed in this set-up: under which account the gate's files are, what `wrap` and `serve`
//! can reach there, and what would raise it.
//!
//! INVARIANT: whoever has the account of the gate's files can do whatever the gate can. Nothing here says otherwise.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use yesgate_core::assurance::Assurance;

use super::super::pages::office::{Office, Plate, Sight};
use super::{Finding, fine, know, mend};
use crate::settings::Settings;

/// What is found out about all that, by the strongest yes that `serve` could get; without the ledger, only whose the
/// files are.
pub(super) fn findings(settings: &Settings, strongest: Option<Assurance>) -> Vec<Finding> {
    let Some(strongest) = strongest else { return vec![custody(settings)] };
    vec![custody(settings), wrap(strongest), serve(strongest), inbox(settings)]
}

/// Whose the gate's files are.
fn custody(settings: &Settings) -> Finding {
    let ours = rustix::process::getuid().as_raw();
    match fs::metadata(settings.home.path()).map(|data| data.uid()) {
        Ok(owner) if owner == ours => know(
            "custody",
            format!(
                "the gate's files belong to this account ({ours}). Whoever runs programs under it, an agent with a shell \
                 too, can say yes at the command line, sign in (`yesgate open`), enrol a key, change the ledger, or start \
                 a server without the gate. Against such an agent only another account helps: the gate, and what its \
                 servers need, under one that the agent does not have"
            ),
        ),
        Ok(owner) => fine(
            "custody",
            format!(
                "the gate's files belong to account {owner}; this one ({ours}) is another, as an agent's should be. What a \
                 yes is worth there, `yesgate doctor` says under that account"
            ),
        ),
        Err(error) => mend("custody", format!("{} cannot be seen: {error}", settings.home.path().display())),
    }
}

/// What a yes is worth with `yesgate wrap`.
fn wrap(strongest: Assurance) -> Finding {
    let text = match strongest {
        Assurance::Verified => {
            "a yes is `verified` where an enrolled key signs the call, else `local`: at the command line, or on the pages. \
             The gate runs under the agent's own account, so an agent with a shell there could enrol a key of its own; the \
             audit trail and the page Keys show every one"
        }
        Assurance::Asserted
        | Assurance::Relayed
        | Assurance::Client
        | Assurance::Local
        | Assurance::SignedIn => {
            "a yes is `local` at most: at the command line, or on the pages. The host starts the gate under the agent's own \
             account, so an agent with a shell there could give it too. A key raises it to `verified`: `yesgate open` and \
             then Keys, or `yesgate people add-key`. `yesgate serve` under another account raises it to `signed_in`"
        }
    };
    know("wrap", text)
}

/// What a yes is worth with `yesgate serve`.
fn serve(strongest: Assurance) -> Finding {
    let text = match strongest {
        Assurance::Verified => {
            "a yes on a page is `signed_in`, or `verified` where a key signs the call (`local` without keys for callers)"
        }
        Assurance::SignedIn => {
            "a yes on a page is `signed_in`, as long as agents run under another account than the gateway. With a key under \
             Keys it can be `verified`"
        }
        Assurance::Asserted | Assurance::Relayed | Assurance::Client | Assurance::Local => {
            "a yes on a page is `local`: callers have no keys, so they count as the account that runs the gateway. \
             `yesgate keys add` and `yesgate people add` raise it to `signed_in`"
        }
    };
    know("serve", text)
}

/// Where the pages are.
fn inbox(settings: &Settings) -> Finding {
    match Office::of(&settings.home).look() {
        Ok(Sight::Taken(Plate { origin: Some(origin), .. })) => {
            fine("inbox", format!("at {origin}/; `yesgate open` signs you in"))
        }
        Ok(Sight::Taken(Plate { origin: None, .. })) => mend(
            "inbox",
            "a gate runs, but could not serve the pages; what it says on stderr tells why. `yesgate pending` lists what waits",
        ),
        Ok(Sight::Free) => fine("inbox", "no gate runs; `yesgate open` serves the pages meanwhile"),
        Err(error) => know("inbox", format!("it cannot be told whether the pages are served: {error}")),
    }
}
