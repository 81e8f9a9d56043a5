//! What a log of samples is, whoever wrote it.

use super::error::SamplesError;
use super::unread::Told;
use crate::domain::{Gap, RunEnd, RunFacts, Sample};
use jiff::tz::TimeZone;
use std::time::Duration;

/// What a log of another program may leave unsaid. Our own files need nothing.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The zone of times that name none; without it they are read as UTC, and a
    /// gap says so.
    pub zone: Option<TimeZone>,
    /// Names of the columns of a log, as given to `--query-gpu`. They outrank a
    /// header in the log.
    pub columns: Option<Vec<String>>,
    /// How far the samples of a log without timestamps are apart.
    pub interval: Option<Duration>,
}

/// A log that was opened, and what it says of its run.
pub(in crate::sources::files) type OpenLog = (RunFacts, Box<dyn Log>);

/// A log that is read one sample of a time, in constant memory.
pub(in crate::sources::files) trait Log {
    /// The next sample; after an error there is none.
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError>;
    /// How the run ended, once the last sample was read, where the log says it.
    fn end(&self) -> Option<&RunEnd> {
        None
    }
    /// Whether a figure would be in it, if the driver had told.
    fn may_tell(&self, _figure: Told) -> bool {
        true
    }
    /// What it does not say or what could not be read, as far as it was read.
    fn gaps(&self) -> Vec<Gap>;
}
