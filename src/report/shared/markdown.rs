//! Words from outside in GitHub-flavoured Markdown: shown as they are, never
//! read as Markdown, HTML, a mention, a reference or a link.

use crate::report::shared::text::fit;

/// Columns of a name in a report.
pub const NAME_WIDTH: usize = 64;
/// Columns of a sentence in a report.
pub const SENTENCE_WIDTH: usize = 300;
/// The same of a text in Markdown, where a paragraph has room.
const TEXT_WIDTH: usize = 1_600;

/// A name without what a terminal would obey, bounded in columns and, because
/// combining marks take none, in characters.
pub fn bounded(name: &str, width: usize) -> String {
    match name.char_indices().nth(width.saturating_mul(4)) {
        Some((end, _)) => fit(&format!("{}…", &name[..end]), width),
        None => fit(name, width),
    }
}

/// A sentence: every character that Markdown, HTML or a table gives a meaning is
/// shown as itself. A zero-width space after `@`, `#`, `!` and the like, and
/// within `://` and `www.`, keeps a site from making links and from notifying
/// people: neither a backslash nor an entity does, because links are made after
/// those are gone.
pub fn text(sentence: &str) -> String {
    let shown = bounded(sentence, TEXT_WIDTH);
    let mut escaped = String::with_capacity(shown.len() + shown.len() / 4);
    let mut rest = shown.as_str();
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let before_word = after.starts_with(|next: char| next.is_alphanumeric());
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '@' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(c);
                if before_word {
                    escaped.push_str(BREAK);
                }
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            ':' if after.starts_with("//") => {
                escaped.push(c);
                escaped.push_str(BREAK);
            }
            '.' if ends_with(&escaped, "www") => {
                escaped.push_str(BREAK);
                escaped.push(c);
            }
            '-' if before_word && ends_with(&escaped, "gh") => {
                escaped.push(c);
                escaped.push_str(BREAK);
            }
            _ => escaped.push(c),
        }
        rest = after;
    }
    escaped
}

/// A zero-width space, in ASCII.
const BREAK: &str = "&#8203;";

fn ends_with(text: &str, word: &str) -> bool {
    let start = text.len().checked_sub(word.len());
    start.and_then(|start| text.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(word))
}

/// A name as code, in which nothing has a meaning but the fence: that is longer
/// than any within. In a table a pipe would end the cell even in code.
pub fn code(name: &str) -> String {
    fenced(&bounded(name, NAME_WIDTH))
}

/// A command as code, never cut.
pub fn command(command: &str) -> String {
    fenced(command)
}

fn fenced(shown: &str) -> String {
    if shown.is_empty() {
        return "(empty)".to_owned();
    }
    // After a backslash, renderers do not agree on what an escaped pipe is.
    let shown = shown.replace("\\|", "\\\\u{7c}").replace('|', "\\|");
    let fence = "`".repeat(shown.split(|c| c != '`').map(str::len).max().unwrap_or_default() + 1);
    let is_odd = |c: char| c == '`' || c == ' ';
    let padding = if shown.starts_with(is_odd) || shown.ends_with(is_odd) { " " } else { "" };
    format!("{fence}{padding}{shown}{padding}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_sentence_is_markdown() {
        assert_eq!(text("a|b `c` <d> & *e* [f](g)"), {
            "a\\|b \\`c\\` &lt;d&gt; &amp; \\*e\\* \\[f\\](g)"
        });
        assert_eq!(text("costs $5.00 of $4.00"), "costs \\$5.00 of \\$4.00");
        assert_eq!(text("two\nlines"), "two\\\\u{a}lines");
        assert_eq!(text("\u{202e}gpj"), "\\\\u{202e}gpj");
    }

    #[test]
    fn no_person_is_notified_and_nothing_is_linked() {
        assert_eq!(text("by @team"), "by \\@&#8203;team");
        assert_eq!(text("owner/repo#12"), "owner/repo\\#&#8203;12");
        assert_eq!(text("GH-12 and gh-3"), "GH-&#8203;12 and gh-&#8203;3");
        assert_eq!(text("https://x.example"), "https:&#8203;//x.example");
        assert_eq!(text("WWW.x.example"), "WWW&#8203;.x.example");
        assert_eq!(text("a@b.example"), "a\\@&#8203;b.example");
        assert_eq!(text("50% # of it"), "50% \\# of it");
    }

    #[test]
    fn names_are_code_whatever_they_hold() {
        assert_eq!(code("i-1"), "`i-1`");
        assert_eq!(code("a``b`c"), "```a``b`c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a\\|b"), "`a\\\\u{7c}b`");
        assert_eq!(code(""), "(empty)");
        assert_eq!(code(" x"), "`  x `");
    }

    #[test]
    fn names_are_bounded_even_when_they_take_no_room() {
        let marks = "e\u{301}".to_owned() + &"\u{301}".repeat(10_000);
        let shown = bounded(&marks, 10);
        assert!(shown.chars().count() <= 41, "{}", shown.chars().count());
        assert!(shown.ends_with('…'));
        assert_eq!(bounded(&"x".repeat(11), 10), "xxxxxxxxx…");
        assert_eq!(bounded("short", 10), "short");
    }
}
