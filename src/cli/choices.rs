//! Tables of flags, of values of flags that are chosen by name, and of how texts of flags are read.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, ValueEnum};
use rust_decimal::Decimal;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Values with the names that choose them, and what the help says of each, unless it is plain. Of
/// names with `|` between them, the help says the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choices<T: 'static>(pub &'static [(&'static str, &'static str, T)]);

impl<T> Choices<T> {
    fn values(&self) -> impl Iterator<Item = PossibleValue> + use<T> {
        self.0.iter().map(|(names, help, _)| {
            let mut names = names.split('|');
            let value = PossibleValue::new(names.next().unwrap_or_default()).aliases(names);
            if help.is_empty() { value } else { value.help(*help) }
        })
    }
}

impl<T: Copy + Send + Sync + 'static> TypedValueParser for Choices<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let name = PossibleValuesParser::new(self.values()).parse_ref(command, arg, value)?;
        let chosen = self.0.iter().find(|(names, ..)| names.split('|').any(|known| known == name));
        chosen.map(|(.., value)| *value).ok_or_else(|| clap::Error::new(ErrorKind::InvalidValue))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values()))
    }
}

/// Declares choices, a line each: the name, the variant, and what the help says unless it is plain.
macro_rules! choices {
    ($($visible:vis $name:ident: $type:ident { $($word:literal = $variant:ident $(, $help:literal)?;)* })*) => {$(
        $visible const $name: $crate::cli::choices::Choices<$type> =
            $crate::cli::choices::Choices(&[$(($word, concat!($($help)?), $type::$variant)),*]);
    )*};
}
pub(super) use choices;

/// Declares the flags of commands, a line each: the field, its type, and what clap is told of it.
macro_rules! flags {
    ($($(#[$about:meta])* $visible:vis struct $name:ident {
        $($(#[$help:meta])* $flag:ident: $type:ty = $told:meta;)+
    })+) => {$(
        #[derive(Debug, clap::Args)]
        $(#[$about])*
        $visible struct $name {
            $($(#[$help])* #[$told] pub $flag: $type,)+
        }
    )+};
}
pub(super) use flags;

/// Declares how texts of flags are read, a line each: the value, absent where a text is none, and what
/// is said of such a text.
macro_rules! parsers {
    ($($(#[$about:meta])* $visible:vis fn $name:ident($text:ident) -> $type:ty = $value:expr, $said:expr;)+) => {$(
        $(#[$about])*
        $visible fn $name($text: &str) -> Result<$type, String> {
            let value: Option<$type> = $value;
            value.ok_or_else(|| String::from($said))
        }
    )+};
}
pub(super) use parsers;

/// A number within limits.
pub(super) fn within<T: FromStr + PartialOrd>(text: &str, limits: RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|number| limits.contains(number))
}

/// A number above zero and up to a limit.
pub(super) fn above_zero<T: FromStr + PartialOrd + Default>(text: &str, most: T) -> Option<T> {
    text.parse().ok().filter(|number| *number > T::default() && *number <= most)
}

parsers! {
    /// A number that is not below zero.
    pub(super) fn not_negative(text) -> Decimal = within(text, Decimal::ZERO..=MOST_STATED), "expected a number of zero or more, such as 12.5";
    /// A number above zero.
    pub(super) fn positive(text) -> Decimal = above_zero(text, MOST_STATED), "expected a number above zero, such as 12.5";
}

/// The largest number that a planner takes from a flag.
const MOST_STATED: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);

/// Names of choices, one a line, with what each is.
pub(super) fn listed<'a, T: ValueEnum + 'a>(choices: impl Iterator<Item = &'a T>) -> String {
    let values: Vec<PossibleValue> = choices.filter_map(T::to_possible_value).collect();
    let width = values.iter().map(|value| value.get_name().len()).max().unwrap_or(0);
    let line = |value: &PossibleValue| {
        let about = value.get_help().map(ToString::to_string);
        format!("{:width$}  {}\n", value.get_name(), about.unwrap_or_default())
    };
    values.iter().map(line).collect()
}

/// What a flag's value is called on the command line.
pub(super) fn name_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}
