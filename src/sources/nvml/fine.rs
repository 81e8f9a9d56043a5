//! The driver's own samples of utilization, finer than any look.

use super::calls;
use super::probe::Probe;
use crate::profiling::FineSample;
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
        let last = self.last_microseconds;
        if !probe.may_ask(calls::SAMPLES) {
            return Vec::new();
        }
        let answer = match device.samples(Sampling::GpuUtilization, last) {
            Ok(samples) => Ok(samples),
            Err(NvmlError::NotFound | NvmlError::NoData) => return Vec::new(),
            Err(error) => Err(error),
        };
        let answer = answer.map(|samples| {
            let pairs = samples.iter().map(|s| (s.timestamp, percent(&s.value)));
            pairs.collect::<Vec<(u64, f64)>>()
        });
        // Drivers repeat samples that were taken already, and fill a buffer that
        // is not full yet with zeros.
        let mut samples: Vec<FineSample> = probe
            .heard(calls::SAMPLES, answer)
            .unwrap_or_default()
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
}

fn percent(value: &SampleValue) -> f64 {
    match *value {
        SampleValue::F64(value) => value,
        SampleValue::U32(value) => f64::from(value),
        SampleValue::U64(value) => value as f64,
        SampleValue::I64(value) => value as f64,
    }
}
