//! What tools a server has, as it last said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{DefinitionDigest, Digest, Hasher};
use yesgate_core::id::ToolName;
use yesgate_core::json::{Limits, parse_lenient};

use crate::mirror::params::ParamHeaders;
use crate::raw::{RawObject, elements};
use crate::upstream::{Answer, OwnRequest, Upstream};

/// Hears of the tools that a server has, whenever their list is complete.
pub trait ToolsObserver: Send + Sync + std::fmt::Debug {
    /// All tools, as the server describes them.
    fn tools_seen(&self, tools: &[Box<RawValue>]);
}

/// The tools of one server.
#[derive(Debug, Default)]
pub struct ToolBook {
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    tools: HashMap<ToolName, Entry>,
    /// Whether all pages were read, and nothing was announced to have changed since.
    complete: bool,
    /// The last list that was read to its end, by digests.
    listing: Option<Listing>,
}

/// A whole list of tools, by the digests of their definitions.
#[derive(Clone, Debug)]
pub struct Listing {
    /// What tells one list from another.
    pub digest: Digest,
    /// Each tool with its definition, by name.
    pub tools: Arc<[(ToolName, DefinitionDigest)]>,
}

#[derive(Debug)]
struct Entry {
    definition: Arc<ToolDefinition>,
    raw: Box<RawValue>,
    /// The arguments that HTTP headers mirror.
    mirrored: Arc<ParamHeaders>,
}

impl Entry {
    fn read(tool: &RawValue) -> Result<Self, yesgate_core::definition::DefinitionError> {
        let value = parse_lenient(tool.get().as_bytes(), Limits::SERVER)?;
        let definition = Arc::new(ToolDefinition::parse(&value)?);
        let schema = value.get("inputSchema").unwrap_or(&serde_json::Value::Null);
        let mirrored = Arc::new(ParamHeaders::parse(schema).unwrap_or_default());
        Ok(Self { definition, raw: tool.to_owned(), mirrored })
    }
}

/// Where a page of a tool list stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Page {
    /// It was asked for without a cursor.
    First,
    /// It goes on from an earlier one.
    Later,
}

/// Why the list of tools could not be read, so that nothing can be judged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unreadable {
    /// There is no server to ask.
    #[error("the server is not running")]
    Down,
    /// The server answered with something else.
    #[error("the server's list of tools could not be read")]
    NoList,
}

impl ToolBook {
    /// The definition of a tool, if the book is up to date and has it.
    pub fn definition(&self, name: &ToolName) -> Option<Arc<ToolDefinition>> {
        let pages = self.lock();
        pages.tools.get(name).filter(|_| pages.complete).map(|entry| Arc::clone(&entry.definition))
    }

    /// The arguments of a tool that HTTP headers mirror.
    pub(crate) fn mirrored(&self, name: &ToolName) -> Arc<ParamHeaders> {
        self.lock().tools.get(name).map(|entry| Arc::clone(&entry.mirrored)).unwrap_or_default()
    }

    /// The whole list, if the book is up to date.
    pub fn listing(&self) -> Option<Listing> {
        let pages = self.lock();
        pages.listing.clone().filter(|_| pages.complete)
    }

    /// Whether the book is up to date.
    pub fn is_complete(&self) -> bool {
        self.lock().complete
    }

    /// All tools that are known, as the server describes them, by name.
    pub fn all(&self) -> Vec<Box<RawValue>> {
        let pages = self.lock();
        let mut tools: Vec<_> = pages.tools.values().collect();
        tools.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
        tools.into_iter().map(|entry| entry.raw.clone()).collect()
    }

    /// The server says that its tools changed.
    pub fn outdated(&self) {
        self.lock().complete = false;
    }

    /// Reads one page of a tool list.
    pub fn learn(&self, page: Page, tools: &[Box<RawValue>], last: bool) {
        let mut pages = self.lock();
        if page == Page::First {
            pages.tools.clear();
        }
        for tool in tools {
            match Entry::read(tool) {
                Ok(entry) => {
                    pages.tools.insert(entry.definition.name.clone(), entry);
                }
                Err(error) => tracing::warn!(%error, "a tool is left out: {error}"),
            }
        }
        pages.complete = last;
        if last {
            pages.listing = Some(Listing::of(&pages.tools));
        }
    }

    /// Asks the server anew for all its tools.
    ///
    /// # Errors
    /// When the server does not answer with a list.
    pub async fn refresh(&self, upstream: &Upstream) -> Result<(), Unreadable> {
        let mut cursor = None;
        for number in 0..MAX_PAGES {
            let answer =
                upstream.request(OwnRequest::ToolsList { cursor }).await.map_err(|_| Unreadable::Down)?;
            let (tools, next) = read_page(&answer)?;
            let page = if number == 0 { Page::First } else { Page::Later };
            self.learn(page, &tools, next.is_none());
            match next {
                Some(next) => cursor = Some(next),
                None => return Ok(()),
            }
        }
        Err(Unreadable::NoList)
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listing {
    fn of(tools: &HashMap<ToolName, Entry>) -> Self {
        let mut tools: Vec<_> =
            tools.iter().map(|(name, entry)| (name.clone(), entry.definition.digest)).collect();
        tools.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut hasher = Hasher::new("yesgate/listing/1");
        for (name, definition) in &tools {
            hasher.field(name.as_str().as_bytes()).field(definition.0.as_bytes());
        }
        Self { digest: hasher.finish(), tools: tools.into() }
    }
}

/// A list with more pages than this is not a list.
const MAX_PAGES: usize = 100;

/// Reads the definition of a tool from the server's bytes.
///
/// # Errors
/// When it cannot be judged.
pub fn definition(tool: &RawValue) -> Result<ToolDefinition, yesgate_core::definition::DefinitionError> {
    ToolDefinition::parse(&parse_lenient(tool.get().as_bytes(), Limits::SERVER)?)
}

fn read_page(answer: &Answer) -> Result<(Vec<Box<RawValue>>, Option<String>), Unreadable> {
    let result = answer.result().ok_or(Unreadable::NoList)?;
    let tools = result.get("tools").and_then(elements).ok_or(Unreadable::NoList)?;
    Ok((tools, next_cursor(&result)))
}

/// The cursor of the next page. Only an absent one (or null) ends a list; an empty one does not.
pub(crate) fn next_cursor(result: &RawObject) -> Option<String> {
    result
        .get("nextCursor")
        .and_then(|cursor| serde_json::from_str::<Option<String>>(cursor.get()).ok().flatten())
}
