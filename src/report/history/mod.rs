//! `gpucost history`: what nights of audits add up to, as an answer and as a page with plots.

mod actions;
mod digest;
mod forecast;
mod html;
mod trend;
mod words;

pub use digest::digest_answer;
pub use html::history_html;
pub use trend::history_answer;

#[cfg(test)]
mod tests;
