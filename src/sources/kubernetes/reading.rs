//! What reading a live cluster gives.

use crate::domain::{ApiUsage, Gathered};
use crate::sources::Found;

#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub found: Gathered<Found>,
    /// The calls that it took.
    pub usage: ApiUsage,
}
