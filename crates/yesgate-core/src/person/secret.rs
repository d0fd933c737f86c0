//! What a browser, or whoever opens a link, brings to be let in; and the hash that is all we keep of it.

use crate::digest::Hasher;
use crate::id::BootId;
use crate::secret::{SecretHash, secret_type};

secret_type!(
    /// What a sign-in link carries, behind its `#`.
    LinkSecret, "ygl_", "yesgate/sign-in-link/1"
);
secret_type!(
    /// What a browser holds that asked for a link by mail.
    BrowserSecret, "yga_", "yesgate/asking-browser/1"
);
secret_type!(
    /// What a signed-in browser holds in its cookie.
    SessionSecret, "ygs_", "yesgate/session/1"
);

impl SessionSecret {
    /// The same for a session that is good under this reign only: the gates that had its address without a break
    /// since this one took it.
    pub fn hash_under(&self, reign: &BootId) -> SecretHash {
        let mut hasher = Hasher::new("yesgate/session-under-a-reign/1");
        hasher.field(reign.as_str().as_bytes());
        hasher.field(self.expose().as_bytes());
        SecretHash(hasher.finish())
    }
}
