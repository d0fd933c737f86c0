//! Which browser it is, read off what it says of itself.
//!
//! INVARIANT: the name is made of our own words and of digits; whatever else a browser says is not in it.

/// A name that people know, such as `Firefox 142 on Linux`. `None`: it is none that we know.
pub(crate) fn name(user_agent: &str) -> Option<String> {
    let (mark, browser) = BROWSERS.iter().find(|(mark, _)| user_agent.contains(mark))?;
    let version: String = user_agent
        .split_once(mark)
        .map(|(_, behind)| behind.chars().take_while(char::is_ascii_digit).take(4).collect())
        .unwrap_or_default();
    let system = SYSTEMS.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, system)| *system);
    let mut name = (*browser).to_owned();
    for (between, part) in [(" ", Some(version.as_str())), (" on ", system)] {
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            name.push_str(between);
            name.push_str(part);
        }
    }
    Some(name)
}

/// What stands before a version, and whose it is. Those who also say to be another come first.
const BROWSERS: [(&str, &str); 11] = [
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Firefox/", "Firefox"),
    ("HeadlessChrome/", "Chrome without a window"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
    ("curl/", "curl"),
];

/// What a system is known by. An Android is a Linux too, and an iPhone says to be like a Mac.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn browsers_are_called_by_their_names() {
        for (said, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0",
                "Firefox 142 on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0",
                "Edge 141 on Windows",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15",
                "Safari 18 on macOS",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0.7390.69 Mobile/15E148 Safari/604.1",
                "Chrome 141 on iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
                "Chrome 141 on Android",
            ),
            ("curl/8.5.0", "curl 8"),
        ] {
            assert_eq!(name(said).as_deref(), Some(expected));
        }
    }

    #[test]
    fn nothing_else_that_a_browser_says_is_in_its_name() {
        assert_eq!(name("Firefox/<b>1</b> \u{202e}Linux").as_deref(), Some("Firefox on Linux"));
        assert_eq!(name("Chrome/99999999999999999999").as_deref(), Some("Chrome 9999"));
        assert_eq!(name("the administrator's own browser"), None);
        assert_eq!(name(""), None);
    }
}
