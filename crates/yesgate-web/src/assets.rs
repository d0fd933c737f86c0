//! What pages look like and what makes them live; all of it is inside this program.

use std::sync::LazyLock;

use yesgate_core::digest::Hasher;

/// How everything looks.
pub(crate) const STYLE: &str = include_str!("../assets/style.css");
/// What makes pages live.
pub(crate) const SCRIPT: &str = include_str!("../assets/app.js");
/// The little picture in the browser's tab.
pub(crate) const ICON: &str = include_str!("../assets/icon.svg");

/// The addresses of both, which change when they do.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) style: String,
    pub(crate) script: String,
}

/// The addresses as they are in this program.
pub(crate) static NAMES: LazyLock<Names> = LazyLock::new(|| Names {
    style: format!("/assets/style.css?{}", version(STYLE)),
    script: format!("/assets/app.js?{}", version(SCRIPT)),
});

fn version(content: &str) -> String {
    let mut hasher = Hasher::new("yesgate/asset/1");
    hasher.field(content.as_bytes());
    hasher.finish().short()
}
