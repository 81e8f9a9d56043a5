//! A job as somebody writes it down.

use super::HOUR_SECONDS;
use jiff::Timestamp;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Jobs that a list may have, and that are placed at most.
pub const MOST_JOBS: usize = 10_000;

/// An instant, or a time after the beginning of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    At(Timestamp),
    After { seconds: i64 },
}

impl Moment {
    /// Unix seconds, where a plan begins at a second.
    pub fn second(self, begin: i64) -> i64 {
        match self {
            Self::At(at) => at.as_second(),
            Self::After { seconds } => begin.saturating_add(seconds),
        }
    }
}

/// A job that is to run once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    pub name: String,
    /// Model, memory or both, such as `A100:80GB`.
    pub gpu: String,
    pub gpus: u32,
    /// How long it runs on them, hours above zero.
    pub hours: Decimal,
    pub release: Option<Moment>,
    pub deadline: Option<Moment>,
    pub is_restartable: bool,
    pub data_region: Option<String>,
    pub data_gb: Decimal,
    /// Where it is written, counted from one.
    pub line: u64,
}

impl JobRequest {
    /// Its length, rounded up.
    pub fn seconds(&self) -> i64 {
        let seconds = self.hours * Decimal::from(HOUR_SECONDS);
        seconds.ceil().to_i64().unwrap_or(i64::MAX)
    }
}
