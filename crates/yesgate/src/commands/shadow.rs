//! Saying loudly that the policy is only tried.

use yesgate_core::policy::{Policy, Shadow};

/// What whoever starts or looks at a gateway has to know while the policy is only tried; `None`: it is not.
pub(super) fn warning(policy: &Policy) -> Option<String> {
    let shadow = policy.shadow();
    match shadow {
        Shadow::Off => None,
        Shadow::Everywhere | Shadow::At(_) => Some(format!(
            "SHADOW MODE at {shadow}: the policy is only tried. Calls that it would ask about or refuse RUN, and nobody \
             is asked. `yesgate audit list` shows them as would_ask and would_refuse; `shadow = false` ends it"
        )),
    }
}

/// Says it on stderr, where a gateway starts.
pub(super) fn shout(policy: &Policy) {
    if let Some(warning) = warning(policy) {
        eprintln!("{warning}");
    }
}
