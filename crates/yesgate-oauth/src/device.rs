//! Where clients without a browser begin (RFC 8628 §3.1).

use std::net::SocketAddr;

use http::{HeaderMap, Response, StatusCode};
use serde_json::json;
use yesgate_core::oauth::{DeviceAnswer, DeviceCode, DeviceRequest, GrantType, UserCode};
use yesgate_http::edge::body::Body;

use crate::answer as answering;
use crate::endpoints::{Endpoint, VERIFICATION};
use crate::fault::{Fault, Word};
use crate::form::Form;
use crate::server::AuthServer;

impl AuthServer {
    /// O-S4: notes what a client wants, and gives it a code to wait with and one for its person to type. There is no address
    /// that has the typed code in it: a person who types it looks at both screens.
    ///
    /// # Errors
    /// When the client may not, or wants what there is not.
    pub(crate) async fn begin_device(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        from: SocketAddr,
    ) -> Result<Response<Body>, Fault> {
        let governed = self.governed();
        self.take_turn(from, &governed)?;
        let form = Form::read(headers, body)?;
        let client = self.client_of(headers, &form, from.ip(), &Endpoint::Device).await?;
        if !client.grants.contains(&GrantType::DeviceCode) {
            return Err(Fault::new(
                Word::UnauthorizedClient,
                "the client did not register for the device flow",
            ));
        }
        let request = DeviceRequest {
            client: client.id,
            scopes: governed.asked_scopes(form.value("scope"))?,
            resources: governed.endpoints.resources(form.resources())?,
            made_at: self.ledger.now(),
            interval: DeviceRequest::INTERVAL,
            polled_at: None,
            answer: DeviceAnswer::Waiting,
        };
        let device = DeviceCode::from_entropy(self.entropy.draw()?);
        let user = self.user_code()?;
        let most = governed.config.limits.devices;
        let stored = self.ledger.store_device(device.hash(), user.hash(), request, most).await?;
        stored.map_err(|_| Fault::no_room())?;
        let answer = json!({
            "device_code": device.expose(),
            "user_code": user.shown(),
            "verification_uri": governed.endpoints.url(VERIFICATION),
            "expires_in": DeviceRequest::LIFETIME.as_secs(),
            "interval": DeviceRequest::INTERVAL,
        });
        Ok(answering::json(StatusCode::OK, &answer))
    }

    /// Throws the dice until there are enough letters, which is nearly always at once.
    fn user_code(&self) -> Result<UserCode, Fault> {
        for _ in 0..16 {
            if let Some(code) = UserCode::from_entropy(self.entropy.draw()?) {
                return Ok(code);
            }
        }
        Err(Fault::new(Word::TemporarilyUnavailable, "this cannot be done now, try again later"))
    }
}
