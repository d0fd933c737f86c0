//! Somebody with a browser, as far as the pages can tell: a cookie, forms, and no scripts.

use std::collections::BTreeMap;
use std::sync::Mutex;

use http::HeaderMap;

use crate::rest_host::RestAnswer;
use crate::web_host::{Draft, WebHost};

/// A browser without scripts at the pages of one gateway.
#[derive(Debug)]
pub struct Visitor {
    host: WebHost,
    origin: String,
    /// What it holds, by name.
    cookies: Mutex<BTreeMap<String, String>>,
}

/// A page, read to its end.
#[derive(Debug)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// What it says, in HTML.
    pub html: String,
}

impl Visitor {
    /// A browser that knows nobody yet.
    #[track_caller]
    pub fn new(url: &str) -> Self {
        Self { host: WebHost::new(url), origin: url.to_owned(), cookies: Mutex::default() }
    }

    /// The same browser on new connections: after those it had were cut.
    #[must_use]
    #[track_caller]
    pub fn reconnected(&self) -> Self {
        let cookies = self.cookies.lock().expect("no test holds it").clone();
        Self { cookies: Mutex::new(cookies), ..Self::new(&self.origin) }
    }

    /// Signs in with the link that somebody was given.
    ///
    /// # Panics
    /// When it lets nobody in.
    pub async fn sign_in(self, link: &str) -> Self {
        let code = link.rsplit_once('#').map_or(link, |(_, code)| code).to_owned();
        let answer = self.post("/sign-in", &[("code", &code)]).await;
        assert_eq!(answer.status, 303, "{}", answer.html);
        self
    }

    /// The gateway's origin.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Opens a page.
    pub async fn get(&self, path: &str) -> Page {
        self.read(self.draft("GET", path)).await
    }

    /// Sends a form as a page of the gateway would.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        self.read(self.form(path, fields)).await
    }

    /// Presses a button: sends the form that has it with all its hidden fields, and these ones.
    ///
    /// # Panics
    /// When the page has no such button.
    pub async fn press(&self, page: &Page, button: (&str, &str), fields: &[(&str, &str)]) -> Page {
        let (action, mut all) = page.form_with(button);
        all.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let all: Vec<(&str, &str)> =
            all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.post(&action, &all).await
    }

    /// A form that is ready to be sent, or to be spoilt first.
    #[track_caller]
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> Draft<'_> {
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        self.draft("POST", path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", &self.origin)
            .body(body.join("&"))
    }

    /// A request with this browser's cookie.
    #[track_caller]
    pub fn draft(&self, method: &str, path: &str) -> Draft<'_> {
        let draft = self.host.raw("").method(method).path(path);
        let draft = draft.without("mcp-protocol-version").without("accept").without("content-type");
        match self.held().as_str() {
            "" => draft,
            cookies => draft.header("cookie", cookies),
        }
    }

    fn held(&self) -> String {
        let cookies = self.cookies.lock().expect("no test holds it");
        let pairs = cookies.iter().map(|(name, value)| format!("{name}={value}"));
        pairs.collect::<Vec<_>>().join("; ")
    }

    /// Sends a request, and keeps the cookies that come with the answer.
    pub async fn read(&self, draft: Draft<'_>) -> Page {
        let RestAnswer { status, headers, text, .. } = RestAnswer::read(draft.send().await).await;
        for set in headers.get_all("set-cookie") {
            let set = set.to_str().expect("a cookie is text");
            let (name, value) = set.split(';').next().unwrap_or_default().split_once('=').expect("a cookie");
            let mut cookies = self.cookies.lock().expect("no test holds it");
            match set.contains("Max-Age=0") {
                true => cookies.remove(name),
                false => cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Page { status, headers, html: text }
    }

    /// The cookies that it holds.
    ///
    /// # Panics
    /// When it holds none.
    #[track_caller]
    pub fn cookie(&self) -> String {
        let held = self.held();
        assert!(!held.is_empty(), "no cookie was set");
        held
    }
}

impl Page {
    /// The header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Where the form with this button goes, and its hidden fields with the button's own.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn form_with(&self, (name, value): (&str, &str)) -> (String, Vec<(String, String)>) {
        let wanted = format!("name=\"{name}\" value=\"{value}\"");
        let forms = self.html.split("<form ").skip(1).filter_map(|form| form.split("</form>").next());
        let mut forms = forms.filter(|form| form.contains(&wanted));
        let form = forms.next().unwrap_or_else(|| panic!("no button {name}={value} in {}", self.html));
        let action = between(form, "action=\"", "\"").expect("a form goes somewhere").to_owned();
        let hidden = form.split("<input type=\"hidden\" ").skip(1).map(|input| {
            let part = |key: &str| unescaped(between(input, &format!("{key}=\""), "\"").unwrap_or_default());
            (part("name"), part("value"))
        });
        let fields = hidden.chain([(name.to_owned(), value.to_owned())]).collect();
        (action, fields)
    }

    /// The same for the first form that says these words.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn form_with_button(&self, words: &str) -> (String, Vec<(String, String)>) {
        let forms = self.html.split("<form ").skip(1).filter_map(|form| form.split("</form>").next());
        let form = forms.into_iter().find(|form| form.contains(words));
        let form = form.unwrap_or_else(|| panic!("no form says {words} in {}", self.html));
        let action = between(form, "action=\"", "\"").expect("a form goes somewhere").to_owned();
        let inputs = form
            .split('<')
            .filter(|tag| tag.starts_with("input type=\"hidden\"") || tag.starts_with("button"));
        let fields = inputs.filter_map(|tag| {
            let part = |key: &str| between(tag, &format!("{key}=\""), "\"").map(unescaped);
            Some((part("name")?, part("value")?))
        });
        (action, fields.collect())
    }

    /// The same for the first form that has a field of this name to fill in.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn form_with_field(&self, name: &str) -> (String, Vec<(String, String)>) {
        self.form_with_button(&format!("name=\"{name}\""))
    }

    /// The token of the form that goes to this address.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn form_with_action(&self, action: &str) -> String {
        let wanted = format!("action=\"{action}\"");
        let forms = self.html.split("<form ").skip(1).filter_map(|form| form.split("</form>").next());
        let form = forms.into_iter().find(|form| form.contains(&wanted));
        let form = form.unwrap_or_else(|| panic!("no form goes to {action} in {}", self.html));
        between(form, "name=\"token\" value=\"", "\"").expect("a form of ours has a token").to_owned()
    }

    /// Whether it has a button of this name and value.
    pub fn has_button(&self, (name, value): (&str, &str)) -> bool {
        self.html.contains(&format!("name=\"{name}\" value=\"{value}\""))
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(inside, _)| inside)
}

/// An attribute as a browser reads it.
fn unescaped(html: &str) -> String {
    let marks = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")];
    marks.into_iter().fold(html.to_owned(), |text, (escaped, mark)| text.replace(escaped, mark))
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
