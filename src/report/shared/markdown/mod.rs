//! `--format markdown`: made for a comment on a pull request. The verdict stands
//! first, details are folded, and the whole stays below the size of a comment.

pub(in crate::report) mod escape;
pub(in crate::report) mod gaps;
pub(in crate::report) mod page;
