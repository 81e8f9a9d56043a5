//! The form in which a cause's words and its hint are written.

use crate::domain::separated;

/// A text with its details, each where a form in braces stands for it:
///
/// - `{}`: the next one.
/// - `{,}`: the next one, a number, with thousands separators.
/// - `{row is|rows are}`: the next one, a number, and the words that it takes.
/// - `{?; }`: the next one after `; `; nothing where it is empty.
/// - `{call}`: the next four, action, kind of failure, code and words of a call.
/// - `{2}`: the third one, wherever the text is.
pub(super) fn filled(text: &str, details: &[String]) -> String {
    let mut next = details.iter().map(String::as_str);
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('{') {
        let Some((form, after)) = from.split_once('}') else { break };
        filled.push_str(before);
        if let Ok(place) = form.parse::<usize>() {
            filled.push_str(details.get(place).map_or("", String::as_str));
        } else if form == "call" {
            let call: [&str; 4] = std::array::from_fn(|_| next.next().unwrap_or_default());
            filled.push_str(&failed_call(call));
        } else {
            filled.push_str(&shown(form, next.next().unwrap_or_default()));
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// A call that failed; the kind of its failure shows in the hint.
fn failed_call([action, _, code, said]: [&str; 4]) -> String {
    let parts = [action, code, said].into_iter();
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

fn shown(form: &str, detail: &str) -> String {
    if let Some(before) = form.strip_prefix('?') {
        return match detail {
            "" => String::new(),
            _ => format!("{before}{detail}"),
        };
    }
    if let Some((singular, many)) = form.split_once('|') {
        let words = if detail == "1" { singular } else { many };
        return format!("{detail} {words}");
    }
    let is_number = detail.bytes().all(|byte| byte.is_ascii_digit());
    if form == "," && is_number { separated(detail) } else { detail.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled_with<const N: usize>(text: &str, details: [&str; N]) -> String {
        filled(text, &details.map(str::to_owned))
    }

    #[test]
    fn every_form_shows_its_details() {
        assert_eq!(filled_with("{} of {}", ["3", "{}"]), "3 of {}");
        assert_eq!(filled_with("{,} rows", ["1234567"]), "1,234,567 rows");
        assert_eq!(filled_with("{,} rows", ["(masked)"]), "(masked) rows");
        let rows = "{row is|rows are} omitted";
        assert_eq!(filled_with(rows, ["1"]), "1 row is omitted");
        assert_eq!(filled_with(rows, ["0"]), "0 rows are omitted");
        assert_eq!(filled_with("why{?; silent: }", [""]), "why");
        assert_eq!(filled_with("why{?; silent: }", ["a, b"]), "why; silent: a, b");
        assert_eq!(filled_with("{call}.", ["a", "denied", "", "no"]), "a: no.");
        assert_eq!(filled_with("[[x]] {1}", ["a", "b"]), "[[x]] b");
        assert_eq!(filled_with("{}{", []), "{");
    }
}
