//! Where the trail begins, and what stands in the place of the rows before that.
//!
//! INVARIANT: what stands there has one digest, which is signed with the beginning and sealed beside it. Nothing in it can
//! be changed, added or left out without being found.

use std::collections::BTreeMap;

use yesgate_core::digest::{Digest, Hasher};

use crate::engine::Sql;
use crate::engine::value::{Row, values};
use crate::error::LedgerError;
use crate::head;
use crate::prune::{Beginning, Carried, Past, Rest};
use crate::seal::{Place, Seal};

/// Where the trail begins. `None`: with its first row.
pub(super) fn load(connection: &dyn Sql) -> Result<Option<Beginning>, LedgerError> {
    let Some(row) = connection.first("SELECT sequence, hash, signed FROM beginning", &[])? else {
        return Ok(None);
    };
    let (sequence, hash) = (head::sequence(&row)?, Digest::rehydrate(row.get(1)?));
    let carried = digest(connection, &carried(connection)?, &BTreeMap::new())?;
    Ok(Some(Beginning { sequence, hash, carried, signed: row.get(2)? }))
}

/// The row before the first one of the trail; 0: none was taken out.
pub(super) fn row(connection: &dyn Sql) -> Result<(u64, Option<Digest>), LedgerError> {
    let row = connection.first("SELECT sequence, hash FROM beginning", &[])?;
    row.map_or(Ok((0, None)), |row| Ok((head::sequence(&row)?, Some(Digest::rehydrate(row.get(1)?)))))
}

/// Whether the ledger itself made it what it is.
pub(super) fn is_sealed(
    connection: &dyn Sql,
    seal: &Seal,
    beginning: &Beginning,
) -> Result<bool, LedgerError> {
    let row = connection.first("SELECT sealed FROM beginning", &[])?;
    let sealed: Vec<u8> = row.map_or(Ok(Vec::new()), |row| row.get(0))?;
    let Beginning { sequence, hash, carried, .. } = beginning;
    Ok(seal.open(Place::Beginning, &sealed) == Some(text(*sequence, hash, carried)))
}

/// The rows that were taken out and still matter, the oldest first.
pub(super) fn carried(connection: &dyn Sql) -> Result<Vec<Carried>, LedgerError> {
    connection.map("SELECT sequence, whole, body FROM carried ORDER BY sequence", &[], |row| {
        let rest = if row.get::<bool>(1)? { Rest::Question } else { Rest::Standing };
        Ok(Carried { sequence: head::sequence(row)?, rest, body: row.get(2)? })
    })
}

/// Some of the questions whose rows were taken out, after one, by their ids.
pub(super) fn past_page(connection: &dyn Sql, after: &str, most: u32) -> Result<Vec<Past>, LedgerError> {
    let sql = "SELECT intent, redeemed, told FROM past WHERE intent > ?1 ORDER BY intent LIMIT ?2";
    connection.map(sql, values![after, most], read_past)
}

/// The digest of all that stands in the place of rows, with what is to be changed about questions.
pub(super) fn digest(
    connection: &dyn Sql,
    carried: &[Carried],
    changed: &BTreeMap<String, Past>,
) -> Result<Digest, LedgerError> {
    let mut hasher = Hasher::new("yesgate/beginning/1");
    for Carried { sequence, rest, body } in carried {
        hasher.field(&sequence.to_be_bytes()).field(rest.word().as_bytes()).field(body.as_bytes());
    }
    hasher.field(b"past");
    let mut add = |past: &Past| {
        let told = past.told.as_ref().map(|told| told.as_bytes().as_slice());
        hasher
            .field(past.intent.as_bytes())
            .field(&[u8::from(past.redeemed)])
            .field(told.unwrap_or_default());
    };
    let mut changed = changed.values().peekable();
    let mut after = String::new();
    loop {
        let page = past_page(connection, &after, PAGE)?;
        for past in &page {
            while let Some(new) = changed.next_if(|new| new.intent < past.intent) {
                add(new);
            }
            add(changed.next_if(|new| new.intent == past.intent).unwrap_or(past));
        }
        match page.into_iter().next_back() {
            Some(last) => after = last.intent,
            None => break,
        }
    }
    changed.for_each(add);
    Ok(hasher.finish())
}

/// What is sealed.
pub(super) fn text(sequence: u64, hash: &Digest, carried: &Digest) -> Vec<u8> {
    [sequence.to_be_bytes().as_slice(), hash.as_bytes(), carried.as_bytes()].concat()
}

fn read_past(row: &Row) -> Result<Past, LedgerError> {
    let told: Option<[u8; 32]> = row.get(2)?;
    Ok(Past { intent: row.get(0)?, redeemed: row.get(1)?, told: told.map(Digest::rehydrate) })
}

/// How many questions are looked at together.
pub(super) const PAGE: u32 = 1000;
