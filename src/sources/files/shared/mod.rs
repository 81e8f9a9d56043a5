//! What all files have in common: reading with an end, however it is packed, and writing
//! whole or not at all.

pub(super) mod bounded;
pub(super) mod csv_lines;
pub(super) mod invalid_json;
pub(super) mod own_file;
pub(super) mod parquet_pages;
pub(super) mod plain_text;
pub(super) mod typed_json;
pub(super) mod write;
