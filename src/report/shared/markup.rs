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

    /// Markup with a value as text in place of each `{}`.
    pub fn fill(&mut self, markup: &'static str, values: &[&dyn Display]) {
        let mut parts = markup.split("{}");
        self.0.extend(parts.next());
        for (value, part) in values.iter().zip(parts) {
            self.text(value);
            self.0.push_str(part);
        }
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

/// A page that stands alone, up to the beginning of its body: with a Content Security Policy,
/// a title and the style of every page.
pub fn begin(title: &str) -> Page {
    let mut page = Page::default();
    page.markup("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"");
    page.markup(STYLE_ONLY);
    page.markup("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.markup("<meta name=\"color-scheme\" content=\"light dark\">\n");
    page.fill("<meta name=\"generator\" content=\"gpucost {}\">\n", &[&env!("CARGO_PKG_VERSION")]);
    page.fill("<title>{}</title>\n<style>", &[&title]);
    page.markup(STYLE);
    page.markup("</style>\n</head>\n<body>\n");
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
        page.fill("<b title=\"{}\">{}{}</b>", &[&name, &(3 + 4), &name]);
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
mod policy_tests {
    use super::*;

    /// SHA-256 by FIPS 180-4, for texts of any length.
    fn sha256(text: &str) -> [u8; 32] {
        let primes: Vec<u32> = (2..400)
            .filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0))
            .take(64)
            .collect();
        // The first 32 bits of the fractional part of a root.
        let fraction = |root: f64| (root.fract() * 4_294_967_296.0) as u32;
        let k: Vec<u32> = primes.iter().map(|p| fraction(f64::from(*p).cbrt())).collect();
        let mut h: Vec<u32> = primes[..8].iter().map(|p| fraction(f64::from(*p).sqrt())).collect();
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0x80);
        while bytes.len() % 64 != 56 {
            bytes.push(0);
        }
        bytes.extend((text.len() as u64 * 8).to_be_bytes());
        for block in bytes.chunks(64) {
            let mut w: Vec<u32> = block
                .chunks(4)
                .map(|word| u32::from_be_bytes(word.try_into().expect("four bytes")))
                .collect();
            for i in 16..64 {
                let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
                let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
                let next = w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1);
                w.push(next);
            }
            let mut v = h.clone();
            for i in 0..64 {
                let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
                let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
                let t1 = v[7]
                    .wrapping_add(s1)
                    .wrapping_add(choice)
                    .wrapping_add(k[i])
                    .wrapping_add(w[i]);
                let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
                let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
                v.rotate_right(1);
                v[4] = v[4].wrapping_add(t1);
                v[0] = t1.wrapping_add(s0).wrapping_add(majority);
            }
            for (sum, added) in h.iter_mut().zip(v) {
                *sum = sum.wrapping_add(added);
            }
        }
        let digest: Vec<u8> = h.iter().flat_map(|word| word.to_be_bytes()).collect();
        digest.try_into().expect("eight words")
    }

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let mut padded = [0; 4];
            padded[1..=three.len()].copy_from_slice(three);
            let bits = u32::from_be_bytes(padded);
            for place in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63] as char;
                text.push(if place > three.len() { '=' } else { digit });
            }
        }
        text
    }

    #[test]
    fn the_hash_is_that_of_the_standard() {
        // The example of FIPS 180-4 for "abc", in base 64.
        assert_eq!(base64(&sha256("abc")), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert_eq!(base64(&sha256("")), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn a_page_allows_its_own_style_and_nothing_else() {
        let style = format!("style-src 'sha256-{}'; base-uri", base64(&sha256(STYLE)));
        assert!(STYLE_ONLY.starts_with("default-src 'none';") && STYLE_ONLY.contains(&style));
        assert!(!STYLE.contains("</") && !STYLE.contains("<!--") && !STYLE.contains("url("));
        assert!(!STYLE.contains("//") || !STYLE.contains("http"));
    }
}
