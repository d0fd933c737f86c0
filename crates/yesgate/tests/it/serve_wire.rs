//! The wire of `serve`, for clients and servers of both eras over both transports: what is not gated passes byte
//! for byte, and what two readers could take for two things reaches no server.

mod fidelity;
mod malformed;

use serde_json::Value;
use yesgate_testkit::upstream_log::Received;
use yesgate_testkit::{Gateway, MockEras, MockHttp, ServeStage, WebHost};

/// A gateway with four servers behind it: of each era, over each transport.
struct Crossing {
    stage: ServeStage,
    gateway: Gateway,
    old_web: MockHttp,
    new_web: MockHttp,
}

/// The servers, and the tool of each that echoes its arguments.
const SERVERS: [(&str, &str); 4] =
    [("old-web", "echo"), ("new-web", "echo"), ("old-pipe", "read_note"), ("new-pipe", "read_note")];

/// How a client speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Client {
    Legacy,
    Modern,
}

const CLIENTS: [Client; 2] = [Client::Legacy, Client::Modern];

impl Crossing {
    #[track_caller]
    fn new() -> Self {
        let (old_web, new_web) = (MockHttp::start(MockEras::Legacy), MockHttp::start(MockEras::Modern));
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let toml = [
            stage.web("old-web", &old_web),
            stage.web("new-web", &new_web),
            stage.child("old-pipe", &["--era", "legacy", "--echo", "read_note"]),
            stage.child("new-pipe", &["--era", "modern", "--echo", "read_note"]),
        ];
        let stage = stage.config(&toml.concat());
        let gateway = stage.start();
        Self { stage, gateway, old_web, new_web }
    }

    /// A client of one of the servers.
    async fn host(&self, server: &str, client: Client) -> WebHost {
        let mut host = self.gateway.server(server);
        if client == Client::Legacy {
            host.initialize().await;
        }
        host
    }

    /// What a server received, message by message.
    fn received(&self, server: &str) -> Vec<Received> {
        match self.web(server) {
            Some(web) => web.received(),
            None => self.stage.received(server),
        }
    }

    /// The last message with this method that a server received, as it came.
    #[track_caller]
    fn last(&self, server: &str, method: &str) -> String {
        let is_it = |message: &Value| message["method"] == method;
        let bodies: Vec<String> = match self.web(server) {
            Some(web) => web.requests().iter().map(yesgate_testkit::mock_http::Arrived::text).collect(),
            None => self.stage.received(server).into_iter().map(|line| line.raw).collect(),
        };
        let mut bodies = bodies.into_iter().rev();
        let last = bodies.find(|body| serde_json::from_str(body).is_ok_and(|message| is_it(&message)));
        last.unwrap_or_else(|| panic!("`{method}` never reached {server}"))
    }

    fn web(&self, server: &str) -> Option<&MockHttp> {
        match server {
            "old-web" => Some(&self.old_web),
            "new-web" => Some(&self.new_web),
            _ => None,
        }
    }
}
