//! What the authorization server can do, told to clients (RFC 8414).

use serde_json::{Map, Value, json};
use yesgate_core::oauth::{AuthMethod, GrantType};
use yesgate_core::policy::DocumentHosts;

use crate::endpoints;
use crate::governed::{Governed, Registering};

/// O-D2: the description of the authorization server. Nothing stands in it that does not work.
pub(crate) fn describe(governed: &Governed) -> Value {
    let Governed { config, endpoints, registering, .. } = governed;
    let methods = AuthMethod::ALL.map(AuthMethod::as_str);
    let with_secret = [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost].map(AuthMethod::as_str);
    let scopes: Vec<String> = config.scopes.known().iter().map(ToString::to_string).collect();
    let takes_documents = governed.documents.is_some() && config.documents.from != DocumentHosts::Nobody;
    let mut members: Map<String, Value> = Map::new();
    let mut say = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    say("issuer", endpoints.issuer().into());
    say("authorization_endpoint", endpoints.url(endpoints::AUTHORIZE).into());
    say("token_endpoint", endpoints.url(endpoints::TOKEN).into());
    match registering {
        Registering::Open | Registering::WithToken(_) => {
            say("registration_endpoint", endpoints.url(endpoints::REGISTER).into());
        }
        Registering::Off => {}
    }
    say("revocation_endpoint", endpoints.url(endpoints::REVOKE).into());
    say("introspection_endpoint", endpoints.url(endpoints::INTROSPECT).into());
    say("device_authorization_endpoint", endpoints.url(endpoints::DEVICE).into());
    say("response_types_supported", json!(["code"]));
    say("response_modes_supported", json!(["query"]));
    say("grant_types_supported", json!(GrantType::ALL.map(GrantType::as_str)));
    say("code_challenge_methods_supported", json!(["S256"]));
    say("token_endpoint_auth_methods_supported", json!(methods));
    say("revocation_endpoint_auth_methods_supported", json!(methods));
    say("introspection_endpoint_auth_methods_supported", json!(with_secret));
    if !scopes.is_empty() {
        say("scopes_supported", json!(scopes));
    }
    say("client_id_metadata_document_supported", takes_documents.into());
    say("authorization_response_iss_parameter_supported", true.into());
    members.into()
}
