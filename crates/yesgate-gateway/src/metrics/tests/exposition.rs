//! A strict reader of OpenMetrics text: what it takes, monitoring takes.

use std::collections::BTreeMap;

/// What was rendered, read back.
pub(super) struct Exposition {
    kinds: BTreeMap<String, Kind>,
    samples: BTreeMap<Series, f64>,
}

type Series = (String, Vec<(String, String)>);

/// What a family of numbers is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Exposition {
    /// Reads a text, and fails the test if it is not well-formed.
    #[track_caller]
    pub(super) fn parse(text: &str) -> Self {
        let mut page = Self { kinds: BTreeMap::new(), samples: BTreeMap::new() };
        let body = text.strip_suffix("# EOF\n").expect("it ends with EOF");
        assert!(body.ends_with('\n'));
        let mut family = String::new();
        let mut lines = body.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(help) = line.strip_prefix("# HELP ") else {
                page.add_sample(&family, line);
                continue;
            };
            let (name, words) = help.split_once(' ').unwrap();
            assert!(words.len() > 10 && words.ends_with('.') && !words.contains(['\\', '"']), "{line}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            let kind = lines.next().unwrap().strip_prefix(&format!("# TYPE {name} ")).unwrap();
            let kind = match kind {
                "counter" => Kind::Counter,
                "gauge" => Kind::Gauge,
                "histogram" => Kind::Histogram,
                kind => panic!("{kind}"),
            };
            if let Some(unit) = lines.next_if(|line| line.starts_with("# UNIT ")) {
                assert_eq!(unit, format!("# UNIT {name} seconds"));
                assert!(name.ends_with("_seconds"));
            }
            assert_eq!(page.kinds.insert(name.to_owned(), kind), None, "{name} comes twice");
            family = name.to_owned();
        }
        page.check_histograms();
        page
    }

    #[track_caller]
    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels: Vec<_> = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let series = (name.to_owned(), labels);
        *self.samples.get(&series).unwrap_or_else(|| panic!("there is no {series:?}"))
    }

    pub(super) fn kind(&self, family: &str) -> Kind {
        self.kinds[family]
    }

    pub(super) fn series_of(&self, name: &str) -> usize {
        self.samples.keys().filter(|(found, _)| found == name).count()
    }

    /// How many series of a family have a label with this value.
    pub(super) fn series_with(&self, family: &str, value: &str) -> usize {
        let has = |labels: &[(String, String)]| labels.iter().any(|(_, found)| found == value);
        self.samples.keys().filter(|(name, labels)| name.starts_with(family) && has(labels)).count()
    }

    fn add_sample(&mut self, family: &str, line: &str) {
        let end = line.find(['{', ' ']).unwrap();
        let (name, rest) = line.split_at(end);
        let suffixes: &[&str] = match self.kinds[family] {
            Kind::Counter => &["_total"],
            Kind::Gauge => &[""],
            Kind::Histogram => &["_sum", "_count", "_bucket"],
        };
        assert!(suffixes.iter().any(|suffix| name == format!("{family}{suffix}")), "{line} in {family}");
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest),
            None => (vec![], rest),
        };
        let value = value.strip_prefix(' ').unwrap().parse().unwrap();
        assert_eq!(self.samples.insert((name.to_owned(), labels), value), None, "{line} comes twice");
    }

    /// The steps of a histogram only grow, and the last one holds all.
    fn check_histograms(&self) {
        for ((name, labels), count) in &self.samples {
            let Some(family) = name.strip_suffix("_count") else { continue };
            let mut steps: Vec<(f64, f64)> = self
                .samples
                .iter()
                .filter(|((name, found), _)| *name == format!("{family}_bucket") && found.ends_with(labels))
                .map(|((_, labels), count)| (bound(labels), *count))
                .collect();
            steps.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(steps.is_sorted_by_key(|(_, count)| *count), "{name} {labels:?}: {steps:?}");
            assert_eq!(steps.last(), Some(&(f64::INFINITY, *count)), "{name} {labels:?}");
        }
    }
}

fn bound(labels: &[(String, String)]) -> f64 {
    let (key, value) = &labels[0];
    assert_eq!(key, "le");
    value.replace('+', "").parse().unwrap()
}

/// Reads labels up to the closing brace, and gives back what follows it.
fn labels(mut rest: &str) -> (Vec<(String, String)>, &str) {
    let mut labels = vec![];
    loop {
        let (key, after) = rest.split_once("=\"").unwrap();
        assert!(!key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase()), "{key:?}");
        let mut value = String::new();
        let mut characters = after.chars();
        loop {
            match characters.next().unwrap() {
                '"' => break,
                '\\' => value.push(match characters.next().unwrap() {
                    'n' => '\n',
                    escaped @ ('\\' | '"') => escaped,
                    escaped => panic!("\\{escaped}"),
                }),
                character => value.push(character),
            }
        }
        labels.push((key.to_owned(), value));
        match characters.next().unwrap() {
            '}' => return (labels, characters.as_str()),
            ',' => rest = characters.as_str(),
            character => panic!("{character:?} after a label"),
        }
    }
}
