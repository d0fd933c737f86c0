//! The tools of every server: their classes, and accepting what is new or has changed.
//!
//! INVARIANT: what is accepted is the definition that was on the page, whole: the form carries its digest. One that is
//! too large to be shown is not accepted here.

use askama::Template;
use http::StatusCode;
use yesgate_core::class::Class;
use yesgate_core::digest::{DefinitionDigest, Digest};
use yesgate_core::id::{ServerName, ToolName};
use yesgate_core::person::Role;
use yesgate_core::render::Sanitized;

use crate::answer::{self, Answer};
use crate::desk::{PinWish, Pinned, ServerTools, ToolLine, ToolLook};
use crate::diff::{self, Line};
use crate::site::{Site, Trouble, Visit};
use crate::token::Pace;
use crate::view::{Frame, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "tools.html")]
struct Page {
    frame: Frame,
    servers: Vec<Server>,
}

struct Server {
    name: String,
    /// How many tools it has, and how many of them ask, in words.
    counted: String,
    tools: Vec<(ToolLine, String)>,
}

#[derive(Template)]
#[template(path = "tool.html")]
struct ToolPage {
    frame: Frame,
    /// What went wrong with what was just tried.
    notice: Option<&'static str>,
    server: String,
    tool: ToolLine,
    definition: String,
    short: String,
    says: Result<Vec<Sanitized>, String>,
    changes: Option<Vec<Line>>,
    suggested: Class,
    suggested_by: Sanitized,
    /// The tokens of the forms that accept it and that give it a class, where the visitor may.
    forms: Option<Forms>,
}

struct Forms {
    accept: Option<String>,
    class: String,
}

impl Site {
    pub(crate) async fn tools(&self, visitor: &Visitor) -> Result<Answer, Trouble> {
        let servers = self.desk.tools().await?.into_iter().map(Server::of).collect();
        let frame = self.frame(visitor, Tab::Tools, "Tools").await?;
        Ok(answer::page(StatusCode::OK, &Page { frame, servers }))
    }

    /// The page of the tool that the address names.
    pub(crate) async fn tool(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let (server, tool) = named(visit.query("server").as_deref(), visit.query("tool").as_deref())?;
        self.tool_page(visit, visitor, server, &tool, None).await
    }

    async fn tool_page(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        server: ServerName,
        tool: &ToolName,
        notice: Option<&'static str>,
    ) -> Result<Answer, Trouble> {
        let look = self.desk.tool(&server, tool).await?.ok_or(Trouble::NotFound)?;
        let ToolLook { line, definition, says, said, suggested, suggested_by } = look;
        let forms = match says.is_ok() && visitor.person.may(Role::Owner) {
            true => Some(Forms {
                accept: match line.waits {
                    true => Some(self.token(visitor, "/tools/accept", visit.now)?),
                    false => None,
                },
                class: self.token(visitor, "/tools/class", visit.now)?,
            }),
            false => None,
        };
        let changes = said.as_ref().zip(says.as_ref().ok()).map(|(said, says)| diff::compare(said, says));
        let page = ToolPage {
            frame: self.frame(visitor, Tab::Tools, "Tool").await?,
            notice,
            server: server.to_string(),
            tool: line,
            definition: definition.0.to_string(),
            short: definition.0.short(),
            says: says.map_err(|error| error.to_string()),
            changes,
            suggested,
            suggested_by,
            forms,
        };
        let status = if notice.is_some() { StatusCode::CONFLICT } else { StatusCode::OK };
        Ok(answer::page(status, &page))
    }

    /// Accepts a tool as it was shown.
    pub(crate) async fn accept_tool(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        self.pin_tool(visit, visitor, None).await
    }

    /// Gives a tool a class, as it was shown.
    pub(crate) async fn set_class(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let class = visit.form.one("class");
        let class = Class::ALL.into_iter().find(|known| Some(known.as_str()) == class);
        let class = class.ok_or(Trouble::Nonsense("the form names no class"))?;
        self.pin_tool(visit, visitor, Some(class)).await
    }

    async fn pin_tool(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        class: Option<Class>,
    ) -> Result<Answer, Trouble> {
        let (server, tool) = named(visit.form.one("server"), visit.form.one("tool"))?;
        let seen = visit.form.one("definition").and_then(|seen| Digest::try_from(seen.to_owned()).ok());
        let definition = seen.map(DefinitionDigest);
        let definition = definition.ok_or(Trouble::Nonsense("the form does not say what was seen"))?;
        self.take(visit, visitor, Pace::Human)?;
        let wish = PinWish { server: server.clone(), tool: tool.clone(), definition, class };
        match self.desk.pin(wish, &self.approver(visitor, None).name).await? {
            Pinned::Done => Ok(answer::see(&address(&server, &tool))),
            Pinned::OtherByNow => {
                let words =
                    "Nothing was accepted: the server describes this tool differently by now. Look again.";
                self.tool_page(visit, visitor, server, &tool, Some(words)).await
            }
        }
    }
}

impl Server {
    fn of(ServerTools { server, mut tools }: ServerTools) -> Self {
        // What waits for somebody stands above the rest.
        tools.sort_by_key(|tool| !tool.waits);
        let asks = tools.iter().filter(|tool| tool.asks).count();
        let counted = match tools.len() {
            1 => format!("1 tool, {asks} asks before it runs"),
            all => format!("{all} tools, {asks} ask before they run"),
        };
        let tools = tools.into_iter().map(|tool| {
            let address = address(&server, &tool.name);
            (tool, address)
        });
        Self { counted, tools: tools.collect(), name: server.to_string() }
    }
}

fn named(server: Option<&str>, tool: Option<&str>) -> Result<(ServerName, ToolName), Trouble> {
    let server = server.and_then(|server| server.parse().ok()).ok_or(Trouble::NotFound)?;
    let tool = tool.and_then(|tool| tool.parse().ok()).ok_or(Trouble::NotFound)?;
    Ok((server, tool))
}

/// The address of the page of a tool.
fn address(server: &ServerName, tool: &ToolName) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("server", server.as_str()).append_pair("tool", tool.as_str());
    format!("/tools/look?{}", query.finish())
}
