//! What scopes mean, in the operator's words.

use yesgate_core::id::ScopeName;

use crate::server::AuthServer;

impl AuthServer {
    /// What a scope means at the moment. `None`: there is no such scope any more.
    pub fn says(&self, scope: &ScopeName) -> Option<String> {
        self.governed().config.scopes.rule(scope).map(|rule| rule.says.clone())
    }
}
