//! Asking for a sign-in link by mail.
//!
//! Whoever asks is answered before anybody looks whether the address is known: the wish goes into a queue, and what takes
//! it from there makes the link and has it carried.
//!
//! INVARIANT: the answer and its time are the same for every address (O-S1). What a stranger can grow is bounded: the
//! queue, and what is remembered of addresses and neighbours.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use yesgate_core::person::{BrowserSecret, Link, LinkSecret, LinkWay, MailAddress, Person, SecretHash};
use yesgate_http::edge::pages::Peer;

use crate::answer::{self, Answer};
use crate::goal::Goal;
use crate::limits::{Limiter, Turn, neighbour};
use crate::sign_in::Shown;
use crate::site::{Site, Trouble, Visit};

/// Whoever carries mail.
#[async_trait]
pub trait Courier: fmt::Debug + Send + Sync {
    /// Carries a sign-in link to its person, or gives up, and says so to the operator.
    async fn carry(&self, to: &MailAddress, person: &Person, url: &str);
}

/// The post of a site.
#[derive(Debug)]
pub(crate) struct Post {
    courier: Arc<dyn Courier>,
    queue: mpsc::Sender<Wish>,
    wishes: Mutex<Option<mpsc::Receiver<Wish>>>,
    by_address: Limiter<String>,
    by_neighbour: Limiter<Option<IpAddr>>,
    /// How often wrong digits came with a link that counts.
    wrong: Mutex<HashMap<SecretHash, u32>>,
}

/// Somebody wants a link.
#[derive(Debug)]
struct Wish {
    address: MailAddress,
    browser: SecretHash,
    origin: String,
    to: Option<Goal>,
}

impl Post {
    pub(crate) fn new(courier: Arc<dyn Courier>) -> Self {
        let (queue, wishes) = mpsc::channel(WAITING);
        Self {
            courier,
            queue,
            wishes: Mutex::new(Some(wishes)),
            by_address: Limiter::new(PER_ADDRESS, HOUR),
            by_neighbour: Limiter::new(PER_NEIGHBOUR, HOUR),
            wrong: Mutex::default(),
        }
    }

    /// Counts wrong digits for a link, and says whether it has had enough of them.
    pub(crate) fn is_guessed_at(&self, link: SecretHash) -> bool {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        // Only links that were really sent come here, so this is for those that nobody ever used.
        if wrong.len() >= MOST_GUESSED {
            wrong.clear();
        }
        let times = wrong.entry(link).or_default();
        *times += 1;
        let is_enough = *times >= GUESSES;
        if is_enough {
            wrong.remove(&link);
        }
        is_enough
    }
}

impl Site {
    /// Has people sign in by mail, too.
    #[must_use]
    pub fn with_mail(mut self, courier: Arc<dyn Courier>) -> Self {
        self.post = Some(Post::new(courier));
        self
    }

    /// Takes a wish for a link.
    pub(crate) async fn ask_for_link(&self, visit: &Visit) -> Result<Answer, Trouble> {
        let post = self.post.as_ref().ok_or(Trouble::NotFound)?;
        let to = visit.goal();
        let address = visit.form.words("mail").and_then(|mail| mail.parse::<MailAddress>().ok());
        let Some(address) = address else {
            let why = "That is no mail address of the form name@example.org.";
            return Ok(self.sign_in_with(StatusCode::BAD_REQUEST, to, Shown::Notice(why)));
        };
        let peer = visit.parts.extensions.get::<Peer>().map(|Peer(address)| neighbour(*address));
        if post.by_neighbour.take(peer, visit.now) == Turn::TooOften {
            return Ok(too_often());
        }
        let secret = BrowserSecret::from_entropy(self.draw()?);
        let browser = secret.hash();
        // An address that was asked for too often is answered like any other: only its mail does not come.
        match post.by_address.take(address.as_str().to_ascii_lowercase(), visit.now) {
            Turn::Taken => {
                let wish = Wish { address, browser, origin: visit.address.origin.clone(), to: to.clone() };
                if post.queue.try_send(wish).is_err() {
                    tracing::warn!("too many want sign-in links by mail at once: one of them is not sent");
                }
            }
            Turn::TooOften => tracing::warn!("an address was asked for too often, so no link is sent"),
        }
        let mut answer = self.sign_in_with(StatusCode::OK, to, Shown::Sent { digits: browser.digits() });
        answer.headers_mut().extend(visit.address.hold_asked(&secret));
        Ok(answer)
    }

    /// Makes the links that people ask for, and has them carried, for as long as it is polled.
    pub async fn carry_links(self: Arc<Self>) {
        let Some(post) = &self.post else { return };
        let wishes = post.wishes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut wishes) = wishes else { return };
        let mut under_way = JoinSet::new();
        loop {
            tokio::select! {
                wish = wishes.recv(), if under_way.len() < UNDER_WAY => match wish {
                    Some(wish) => drop(under_way.spawn(Arc::clone(&self).grant(wish))),
                    None => return,
                },
                Some(_) = under_way.join_next() => {}
            }
        }
    }

    /// Makes a link for whoever has an address, if anybody has.
    async fn grant(self: Arc<Self>, wish: Wish) {
        if let Err(trouble) = self.try_grant(&wish).await {
            tracing::error!(?trouble, "a sign-in link that was asked for by mail could not be made");
        }
    }

    async fn try_grant(&self, wish: &Wish) -> Result<(), Trouble> {
        let Some(post) = &self.post else { return Ok(()) };
        let people = self.ledger.people().await?;
        // In two organisations somebody is two people.
        for person in people.iter().filter(|person| person.removed_at.is_none()) {
            let Some(mail) = person.mail.as_ref().filter(|mail| mail.is(wish.address.as_str())) else {
                continue;
            };
            let secret = LinkSecret::from_entropy(self.draw()?);
            let link = Link::new(&person.id, LinkWay::Mail, self.ledger.now()).asked_in(wish.browser);
            self.ledger.make_link(link, secret.hash(), "the sign-in page").await?;
            let page = wish.to.as_ref().map_or_else(|| "/sign-in".to_owned(), Goal::sign_in);
            let url = format!("{}{page}#{}", wish.origin, secret.expose());
            post.courier.carry(mail, person, &url).await;
        }
        Ok(())
    }
}

fn too_often() -> Answer {
    let words = "Too many links were asked for from there. Wait an hour, or sign in another way.";
    let mut answer = answer::trouble(StatusCode::TOO_MANY_REQUESTS, "Not now", words);
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("3600"));
    answer
}

const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// How many links one address gets in an hour (O-S8).
const PER_ADDRESS: usize = 5;
/// How many may be asked for from one place: behind a proxy, all people together are one place.
const PER_NEIGHBOUR: usize = 60;
/// How many wishes may wait.
const WAITING: usize = 100;
/// How many links may be on their way at once.
const UNDER_WAY: usize = 16;
/// How often digits may be wrong before a link counts no more.
const GUESSES: u32 = 5;
/// How many links are remembered as guessed at.
const MOST_GUESSED: usize = 10_000;
