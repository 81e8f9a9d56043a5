//! What is wrong in a complete estate, in words of the format.

/// A place for the end of a message; nothing at the top.
pub(super) fn at(place: &str) -> String {
    if place.is_empty() {
        String::new()
    } else {
        format!(" at `{place}`")
    }
}

/// What is wrong in a complete estate.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidValue(String);

impl InvalidValue {
    /// Puts the parser's words into those of somebody who writes JSON. What it
    /// does not know stays as it is.
    pub(super) fn of(text: &str) -> Self {
        const LONGEST: usize = 500;
        let mut words = mismatch(text)
            .or_else(|| missing(text))
            .or_else(|| unknown(text))
            .unwrap_or_else(|| text.to_owned());
        // The place stands at the end, and stays.
        let place = words.rfind(" at line ").unwrap_or(words.len());
        if let Some((end, _)) = words[..place].char_indices().nth(LONGEST) {
            words.replace_range(end..place, "…");
        }
        Self(words)
    }
}

/// `invalid type: map, expected u64 at line 1 column 2`.
fn mismatch(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("invalid type: ")
        .or_else(|| text.strip_prefix("invalid value: "))?;
    let (found, rest) = rest.rsplit_once(", expected ")?;
    let (expected, place) = rest.rsplit_once(" at line ")?;
    let found = match found.split_once(' ') {
        Some(("string", value)) => format!("the string {value}"),
        Some(("integer", value)) => format!("the number {value}"),
        Some(("floating", value)) => format!("the number {}", value.trim_start_matches("point ")),
        Some(("boolean", value)) => value.to_owned(),
        _ => match found {
            "map" => "an object".to_owned(),
            "sequence" => "a list".to_owned(),
            other => other.to_owned(),
        },
    };
    let expected = match expected {
        "a string" | "a borrowed string" | "a character" => "a quoted string",
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        "u16" => "an integer from 0 to 65535",
        "u32" => "an integer from 0 to 4294967295",
        "u64" => "an integer of zero or more",
        "i64" => "an integer",
        "f64" => "a number",
        other => other,
    };
    Some(format!(
        "found {found}, expected {expected} at line {place}"
    ))
}

/// ``missing field `id` at line 1 column 2``.
fn missing(text: &str) -> Option<String> {
    let rest = text.strip_prefix("missing field ")?;
    let (key, place) = rest.split_once(" at line ")?;
    Some(format!("the key {key} is missing at line {place}"))
}

/// ``unknown field `a`, expected one of `b`, `c` at line 1 column 2``, or the same
/// of a `variant`, which is what `kind` says.
fn unknown(text: &str) -> Option<String> {
    let (what, rest) = text
        .strip_prefix("unknown field ")
        .map(|rest| ("key", rest))
        .or_else(|| Some(("kind", text.strip_prefix("unknown variant ")?)))?;
    let (key, known) = rest.split_once(", expected ")?;
    let known = known.strip_prefix("one of ").unwrap_or(known);
    Some(format!("unknown {what} {key}; expected {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_speaks_of_json() {
        for (text, words) in [
            (
                "invalid type: integer `7`, expected a string at line 1 column 2",
                "found the number `7`, expected a quoted string at line 1 column 2",
            ),
            (
                "invalid value: integer `70000`, expected u16 at line 1 column 2",
                "found the number `70000`, expected an integer from 0 to 65535 at line 1 column 2",
            ),
            (
                "invalid type: string \"a map, expected u64 at line 1\", expected u64 at line 3 column 4",
                "found the string \"a map, expected u64 at line 1\", expected an integer of zero or more at line 3 column 4",
            ),
            (
                "invalid type: map, expected a sequence at line 1 column 2",
                "found an object, expected a list at line 1 column 2",
            ),
            (
                "missing field `id` at line 1 column 2",
                "the key `id` is missing at line 1 column 2",
            ),
            (
                "unknown field `a`, expected one of `b`, `c` at line 1 column 2",
                "unknown key `a`; expected `b`, `c` at line 1 column 2",
            ),
            (
                "unknown field `a`, expected `id` at line 1 column 2",
                "unknown key `a`; expected `id` at line 1 column 2",
            ),
            (
                "unknown variant `a`, expected `b` or `c` at line 1 column 2",
                "unknown kind `a`; expected `b` or `c` at line 1 column 2",
            ),
            ("i-1 is a duplicate", "i-1 is a duplicate"),
        ] {
            assert_eq!(InvalidValue::of(text).to_string(), words);
        }
    }
}
