//! Tables of flags, and of values of flags that are chosen by name.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use std::ffi::OsStr;

/// Values with the names that choose them, and what the help says of each, unless it is plain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choices<T: 'static>(pub &'static [(&'static str, &'static str, T)]);

impl<T> Choices<T> {
    fn values(&self) -> impl Iterator<Item = PossibleValue> + use<T> {
        self.0.iter().map(|(name, help, _)| match help.is_empty() {
            true => PossibleValue::new(*name),
            false => PossibleValue::new(*name).help(*help),
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
        let chosen = self.0.iter().find(|(known, ..)| *known == name).map(|(.., value)| *value);
        chosen.ok_or_else(|| clap::Error::new(ErrorKind::InvalidValue))
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
