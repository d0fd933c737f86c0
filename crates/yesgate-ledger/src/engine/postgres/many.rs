//! One statement for many: what is said of one row, said of all rows of a list.
//!
//! A statement of ours names its parameters `?1`, `?2` and so on. The form for many takes a list for each of them, and
//! means what the statement means for the first of each list, the second of each, and so on. It is made from the words of
//! the statement, so that nobody writes anything twice.
//!
//! INVARIANT: what is not understood has no form for many, and is then sent one by one.

use tokio_postgres::types::Type;

/// The form for many of a statement whose parameters have these types.
pub(super) fn form(sql: &str, types: &[Type]) -> Option<String> {
    if types.is_empty() {
        return None;
    }
    let lists = lists(types)?;
    let of_each = of_each(sql)?;
    let words = of_each.trim();
    let form = match words.split_whitespace().next()? {
        // A wall around it (`OFFSET 0`): each is looked up by its own index, and its rows come in its own order.
        "SELECT" => {
            let (numbers, names) = (numbered(types), lists.names);
            format!(
                "SELECT found.*, each.place FROM unnest({numbers}) WITH ORDINALITY AS each({names}, place) \
                 CROSS JOIN LATERAL (SELECT * FROM ({words}) AS one OFFSET 0) AS found"
            )
        }
        "INSERT" => {
            let (into, rest) = words.split_once("VALUES")?;
            let (row, after) = in_brackets(rest.trim_start())?;
            format!("{into}SELECT {row} FROM {} {after}", lists.table())
        }
        "UPDATE" => {
            let (set, condition) = words.split_once("WHERE")?;
            format!("{set}FROM {} WHERE {condition}", lists.table())
        }
        "DELETE" => {
            let (from, condition) = words.split_once("WHERE")?;
            format!("{from}USING {} WHERE {condition}", lists.table())
        }
        _ => return None,
    };
    Some(form)
}

/// The parameters as lists, side by side.
struct Lists {
    parameters: String,
    names: String,
}

impl Lists {
    fn table(&self) -> String {
        format!("unnest({}) AS each({})", self.parameters, self.names)
    }
}

fn lists(types: &[Type]) -> Option<Lists> {
    let known = types.iter().all(|one| name_of(one).is_some());
    known.then(|| Lists {
        parameters: numbered(types),
        names: (1..=types.len()).map(|place| format!("p{place}")).collect::<Vec<_>>().join(", "),
    })
}

fn numbered(types: &[Type]) -> String {
    let one = |(place, one): (usize, &Type)| {
        format!("${}::{}[]", place.saturating_add(1), name_of(one).unwrap_or_default())
    };
    types.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}

fn name_of(one: &Type) -> Option<&'static str> {
    match *one {
        Type::INT8 => Some("bigint"),
        Type::INT4 => Some("integer"),
        Type::TEXT => Some("text"),
        Type::BYTEA => Some("bytea"),
        _ => None,
    }
}

/// The statement with its parameters as those of each.
fn of_each(sql: &str) -> Option<String> {
    let mut parts = sql.split('?');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        if !part.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        out.push_str("each.p");
        out.push_str(part);
    }
    Some(out)
}

/// What stands between a bracket at the beginning and the one that closes it, and what comes after that.
fn in_brackets(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('(')?;
    let mut depth = 0_usize;
    for (place, letter) in inside.char_indices() {
        match letter {
            '(' => depth = depth.saturating_add(1),
            ')' if depth == 0 => {
                let (row, after) = inside.split_at_checked(place)?;
                return Some((row, after.strip_prefix(')')?.trim()));
            }
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
