//! Every path of the site, and who may come to it: one table, from which requests are routed.
//!
//! INVARIANT: a path without an entry here does not exist, and an entry cannot leave out whom it lets in.

use http::Method;
use yesgate_core::person::Role;

use crate::api::Api;
use crate::upstream::CALLBACK;

/// What there is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// How everything looks.
    Style,
    /// What makes pages live.
    Script,
    /// The little picture in the browser's tab.
    Icon,
    /// Where people sign in.
    SignIn,
    /// Signs in with a link.
    UseLink,
    /// Asks for a link by mail.
    AskForLink,
    /// Goes to whoever else says who people are.
    GoUpstream,
    /// Comes back from there.
    ReturnFromUpstream,
    /// Begins to sign in with a passkey.
    BeginPasskey,
    /// Signs in with one.
    UsePasskey,
    /// The keys of the visitor.
    Keys,
    /// Begins to enrol one.
    BeginEnrolment,
    /// Enrols it.
    FinishEnrolment,
    /// Revokes one.
    RevokeKey,
    /// Revokes all keys of somebody who lost theirs.
    ForgetKeys,
    /// Signs out.
    SignOut,
    /// What waits.
    Inbox,
    /// Says when something has changed.
    Live,
    /// One question.
    Question,
    /// Decides one question.
    Decide,
    /// Shows what somebody would make of one question.
    LookAtEdit,
    /// Says yes to that.
    ApproveEdit,
    /// Settles a run whose answer was lost.
    Resolve,
    /// What became of one question, signed.
    Receipt,
    /// What is over.
    History,
    /// How much was asked, how it was decided, and how fast.
    Figures,
    /// The yeses that are remembered.
    Grants,
    /// Takes one back.
    RevokeGrant,
    /// The tools of every server.
    Tools,
    /// One tool.
    Tool,
    /// Accepts one as it is.
    AcceptTool,
    /// Gives one a class.
    SetClass,
    /// What was spent.
    Budgets,
    /// The policy in force.
    Policy,
    /// The audit trail.
    Trail,
    /// The signed-in browsers of a person.
    Sessions,
    /// Ends some of them.
    EndSessions,
    /// Everybody.
    People,
    /// Adds somebody.
    Invite,
    /// Makes a new sign-in link for somebody.
    MakeLink,
    /// Changes what somebody is, or removes them.
    SetPerson,
    /// The stop of everything, and of single clients.
    Stop,
    /// Stops everything, or lets it go on.
    SetStop,
    /// Ends the freeze of a client.
    Thaw,
    /// Where clients send people to be allowed something.
    Authorize,
    /// What one of them asks for.
    Consent,
    /// Answers it.
    AnswerConsent,
    /// Where people type the code of a client without a browser.
    Device,
    /// Shows what the client asks for that showed a code.
    LookAtDevice,
    /// Answers it.
    AnswerDevice,
    /// What is connected.
    Clients,
    /// Revokes one of them.
    RevokeConnected,
    /// Revokes all that are the visitor's own.
    RevokeAllConnected,
    /// Ends everything of the visitor's: what is connected, keys, and signed-in browsers.
    EndEverything,
    /// The reference of the API.
    Reference,
    /// Something for programs that a person runs.
    Api(Api),
}

/// Who may come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Access {
    /// Anybody who finds it.
    Anyone,
    /// People who are signed in and have this role or a greater one.
    AtLeast(Role),
}

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) method: &'static str,
    /// The path, with names in braces for what stands for one segment each.
    pub(crate) path: &'static str,
    pub(crate) access: Access,
    pub(crate) place: Place,
}

const fn get(path: &'static str, access: Access, place: Place) -> Entry {
    Entry { method: "GET", path, access, place }
}

const fn post(path: &'static str, access: Access, place: Place) -> Entry {
    Entry { method: "POST", path, access, place }
}

const fn delete(path: &'static str, access: Access, place: Place) -> Entry {
    Entry { method: "DELETE", path, access, place }
}

const VIEWER: Access = Access::AtLeast(Role::Viewer);
const APPROVER: Access = Access::AtLeast(Role::Approver);
const OWNER: Access = Access::AtLeast(Role::Owner);

/// All of them.
pub(crate) const TABLE: [Entry; 45] = [
    get("/assets/style.css", Access::Anyone, Place::Style),
    get("/assets/app.js", Access::Anyone, Place::Script),
    get("/favicon.svg", Access::Anyone, Place::Icon),
    get("/sign-in", Access::Anyone, Place::SignIn),
    post("/sign-in", Access::Anyone, Place::UseLink),
    post("/sign-in/mail", Access::Anyone, Place::AskForLink),
    post("/sign-in/oidc", Access::Anyone, Place::GoUpstream),
    get(CALLBACK, Access::Anyone, Place::ReturnFromUpstream),
    post("/sign-in/passkey/begin", Access::Anyone, Place::BeginPasskey),
    post("/sign-in/passkey", Access::Anyone, Place::UsePasskey),
    post("/sign-out", VIEWER, Place::SignOut),
    get("/keys", VIEWER, Place::Keys),
    post("/keys/begin", VIEWER, Place::BeginEnrolment),
    post("/keys", VIEWER, Place::FinishEnrolment),
    post("/keys/{credential_id}/revoke", VIEWER, Place::RevokeKey),
    get("/", VIEWER, Place::Inbox),
    get("/live", VIEWER, Place::Live),
    get("/approve/{intent_id}", VIEWER, Place::Question),
    post("/approve/{intent_id}", APPROVER, Place::Decide),
    // Where somebody comes back to what a form of theirs showed, there is the question.
    get("/approve/{intent_id}/edit", VIEWER, Place::Question),
    post("/approve/{intent_id}/edit", APPROVER, Place::LookAtEdit),
    post("/approve/{intent_id}/edited", APPROVER, Place::ApproveEdit),
    post("/approve/{intent_id}/resolve", APPROVER, Place::Resolve),
    get("/approve/{intent_id}/receipt", VIEWER, Place::Receipt),
    get("/history", VIEWER, Place::History),
    get("/figures", VIEWER, Place::Figures),
    get("/grants", VIEWER, Place::Grants),
    post("/grants/{grant_id}/revoke", APPROVER, Place::RevokeGrant),
    get("/tools", VIEWER, Place::Tools),
    get("/tools/look", VIEWER, Place::Tool),
    post("/tools/accept", OWNER, Place::AcceptTool),
    post("/tools/class", OWNER, Place::SetClass),
    get("/budgets", VIEWER, Place::Budgets),
    // A condition may name what not everybody is to know.
    get("/policy", OWNER, Place::Policy),
    get("/audit", OWNER, Place::Trail),
    get("/sessions", VIEWER, Place::Sessions),
    post("/sessions/end", VIEWER, Place::EndSessions),
    get("/people", OWNER, Place::People),
    post("/people", OWNER, Place::Invite),
    post("/people/{person_id}/link", OWNER, Place::MakeLink),
    post("/people/{person_id}/forget-keys", OWNER, Place::ForgetKeys),
    post("/people/{person_id}", OWNER, Place::SetPerson),
    get("/stop", VIEWER, Place::Stop),
    post("/stop", APPROVER, Place::SetStop),
    post("/stop/thaw", APPROVER, Place::Thaw),
];

/// The same for programs, and what explains it.
pub(crate) const API: [Entry; 17] = [
    get("/api/docs", VIEWER, Place::Reference),
    get("/api/openapi.json", VIEWER, Place::Api(Api::Document)),
    get("/api/me", VIEWER, Place::Api(Api::Me)),
    get("/api/me/sessions", VIEWER, Place::Api(Api::Sessions)),
    delete("/api/me/sessions", VIEWER, Place::Api(Api::EndEverything)),
    delete("/api/me/sessions/{session_id}", VIEWER, Place::Api(Api::EndSession)),
    get("/api/intents", VIEWER, Place::Api(Api::List)),
    get("/api/intents/{intent_id}", VIEWER, Place::Api(Api::Look)),
    post("/api/intents/{intent_id}/decide", APPROVER, Place::Api(Api::Decide)),
    post("/api/intents/{intent_id}/cancel", APPROVER, Place::Api(Api::Cancel)),
    get("/api/grants", VIEWER, Place::Api(Api::Grants)),
    get("/api/grants/{grant_id}", VIEWER, Place::Api(Api::Grant)),
    delete("/api/grants/{grant_id}", APPROVER, Place::Api(Api::RevokeGrant)),
    get("/api/audit", OWNER, Place::Api(Api::Export)),
    // Everybody has their own, and an owner those of all.
    get("/api/clients", VIEWER, Place::Api(Api::Clients)),
    delete("/api/clients/{client_id}", VIEWER, Place::Api(Api::RevokeClient)),
    delete("/api/mcp/oauth/clients/{oauth_client_id}", VIEWER, Place::Api(Api::RevokeConnected)),
];

/// What there is where clients connect, and nowhere else.
pub(crate) const CONNECTING: [Entry; 11] = [
    get("/api/mcp/oauth/authorize", Access::Anyone, Place::Authorize),
    post("/api/mcp/oauth/authorize", Access::Anyone, Place::Authorize),
    get("/connect/{ticket}", VIEWER, Place::Consent),
    post("/connect/{ticket}", VIEWER, Place::AnswerConsent),
    get("/device", VIEWER, Place::Device),
    post("/device", VIEWER, Place::LookAtDevice),
    post("/device/{user_code}", VIEWER, Place::AnswerDevice),
    // Everybody has their own, and an owner those of all.
    get("/settings/connected-clients", VIEWER, Place::Clients),
    post("/settings/connected-clients/{connected_id}/revoke", VIEWER, Place::RevokeConnected),
    post("/settings/connected-clients/revoke-all", VIEWER, Place::RevokeAllConnected),
    post("/settings/connected-clients/end-everything", VIEWER, Place::EndEverything),
];

/// Every path that there is.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLE.iter().chain(&API).chain(&CONNECTING)
}

/// Whether a path is there only where clients connect.
pub(crate) fn is_for_connecting(path: &str) -> bool {
    CONNECTING.iter().any(|entry| fit(entry.path, path).is_some())
}

/// Where a request leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// To a place, with what stood in the braces of its path.
    Place(Place, Access, Option<String>),
    /// Nowhere with that method; the path knows these.
    OtherMethod(Vec<&'static str>),
    /// Nowhere.
    Nothing,
}

/// Looks a request up. A `HEAD` is a `GET` whose answer nobody reads.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    let fitting: Vec<(&Entry, Option<String>)> =
        entries().filter_map(|entry| Some((entry, fit(entry.path, path)?))).collect();
    if fitting.is_empty() {
        return Found::Nothing;
    }
    match fitting.iter().find(|(entry, _)| entry.method == method) {
        Some((entry, name)) => Found::Place(entry.place, entry.access, name.clone()),
        None => Found::OtherMethod(fitting.iter().map(|(entry, _)| entry.method).collect()),
    }
}

/// Whether a path is for programs: whatever goes wrong there is told to one.
pub(crate) fn is_api(path: &str) -> bool {
    API.iter().any(|entry| entry.place != Place::Reference && fit(entry.path, path).is_some())
}

/// What stands in the place of the name in braces, where this is the pattern of a path. The names are ids, which
/// nothing has to be decoded for.
fn fit(pattern: &str, path: &str) -> Option<Option<String>> {
    let (mut names, mut segments) = (pattern.split('/'), path.split('/'));
    let mut value = None;
    loop {
        match (names.next(), segments.next()) {
            (None, None) => return Some(value),
            (Some(name), Some(segment)) if name.starts_with('{') && !segment.is_empty() => {
                value = Some(segment.to_owned());
            }
            (Some(name), Some(segment)) if name == segment => {}
            (Some(_), _) | (None, Some(_)) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::{Access, Found, Place, entries, find};
    use yesgate_core::policy::OWN_SEGMENTS;

    #[test]
    fn a_path_and_a_method_have_one_place() {
        for entry in entries() {
            let names = [
                "{intent_id}",
                "{grant_id}",
                "{person_id}",
                "{credential_id}",
                "{session_id}",
                "{client_id}",
                "{ticket}",
                "{user_code}",
                "{connected_id}",
                "{oauth_client_id}",
            ];
            let path = names.iter().fold(entry.path.to_owned(), |path, name| path.replace(name, "x"));
            let method = Method::from_bytes(entry.method.as_bytes()).unwrap();
            let value = entry.path.contains('{').then(|| "x".to_owned());
            assert_eq!(find(&method, &path), Found::Place(entry.place, entry.access, value), "{path}");
        }
        assert_eq!(find(&Method::GET, "/approve/"), Found::Nothing);
        assert_eq!(find(&Method::GET, "/approve/a/b"), Found::Nothing);
        assert_eq!(find(&Method::PUT, "/sign-in"), Found::OtherMethod(vec!["GET", "POST"]));
        assert_eq!(find(&Method::GET, "/sign-out"), Found::OtherMethod(vec!["POST"]));
    }

    /// Who is not signed in sees how to sign in, and nothing else.
    #[test]
    fn only_the_sign_in_and_its_looks_are_open_to_anyone() {
        let open: Vec<Place> =
            entries().filter(|entry| entry.access == Access::Anyone).map(|entry| entry.place).collect();
        assert_eq!(
            open,
            [
                Place::Style,
                Place::Script,
                Place::Icon,
                Place::SignIn,
                Place::UseLink,
                Place::AskForLink,
                Place::GoUpstream,
                Place::ReturnFromUpstream,
                Place::BeginPasskey,
                Place::UsePasskey,
                // O-A1: whoever sends people here is looked at before they are.
                Place::Authorize,
                Place::Authorize
            ]
        );
    }

    /// H8: no route of the operator's can hide one of ours.
    #[test]
    fn every_path_under_api_is_closed_to_the_operator() {
        for (entry, rest) in entries().filter_map(|entry| Some((entry, entry.path.strip_prefix("/api/")?))) {
            assert!(OWN_SEGMENTS.contains(&rest.split('/').next().unwrap()), "{}", entry.path);
        }
    }
}
