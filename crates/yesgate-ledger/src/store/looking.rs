//! Everything that can be looked up, each on a connection that never holds up the writer.

use std::collections::HashMap;

use jiff::Timestamp;
use yesgate_core::budget::{Sums, Window};
use yesgate_core::caller::Caller;
use yesgate_core::digest::{CallDigest, ServerIdentity};
use yesgate_core::grant::GrantRecord;
use yesgate_core::id::{BootId, BudgetName, IntentId, OrgId, ServerName};
use yesgate_core::intent::{Intent, SlotKey};
use yesgate_core::key::{BearerKeyHash, KeyRecord};
use yesgate_core::oauth::{Access, DeviceRequest, OAuthClient, OAuthClientId, Parked, Refresh};
use yesgate_core::person::{Link, Person, SecretHash, Session};
use yesgate_core::policy::Pins;
use yesgate_core::regime::Regimes;

use super::{
    Store, beginning, budgets, grants, keys, listing, nodes, oauth, people, pruning, queries, regime, rows,
    tally, verify,
};
use crate::credentials::KeptCredential;
use crate::error::LedgerError;
use crate::figures::Figures;
use crate::filter::Filter;
use crate::head::Head;
use crate::listing::{Asks, Listed, Listing, Stage};
use crate::oauth::KeptConnection;
use crate::prune::{Beginning, Pruning};
use crate::report::{AuditRow, VerifyReport};
use crate::spending::Spending;
use crate::trail::Inspection;

impl Store {
    pub(crate) async fn intent(&self, id: IntentId) -> Result<Option<Intent>, LedgerError> {
        self.read_sealed(move |connection, seal| queries::intent(connection, seal, &id)).await
    }

    pub(crate) async fn intents(&self, filter: Filter) -> Result<Vec<Intent>, LedgerError> {
        self.read_sealed(move |connection, seal| queries::intents(connection, seal, filter)).await
    }

    pub(crate) async fn list(&self, listing: Listing) -> Result<Vec<Listed>, LedgerError> {
        self.read_sealed(move |connection, seal| listing::list(connection, seal, &listing)).await
    }

    pub(crate) async fn count(&self, org: OrgId, stage: Stage, most: u32) -> Result<u32, LedgerError> {
        self.read(move |connection| listing::count(connection, &org, stage, most)).await
    }

    pub(crate) async fn figures(&self, org: OrgId, today: i64) -> Result<Figures, LedgerError> {
        self.read(move |connection| tally::figures(connection, &org, today)).await
    }

    pub(crate) async fn find(&self, beginning: String) -> Result<Vec<IntentId>, LedgerError> {
        self.read(move |connection| queries::find(connection, &beginning)).await
    }

    pub(crate) async fn releasable(
        &self,
        server: ServerName,
        identity: ServerIdentity,
    ) -> Result<Vec<IntentId>, LedgerError> {
        self.read(move |connection| queries::releasable(connection, &server, &identity)).await
    }

    pub(crate) async fn any_open(
        &self,
        server: ServerName,
        identity: ServerIdentity,
    ) -> Result<bool, LedgerError> {
        self.read(move |connection| queries::any_open(connection, &server, &identity)).await
    }

    pub(crate) async fn any_due(&self, now: Timestamp) -> Result<bool, LedgerError> {
        self.read(move |connection| queries::any_due(connection, now)).await
    }

    /// Whether somebody is over of whom nobody has taken note. A node that was cut off itself until a moment ago says
    /// nothing about others: they may be about to come back, as it did.
    pub(crate) async fn any_dead(&self, now: Timestamp) -> Result<bool, LedgerError> {
        let patience = nodes::GRACE.unsigned_abs();
        if self.database.as_ref().is_some_and(|(_, seen)| !seen.is_seen_for(patience)) {
            return Ok(false);
        }
        let life = self.life.clone();
        self.read(move |connection| nodes::any_dead(connection, &life, now)).await
    }

    pub(crate) async fn running_boots(&self) -> Result<Vec<BootId>, LedgerError> {
        self.read(queries::running_boots).await
    }

    pub(crate) async fn regimes(&self) -> Result<Regimes, LedgerError> {
        self.read(regime::all).await
    }

    pub(crate) async fn grants(&self) -> Result<Vec<GrantRecord>, LedgerError> {
        self.read_sealed(grants::all).await
    }

    pub(crate) async fn grants_for(&self, slot: SlotKey) -> Result<Vec<GrantRecord>, LedgerError> {
        self.read_sealed(move |connection, seal| grants::of_slot(connection, seal, slot)).await
    }

    pub(crate) async fn asks(&self) -> Result<Vec<Asks>, LedgerError> {
        self.read(listing::asks).await
    }

    pub(crate) async fn callers(&self) -> Result<Vec<Caller>, LedgerError> {
        self.read(regime::callers).await
    }

    pub(crate) async fn pins(&self, server: ServerName) -> Result<Pins, LedgerError> {
        self.read(move |connection| connection.snapshot(|connection| queries::pins(connection, &server)))
            .await
    }

    pub(crate) async fn keys(&self) -> Result<Vec<KeyRecord>, LedgerError> {
        self.read(keys::all).await
    }

    pub(crate) async fn key(&self, hash: BearerKeyHash) -> Result<Option<KeyRecord>, LedgerError> {
        self.read(move |connection| keys::by_hash(connection, &hash)).await
    }

    pub(crate) async fn live_keys(&self) -> Result<HashMap<BearerKeyHash, Caller>, LedgerError> {
        self.read(keys::live).await
    }

    pub(crate) async fn kept(&self, name: String) -> Result<Option<Vec<u8>>, LedgerError> {
        self.read(move |connection| keys::kept(connection, &name)).await
    }

    pub(crate) async fn people(&self) -> Result<Vec<Person>, LedgerError> {
        self.read(people::people).await
    }

    pub(crate) async fn link(&self, secret: SecretHash) -> Result<Option<(Link, Person)>, LedgerError> {
        self.read(move |connection| people::link(connection, &secret)).await
    }

    pub(crate) async fn session(&self, secret: SecretHash) -> Result<Option<(Session, Person)>, LedgerError> {
        self.read(move |connection| people::session(connection, &secret)).await
    }

    pub(crate) async fn credentials(&self) -> Result<Vec<KeptCredential>, LedgerError> {
        self.read(people::credentials).await
    }

    pub(crate) async fn sessions(&self) -> Result<Vec<Session>, LedgerError> {
        self.read(people::sessions).await
    }

    pub(crate) async fn client(&self, id: OAuthClientId) -> Result<Option<OAuthClient>, LedgerError> {
        self.read(move |connection| oauth::clients::one(connection, &id)).await
    }

    pub(crate) async fn oauth_clients(&self) -> Result<Vec<OAuthClient>, LedgerError> {
        self.read(oauth::clients::living).await
    }

    pub(crate) async fn parked(&self, ticket: SecretHash) -> Result<Option<Parked>, LedgerError> {
        self.read(move |connection| oauth::waiting::parked(connection, &ticket)).await
    }

    pub(crate) async fn device_by_user_code(
        &self,
        user: SecretHash,
    ) -> Result<Option<DeviceRequest>, LedgerError> {
        self.read(move |connection| Ok(oauth::waiting::typed(connection, &user)?.map(|(_, request)| request)))
            .await
    }

    pub(crate) async fn access(
        &self,
        token: SecretHash,
    ) -> Result<Option<(Access, KeptConnection, Person)>, LedgerError> {
        self.read(move |connection| oauth::tokens::access(connection, &token)).await
    }

    pub(crate) async fn refresh_token(
        &self,
        token: SecretHash,
    ) -> Result<Option<(Refresh, KeptConnection, Person)>, LedgerError> {
        self.read(move |connection| oauth::tokens::refresh(connection, &token)).await
    }

    pub(crate) async fn connections(&self) -> Result<Vec<KeptConnection>, LedgerError> {
        self.read(oauth::connections::living).await
    }

    pub(crate) async fn ended_by_copies(&self, since: Timestamp) -> Result<Vec<KeptConnection>, LedgerError> {
        self.read(move |sql| oauth::connections::ended_by_copies(sql, since)).await
    }

    pub(crate) async fn spent(
        &self,
        windows: Vec<Window>,
        now: Timestamp,
        call: CallDigest,
    ) -> Result<Sums, LedgerError> {
        self.read(move |connection| {
            connection.snapshot(|connection| budgets::sums(connection, &windows, now, Some(&call)))
        })
        .await
    }

    pub(crate) async fn spending(
        &self,
        budget: BudgetName,
        after: Timestamp,
    ) -> Result<Vec<Spending>, LedgerError> {
        self.read(move |connection| budgets::since(connection, &budget, after)).await
    }

    pub(crate) async fn audit(&self, from: u64, limit: u32) -> Result<Vec<AuditRow>, LedgerError> {
        self.read(move |connection| queries::audit(connection, from, limit)).await
    }

    pub(crate) async fn audit_last(&self, count: u32) -> Result<Vec<AuditRow>, LedgerError> {
        self.read(move |connection| queries::audit_last(connection, count)).await
    }

    pub(crate) async fn verify(&self, inspection: Inspection) -> Result<VerifyReport, LedgerError> {
        self.read_sealed(move |connection, seal| verify::verify(connection, seal, inspection)).await
    }

    #[expect(clippy::redundant_closure, reason = "the function itself is not general enough for a snapshot")]
    pub(crate) async fn beginning(&self) -> Result<Option<Beginning>, LedgerError> {
        self.read(|connection| connection.snapshot(|connection| beginning::load(connection))).await
    }

    pub(crate) async fn last_row_before(&self, moment: Timestamp) -> Result<u64, LedgerError> {
        self.read(move |connection| pruning::last_before(connection, moment)).await
    }

    pub(crate) async fn plan_prune(
        &self,
        up_to: u64,
        now: Timestamp,
    ) -> Result<Option<Pruning>, LedgerError> {
        self.read(move |connection| pruning::plan(connection, up_to, now)).await
    }

    pub(crate) async fn left_before_the_beginning(&self) -> Result<u64, LedgerError> {
        self.read(pruning::left).await
    }

    pub(crate) async fn head(&self) -> Result<Head, LedgerError> {
        self.read(Head::load).await
    }

    pub(crate) async fn purgeable(&self, before: Timestamp, now: Timestamp) -> Result<u64, LedgerError> {
        self.read(move |connection| rows::purgeable(connection, before, now)).await
    }
}
