//! What a person does whose client wants to be connected: opens the address that the client names, and answers on the
//! page that is there.

use url::Url;

use crate::visitor::{Page, Visitor};
use crate::wait::eventually;
use crate::web_host::WebHost;

/// The button that says yes.
pub const ALLOW: (&str, &str) = ("answer", "approve");
/// The button that says no.
pub const REFUSE: (&str, &str) = ("answer", "deny");

impl Visitor {
    /// Opens an address of the gateway's, and follows where it leads within the gateway.
    ///
    /// # Panics
    /// When it leads on and on.
    pub async fn open(&self, url: &str) -> Page {
        let mut path = self.path_of(url).unwrap_or_else(|| panic!("{url} is not of {}", self.origin()));
        for _ in 0..MOST_REDIRECTS {
            let page = self.get(&path).await;
            match page.header("location").and_then(|place| self.path_of(place)) {
                Some(next) if (300..400).contains(&page.status) => path = next,
                Some(_) | None => return page,
            }
        }
        panic!("{url} leads on and on")
    }

    /// Says yes to a client; gives back where the browser is sent then.
    ///
    /// # Panics
    /// When nobody is asked, or the yes is not taken.
    pub async fn allow(&self, url: &str) -> String {
        let page = self.open(url).await;
        self.allow_on(&page, &[]).await
    }

    /// The same on a page that is open, without these scopes.
    ///
    /// # Panics
    /// When the yes is not taken.
    pub async fn allow_on(&self, page: &Page, without: &[&str]) -> String {
        let answer = self.answer_consent(page, ALLOW, without).await;
        sent_to(&answer)
    }

    /// Says no to a client; gives back where the browser is sent then.
    ///
    /// # Panics
    /// When nobody is asked, or the no is not taken.
    pub async fn refuse(&self, url: &str) -> String {
        let page = self.open(url).await;
        sent_to(&self.answer_consent(&page, REFUSE, &[]).await)
    }

    /// Presses a button of a page that asks about a client, with all boxes as they are but for these scopes.
    pub async fn answer_consent(&self, page: &Page, button: (&str, &str), without: &[&str]) -> Page {
        let (action, mut fields) = page.form_with(button);
        fields.extend(page.checked_in(button));
        fields.retain(|(name, value)| name != "scope" || !without.contains(&value.as_str()));
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        eventually("the answer is not too fast any more", async || {
            let answer = self.post(&action, &fields).await;
            (!answer.html.contains("faster than anybody can read")).then_some(answer)
        })
        .await
    }

    /// Types the code that a client without a browser shows, and says yes to it.
    ///
    /// # Panics
    /// When the code is not known, or the yes is not taken.
    pub async fn allow_device(&self, code: &str) {
        let page = self.asked_by_device(code).await;
        let answer = self.answer_consent(&page, ALLOW, &[]).await;
        assert!(matches!(answer.status, 200 | 303), "{} {}", answer.status, answer.html);
    }

    /// Types the code that a client without a browser shows; gives back the page that asks.
    pub async fn asked_by_device(&self, code: &str) -> Page {
        let (action, mut fields) = self.get("/device").await.form_with_field("user_code");
        fields.push(("user_code".to_owned(), code.to_owned()));
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let page = self.post(&action, &fields).await;
        match page.header("location") {
            Some(place) if (300..400).contains(&page.status) => self.open(place).await,
            Some(_) | None => page,
        }
    }

    /// An address of this gateway as a path; `None`: it is somebody else's.
    fn path_of(&self, url: &str) -> Option<String> {
        let origin = Url::parse(self.origin()).expect("an origin is a URL");
        let url = origin.join(url).ok()?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        (url.origin() == origin.origin()).then(|| format!("{}{query}", url.path()))
    }
}

impl Page {
    /// The boxes that are checked in the form with this button.
    fn checked_in(&self, (name, value): (&str, &str)) -> Vec<(String, String)> {
        let wanted = format!("name=\"{name}\" value=\"{value}\"");
        let forms = self.html.split("<form ").skip(1).filter_map(|form| form.split("</form>").next());
        let form = forms.into_iter().find(|form| form.contains(&wanted)).unwrap_or_default();
        let boxes = form.split("<input ").skip(1).filter_map(|input| input.split('>').next());
        let boxes = boxes.filter(|input| input.contains("type=\"checkbox\"") && input.contains(" checked"));
        let part = |input: &str, key: &str| {
            let (_, rest) = input.split_once(&format!("{key}=\""))?;
            rest.split_once('"').map(|(inside, _)| inside.to_owned())
        };
        boxes.filter_map(|input| Some((part(input, "name")?, part(input, "value")?))).collect()
    }
}

/// Brings a browser's redirect to a client that listens on this machine, as soon as it does.
///
/// # Panics
/// When nobody listens in time.
pub async fn deliver(url: &str) -> u16 {
    let parsed = Url::parse(url).unwrap_or_else(|error| panic!("no URL ({error}): {url}"));
    let query = parsed.query().map(|query| format!("?{query}")).unwrap_or_default();
    let path = format!("{}{query}", parsed.path());
    let host = WebHost::new(parsed.origin().ascii_serialization());
    eventually("the client listens", async || {
        let sent = host.raw("").method("GET").path(&path).without("content-type").try_send().await;
        sent.ok().map(|answer| answer.status())
    })
    .await
}

/// A member of the query of the address that a browser was sent to.
pub fn returned(url: &str, key: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| value.into_owned())
}

#[track_caller]
fn sent_to(answer: &Page) -> String {
    let place = answer.header("location").filter(|_| matches!(answer.status, 302 | 303));
    place.unwrap_or_else(|| panic!("sent nowhere: {} {}", answer.status, answer.html)).to_owned()
}

const MOST_REDIRECTS: usize = 5;
