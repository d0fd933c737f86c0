//! What the ledger promises, tried through its public door.

#[cfg(test)]
mod at_rest;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod boots;
#[cfg(test)]
mod budgets;
#[cfg(test)]
mod checkpoints;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod failover;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod forger;
#[cfg(test)]
mod grants;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod model;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod oauth_asking;
#[cfg(test)]
mod oauth_clients;
#[cfg(test)]
mod oauth_ending;
#[cfg(test)]
mod oauth_refresh;
#[cfg(test)]
mod oauth_stage;
#[cfg(test)]
mod oauth_sweeping;
#[cfg(test)]
mod oauth_tokens;
#[cfg(test)]
mod oauth_trail;
#[cfg(test)]
mod once;
#[cfg(test)]
mod pace;
#[cfg(test)]
mod people;
#[cfg(test)]
mod prune;
#[cfg(test)]
mod purge;
#[cfg(test)]
mod readiness;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod sight;
#[cfg(test)]
mod sign_in;
#[cfg(test)]
mod sqlite;
#[cfg(test)]
mod standby;
#[cfg(test)]
mod stops;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod together;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod wakeups;
