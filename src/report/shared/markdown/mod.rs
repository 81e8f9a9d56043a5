//! Text from outside in Markdown.

pub mod escape;
