//! How many GPUs of a host were busy, minute by minute.

use super::periods::whole_utilization;
use super::profiled::after;
use crate::domain::{RunFacts, Sample};
use jiff::Timestamp;
use std::collections::BTreeMap;

const SECONDS_OF_MINUTE: i64 = 60;

/// Busy GPUs of the minutes of a run, from its samples, in memory that its length bounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BusyGpus {
    /// Sum and number of samples by the Unix second at which a minute begins.
    minutes: BTreeMap<i64, (f64, u32)>,
}

impl BusyGpus {
    /// Takes a sample; one in which a whole GPU did not report its utilization says nothing.
    pub fn add(&mut self, facts: &RunFacts, sample: &Sample) {
        let Some(busy) = busy(facts, sample) else { return };
        let at = after(facts.started, sample.at_seconds).as_second();
        let minute = self.minutes.entry(at - at.rem_euclid(SECONDS_OF_MINUTE)).or_default();
        minute.0 += busy;
        minute.1 += 1;
    }

    /// The mean of each minute that has one, in order.
    pub fn minutes(&self) -> Vec<(Timestamp, f64)> {
        let means = self.minutes.iter().filter_map(|(second, (sum, count))| {
            Some((Timestamp::from_second(*second).ok()?, sum / f64::from(*count)))
        });
        means.collect()
    }
}

/// Utilization of the whole GPUs of a sample, added up, in GPUs.
fn busy(facts: &RunFacts, sample: &Sample) -> Option<f64> {
    let mut whole = whole_utilization(&facts.gpus, &sample.gpus).peekable();
    whole.peek()?;
    whole.map(|percent| Some(percent? / 100.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GpuReading;
    use crate::profiling::scenes::{facts, gpu, read, sample};

    /// Two GPUs at 50% and 100% are 1.5, at 50% and 0% 0.5: 1.0 on average in the first minute.
    /// Where one of them did not report, nothing is known.
    #[test]
    fn a_minute_has_the_mean_of_what_all_gpus_report() {
        let facts = facts(vec![gpu(0), gpu(1)]);
        let mut busy = BusyGpus::default();
        for (at_seconds, percents) in [
            (0.0, [Some(50.0), Some(100.0)]),
            (30.0, [Some(50.0), Some(0.0)]),
            (60.0, [Some(50.0), None]),
            (120.0, [Some(100.0), Some(100.0)]),
        ] {
            let reading = |utilization_percent| {
                read(GpuReading { utilization_percent, ..GpuReading::default() })
            };
            busy.add(&facts, &sample(at_seconds, percents.map(reading).into()));
        }
        let minutes: Vec<(i64, f64)> =
            busy.minutes().iter().map(|(at, gpus)| (at.as_second(), *gpus)).collect();
        assert_eq!(minutes, [(0, 1.0), (120, 2.0)]);
    }
}
