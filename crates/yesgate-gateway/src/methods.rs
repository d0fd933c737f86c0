//! The methods that a client may send. Everything else is refused: what we do not know we
//! cannot judge.

/// What the gateway does with a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Route {
    /// It is judged.
    Call,
    /// It passes, and its answer opens the session.
    Initialize,
    /// It passes, and its answer tells the era.
    Discover,
    /// It passes, and its answer tells what tools there are.
    ToolsList,
    /// It passes, and so does its answer.
    Pass,
    /// It is refused.
    Unknown,
}

/// Where a request goes.
pub fn route(method: &str) -> Route {
    match method {
        "tools/call" => Route::Call,
        "tools/list" => Route::ToolsList,
        "initialize" => Route::Initialize,
        "server/discover" => Route::Discover,
        "ping"
        | "logging/setLevel"
        | "completion/complete"
        | "prompts/list"
        | "prompts/get"
        | "resources/list"
        | "resources/templates/list"
        | "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "subscriptions/listen"
        | "tasks/get"
        | "tasks/list"
        | "tasks/result"
        | "tasks/update"
        | "tasks/cancel" => Route::Pass,
        _ => Route::Unknown,
    }
}

/// Whether a client's notification passes.
pub fn passes(notification: &str) -> bool {
    [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
        "notifications/tasks/status",
    ]
    .contains(&notification)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{Route, passes, route};

    #[test]
    fn a_method_that_only_resembles_a_known_one_is_unknown() {
        for method in ["tools/call ", " tools/call", "Tools/Call", "tools//call", "tools/call\0", "", "tools"]
        {
            assert_eq!(route(method), Route::Unknown, "{method:?}");
        }
        assert!(!passes("tools/call") && !passes("notifications/initialized "));
    }

    proptest! {
        /// A17: no method that nobody thought of passes.
        #[test]
        fn a_random_method_is_unknown(method in "[a-z/ ]{0,20}") {
            if !method.contains('/') && method != "ping" && method != "initialize" {
                prop_assert_eq!(route(&method), Route::Unknown);
            }
        }
    }
}
