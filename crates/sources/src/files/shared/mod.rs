//! What all files have in common: reading with an end, however it is packed, and writing
//! whole or not at all.

pub(super) mod bounded;
pub(super) mod csv_lines;
pub(super) mod json;
pub(super) mod parquet_pages;
pub(super) mod write;

/// A struct whose fields before the semicolon are those of another value, by the same names.
macro_rules! same_fields {
    ($from:ident => $to:ident {
        $($field:ident),+ $(; $($own:ident $(: $value:expr)?),+)? $(,)?
    }) => {
        $to { $($field: $from.$field,)+ $($($own $(: $value)?,)+)? }
    };
}
pub(super) use same_fields;
