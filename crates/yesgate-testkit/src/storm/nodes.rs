//! The nodes: `yesgate serve` processes with one ledger, each with a line of its own to its database.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::line::Line;
use crate::mock_http::MockHttp;
use crate::postgres::{Cluster, Database};
use crate::serve_stage::{Gateway, ServeStage};
use crate::stage::Stage;

/// How many there are.
const COUNT: usize = 4;

/// All nodes.
#[derive(Debug)]
pub struct Nodes {
    nodes: Vec<Node>,
    /// Where commands are run: with a line of its own, which nobody cuts.
    desk: ServeStage,
    database: Database,
}

#[derive(Debug)]
struct Node {
    stage: ServeStage,
    line: Line,
    url: String,
    gateway: Mutex<Gateway>,
}

impl Nodes {
    /// Starts all of them in front of one server.
    ///
    /// # Panics
    /// When one does not start.
    #[must_use]
    pub fn start(yesgate: &Path, server: &MockHttp) -> Self {
        let database = Cluster::shared().database();
        let stage = |address: &str| {
            let stage = ServeStage::new(yesgate).env("YESGATE_SECRET_KEY", "07".repeat(32));
            let toml = format!("ledger = \"{address}\"\n{ROOM}{}", stage.web("web", server));
            stage.config(&toml)
        };
        let desk = stage(&database.address());
        let nodes = (0..COUNT).map(|_| {
            let line = Line::to(database.cluster().socket());
            let stage = stage(&database.address_by(line.socket()));
            let gateway = stage.start();
            Node { stage, line, url: gateway.url().to_owned(), gateway: Mutex::new(gateway) }
        });
        Self { nodes: nodes.collect(), desk, database }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Where a node is; it stays there when it is started again.
    #[must_use]
    pub fn url(&self, node: usize) -> &str {
        &self.nodes[node].url
    }

    /// The line of a node.
    #[must_use]
    pub fn line(&self, node: usize) -> &Line {
        &self.nodes[node].line
    }

    /// The database of all.
    #[must_use]
    pub const fn database(&self) -> &Database {
        &self.database
    }

    /// The link by which the first owner signs in at a node.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn first_link(&self, node: usize) -> String {
        self.nodes[node].gateway.lock().unwrap_or_else(PoisonError::into_inner).first_link()
    }

    /// Where commands are run.
    #[must_use]
    pub fn stage(&self) -> &Stage {
        self.desk.stage()
    }

    /// Kills a node with `SIGKILL`, and starts it again over a whole line.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn kill_and_restart(&self, node: usize) {
        let Node { stage, line, gateway, .. } = &self.nodes[node];
        let mut gateway = gateway.lock().unwrap_or_else(PoisonError::into_inner);
        gateway.kill9();
        line.mend();
        *gateway = stage.start_again(&gateway);
    }

    /// Ends all of them in good order.
    ///
    /// # Panics
    /// When one does not end well.
    #[must_use]
    pub fn end(self) -> Self {
        for Node { line, gateway, .. } in &self.nodes {
            line.mend();
            let mut gateway = gateway.lock().unwrap_or_else(PoisonError::into_inner);
            assert!(gateway.close().success(), "{}", gateway.stderr());
        }
        self
    }
}

/// Room for more questions than people would want to be asked.
const ROOM: &str = "
[asking]
breaker = 1000
per_minute = 10000
open = 1000
";
