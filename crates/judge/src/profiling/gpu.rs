//! One GPU or MIG instance over a run, in constant memory.

use super::alerts::{Alert, AlertKind, Moment, WORKING_FROM_PERCENT, Watch};
use super::figures::{PowerMeter, Tallies};
use super::signals::part;
use super::windows::{self, SampleFigures};
use super::{Diagnosis, GpuProfile, LostGpu, ThrottleTime, UtilizationBasis, XidEvent};
use crate::domain::{
    ACTIVE_PERCENT, GpuIdentity, GpuProcess, GpuReading, GpuSample, ThrottleReasons, Verdict,
};
use crate::usage::{Scale, Sketch};

/// Processes and errors that are listed at most.
const MOST_LISTED: usize = 64;

/// What is watched of each GPU; all but the last two by what its readings say.
const WATCHED: [AlertKind; 6] = [
    AlertKind::VramNearlyFull,
    AlertKind::Hot,
    AlertKind::PowerNearLimit,
    AlertKind::LowOccupancy,
    AlertKind::Xid,
    AlertKind::Lost,
];

#[derive(Debug, Clone)]
pub(super) struct GpuSoFar {
    pub(super) identity: GpuIdentity,
    /// Utilization by sample; of a MIG instance, the time that its engine worked.
    samples: Sketch,
    /// Utilization by the driver's own samples, once there are any.
    fine: Option<Sketch>,
    vram: Sketch,
    vram_total_mib: Option<f64>,
    tallies: Tallies,
    power: PowerMeter,
    /// Seconds by reason, in order of [`ThrottleReasons::known`]; absent until the
    /// driver tells.
    throttle: Option<Vec<f64>>,
    processes: Option<Vec<GpuProcess>>,
    has_more_processes: bool,
    xids: Vec<XidEvent>,
    xid_count: u64,
    lost: Option<LostGpu>,
    /// In order of [`WATCHED`].
    watches: [Watch; WATCHED.len()],
    /// Samples without an answer since the last with one.
    unanswered: u64,
}

impl GpuSoFar {
    pub(super) fn new(place: usize, identity: GpuIdentity) -> Self {
        Self {
            vram_total_mib: identity.vram_total_mib,
            identity,
            samples: Sketch::new(Scale::Percent),
            fine: None,
            vram: Sketch::new(Scale::Mebibytes),
            tallies: Tallies::default(),
            power: PowerMeter::default(),
            throttle: None,
            processes: None,
            has_more_processes: false,
            xids: Vec::new(),
            xid_count: 0,
            lost: None,
            watches: WATCHED.map(|kind| Watch::new(kind, Some(place))),
            unanswered: 0,
        }
    }

    /// Adds what one sample reported; gives the figures that are not in the reading.
    pub(super) fn add(&mut self, moment: Moment, sample: &GpuSample) -> SampleFigures {
        self.unanswered = match sample {
            GpuSample::Read(_) => 0,
            GpuSample::Lost(_) => self.unanswered + 1,
        };
        let [.., silence] = &mut self.watches;
        silence.see(moment, Some(self.unanswered as f64));
        self.count_errors(moment, sample.xids());
        match sample {
            GpuSample::Read(reading) => {
                if let Some(lost) = &mut self.lost {
                    lost.is_back = true;
                }
                self.read(moment, reading)
            }
            GpuSample::Lost(loss) => {
                self.lose(moment, &loss.reason);
                SampleFigures::default()
            }
        }
    }

    fn lose(&mut self, moment: Moment, reason: &str) {
        let lost = self.lost.get_or_insert_with(|| LostGpu {
            at_seconds: moment.at_seconds,
            reason: reason.to_owned(),
            samples: 0,
            is_back: false,
        });
        lost.samples += 1;
        lost.is_back = false;
        let [by_readings @ .., _, _] = &mut self.watches;
        for watch in by_readings {
            watch.see(moment, None);
        }
    }

    fn read(&mut self, moment: Moment, reading: &GpuReading) -> SampleFigures {
        let busy_percent = windows::busy(&self.identity, reading);
        self.samples.add(busy_percent);
        if !reading.fine.is_empty() && self.has_utilization() {
            let fine = self.fine.get_or_insert_with(|| Sketch::new(Scale::Percent));
            for sample in &reading.fine {
                fine.add(Some(sample.utilization_percent));
            }
        }
        self.vram.add(reading.vram_used_mib);
        self.vram_total_mib = reading.vram_total_mib.or(self.vram_total_mib);
        self.tallies.add(reading);
        self.hold_back(moment, reading.throttle);
        if let Some(processes) = &reading.processes {
            self.processes.get_or_insert_default();
            processes.iter().for_each(|process| self.see_process(process));
        }
        let power_w = self.power.add(moment, reading);
        self.watch(moment, reading, busy_percent, power_w);
        SampleFigures { busy_percent, power_w }
    }

    fn watch(
        &mut self,
        moment: Moment,
        reading: &GpuReading,
        busy_percent: Option<f64>,
        power_w: Option<f64>,
    ) {
        let limit = self.identity.power_limit_w.or(self.identity.power_default_limit_w);
        let occupancy = reading.activity.and_then(|activity| activity.occupancy_percent);
        let works = busy_percent.is_some_and(|percent| percent >= WORKING_FROM_PERCENT);
        let [vram, hot, power, occupied, ..] = &mut self.watches;
        vram.see(moment, part(reading.vram_used_mib, self.vram_total_mib));
        hot.see(moment, reading.temperature_c);
        // The counter moves in steps, which resemble peaks between close samples.
        power.see(moment, part(reading.power_w.or(power_w), limit));
        // Rest between two steps neither counts nor starts the time anew.
        if works || moment.covered_seconds.is_none() || occupancy.is_none() {
            occupied.see(moment, occupancy);
        }
    }

    fn count_errors(&mut self, moment: Moment, xids: &[u64]) {
        let [.., errors, _] = &mut self.watches;
        for xid in xids {
            errors.error(moment.at_seconds, *xid);
            self.xid_count += 1;
            if self.xids.len() < MOST_LISTED {
                self.xids.push(XidEvent { at_seconds: moment.at_seconds, xid: *xid });
            }
        }
    }

    fn hold_back(&mut self, moment: Moment, reasons: Option<ThrottleReasons>) {
        let Some(reasons) = reasons else { return };
        let times =
            self.throttle.get_or_insert_with(|| vec![0.0; ThrottleReasons::known().count()]);
        // A sample that stands for no known time adds none.
        let Some(covered_seconds) = moment.covered_seconds else { return };
        for (seconds, reason) in times.iter_mut().zip(ThrottleReasons::known()) {
            if reasons.has(reason.0) {
                *seconds += covered_seconds;
            }
        }
    }

    fn see_process(&mut self, process: &GpuProcess) {
        let list = self.processes.get_or_insert_default();
        let known = list.iter_mut().find(|seen| {
            let same_name = seen.name == process.name;
            seen.pid == process.pid && (same_name || seen.name.is_none() || process.name.is_none())
        });
        if let Some(seen) = known {
            if seen.name.is_none() {
                seen.name.clone_from(&process.name);
            }
            seen.vram_mib = seen.vram_mib.max(process.vram_mib);
            seen.is_of_command |= process.is_of_command;
            return;
        }
        if list.len() < MOST_LISTED {
            list.push(process.clone());
            return;
        }
        self.has_more_processes = true;
        // The command's own processes stay, then those that hold most.
        let weight = |listed: &GpuProcess| (listed.is_of_command, listed.vram_mib);
        if let Some(least) = list.iter_mut().min_by_key(|listed| weight(listed))
            && weight(least) < weight(process)
        {
            least.clone_from(process);
        }
    }

    /// Whether utilization is a thing that this row has.
    pub(super) fn has_utilization(&self) -> bool {
        windows::has_utilization(&self.identity)
    }

    /// The driver's samples, where there are at least as many as of the profiler.
    fn finest(&self) -> (&Sketch, UtilizationBasis) {
        match &self.fine {
            Some(fine) if fine.count() >= self.samples.count() => {
                (fine, UtilizationBasis::DriverSamples)
            }
            _ => (&self.samples, UtilizationBasis::Samples),
        }
    }

    /// Samples that reported whether it worked.
    pub(super) fn samples(&self) -> u64 {
        self.samples.count()
    }

    /// Mean time that a multiprocessor worked; absent where it is not counted.
    pub(super) fn sm_mean(&self) -> Option<f64> {
        self.tallies.sm_percent.mean()
    }

    /// Mean utilization; absent where it is not available.
    pub(super) fn utilization_mean(&self) -> Option<f64> {
        self.has_utilization().then(|| self.finest().0.mean())?
    }

    /// Work done, also by a MIG instance: its share of the time, times the samples that saw it;
    /// absent where it was not measured.
    pub(super) fn work(&self) -> Option<f64> {
        Some(self.finest().0.mean()? * self.samples.count() as f64)
    }

    /// Whether a kernel ever ran; absent where it was not measured.
    pub(super) fn is_used(&self) -> Option<bool> {
        Some(self.finest().0.quantile(0.99)? >= ACTIVE_PERCENT)
    }

    /// Peak of memory as a share of the card or slice.
    pub(super) fn vram_peak_percent(&self) -> Option<f64> {
        part(self.vram.max(), self.vram_total_mib)
    }

    pub(super) fn alerts(&self) -> impl Iterator<Item = Alert> {
        self.watches.iter().filter_map(Watch::alert)
    }

    /// The row of the profile of a run that took so long.
    pub(super) fn profile(
        &self,
        diagnosis: Diagnosis,
        verdict: Verdict,
        elapsed_seconds: f64,
    ) -> GpuProfile {
        let (finest, basis) = self.finest();
        let utilization = self.has_utilization().then(|| finest.figures()).flatten();
        let mut processes = self.processes.clone();
        if let Some(list) = &mut processes {
            list.sort_by_key(|seen| (std::cmp::Reverse(seen.vram_mib), seen.pid));
        }
        GpuProfile {
            identity: self.identity.clone(),
            utilization,
            utilization_basis: utilization.map(|_| basis),
            is_used: self.is_used(),
            vram_used_mib: self.vram.figures(),
            vram_total_mib: self.vram_total_mib,
            power: self.power.figures(&self.identity, elapsed_seconds),
            ranges: self.tallies.ranges(),
            throttle: self.throttle.as_ref().map(|times| throttle(times)),
            processes,
            has_more_processes: self.has_more_processes,
            xids: self.xids.clone(),
            xid_count: self.xid_count,
            lost: self.lost.clone(),
            diagnosis,
            verdict,
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        let fine = self.fine.as_ref().map_or(0, Sketch::size_bytes);
        let sketches = self.samples.size_bytes() + self.vram.size_bytes() + fine;
        let watches: usize = self.watches.iter().map(Watch::size_bytes).sum();
        let listed = self.processes.as_ref().map_or(0, Vec::len) * size_of::<GpuProcess>()
            + self.xids.len() * size_of::<XidEvent>();
        size_of::<Self>() + sketches + watches + listed
    }
}

/// The reasons that held clocks back at all.
fn throttle(times: &[f64]) -> Vec<ThrottleTime> {
    let times = ThrottleReasons::known().zip(times).filter(|(_, seconds)| **seconds > 0.0);
    times.map(|(reason, seconds)| ThrottleTime { reason, seconds: *seconds }).collect()
}
