//! What a human changed, or a server did, line by line.

use yesgate_core::render::Sanitized;

/// One line of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Line {
    pub(crate) fate: Fate,
    pub(crate) text: Sanitized,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    Kept,
    Removed,
    Added,
}

impl Fate {
    /// How it is styled.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Removed => "removed",
            Self::Added => "added",
        }
    }

    /// What is said before the line where it is read aloud.
    pub(crate) const fn aloud(self) -> &'static str {
        match self {
            Self::Kept => "",
            Self::Removed => "removed: ",
            Self::Added => "added: ",
        }
    }

    /// The mark before the line.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::Kept => " ",
            Self::Removed => "−",
            Self::Added => "+",
        }
    }
}

/// Compares two texts: what they share stays, everything else goes or comes. Texts that people are to review have
/// a few hundred lines at most, so a table of all pairs will do.
pub(crate) fn compare(old: &[Sanitized], new: &[Sanitized]) -> Vec<Line> {
    let shared = shared(old, new);
    let (mut before, mut after) = (old.iter(), new.iter());
    let mut lines = Vec::new();
    let line = |fate, text: &Sanitized| Line { fate, text: text.clone() };
    for (one, other) in shared {
        let gone = one.saturating_sub(old.len() - before.len());
        let come = other.saturating_sub(new.len() - after.len());
        lines.extend(before.by_ref().take(gone).map(|text| line(Fate::Removed, text)));
        lines.extend(after.by_ref().take(come).map(|text| line(Fate::Added, text)));
        lines.extend(before.next().map(|text| line(Fate::Kept, text)));
        after.next();
    }
    lines.extend(before.map(|text| line(Fate::Removed, text)));
    lines.extend(after.map(|text| line(Fate::Added, text)));
    lines
}

/// The places, in both, of the longest run of lines that stand in both in the same order.
fn shared(old: &[Sanitized], new: &[Sanitized]) -> Vec<(usize, usize)> {
    // How many lines are shared from each pair of places on; the row after the last has none.
    let mut table: Vec<Vec<usize>> = vec![vec![0; new.len() + 1]];
    for one in old.iter().rev() {
        let below = table.last().map_or(&[][..], Vec::as_slice);
        let mut row = vec![0];
        for (other, pair) in new.iter().zip(below.windows(2)).rev() {
            let (here, next) = (pair.first().copied(), pair.last().copied());
            let right = row.last().copied().unwrap_or_default();
            let longest =
                if one == other { next.unwrap_or_default() + 1 } else { right.max(here.unwrap_or_default()) };
            row.push(longest);
        }
        row.reverse();
        table.push(row);
    }
    table.reverse();
    let length = |one: usize, other: usize| table.get(one).and_then(|row| row.get(other)).copied();
    let (mut one, mut other) = (0, 0);
    let mut pairs = Vec::new();
    while let (Some(before), Some(after)) = (old.get(one), new.get(other)) {
        if before == after {
            pairs.push((one, other));
            one += 1;
            other += 1;
        } else if length(one + 1, other) >= length(one, other + 1) {
            one += 1;
        } else {
            other += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use yesgate_core::render::Sanitized;

    use super::compare;

    fn shown(old: &str, new: &str) -> String {
        let lines = |text: &str| text.split_whitespace().map(Sanitized::line).collect::<Vec<_>>();
        let compared = compare(&lines(old), &lines(new));
        compared.iter().map(|line| format!("{}{} ", line.fate.mark(), line.text)).collect()
    }

    #[test]
    fn lines_stay_go_and_come_in_order() {
        assert_eq!(shown("a b c", "a b c"), " a  b  c ");
        assert_eq!(shown("a b c", "a x c"), " a −b +x  c ");
        assert_eq!(shown("a b c d", "b d e"), "−a  b −c  d +e ");
        assert_eq!(shown("", "a b"), "+a +b ");
        assert_eq!(shown("a b", ""), "−a −b ");
        assert_eq!(shown("a a b", "a b b"), " a −a  b +b ");
    }

    /// REN4: whatever is compared, the kept and the removed are the old text, the kept and the added the new one.
    #[test]
    fn nothing_is_lost_in_a_comparison() {
        for (old, new) in [("a b c a b", "b c a x"), ("x", "y"), ("a b a b a", "b a b a b"), ("", "")] {
            let compared = shown(old, new);
            let without = |mark: char| {
                let kept = compared.split_whitespace().filter(|line| !line.starts_with(mark));
                kept.map(|line| line.trim_start_matches(['−', '+'])).collect::<Vec<_>>().join(" ")
            };
            assert_eq!((without('+').as_str(), without('−').as_str()), (old, new));
        }
    }
}
