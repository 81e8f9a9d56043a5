//! What recording audits, and checking what was recorded, say.

mod text;

pub use text::{StoredBill, StoredRun, kept_bill_text, kept_run_text, verified_text};
