//! A mark on the audit trail: up to here it was this, and nothing before it may change any more.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::json::CanonicalJson;

/// What the audit trail was at one of its rows. Kept elsewhere, and signed, it tells later whether the trail still goes
/// on from there: a trail that was written anew has another hash at that row, one that was cut off has no such row.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The row.
    pub sequence: u64,
    /// Its hash, which is over all rows before it too.
    pub hash: Digest,
    /// When this was written down.
    pub at: Timestamp,
    /// Where the rows up to here were taken out of the ledger: what stands in their place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub carried: Option<Digest>,
}

impl Checkpoint {
    /// Its canonical text: what is signed.
    pub fn text(&self) -> Option<CanonicalJson> {
        CanonicalJson::of(&serde_json::to_value(self).ok()?).ok()
    }
}
