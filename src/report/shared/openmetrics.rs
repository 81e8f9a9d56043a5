//! OpenMetrics, in the part of it that the text format of Prometheus reads as well: gauges
//! without time stamps and exemplars. What is absent has no sample.

use super::markup::cut;
use super::text::{rounded, safe};
use crate::domain::{Fnv, MIB, Money};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Characters of a label's value before it is cut.
const LONGEST_VALUE: usize = 80;
/// The same of a value that names a thing: tags of AWS have 256 characters, beside an account,
/// a region and a type.
const LONGEST_ID: usize = 400;

/// Last words of names that are units.
const UNITS: [&str; 7] = ["bytes", "celsius", "joules", "ratio", "seconds", "usd", "watts"];

/// Labels of a sample, in their order.
#[derive(Debug, Clone, Default)]
pub struct Labels(String);

impl Labels {
    /// With one more that describes; cut where it is long.
    #[must_use]
    pub fn with(self, name: &'static str, value: &str) -> Self {
        self.written(name, &safe(&cut(value, LONGEST_VALUE)))
    }

    /// With one more that names the thing: where its value is not written as it is, a
    /// number made of the whole follows.
    #[must_use]
    pub fn with_id(self, name: &'static str, value: &str) -> Self {
        let mut shown = safe(&cut(value, LONGEST_ID));
        if shown != value {
            let mut number = Fnv::default();
            number.add(value);
            shown = format!("{shown} ~{}", number.hex());
        }
        self.written(name, &shown)
    }

    /// With the currency of an amount.
    #[must_use]
    pub fn in_currency_of(self, amount: Option<Money>) -> Self {
        let Some(amount) = amount else { return self };
        self.with("currency", amount.currency().code())
    }

    fn written(mut self, name: &'static str, value: &str) -> Self {
        let comma = if self.0.is_empty() { "" } else { "," };
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        // Writing to a string cannot fail; `safe` left no line feeds.
        let _ = write!(self.0, "{comma}{name}=\"{value}\"");
        self
    }
}

/// A document as it grows.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// A gauge with one sample and no labels.
    pub fn gauge(&mut self, name: &'static str, help: &'static str, value: Option<String>) {
        self.family(name, help, [(Labels::default(), value)]);
    }

    /// A gauge with the samples that have a value, each set of labels once: a reader refuses a
    /// document that repeats one.
    pub fn family(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, Option<String>)>,
    ) {
        let mut written = BTreeSet::new();
        for (Labels(labels), value) in samples {
            let Some(value) = value else { continue };
            if written.is_empty() {
                let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge");
                let unit = name.rsplit('_').next().unwrap_or(name);
                if UNITS.contains(&unit) {
                    let _ = writeln!(self.0, "# UNIT {name} {unit}");
                }
            }
            let set = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
            if written.insert(labels) {
                let _ = writeln!(self.0, "{name}{set} {value}");
            }
        }
    }

    /// The whole document.
    pub fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// Adds gauges, a line each, with a sample for each row; `[money]` stands before an amount, whose
/// sample has a label with its currency.
macro_rules! gauges {
    ($page:ident, $row:ident in $rows:expr, $labels:expr;) => {};
    ($page:ident, $row:ident in $rows:expr, $labels:expr; $name:literal $help:literal [money] $amount:expr; $($rest:tt)*) => {
        $page.family($name, $help, $rows.iter().map(|$row| {
            let amount = Option::from($amount);
            ($labels.in_currency_of(amount), $crate::report::shared::openmetrics::money(amount))
        }));
        gauges!($page, $row in $rows, $labels; $($rest)*);
    };
    ($page:ident, $row:ident in $rows:expr, $labels:expr; $name:literal $help:literal $value:expr; $($rest:tt)*) => {
        $page.family($name, $help, $rows.iter().map(|$row| ($labels, $value)));
        gauges!($page, $row in $rows, $labels; $($rest)*);
    };
}
pub(in crate::report) use gauges;

/// A whole number.
pub fn number(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

/// An amount in cents.
pub fn money(amount: Option<Money>) -> Option<String> {
    amount.map(|amount| rounded(amount.amount(), 2))
}

/// A figure with up to four decimals; absent where it is not finite.
pub fn figure(value: Option<f64>) -> Option<String> {
    decimals(value?, 10_000.0)
}

/// A percentage as a ratio with up to six decimals.
pub fn ratio_of_percent(percent: Option<f64>) -> Option<String> {
    decimals(percent? / 100.0, 1_000_000.0)
}

/// A ratio with up to six decimals.
pub fn ratio(value: Option<f64>) -> Option<String> {
    decimals(value?, 1_000_000.0)
}

/// MiB as bytes.
pub fn bytes_of_mib(mib: Option<f64>) -> Option<String> {
    decimals(mib? * MIB, 1.0)
}

fn decimals(value: f64, steps: f64) -> Option<String> {
    let value = Some((value * steps).round() / steps).filter(|value| value.is_finite())?;
    // Zero has no sign.
    Some((value + 0.0).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    #[test]
    fn a_gauge_has_its_unit_where_its_name_ends_in_one() {
        let mut page = Exposition::default();
        page.gauge("gpucost_window_seconds", "Length.", number(60));
        page.gauge("gpucost_gpus", "Number.", number(8));
        page.gauge("gpucost_absent", "Not known.", None);
        assert_eq!(
            page.finish(),
            "# HELP gpucost_window_seconds Length.\n\
             # TYPE gpucost_window_seconds gauge\n\
             # UNIT gpucost_window_seconds seconds\n\
             gpucost_window_seconds 60\n\
             # HELP gpucost_gpus Number.\n\
             # TYPE gpucost_gpus gauge\n\
             gpucost_gpus 8\n\
             # EOF\n"
        );
    }

    #[test]
    fn values_of_labels_cannot_end_a_line_or_a_label() {
        let labels = Labels::default().with("name", "a\"} 1\nb\\n\u{1b}[2J").with("other", "");
        assert_eq!(labels.0, "name=\"a\\\"} 1\\\\u{a}b\\\\n\\\\u{1b}[2J\",other=\"\"");
        let long = Labels::default().with("name", &"x".repeat(10_000));
        assert!(long.0.len() < 120, "{}", long.0.len());
    }

    #[test]
    fn ids_that_are_shown_alike_stay_apart() {
        let id = |text: &str| Labels::default().with_id("id", text).0;
        assert_eq!(id("i-7"), "id=\"i-7\"");
        assert_ne!(id("a\u{1b}"), id("a\\u{1b}"));
        let long = "x".repeat(10_000);
        assert_ne!(id(&format!("{long}a")), id(&format!("{long}b")));
        assert!(id(&long).len() < 500);
    }

    #[test]
    fn no_set_of_labels_is_written_twice() {
        let mut page = Exposition::default();
        let same = || Labels::default().with("rule", "idle-gpu");
        page.family(
            "gpucost_findings",
            "F.",
            [(same(), None), (same(), number(1)), (same(), number(2))],
        );
        let text = page.finish();
        assert_eq!(text.matches("gpucost_findings{").count(), 1, "{text}");
        assert!(text.contains("gpucost_findings{rule=\"idle-gpu\"} 1\n"));
    }

    #[test]
    fn figures_are_plain_decimals() {
        for (written, expected) in [
            (ratio_of_percent(Some(41.7)), Some("0.417")),
            (ratio_of_percent(Some(-0.000_000_1)), Some("0")),
            (bytes_of_mib(Some(23_028.0)), Some("24146608128")),
            (figure(Some(40_000.25)), Some("40000.25")),
            (figure(Some(f64::NAN)), None),
            (figure(Some(f64::INFINITY)), None),
            (figure(None), None),
        ] {
            assert_eq!(written.as_deref(), expected);
        }
        let cents = Money::new("199999.995".parse().expect("a decimal"), Currency::Cny);
        let mut page = Exposition::default();
        let labels = Labels::default().in_currency_of(Some(cents));
        page.family("gpucost_cost_monthly", "Cost.", [(labels, money(Some(cents)))]);
        let text = page.finish();
        assert!(text.contains("gpucost_cost_monthly{currency=\"CNY\"} 200000.00\n"), "{text}");
    }
}
