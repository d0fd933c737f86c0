//! One letter: to whom, and what it says, in words of ours.
//!
//! INVARIANT: a subject is a text that was there when this was compiled, so no argument, name or reason can stand in one.

use lettre::message::header::{ContentTransferEncoding, ContentType, Header, HeaderName, HeaderValue};
use lettre::message::{Body, Mailbox, Message};
use yesgate_core::person::{MailAddress, Person};
use yesgate_core::render::Sanitized;

use super::MailError;
use crate::notice::{Link, Notice};

/// One letter.
#[derive(Clone, Debug)]
pub struct Letter {
    id: String,
    to: MailAddress,
    pub(super) subject: &'static str,
    text: String,
}

impl Letter {
    /// The letter with a link to sign in with. `id` is random, and tells nobody anything.
    pub fn with_link(id: [u8; 16], to: MailAddress, person: &Person, url: &str) -> Self {
        let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = format!(
            "Somebody, probably you, wants to sign in to Yesgate as {} ({}).\n\n\
             Open this and press the button there, within 15 minutes:\n\n{url}\n\n\
             It works once, in the browser that asked for it. Anywhere else it wants the six\n\
             digits that the page shows there. If it was not you, do nothing.\n",
            unlinked(person.name.as_str()),
            unlinked(person.org.as_str()),
        );
        Self { id, to, subject: "Sign in to Yesgate", text }
    }

    /// The letter with a notice, where it is one for people.
    pub(crate) fn with_notice(
        to: MailAddress,
        person: &Person,
        notice: &Notice,
        link: &Link,
    ) -> Option<Self> {
        let heading = notice.heading()?;
        let place = match link.to(&notice.intent) {
            Some(address) => format!("Decide: {address}"),
            None => format!("Look:   yesgate show {}", notice.intent),
        };
        let text = format!(
            "{heading}.\n\nTool:   {}/{} ({})\nCode:   {}\nUntil:  {}\n{place}\n\n\
             The agent shows the same code. This mail decides nothing, and its link lets\n\
             nobody in who is not signed in. What the call says stands on the page.\n",
            unlinked(notice.server.as_str()),
            unlinked(notice.tool.as_str()),
            notice.class,
            notice.code,
            notice.decide_by.strftime("%Y-%m-%d %H:%M UTC"),
        );
        Some(Self { id: format!("{}_{}", notice.id, person.id), to, subject: heading, text })
    }

    /// What tells it from every other: the same for each attempt.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) const fn to(&self) -> &MailAddress {
        &self.to
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The letter as it travels.
    pub(super) fn message(&self, from: &MailAddress) -> Result<Message, MailError> {
        let unwritable = |_| MailError::Unwritable("an address is none".to_owned());
        let (_, domain) = from.as_str().rsplit_once('@').unwrap_or_default();
        Message::builder()
            .from(Mailbox::new(Some("Yesgate".to_owned()), from.as_str().parse().map_err(unwritable)?))
            .to(Mailbox::new(None, self.to.as_str().parse().map_err(unwritable)?))
            .subject(self.subject)
            .message_id(Some(format!("<{}@{domain}>", self.id)))
            .header(AutoSubmitted)
            .header(ContentType::TEXT_PLAIN)
            .body(body(&self.text))
            .map_err(|error| MailError::Unwritable(error.to_string()))
    }
}

/// The text as it is, where it is one that every mail server carries: so a link in it is never broken.
fn body(text: &str) -> Body {
    let is_plain = text.is_ascii() && text.lines().all(|line| line.len() <= LONGEST_LINE);
    let lines = text.lines().collect::<Vec<_>>().join("\r\n") + "\r\n";
    match is_plain {
        true => Body::dangerous_pre_encoded(lines.into_bytes(), ContentTransferEncoding::SevenBit),
        false => Body::new(lines),
    }
}

/// RFC 5322 §2.1.1.
const LONGEST_LINE: usize = 998;

/// A name that no mail program makes a link of: every sign in it that addresses are made with stands in brackets, which no
/// name brings along.
fn unlinked(name: &str) -> String {
    let shown = Sanitized::line(name);
    let parts = shown.as_str().chars().map(|c| match c {
        '.' | ':' | '/' | '@' => format!("[{c}]"),
        other => other.to_string(),
    });
    parts.collect()
}

/// RFC 3834 §5: nobody on holiday answers it.
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}
