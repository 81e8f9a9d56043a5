//! What recording audits, and maintaining what was recorded, say.

mod text;

pub use text::{
    KeptBill, KeptRun, compacted_text, kept_bill_text, kept_run_text, pruned_text, verified_text,
};
