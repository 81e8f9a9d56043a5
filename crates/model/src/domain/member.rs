//! One instance of a workload: what is its own in a group.

use super::{
    CommitmentTerm, Confidence, GpuOffer, GpuUsage, HourlyActivity, InstanceShape, InstanceUsage,
    PriceKey, ProfileBasis, ResourceId, UsageState, UtilizationSummary, VramSummary,
};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// Until when an instance runs, as its tag declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until {
    /// Its last day.
    pub date: Date,
    /// The most years of 8,760 hours from the audit on that end by then.
    pub years: u8,
}

impl Until {
    /// A last day, seen from an instant.
    pub fn of(date: Date, as_of: Timestamp) -> Self {
        let end = |years: u8| as_of + SignedDuration::from_hours(8_760 * i64::from(years));
        let ends_by = |years: &u8| end(*years).to_zoned(TimeZone::UTC).date() <= date;
        let longest = CommitmentTerm::ALL.map(|term| term.years).into_iter().max();
        Self { date, years: (1..=longest.unwrap_or(0)).take_while(ends_by).last().unwrap_or(0) }
    }
}

/// One instance of a workload. Grouping is for reading: state, price and hours are
/// those of the instance alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub id: ResourceId,
    /// Its zone by name.
    pub zone: Option<String>,
    /// Whether it runs now; one that is stopped now may run again.
    pub is_running: bool,
    pub first_seen: Timestamp,
    /// From when it was first seen until a GPU of it worked; absent where it is older than
    /// the window, has not worked yet, or was not measured.
    pub first_work: Option<SignedDuration>,
    /// When it stopped; absent while it runs and where it is not known.
    pub stopped_at: Option<Timestamp>,
    /// The price of its hours, whatever its zone.
    pub price_key: PriceKey,
    /// The capacity reservation that it runs in.
    pub capacity_reservation: Option<String>,
    /// Its tags beside those that all members share.
    pub own_tags: BTreeMap<String, String>,
    /// Why its tag takes it out of advice.
    pub ignored: Option<String>,
    /// Until when it runs; absent without a tag that says so.
    pub until: Option<Until>,
    /// Hour by hour, since it was first seen.
    pub activity: HourlyActivity,
    /// How it behaves by itself; absent when that cannot be said.
    pub state: Option<UsageState>,
    /// As [`super::Verdict::busy_cpu_percent`] of its own.
    pub busy_cpu_percent: Option<f64>,
    /// How sure that is; absent when nothing can be said.
    pub confidence: Option<Confidence>,
}

impl Member {
    /// Whether it is known to compute nothing, memory held or not.
    pub fn is_idle(&self) -> bool {
        self.state.is_some_and(UsageState::is_idle)
    }

    /// As [`super::Verdict::rest`] of its own.
    pub fn rest(&self) -> Option<UsageState> {
        self.state.filter(|state| state.rests() && self.busy_cpu_percent.is_none())
    }
}

/// What was measured of instances of one type: what a verdict rests on.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// What their type offers; absent for an unknown type.
    pub shape: Option<&'a InstanceShape>,
    /// Each of them.
    pub usage: &'a [InstanceUsage],
    /// Over all their GPUs; absent when no GPU signal arrived.
    pub utilization: Option<&'a UtilizationSummary>,
    /// When the last of them was first seen.
    pub first_seen: Timestamp,
    /// What profiled runs are good for.
    pub profile: Option<&'a ProfileBasis>,
}

impl<'a> Measured<'a> {
    fn offer(&self) -> Option<&'a GpuOffer> {
        self.shape?.gpu.as_ref()
    }

    /// GPUs that the guest of one of them sees.
    pub fn visible_gpus(&self) -> Option<usize> {
        Some(usize::from(self.offer()?.share.visible_devices()))
    }

    /// Every measured GPU, by instance and index.
    pub fn gpus(&self) -> impl Iterator<Item = &'a GpuUsage> {
        self.usage.iter().flat_map(|usage| &usage.gpus)
    }

    /// Whether every GPU of each of them delivered its utilization, where GPUs are named at all.
    pub fn sees_every_gpu(&self) -> bool {
        let visible = self.visible_gpus().unwrap_or(0);
        let mut usage = self.usage.iter();
        usage.all(|measured| measured.gpus.is_empty() || measured.measures_every_gpu(visible))
    }

    /// The fullest card: largest peak and p95 of any GPU; absent unless every
    /// measured GPU reports its memory.
    pub fn vram(&self) -> Option<VramSummary> {
        let mut cards = self.gpus().map(|gpu| gpu.vram);
        let first = cards.next()??;
        cards.try_fold(first, |fullest, vram| {
            let vram = vram?;
            Some(VramSummary {
                peak_mib: fullest.peak_mib.max(vram.peak_mib),
                p95_mib: match (fullest.p95_mib, vram.p95_mib) {
                    (Some(left), Some(right)) => Some(left.max(right)),
                    _ => None,
                },
                samples: fullest.samples.poorer(vram.samples),
                total_mib: match (fullest.total_mib, vram.total_mib) {
                    (Some(left), Some(right)) => Some(left.min(right)),
                    _ => None,
                },
                is_reserved: fullest.is_reserved || vram.is_reserved,
            })
        })
    }

    /// The runs that everything measured rests on, in words; absent where that is
    /// the whole window.
    pub fn rests_on_runs(&self) -> Option<String> {
        self.profile?.in_words()
    }
}
