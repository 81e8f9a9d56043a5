//! Closed sets of values with the names that files and reports use, and structs that state the
//! default of each field beside it, or that add up field by field.

use super::plain_name;

#[macro_export]
macro_rules! named_enum {
    ($(#[$outer:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$doc])* $variant,)+ }

        impl $type {
            /// Every value, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name of each, in the same order.
            #[allow(dead_code, reason = "not every name is a word of a document")]
            pub const NAMES: &[&str] = &[$($name,)+];

            /// The name used in files and reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Reads the name used in files and reports.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub use named_enum;

/// Keys that things are grouped by: some with a name of their own, and one for each tag or
/// label, which is written as `tag:NAME`.
#[macro_export]
macro_rules! named_key {
    (
        $(#[$outer:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }
        $(#[$open_doc:meta])* $open:ident = $prefix:literal
    ) => {
        $(#[$outer])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$doc])* $variant,)+
            $(#[$open_doc])*
            $open(String),
        }

        impl $type {
            /// Reads a name; `None` for anything else.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => {
                        let open = name.strip_prefix(concat!($prefix, ":"))?;
                        (!open.is_empty()).then(|| Self::$open(open.to_owned()))
                    }
                }
            }

            /// The names that are known, for messages.
            pub fn known_names() -> String {
                let names = [$($name),+].join(", ");
                names + concat!(" and ", $prefix, ":NAME")
            }

            /// The tag or label that it names.
            pub fn open(&self) -> Option<&str> {
                match self {
                    Self::$open(name) => Some(name),
                    $(Self::$variant => None,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($name),)+
                    Self::$open(name) => {
                        f.write_str(concat!($prefix, ":"))?;
                        f.write_str(name)
                    }
                }
            }
        }
    };
}
pub use named_key;

macro_rules! with_defaults {
    ($(#[$outer:meta])* $type:ident { $($(#[$doc:meta])* $field:ident: $kind:ty = $value:expr,)+ }) => {
        $(#[$outer])*
        pub struct $type { $($(#[$doc])* pub $field: $kind,)+ }

        impl Default for $type {
            fn default() -> Self {
                Self { $($field: $value,)+ }
            }
        }
    };
}
pub(super) use with_defaults;

#[macro_export]
macro_rules! sums {
    ($($type:ident { $($field:ident),+ })+) => {$(
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)+
            }
        }

        impl std::iter::Sum for $type {
            fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
                parts.fold(Self::default(), |mut whole, part| {
                    whole += part;
                    whole
                })
            }
        }
    )+};
}
pub use sums;

/// Bytes from which a text is not a name with an error in it. Comparing takes the product of
/// lengths.
const LONGEST_NAME: usize = 256;

/// The known names that a name may be an error for, best first, three at most;
/// none when it is like no other.
pub fn nearest_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let likeness = |known: &str| strsim::jaro_winkler(&plain_name(name), &plain_name(known));
    let mut near: Vec<(f64, &str)> = known
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    near.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}
