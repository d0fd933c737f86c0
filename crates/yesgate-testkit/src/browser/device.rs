//! What a person holds in their hands: how large its window is, and what it can do.

use serde_json::{Value, json};

/// A kind of device, in a light theme and with JavaScript unless something else is said.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    width: u32,
    height: u32,
    pointer: Pointer,
    scripts: Scripts,
    theme: Theme,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Pointer {
    Mouse,
    Finger,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Scripts {
    Run,
    Off,
}

#[derive(Clone, Copy, Debug)]
enum Theme {
    Light,
    Dark,
}

impl Device {
    /// A window on a desk, with a mouse.
    pub fn desktop() -> Self {
        Self { width: 1280, height: 800, pointer: Pointer::Mouse, scripts: Scripts::Run, theme: Theme::Light }
    }

    /// The narrowest phone that pages are made for: 360 px, upright, with a finger.
    pub fn phone() -> Self {
        Self { width: 360, height: 740, pointer: Pointer::Finger, ..Self::desktop() }
    }

    /// With another width.
    #[must_use]
    pub fn width(self, width: u32) -> Self {
        Self { width, ..self }
    }

    /// Its person wants dark pages.
    #[must_use]
    pub fn dark(self) -> Self {
        Self { theme: Theme::Dark, ..self }
    }

    /// No script of a page runs.
    #[must_use]
    pub fn without_javascript(self) -> Self {
        Self { scripts: Scripts::Off, ..self }
    }

    /// In the words of the library that drives the browser.
    pub(super) fn options(self) -> Value {
        let finger = self.pointer == Pointer::Finger;
        json!({
            "viewport": {"width": self.width, "height": self.height},
            "isMobile": finger,
            "hasTouch": finger,
            "javaScriptEnabled": self.scripts == Scripts::Run,
            "colorScheme": match self.theme {
                Theme::Light => "light",
                Theme::Dark => "dark",
            },
        })
    }
}
