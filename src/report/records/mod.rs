//! What recording audits, and looking after what was recorded, say.

mod text;

pub use text::{KeptRun, compacted_text, kept_run_text, pruned_text, verified_text};
