//! What every report uses: text, tables, gaps, the pages of Markdown and HTML, and what
//! to type next.

pub(super) mod gaps;
pub(super) mod markdown;
pub(super) mod markup;
pub(super) mod next;
pub(super) mod openmetrics;
pub(super) mod plain_table;
pub(super) mod sparkline;
pub(super) mod style;
pub mod text;
pub(super) mod view;
