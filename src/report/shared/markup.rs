//! A page that cannot be broken by what it says: literals are markup, every value
//! is text.

use crate::report::shared::text::{count, safe};
use std::fmt::{self, Display, Write};

/// The style of every page; their policies allow it by its SHA-256.
const STYLE: &str = include_str!("page.css");

/// What a page without a script may do: its own style, by its SHA-256, and nothing else.
const STYLE_ONLY: &str = concat!(
    "default-src 'none'; ",
    "style-src 'sha256-n2yRgHeyNh7oY+VJOdcm7Y8KSifaCK/ZGtVwivEua68='; ",
    "base-uri 'none'; form-action 'none'"
);

/// Characters of a name before it is cut.
pub const NAME: usize = 80;
/// Characters of a sentence before it is cut.
pub const SENTENCE: usize = 800;

/// A page as it grows.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// Markup as it stands. Only what is written in this program is `'static`, so
    /// nothing that an estate says gets here.
    pub fn markup(&mut self, markup: &'static str) {
        self.0.push_str(markup);
    }

    /// A value as text, in an element or between the quotes of an attribute.
    pub fn text(&mut self, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(Escaped(&mut self.0), "{value}");
    }

    /// The page as text.
    pub fn finish(self) -> String {
        self.0
    }
}

struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in safe(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '`' => self.0.push_str("&#96;"),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// Appends to a page: a literal is markup, any other expression is text.
macro_rules! html {
    ($page:expr $(,)?) => {};
    ($page:expr, $markup:literal $(, $($rest:tt)*)?) => {
        $page.markup($markup);
        html!($page, $($($rest)*)?);
    };
    ($page:expr, $text:expr $(, $($rest:tt)*)?) => {
        $page.text(&$text);
        html!($page, $($($rest)*)?);
    };
}
pub(in crate::report) use html;

/// A page that stands alone, up to the beginning of its body: with a Content Security Policy,
/// a title and the style of every page.
pub fn begin(title: &str) -> Page {
    let mut page = Page::default();
    html!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        "<meta http-equiv=\"Content-Security-Policy\" content=\""
    );
    page.markup(STYLE_ONLY);
    html!(
        page,
        "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
        "<meta name=\"color-scheme\" content=\"light dark\">\n",
        "<meta name=\"generator\" content=\"gpucost ",
        env!("CARGO_PKG_VERSION").to_owned(),
        "\">\n<title>",
        title,
        "</title>\n<style>"
    );
    page.markup(STYLE);
    html!(page, "</style>\n</head>\n<body>\n");
    page
}

/// The beginning of a text, and how much was left out of it.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let skipped = text[end..].chars().count() as u64;
            format!("{}… ({} more characters)", &text[..end], count(skipped))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_text_wherever_they_stand() {
        let name = "\"><script>alert('1')</script>`&\n\u{202e}";
        let mut page = Page::default();
        html!(page, "<b title=\"", name, "\">", 3 + 4, name, "</b>");
        let escaped = "&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&#96;&amp;\
            \\u{a}\\u{202e}";
        assert_eq!(page.finish(), format!("<b title=\"{escaped}\">7{escaped}</b>"));
    }

    #[test]
    fn a_cut_says_how_much_is_missing() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("模型模型", 2), "模型… (2 more characters)");
        let long = "x".repeat(10_000);
        let shown = cut(&long, NAME);
        assert_eq!(shown, format!("{}… (9,920 more characters)", &long[..NAME]));
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod policy_tests;
