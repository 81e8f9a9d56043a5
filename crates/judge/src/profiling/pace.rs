//! When samples were due, and how well that was kept: by whoever takes them, and
//! afterwards by what a file of them tells.

use crate::domain::{RunEnd, RunFacts, Sample};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// A sample is late from this share of the interval on.
const LATE_SHARE: i32 = 10;
/// Steps of the wall clock below this are its ordinary corrections.
const CLOCK_STEP_SECONDS: f64 = 1.0;

/// Samples further apart than so many intervals have a gap between them.
pub(super) const GAP_INTERVALS: f64 = 3.0;
/// Samples closer than this never have, in seconds.
pub(super) const GAP_AT_LEAST_SECONDS: f64 = 2.0;
/// Steps from one sample to the next that differ by less than one part in so many
/// are counted together.
const PARTS: f64 = 64.0;

/// How well the samples kept their times, reported by who took them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pace {
    pub taken: u64,
    /// Samples that were due and not taken; absent where nothing tells when any
    /// was due.
    pub missed: Option<u64>,
    pub late: u64,
    pub largest_delay_seconds: f64,
    /// How far the wall clock was moved while the run lasted, forward positive;
    /// 0 where it was not.
    pub wall_clock_step_seconds: f64,
}

/// Samples at whole multiples of the interval: what delays one does not delay
/// those after it.
#[derive(Debug, Clone)]
pub struct Pacer {
    interval: SignedDuration,
    /// Number of the next sample.
    next: u64,
    pace: Pace,
    /// Wall clock less elapsed time, at the sample before.
    offset_seconds: Option<f64>,
}

impl Pacer {
    /// The first sample is due at once.
    pub fn new(interval: SignedDuration) -> Self {
        Self {
            interval,
            next: 0,
            pace: Pace { missed: Some(0), ..Pace::default() },
            offset_seconds: None,
        }
    }

    /// When the next sample is due.
    pub fn due(&self) -> SignedDuration {
        self.interval.saturating_mul(i32::try_from(self.next).unwrap_or(i32::MAX))
    }

    pub fn sampled(&mut self, at: SignedDuration, wall: Timestamp) {
        let delay = at.saturating_sub(self.due()).max(SignedDuration::ZERO);
        let passed = self.passed(at);
        self.pace.taken += 1;
        self.missed(passed);
        self.pace.late += u64::from(delay.saturating_mul(LATE_SHARE) > self.interval);
        self.pace.largest_delay_seconds = self.pace.largest_delay_seconds.max(delay.as_secs_f64());
        self.next = passed.max(self.next).saturating_add(1);
        let offset = wall.as_duration().as_secs_f64() - at.as_secs_f64();
        if let Some(before) = self.offset_seconds.replace(offset)
            && (offset - before).abs() >= CLOCK_STEP_SECONDS
        {
            self.pace.wall_clock_step_seconds += offset - before;
        }
    }

    /// The run ended: what was due before its last interval was missed.
    pub fn ended(&mut self, at: SignedDuration) {
        let passed = self.passed(at);
        self.missed(passed);
        self.next = self.next.max(passed);
    }

    /// The last sample that was due by then.
    fn passed(&self, at: SignedDuration) -> u64 {
        let passed = at.as_nanos() / self.interval.as_nanos().max(1);
        u64::try_from(passed).unwrap_or(u64::MAX)
    }

    /// Samples before that one were due and not taken. A file may tell any times.
    fn missed(&mut self, passed: u64) {
        let missed = passed.saturating_sub(self.next);
        self.pace.missed = Some(self.pace.missed.unwrap_or(0).saturating_add(missed));
    }

    pub fn pace(&self) -> Pace {
        self.pace
    }
}

/// Time between two searches for which more than one was due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hole {
    /// The last sample before it, in seconds of the run.
    pub from_seconds: f64,
    /// How long it lasts.
    pub seconds: f64,
}

/// Steps from sample to sample of about the same length.
#[derive(Debug, Clone, Copy, Default)]
struct Steps {
    count: u64,
    seconds: f64,
}

impl Steps {
    /// Of at least one.
    fn mean(&self) -> f64 {
        self.seconds / self.count as f64
    }
}

/// How far samples are apart, by themselves, in memory that does not grow with
/// their number.
#[derive(Debug, Clone, Default)]
struct Spacing {
    steps: BTreeMap<i32, Steps>,
}

impl Spacing {
    fn add(&mut self, seconds: f64) {
        if seconds > 0.0 {
            let steps = self.steps.entry((seconds.ln() * PARTS).round() as i32).or_default();
            steps.count += 1;
            steps.seconds += seconds;
        }
    }

    /// The mean step, without those that are gaps beside the one in the middle of all:
    /// in a log of whole seconds samples 1.45 s apart are steps of 1 s and 2 s.
    fn usual_seconds(&self) -> Option<f64> {
        let total: u64 = self.steps.values().map(|steps| steps.count).sum();
        let mut before = 0;
        let middle = self.steps.values().find(|steps| {
            before += steps.count;
            before * 2 >= total
        })?;
        let most = (middle.mean() * GAP_INTERVALS).max(GAP_AT_LEAST_SECONDS);
        let usual = self.steps.values().filter(|steps| steps.mean() <= most);
        let sum = usual.fold(Steps::default(), |sum, steps| Steps {
            count: sum.count + steps.count,
            seconds: sum.seconds + steps.seconds,
        });
        (sum.count > 0).then(|| sum.mean())
    }

    /// Samples that would have come at an interval and did not.
    fn missed(&self, interval_seconds: f64) -> u64 {
        let of_one = |steps: &Steps| {
            let each = steps.mean() / interval_seconds;
            if each.round() <= 1.0 {
                return 0;
            }
            let due = (steps.seconds / interval_seconds).round() as u64;
            due.saturating_sub(steps.count)
        };
        self.steps.values().map(of_one).fold(0, u64::saturating_add)
    }
}

/// Samples of a file as they come: which of them were due, and where they are
/// missing.
#[derive(Debug, Clone, Default)]
pub struct Cadence {
    /// Of a sampler that was asked to read every multiple of an interval; any other program
    /// waits between two samples.
    pacer: Option<Pacer>,
    /// The interval of another program, where it is given.
    given_seconds: Option<f64>,
    taken: u64,
    last_at: Option<f64>,
    spacing: Spacing,
    longest: Option<Hole>,
}

fn duration(seconds: f64) -> Option<SignedDuration> {
    SignedDuration::try_from_secs_f64(seconds).ok().filter(SignedDuration::is_positive)
}

impl Cadence {
    /// No samples yet of a run. Where the run does not tell its interval, that is
    /// the one that is given, or else the usual step from sample to sample.
    pub fn new(facts: &RunFacts, given: Option<SignedDuration>) -> Self {
        let given = given.map(|interval| interval.as_secs_f64());
        Self {
            pacer: facts.interval_seconds.and_then(duration).map(Pacer::new),
            given_seconds: given.filter(|seconds| *seconds > 0.0),
            ..Self::default()
        }
    }

    pub fn sampled(&mut self, sample: &Sample) {
        self.taken += 1;
        if let Some(pacer) = &mut self.pacer {
            let at = SignedDuration::try_from_secs_f64(sample.at_seconds).unwrap_or_default();
            pacer.sampled(at, sample.time);
        }
        if let Some(last) = self.last_at.replace(sample.at_seconds) {
            self.spacing.add(sample.at_seconds - last);
            self.no_sample(last, sample.at_seconds);
        }
    }

    /// The run ended so; without an end, at its last sample.
    pub fn ended(&mut self, end: Option<&RunEnd>) {
        let (Some(pacer), Some(end)) = (&mut self.pacer, end) else { return };
        pacer.ended(SignedDuration::try_from_secs_f64(end.elapsed_seconds).unwrap_or_default());
        if let Some(last) = self.last_at {
            self.no_sample(last, end.elapsed_seconds);
        }
    }

    fn no_sample(&mut self, from_seconds: f64, to_seconds: f64) {
        let seconds = to_seconds - from_seconds;
        if self.longest.is_none_or(|hole| hole.seconds < seconds) {
            self.longest = Some(Hole { from_seconds, seconds });
        }
    }

    /// Seconds from one sample to the next, as far as anything tells.
    pub fn interval_seconds(&self) -> Option<f64> {
        let paced = self.pacer.as_ref().map(|pacer| pacer.interval.as_secs_f64());
        paced.or(self.given_seconds).or_else(|| self.spacing.usual_seconds())
    }

    pub fn pace(&self) -> Pace {
        let by_spacing = || Pace {
            taken: self.taken,
            missed: self.interval_seconds().map(|interval| self.spacing.missed(interval)),
            ..Pace::default()
        };
        self.pacer.as_ref().map_or_else(by_spacing, Pacer::pace)
    }

    /// The longest time without a sample, where that is a gap.
    pub fn longest_hole(&self) -> Option<Hole> {
        let least = (self.interval_seconds()? * GAP_INTERVALS).max(GAP_AT_LEAST_SECONDS);
        self.longest.filter(|hole| hole.seconds > least && self.pace().missed > Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    #[test]
    fn late_samples_do_not_drift_and_missed_ones_are_counted() {
        let mut pacer = Pacer::new(SignedDuration::from_millis(1_000));
        let samples = [0, 1_000, 2_150, 3_000, 6_400, 7_000];
        let mut due = Vec::new();
        for at in samples {
            due.push(pacer.due().as_millis());
            let at = SignedDuration::from_millis(at);
            pacer.sampled(at, wall(0) + at);
        }
        assert_eq!(due, [0, 1_000, 2_000, 3_000, 4_000, 7_000]);
        let pace = pacer.pace();
        // Those due at 5 s and 6 s were never taken; 2 150 and 6 400 were late.
        assert_eq!((pace.taken, pace.missed, pace.late), (6, Some(2), 2));
        assert!((pace.largest_delay_seconds - 2.4).abs() < 1e-9);
        assert_eq!(pace.wall_clock_step_seconds, 0.0);
    }

    /// A file may tell any interval and any time.
    #[test]
    fn no_time_is_too_large_to_be_counted() {
        let mut pacer = Pacer::new(SignedDuration::from_nanos(1));
        pacer.sampled(SignedDuration::MAX, wall(0));
        pacer.sampled(SignedDuration::MAX, wall(1));
        pacer.ended(SignedDuration::MAX);
        let pace = pacer.pace();
        assert_eq!((pace.taken, pace.missed), (2, Some(u64::MAX)));
    }

    #[test]
    fn a_step_of_the_wall_clock_is_seen_and_changes_nothing_else() {
        let mut pacer = Pacer::new(SignedDuration::from_secs(1));
        for (at, time) in [(0, 0), (1, 1), (2, -3_598), (3, -3_597)] {
            pacer.sampled(SignedDuration::from_secs(at), wall(time));
        }
        let pace = pacer.pace();
        assert_eq!((pace.taken, pace.missed, pace.late), (4, Some(0), 0));
        assert!((pace.wall_clock_step_seconds + 3_600.0).abs() < 1e-6);
    }

    fn facts(interval_seconds: Option<f64>) -> RunFacts {
        RunFacts { interval_seconds, ..crate::profiling::lab::facts(Vec::new()) }
    }

    fn cadence(interval_seconds: Option<f64>, samples: impl IntoIterator<Item = f64>) -> Cadence {
        let mut cadence = Cadence::new(&facts(interval_seconds), None);
        for at_seconds in samples {
            cadence.sampled(&crate::profiling::lab::sample(at_seconds, Vec::new()));
        }
        cadence
    }

    #[test]
    fn a_log_of_whole_seconds_misses_nothing_between_them() {
        // Samples 1.45 s apart, and then one that is 20 s late.
        let samples = (0..1_000).map(|n| (f64::from(n) * 1.45).floor());
        let read = cadence(None, samples.clone());
        assert_eq!((read.pace().taken, read.pace().missed), (1_000, Some(0)));
        let interval = read.interval_seconds().expect("it is seen");
        assert!((interval - 1.45).abs() < 0.01, "{interval}");
        assert_eq!(read.longest_hole(), None);
        let torn = cadence(None, samples.chain([1_448.0 + 21.75]));
        // 21.75 s are 15 steps.
        assert_eq!(torn.pace().missed, Some(14));
    }

    #[test]
    fn a_file_misses_what_its_sampler_missed() {
        let samples = [0.0, 1.0, 2.15, 3.0, 6.4, 7.0];
        let mut read = cadence(Some(1.0), samples);
        read.ended(Some(&RunEnd {
            elapsed_seconds: 7.3,
            exit_code: Some(0),
            spot: None,
            units: Vec::new(),
        }));
        let pace = read.pace();
        assert_eq!((pace.taken, pace.missed, pace.late), (6, Some(2), 2));
        let hole = read.longest_hole().expect("a hole of 3.4 s");
        assert!((hole.seconds - 3.4).abs() < 1e-9);
        assert_eq!(hole.from_seconds, 3.0);
        // Samples at 0 to 2 s of a run that went on to 10 s: 3 to 9 s were due.
        let mut cut = cadence(Some(1.0), [0.0, 1.0, 2.0]);
        cut.ended(Some(&RunEnd {
            elapsed_seconds: 10.0,
            exit_code: Some(0),
            spot: None,
            units: Vec::new(),
        }));
        assert_eq!(cut.pace().missed, Some(7));
        assert_eq!(cut.longest_hole().map(|hole| hole.seconds), Some(8.0));
    }

    #[test]
    fn the_usual_step_tells_what_a_log_misses() {
        // Twenty samples, two days of nothing, twenty samples: the second half begins
        // 172 800 s after the last sample of the first.
        let halves = (0..20).chain(172_819..172_839).map(f64::from);
        let log = cadence(None, halves);
        assert_eq!(log.interval_seconds(), Some(1.0));
        assert_eq!(log.pace().missed, Some(172_799));
        assert_eq!(log.longest_hole(), Some(Hole { from_seconds: 19.0, seconds: 172_800.0 }));
        // A program that waits a second after each sample of 80 ms misses none, and
        // one sample that came late neither.
        let waits = cadence(None, (0..100).map(|sample| f64::from(sample) * 1.08));
        assert_eq!(waits.pace().missed, Some(0));
        assert_eq!(waits.longest_hole(), None);
        assert_eq!(cadence(None, [0.0, 1.0, 2.0, 3.4, 4.0, 5.0]).pace().missed, Some(0));
        // Every second sample of a log whose interval is given.
        let given = Some(SignedDuration::from_secs(1));
        let mut halved = Cadence::new(&facts(None), given);
        for at_seconds in [0.0, 2.0, 4.0, 6.0] {
            halved.sampled(&crate::profiling::lab::sample(at_seconds, Vec::new()));
        }
        assert_eq!(halved.pace().missed, Some(3));
        // One sample tells no interval, unless somebody does.
        assert_eq!(cadence(None, [5.0]).pace().missed, None);
        assert_eq!(cadence(Some(1.0), [0.0]).pace().missed, Some(0));
        let mut alone = Cadence::new(&facts(None), given);
        alone.sampled(&crate::profiling::lab::sample(5.0, Vec::new()));
        assert_eq!(alone.pace().missed, Some(0));
    }
}
