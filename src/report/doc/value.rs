//! What a cell holds, and how people read it.

use crate::domain::{Money, separated};
use crate::report::shared::text::{
    ABSENT, count, devices, money, percent, price_with, rounded, safe, unit_price, whole, yes_or_no,
};
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Not known, which is not zero.
    Absent,
    Text(String),
    /// A list of names or sentences.
    Texts(Vec<String>),
    /// In UTC; screens show it to the minute.
    Time(Timestamp),
    Date(Date),
    Flag(bool),
    Count(u64),
    /// A measured or computed number with as many decimals as screens show.
    Number(f64, usize),
    /// A length of time, which screens show in hours, minutes and seconds.
    Seconds(f64),
    /// A small number of which six decimals count, such as events per hour.
    Millionths(f64),
    /// 0–100, with one decimal.
    Percent(f64),
    /// 0–1; screens show it as a percentage.
    Share(Decimal),
    /// An exact number with up to six decimals, such as of GPUs; screens show two.
    Quantity(Decimal),
    /// An amount, rounded to cents.
    Money(Money),
    /// An amount of which screens show no cents.
    Whole(Money),
    /// A price of a small unit, such as an hour or a million tokens: up to six decimals.
    Price(Money),
    /// A price of which screens show so many decimals, so that rows align.
    Rate(Money, u32),
    /// A change, of which screens show the sign of a rise too.
    Signed(Box<Value>),
    /// Values of which some may be absent.
    List(Vec<Value>),
    /// Values with a name each.
    Map(Vec<(String, Self)>),
    /// Values under the heads of its column.
    Record(Vec<Value>),
    /// Rows under the heads of its column.
    Rows(Vec<Vec<Value>>),
}

impl Value {
    pub(in crate::report) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The value of what may be absent.
    pub(in crate::report) fn of<T>(value: Option<T>, make: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Absent, make)
    }

    /// The value as a change.
    pub(in crate::report) fn signed(self) -> Self {
        match self {
            Self::Absent => Self::Absent,
            value => Self::Signed(Box::new(value)),
        }
    }

    /// What it comes to, where it is money.
    pub(super) fn amount(&self) -> Option<Money> {
        match self {
            Self::Money(amount)
            | Self::Whole(amount)
            | Self::Price(amount)
            | Self::Rate(amount, _) => Some(*amount),
            Self::Signed(value) => value.amount(),
            _ => None,
        }
    }

    fn is_above_zero(&self) -> bool {
        match self {
            Self::Number(value, _) | Self::Percent(value) => *value > 0.0,
            Self::Share(share) => *share > Decimal::ZERO,
            _ => self.amount().is_some_and(|amount| amount.amount() > Decimal::ZERO),
        }
    }

    pub(super) fn is_words(&self) -> bool {
        matches!(
            self,
            Self::Text(_)
                | Self::Texts(_)
                | Self::List(_)
                | Self::Map(_)
                | Self::Time(_)
                | Self::Date(_)
                | Self::Flag(_)
        )
    }

    /// Whether nothing is known, or there is nothing to list.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Rows(rows) => rows.is_empty(),
            _ => false,
        }
    }
}

/// A value as people read it.
pub(in crate::report) fn shown(value: &Value) -> String {
    match value {
        // What is nested is shown as a table of its own.
        Value::Absent | Value::Record(_) | Value::Rows(_) => ABSENT.to_owned(),
        Value::Text(text) => safe(text),
        Value::Texts(texts) => safe(&texts.join(", ")),
        Value::Time(at) => at.strftime("%Y-%m-%d %H:%M").to_string(),
        Value::Date(day) => day.to_string(),
        Value::Flag(flag) => yes_or_no(*flag).to_owned(),
        Value::Count(number) => count(*number),
        Value::Number(value, decimals) => number(*value, *decimals),
        Value::Seconds(seconds) => elapsed_words(*seconds),
        Value::Quantity(number) => devices(*number),
        Value::Millionths(value) => number(*value, 6),
        Value::Percent(value) => percent(*value),
        Value::Share(share) => format!("{}%", rounded(*share * Decimal::ONE_HUNDRED, 1)),
        Value::Money(amount) => money(*amount),
        Value::Whole(amount) => whole(*amount),
        Value::Price(price) => unit_price(*price),
        Value::Rate(price, decimals) => price_with(*price, *decimals),
        Value::Signed(value) if value.is_above_zero() => format!("+{}", shown(value)),
        Value::Signed(value) => shown(value),
        Value::Map(values) => {
            let pairs = values.iter();
            let pairs = pairs.map(|(name, value)| format!("{}={}", safe(name), shown(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
        Value::List(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
    }
}

/// A number with separators before its decimals.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let sign = if value < 0.0 && text.contains(|c| ('1'..='9').contains(&c)) { "-" } else { "" };
    match text.split_once('.') {
        Some((whole, rest)) => format!("{sign}{}.{rest}", separated(whole)),
        None => format!("{sign}{}", separated(&text)),
    }
}

/// A length of time such as `12m 04s`.
pub fn elapsed_words(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3_600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}h {minutes:02}m") } else { format!("{minutes}m {seconds:02}s") }
}
