//! A real browser for tests of pages: the system's Chromium, without a window, with a profile of its own.
//!
//! A [`Browser`] has [`Context`]s, which share nothing: each is a person at a [`Device`], with cookies of their own. A
//! context has [`Page`]s, which are its tabs. Calls block until they are done, by the waiting of the library that
//! drives the browser, and with a deadline. What cannot be done fails the test, with what the page shows.
//!
//! - INVARIANT: the browser reaches this machine and nothing else.
//! - INVARIANT: dropped, it is gone, with its profile.
//!
//! One browser takes as long to start as a small test; a test that looks at a page in several ways uses several
//! contexts of one. Passkeys need a name: open `http://localhost:PORT`, not an address in digits.
//!
//! ```no_run
//! use yesgate_testkit::{Browser, Device};
//!
//! let browser = Browser::start();
//! let ann = browser.context(Device::phone().dark());
//! let page = ann.page();
//! assert_eq!(page.goto("http://localhost:4180/inbox"), 200);
//! page.click("button", "Approve");
//! page.wait_for_text("Approved");
//! page.assert_accessible();
//! page.assert_untroubled();
//! page.shot("approved-phone");
//! ```

pub mod authenticator;
pub mod device;
mod driver;
pub mod page;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use self::device::Device;
use self::driver::Driver;
use self::page::Page;
use crate::peers::{installed, pinned_node};

/// A running browser.
#[derive(Debug)]
pub struct Browser {
    driver: Arc<Driver>,
}

impl Browser {
    /// Starts the browser that the system has, with the driver that `cargo xtask prepare` installed.
    ///
    /// # Panics
    /// When one of them is not there, or does not start.
    #[track_caller]
    pub fn start() -> Self {
        let packages = installed("browser/npm/node_modules");
        Self { driver: Arc::new(Driver::start(&pinned_node(), &packages, &chromium())) }
    }

    /// The folder of everything that the browser writes.
    pub fn folder(&self) -> &Path {
        self.driver.folder()
    }

    /// Somebody new at this device, with no cookies.
    #[track_caller]
    pub fn context(&self, device: Device) -> Context {
        let id = self.driver.order(json!({"deed": "context", "options": device.options()}));
        Context { driver: Arc::clone(&self.driver), id }
    }

    /// Ends the browser now: nobody looks at any page any more.
    pub fn close(self) {
        self.driver.end();
    }
}

/// Somebody at a device: pages that share cookies with each other and with nobody else.
#[derive(Debug)]
pub struct Context {
    driver: Arc<Driver>,
    id: Value,
}

impl Context {
    /// Opens an empty page.
    #[track_caller]
    pub fn page(&self) -> Page {
        let id = self.driver.order(json!({"deed": "page", "context": self.id}));
        Page::new(Arc::clone(&self.driver), id)
    }

    /// Every cookie: `name`, `value`, `domain`, `path`, `expires`, `httpOnly`, `secure`, `sameSite`.
    ///
    /// # Panics
    /// When the browser does not say.
    #[track_caller]
    pub fn cookies(&self) -> Vec<Value> {
        let cookies = self.driver.order(json!({"deed": "cookies", "context": self.id}));
        cookies.as_array().expect("cookies are a list").clone()
    }

    /// Forgets every cookie.
    #[track_caller]
    pub fn clear_cookies(&self) {
        self.driver.order(json!({"deed": "clear_cookies", "context": self.id}));
    }
}

/// Finds the system's Chromium.
#[track_caller]
fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
    let found = programs.find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("there is no program `chromium`: run `cargo xtask prepare`"))
}
