//! Text for people: money with separators, names that cannot hurt a terminal
//! or a spreadsheet, lines that fit.

use crate::domain::{Money, is_unsafe, separated};
use jiff::Timestamp;
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::Serialize;
use std::borrow::Borrow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use crate::domain::{counted, safe, shell_word, spreadsheet_safe};

/// Columns of a name beside others.
const WIDEST_OF_SEVERAL: usize = 100;

/// What stands for an absent value in tables.
pub const ABSENT: &str = "—";

/// An amount with sign, thousands separators and cents, such as `$16,029.08`.
pub fn money(money: Money) -> String {
    money.to_string()
}

/// How much less something costs that saves so much, such as `$5.00 less`; with `more` below zero.
pub(in crate::report) fn less(saved: Money) -> String {
    let amount = Money::new(saved.amount().abs(), saved.currency());
    let is_more = saved.amount().is_sign_negative() && !saved.amount().is_zero();
    format!("{amount} {}", if is_more { "more" } else { "less" })
}

/// An amount without cents.
pub(in crate::report) fn whole(amount: Money) -> String {
    let whole = amount.amount().round_dp_with_strategy(0, RoundingStrategy::MidpointAwayFromZero);
    money(Money::new(whole, amount.currency())).trim_end_matches(".00").to_owned()
}

/// A decimal number with so many decimals, half away from zero: formatting one
/// by itself cuts instead of rounding.
pub(in crate::report) fn rounded(value: Decimal, decimals: u32) -> String {
    let value = value.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    format!("{value:.0$}", decimals as usize)
}

pub fn money_or_absent(amount: Option<Money>) -> String {
    amount.map_or_else(|| ABSENT.to_owned(), money)
}

/// A number of GPUs, to the hundredth of one.
pub(in crate::report) fn devices(number: Decimal) -> String {
    number.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero).normalize().to_string()
}

/// Twelve months of an amount per month.
pub fn a_year(monthly: Money) -> Money {
    Money::new(monthly.amount() * Decimal::from(12), monthly.currency())
}

/// A price of a small unit with as many decimals as it has, from two to six.
pub(in crate::report) fn unit_price(price: Money) -> String {
    price_with(price, price.amount().round_dp(6).normalize().scale().max(2))
}

/// A price with so many decimals.
pub(in crate::report) fn price_with(price: Money, decimals: u32) -> String {
    let amount = price.amount();
    let text = rounded(amount.abs(), decimals);
    let sign = if amount.is_sign_negative() && !amount.is_zero() { "-" } else { "" };
    let (whole, rest) = text.split_once('.').unwrap_or((&text, "00"));
    format!("{sign}{}{}.{rest}", price.currency().sign(), separated(whole))
}

pub(in crate::report) fn yes_or_no(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

/// A count with thousands separators.
pub fn count(number: u64) -> String {
    separated(&number.to_string())
}

/// An instant to the minute, such as `2026-11-01 00:00 UTC`.
pub fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// A percentage with one decimal, such as `17.3%`.
pub fn percent(value: f64) -> String {
    format!("{value:.1}%")
}

/// A name that is safe and at most `width` columns wide, cut with `…`.
pub fn fit(name: &str, width: usize) -> String {
    let shown = safe(name);
    if shown.width() <= width {
        return shown;
    }
    let mut cut = String::new();
    let mut used = 0;
    for c in shown.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        used += columns;
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// Words wrapped to lines of at most `width` columns; longer words are cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in safe(text).split_whitespace() {
        let word = fit(word, width);
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// What writes to a string, as that string: writing to one cannot fail.
pub(in crate::report) fn written(write: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut out = String::new();
    let _ = write(&mut out);
    out
}

/// Parts of a text with what stands between them.
pub(in crate::report) fn joined<S: Borrow<str>>(
    parts: impl IntoIterator<Item = S>,
    between: &str,
) -> String {
    parts.into_iter().collect::<Vec<_>>().join(between)
}

/// Some of many names, and how many there are beside them.
pub(in crate::report) fn some_of<'a>(
    names: impl ExactSizeIterator<Item = &'a str>,
    most: usize,
) -> String {
    let rest = names.len().saturating_sub(most);
    // Several long names are cut, so that a row has room for all of them.
    let widest = if names.len() > 1 { WIDEST_OF_SEVERAL } else { usize::MAX };
    let shown = joined(names.take(most).map(|name| fit(name, widest)), ", ");
    match rest {
        0 => shown,
        rest => format!("{shown} and {} more", count(rest as u64)),
    }
}

/// An account; null where it is not known, as of a node that only its cluster shows.
pub fn json_account(account: &str) -> Option<String> {
    (!account.is_empty()).then(|| account.to_owned())
}

/// A JSON document, indented, with everything unsafe in strings escaped.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn json_document(document: &impl Serialize) -> Result<String, serde_json::Error> {
    let mut text = json_escaped(serde_json::to_string_pretty(document)?);
    text.push('\n');
    Ok(text)
}

/// JSON text with everything unsafe in its strings escaped.
pub(in crate::report) fn json_escaped(text: String) -> String {
    // Outside of strings a document has no such characters but line feeds.
    let must_escape = |c: char| c != '\n' && is_unsafe(c);
    if !text.contains(must_escape) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if must_escape(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Monthly money as a JSON number with cents.
pub(in crate::report) fn json_money(money: Money) -> Option<f64> {
    money.rounded().amount().to_f64()
}

/// The currency that the amounts of a row are in, by its code; absent where the row has
/// no amount.
pub(in crate::report) fn currency_code(amount: Option<Money>) -> Option<&'static str> {
    amount.map(|amount| amount.currency().code())
}

/// An hourly rate as a JSON number with up to six decimals.
pub(in crate::report) fn json_rate(rate: Decimal) -> Option<f64> {
    rate.round_dp(6).normalize().to_f64()
}

/// A figure as a JSON number with up to four decimals.
pub(in crate::report) fn json_figure(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn usd(text: &str) -> String {
        money(Money::new(text.parse().expect("a decimal"), Currency::Usd))
    }

    #[test]
    fn money_has_separators_and_cents() {
        assert_eq!(usd("200563.19"), "$200,563.19");
        assert_eq!(usd("0"), "$0.00");
        assert_eq!(usd("999.995"), "$1,000.00");
        assert_eq!(usd("-1234.5"), "-$1,234.50");
        assert_eq!(usd("1000000"), "$1,000,000.00");
    }

    #[test]
    fn decimals_are_rounded_and_not_cut() {
        let read = |text: &str| -> Decimal { text.parse().expect("a decimal") };
        assert_eq!(rounded(read("34.178"), 1), "34.2");
        assert_eq!(rounded(read("0.00839"), 4), "0.0084");
        assert_eq!(rounded(read("-0.25"), 1), "-0.3");
        assert_eq!(rounded(read("7"), 2), "7.00");
    }

    #[test]
    fn names_cannot_drive_a_terminal() {
        assert_eq!(safe("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(safe("x\u{202e}gpj.exe"), "x\\u{202e}gpj.exe");
        assert_eq!(safe("two\nlines"), "two\\u{a}lines");
        let tags = "a\u{e0000}\u{e0041}\u{e007f}b\u{e0fff}\u{e1000}";
        let escaped = "a\\u{e0000}\\u{e0041}\\u{e007f}b\\u{e0fff}\u{e1000}";
        assert_eq!(safe(tags), escaped);
        assert_eq!(safe("a\u{3164}\u{2800}b"), "a\\u{3164}\\u{2800}b");
        assert_eq!(safe("Grüße 模型"), "Grüße 模型");
    }

    #[test]
    fn words_of_a_shell_are_quoted_where_they_must_be() {
        assert_eq!(shell_word("estate.json.gz"), "estate.json.gz");
        assert_eq!(shell_word("my estate.json"), "'my estate.json'");
        assert_eq!(shell_word("it's; rm $x"), "'it'\\''s; rm $x'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a'\\\u{1b}1\u{9b}"), "$'a\\'\\\\\\0331\\302\\233'");
    }

    #[test]
    fn names_are_cut_by_columns_not_bytes() {
        assert_eq!(fit("模型模型", 5), "模型…");
        assert_eq!(fit("short", 5), "short");
        assert_eq!(fit("longer", 5), "long…");
    }

    #[test]
    fn formulas_are_disarmed() {
        assert_eq!(spreadsheet_safe("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")");
        assert_eq!(spreadsheet_safe("-1"), "'-1");
        assert_eq!(spreadsheet_safe("\t=1"), "'\\u{9}=1");
        assert_eq!(spreadsheet_safe("  @SUM(A1)"), "'  @SUM(A1)");
        assert_eq!(spreadsheet_safe("i-123"), "i-123");
    }

    #[test]
    fn json_escapes_what_a_terminal_would_run() {
        let text = json_document(&["\u{9b}2J\u{202e}"]).expect("valid");
        assert_eq!(text, "[\n  \"\\u009b2J\\u202e\"\n]\n");
        // U+E0041 is the pair DB40 DC41 of UTF-16.
        let tag = json_document(&["\u{e0041}"]).expect("valid");
        assert_eq!(tag, "[\n  \"\\udb40\\udc41\"\n]\n");
        let back: Vec<String> = serde_json::from_str(&text).expect("valid");
        assert_eq!(back, ["\u{9b}2J\u{202e}"]);
    }

    #[test]
    fn wrapped_lines_fit() {
        let lines = wrap("one two three four", 9);
        assert_eq!(lines, ["one two", "three", "four"]);
    }
}
