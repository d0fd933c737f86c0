//! `tracestate`: what tracing systems want to be told again at the next stop. It is not ours to understand.
//!
//! INVARIANT: it is well-formed, has at most 32 members, each key once, and at most 512 characters.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::header::{GetAll, HeaderValue};

/// A well-formed `tracestate` that is not empty.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TraceState(Arc<str>);

impl TraceState {
    /// Reads a list of members; none if it is malformed or empty.
    pub fn parse(list: &str) -> Option<Self> {
        Self::from_members(list.split(','))
    }

    /// Reads the headers of a request, which are one list.
    pub(super) fn of(headers: &GetAll<'_, HeaderValue>) -> Option<Self> {
        let lists: Vec<&str> = headers.iter().map(HeaderValue::to_str).collect::<Result<_, _>>().ok()?;
        Self::from_members(lists.iter().flat_map(|list| list.split(',')))
    }

    /// The list, as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn from_members<'a>(members: impl Iterator<Item = &'a str>) -> Option<Self> {
        let trim = |member: &'a str| member.trim_matches([' ', '\t']);
        let mut seen = BTreeSet::new();
        let mut kept = vec![];
        // Trace Context §3.3.1.1: empty members are allowed, and mean nothing.
        for member in members.map(trim).filter(|member| !member.is_empty()) {
            let (key, value) = member.split_once('=')?;
            if !is_key(key) || !is_value(value) || !seen.insert(key) || seen.len() > MOST_MEMBERS {
                return None;
            }
            kept.push(member);
        }
        shorten(&mut kept);
        (!kept.is_empty()).then(|| Self(kept.join(",").into()))
    }
}

/// Trace Context §3.3.1.5: what is too long loses its large members first, then its last ones.
fn shorten(members: &mut Vec<&str>) {
    let is_short = |members: &[&str]| {
        let commas = members.len().saturating_sub(1);
        members.iter().map(|member| member.len()).sum::<usize>() + commas <= LONGEST
    };
    if !is_short(members) {
        members.retain(|member| member.len() <= LARGE_MEMBER);
    }
    while !is_short(members) {
        members.pop();
    }
}

fn is_key(key: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    key.len() <= LONGEST_PART
        && key.as_bytes().first().is_some_and(is_first)
        && key.bytes().all(|byte| is_first(&byte) || b"_-*/@".contains(&byte))
}

fn is_value(value: &str) -> bool {
    (1..=LONGEST_PART).contains(&value.len())
        && !value.ends_with(' ')
        && value.bytes().all(|byte| (byte == b' ' || byte.is_ascii_graphic()) && !b",=".contains(&byte))
}

const MOST_MEMBERS: usize = 32;
const LONGEST_PART: usize = 256;
const LONGEST: usize = 512;
const LARGE_MEMBER: usize = 128;
