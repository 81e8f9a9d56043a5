//! Counters of bytes that may wrap, read as rates.

use nvml_wrapper::enums::device::SampleValue;
use serde::Serialize;
use std::time::Duration;

/// A counter's reading: its value, and how wide it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Count {
    /// Starts again after 2^32 - 1.
    Narrow {
        /// Bytes.
        uint: u32,
    },
    /// Does not wrap in a lifetime.
    Wide(u64),
}

impl Count {
    /// The reading in a field; none of one that no counter can have.
    pub(super) fn of(value: &SampleValue) -> Option<Self> {
        match *value {
            SampleValue::U32(value) => Some(Self::Narrow { uint: value }),
            SampleValue::U64(value) => Some(Self::Wide(value)),
            SampleValue::I64(value) => u64::try_from(value).ok().map(Self::Wide),
            SampleValue::F64(_) => None,
        }
    }
}

/// The last reading of a counter.
#[derive(Debug, Default)]
pub(super) struct Counter {
    last: Option<(Duration, Count)>,
    /// Rates that were told.
    reported: u64,
    /// Readings without a rate, because the counter may have gone round.
    outrun: u64,
}

/// Bytes after which a narrow counter starts again.
pub(super) const ROUND_BYTES: f64 = u32::MAX as f64 + 1.0;

impl Counter {
    /// Bytes per second since the last reading. Absent for the first, for a
    /// counter that was set back, and for a narrow one that the link, at
    /// `most_bytes_per_second`, could have taken round once more than can be
    /// seen.
    pub(super) fn rate(
        &mut self,
        at: Duration,
        count: Count,
        most_bytes_per_second: Option<f64>,
    ) -> Option<f64> {
        let (before, last) = self.last.replace((at, count))?;
        let seconds = at.checked_sub(before)?.as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let bytes = match (last, count) {
            (Count::Wide(last), Count::Wide(count)) => count.checked_sub(last)?,
            (Count::Narrow { uint: last }, Count::Narrow { uint: count }) => {
                if most_bytes_per_second.is_none_or(|most| most * seconds >= ROUND_BYTES) {
                    self.outrun += 1;
                    return None;
                }
                u64::from(count.wrapping_sub(last))
            }
            _ => return None,
        };
        self.reported += 1;
        Some(bytes as f64 / seconds)
    }

    /// Whether most of its readings gave no rate because it may have gone round
    /// more often than can be seen.
    pub(super) fn is_outrun(&self) -> bool {
        self.outrun > self.reported
    }

    /// Forgets the last reading: what follows does not continue it.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_rate_is_bytes_over_the_time_between_two_readings() {
        let mut counter = Counter::default();
        assert_eq!(counter.rate(at(0), Count::Wide(5_000), None), None);
        // 3 000 bytes in 1.5 s.
        let rate = counter.rate(at(1_500), Count::Wide(8_000), None);
        assert_eq!(rate, Some(2_000.0));
        assert_eq!(counter.rate(at(1_500), Count::Wide(9_000), None), None);
    }

    #[test]
    fn a_counter_that_was_set_back_has_no_rate() {
        let mut counter = Counter::default();
        counter.rate(at(0), Count::Wide(8_000), None);
        assert_eq!(counter.rate(at(1_000), Count::Wide(100), None), None);
        let rate = counter.rate(at(2_000), Count::Wide(1_100), None);
        assert_eq!(rate, Some(1_000.0));
        counter.forget();
        assert_eq!(counter.rate(at(3_000), Count::Wide(2_000), None), None);
    }

    #[test]
    fn a_narrow_counter_wraps_when_the_link_cannot_have_gone_round_twice() {
        let last = Count::Narrow { uint: u32::MAX - 99 };
        let next = Count::Narrow { uint: 900 };
        let mut counter = Counter::default();
        counter.rate(at(0), last, Some(4e9));
        // 100 up to the wrap, 900 after it; 4 GB/s move less than 2^32 a second.
        assert_eq!(counter.rate(at(1_000), next, Some(4e9)), Some(1_000.0));
        for most in [Some(4.3e9), None] {
            let mut counter = Counter::default();
            counter.rate(at(0), last, most);
            assert_eq!(counter.rate(at(1_000), next, most), None, "{most:?}");
            assert!(counter.is_outrun());
            // The next sample came in time, and one of two is not most.
            counter.rate(at(1_100), next, Some(4e9));
            assert!(!counter.is_outrun());
        }
    }
}
