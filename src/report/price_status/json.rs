//! `gpucost pricing status` for programs: JSON.

use super::PriceStatus;
use crate::report::shared::text::json_document;

/// The status as JSON.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn price_status_json(status: &PriceStatus) -> Result<String, serde_json::Error> {
    json_document(status)
}
