//! `--format markdown`: made for a comment on a pull request. The verdict stands
//! first, details are folded, and the whole stays below the size of a comment.

mod audit;
pub(super) mod escape;
mod gaps;
mod gate;
mod groups;
pub(super) mod page;

pub use audit::audit_markdown;
pub use gate::gate_markdown;
