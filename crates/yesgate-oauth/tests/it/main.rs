//! The authorization server as clients and pages see it, over a real ledger.

#[cfg(test)]
mod authorizing;
#[cfg(test)]
mod device;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod exchanging;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod proving;
#[cfg(test)]
mod refreshing;
#[cfg(test)]
mod registering;
#[cfg(test)]
mod revoking;
#[cfg(test)]
mod support;
