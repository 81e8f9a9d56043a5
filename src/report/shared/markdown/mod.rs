//! Text from outside in Markdown.

pub(in crate::report) mod escape;
