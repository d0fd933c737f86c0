//! Seals what the fixture gives a client to carry from one round to the next.
//!
//! The key is fixed, for a later round may reach another process; it protects nothing but the scenarios
//! that check whether a changed state is noticed.

use std::fmt::Write as _;

use ring::hmac;
use rmcp::ErrorData;

const KEY: &[u8] = b"conformance fixture, not a secret";

/// Seals the state of a round of one tool.
pub(super) fn close(tool: &str, state: &str) -> String {
    format!("{state}.{}", tag(tool, state))
}

/// Opens a seal of the same tool.
pub(super) fn open<'a>(tool: &str, sealed: &'a str) -> Result<&'a str, ErrorData> {
    match sealed.rsplit_once('.') {
        Some((state, given)) if given == tag(tool, state) => Ok(state),
        Some(_) | None => Err(refusal()),
    }
}

/// Says that a state is not one of ours, or not one for this round.
pub(super) fn refusal() -> ErrorData {
    ErrorData::invalid_params("the request state is not valid", None)
}

fn tag(tool: &str, state: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, KEY);
    let tag = hmac::sign(&key, format!("{tool}\n{state}").as_bytes());
    tag.as_ref().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all that is written to it");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_counts_only_unchanged_and_for_its_own_tool() {
        let sealed = close("tool", "step1");
        assert_eq!(open("tool", &sealed).unwrap(), "step1");
        assert!(open("other", &sealed).is_err());
        assert!(open("tool", &format!("{sealed}-TAMPERED")).is_err());
        assert!(open("tool", &sealed.replace("step1", "step2")).is_err());
        assert!(open("tool", "step1").is_err());
    }
}
