//! The driver's own samples of utilization, finer than any sample.

use super::calls;
use super::probe::Probe;
use crate::domain::FineSample;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::Sampling;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;

/// How far the driver's samples of one GPU were read.
#[derive(Debug, Default)]
pub(super) struct FineReader {
    last_microseconds: u64,
}

impl FineReader {
    /// What the driver took since the last time, by time. The buffer holds the
    /// last seconds or minutes, so the first time gives what came before.
    pub(super) fn take(&mut self, device: &Device<'_>, probe: &mut Probe) -> Vec<FineSample> {
        if !probe.may_ask(calls::SAMPLES) {
            return Vec::new();
        }
        let last = self.last_microseconds;
        let answer = match newer(device, last) {
            Err(NvmlError::NotFound | NvmlError::NoData) => {
                // Nothing newer, or the wall clock, which stamps samples, was set
                // back: then what is new has an old stamp until the clock has caught up.
                self.follow_the_clock(&newer(device, 0).unwrap_or_default());
                return Vec::new();
            }
            answer => answer,
        };
        let answer = probe.heard(calls::SAMPLES, answer).unwrap_or_default();
        self.follow_the_clock(&answer);
        // Drivers repeat samples that were taken already, and fill a buffer that
        // is not full yet with zeros.
        let mut samples: Vec<FineSample> = answer
            .into_iter()
            .filter(|(at, percent)| *at > last && (0.0..=100.0).contains(percent))
            .map(|(at_microseconds, utilization_percent)| FineSample {
                at_microseconds,
                utilization_percent,
            })
            .collect();
        samples.sort_by_key(|sample| sample.at_microseconds);
        samples.dedup_by_key(|sample| sample.at_microseconds);
        if let Some(newest) = samples.last() {
            self.last_microseconds = newest.at_microseconds;
        }
        samples
    }

    /// Reads on from the newest sample of the buffer where that is older than what
    /// was read before: the clock was set back.
    fn follow_the_clock(&mut self, buffer: &[(u64, f64)]) {
        if let Some(newest) = buffer.iter().map(|(at, _)| *at).filter(|at| *at > 0).max() {
            self.last_microseconds = self.last_microseconds.min(newest);
        }
    }
}

/// The samples of the buffer after an instant, as time and percentage; from 0 all of
/// them.
fn newer(device: &Device<'_>, microseconds: u64) -> Result<Vec<(u64, f64)>, NvmlError> {
    let samples = device.samples(Sampling::GpuUtilization, microseconds)?;
    Ok(samples.iter().map(|s| (s.timestamp, percent(&s.value))).collect())
}

fn percent(value: &SampleValue) -> f64 {
    match *value {
        SampleValue::F64(value) => value,
        SampleValue::U32(value) => f64::from(value),
        SampleValue::U64(value) => value as f64,
        SampleValue::I64(value) => value as f64,
    }
}
