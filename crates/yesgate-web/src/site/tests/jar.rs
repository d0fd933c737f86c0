//! A browser without scripts: cookies, and forms.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use http_body_util::BodyExt as _;
use yesgate_core::person::SessionSecret;
use yesgate_http::edge::pages::Pages as _;

use super::{HERE, Play};

/// What a browser holds, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar(pub(crate) BTreeMap<String, String>);

/// A page, read to its end.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) html: String,
}

impl Jar {
    /// One in which somebody is signed in.
    pub(crate) fn of(secret: &SessionSecret) -> Self {
        Self([("yesgate-1".to_owned(), secret.expose().to_owned())].into())
    }

    pub(crate) async fn get(&mut self, play: &Play, path: &str) -> Seen {
        self.send(play, "GET", path, "", String::new()).await
    }

    pub(crate) async fn post(&mut self, play: &Play, path: &str, fields: &[(&str, &str)]) -> Seen {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(play, "POST", path, HERE, body).await
    }

    pub(crate) async fn send(
        &mut self,
        play: &Play,
        method: &str,
        path: &str,
        origin: &str,
        body: String,
    ) -> Seen {
        let cookies: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::builder().method(method).uri(path).header(HOST, "localhost:1");
        request = request.header(COOKIE, cookies.join("; "));
        if !origin.is_empty() {
            request = request.header(ORIGIN, origin);
        }
        if method == "POST" {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let answer = play.site.answer(parts, Bytes::from(body)).await;
        for set in answer.headers().get_all(SET_COOKIE) {
            let set = set.to_str().unwrap();
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            match set.contains("Max-Age=0") {
                true => drop(self.0.remove(name)),
                false => drop(self.0.insert(name.to_owned(), value.to_owned())),
            }
        }
        let (head, body) = answer.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let html = String::from_utf8(body.to_vec()).unwrap();
        Seen { status: head.status.as_u16(), headers: head.headers, html }
    }
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub(crate) fn location(&self) -> &str {
        self.header(LOCATION.as_str())
    }

    /// What the address has for a name to which the browser is sent.
    pub(crate) fn sent_with(&self, name: &str) -> Option<String> {
        let (_, query) = self.location().split_once('?')?;
        let mut pairs = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        let (_, value) = pairs.next()?;
        assert!(pairs.next().is_none(), "{name} is there twice: {}", self.location());
        Some(value.into_owned())
    }

    /// The token of the form that goes there.
    #[track_caller]
    pub(crate) fn token(&self, action: &str) -> String {
        let form = self.html.split(&format!("action=\"{action}\"")).nth(1);
        let form = form.unwrap_or_else(|| panic!("no form goes to {action}: {}", self.html));
        let value = form.split("name=\"token\" value=\"").nth(1).unwrap();
        value.split('"').next().unwrap().to_owned()
    }
}
