//! Who is calling. A `Caller` is put in front of the gate by whoever verified it.

use serde::{Deserialize, Serialize};

use crate::digest::{Digest, Hasher};
use crate::id::{ClientId, OrgId, PrincipalId};

/// The three names that every consent is bound to.
///
/// Over stdio there is nothing to verify: the caller is the local user, and the client is the
/// name that the host gives itself. It scopes questions, it proves nothing.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// The organisation.
    pub org: OrgId,
    /// The user on whose behalf the client acts.
    pub principal: PrincipalId,
    /// The program that calls.
    pub client: ClientId,
}

impl Caller {
    /// What names it in one word, and no other caller.
    pub fn key(&self) -> Digest {
        let mut hasher = Hasher::new("yesgate/caller/1");
        for field in [self.org.as_str(), self.principal.as_str(), self.client.as_str()] {
            hasher.field(field.as_bytes());
        }
        hasher.finish()
    }
}
