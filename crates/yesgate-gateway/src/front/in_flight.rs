//! The requests of one client that are not answered yet, by the client's own ids.
//!
//! INVARIANT: an id is in use by one request at a time, and is free again as soon as that one is over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::message::IdKey;
use crate::cancel::Cancel;

/// The requests under way.
#[derive(Debug)]
pub(crate) struct InFlight {
    most: usize,
    requests: Mutex<HashMap<IdKey, Cancel>>,
}

/// Why a request cannot begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Busy {
    /// Its id belongs to another one.
    IdInUse,
    /// There are too many.
    TooMany,
}

impl InFlight {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, requests: Mutex::default() })
    }

    /// Begins a request.
    pub(crate) fn begin(self: &Arc<Self>, key: IdKey, cancel: Cancel) -> Result<Ticket, Busy> {
        let mut requests = self.lock();
        if requests.contains_key(&key) {
            return Err(Busy::IdInUse);
        }
        if requests.len() >= self.most {
            return Err(Busy::TooMany);
        }
        requests.insert(key.clone(), cancel);
        drop(requests);
        Ok(Ticket { in_flight: Arc::clone(self), key })
    }

    /// The withdrawal of a request, as long as it is under way.
    pub(crate) fn find(&self, key: &IdKey) -> Option<Cancel> {
        self.lock().get(key).cloned()
    }

    /// Withdraws a request; one that is over cannot be.
    pub(crate) fn cancel(&self, key: &IdKey) {
        if let Some(cancel) = self.find(key) {
            cancel.fire();
        }
    }

    /// Withdraws all of them.
    pub(crate) fn cancel_all(&self) {
        let all: Vec<Cancel> = self.lock().values().cloned().collect();
        all.iter().for_each(Cancel::fire);
    }

    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IdKey, Cancel>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request under way; dropped when it is over.
#[derive(Debug)]
pub(crate) struct Ticket {
    in_flight: Arc<InFlight>,
    key: IdKey,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.in_flight.lock().remove(&self.key);
    }
}
