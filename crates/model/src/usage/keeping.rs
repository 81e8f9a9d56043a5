//! Usage of a day to plain figures, and back. Figures come from files, so those that no day
//! can have are refused.

use super::amount::{Amount, amounts_to_figures};
use super::facts::{CPU_AVERAGE, CPU_MAXIMUM};
use super::grid::{OpenGrid, Slot};
use super::histogram::Column;
use super::kept::{MOST_HUNDREDTHS, StoredFigures, StoredPeriod, StoredSeries, StoredUsage};
use super::series::{SeriesKey, spacing};
use super::usages::{Added, GridKey, Usage, is_fact};
use crate::domain::{DAY_SECONDS, MOST_GPUS, Metric, SeriesSource, Signal};
use std::collections::{BTreeMap, BTreeSet};

/// Points of a series in a day: one a second.
const MOST_POINTS: u64 = DAY_SECONDS as u64;

impl Usage {
    /// Its figures, if it is that of a day of UTC in which one source measured each signal,
    /// period by period.
    pub fn kept(&self) -> Option<StoredUsage> {
        let is_plain = self.outranked.is_empty() && self.grids.values().all(|grid| grid.step == 1);
        is_plain.then(|| StoredUsage { series: self.kept_series(), periods: self.kept_periods() })
    }

    fn kept_series(&self) -> Vec<StoredSeries> {
        let series = self.added.iter();
        series
            .map(|((metric, gpu, statistic), added)| StoredSeries {
                metric: *metric,
                gpu: *gpu,
                statistic: *statistic,
                source: added.source,
                joined_by: added.joined_by,
                rejected: added.rejected,
                is_empty: added.is_empty,
                figures: self.figures_of((*metric, *gpu, *statistic)),
            })
            .collect()
    }

    fn figures_of(&self, key: SeriesKey) -> StoredFigures {
        self.amounts.get(&key).map(|amount| amount.kept(key.0)).unwrap_or_default()
    }

    fn kept_periods(&self) -> Vec<StoredPeriod> {
        let mut kept = Vec::new();
        let period = |metric, source, index, slot: &Slot| StoredPeriod {
            metric,
            source,
            index,
            reported: slot.reported,
            sum: slot.sum,
            maxima: slot.maxima,
            maximum: slot.maximum,
            works: slot.works,
        };
        let mut of_signals: BTreeMap<(Signal, SeriesSource), Vec<Slot>> = BTreeMap::new();
        for ((signal, source, _), grid) in &self.grids {
            let sum = of_signals.entry((*signal, *source)).or_default();
            for (place, slot) in grid.slots().enumerate() {
                match sum.get_mut(place) {
                    Some(sum) => sum.add(&slot),
                    None => sum.push(slot),
                }
            }
        }
        for ((signal, source), slots) in &of_signals {
            let slots = (0..).zip(slots);
            let known = slots.filter(|(_, slot)| **slot != Slot::default());
            let metric = metric_of(*signal);
            kept.extend(known.map(|(index, slot)| period(metric, *source, index, slot)));
        }
        let cpu = self.places.get(&CPU_AVERAGE);
        let flags =
            [(Metric::CpuUtilization, cpu), (Metric::GpuEncoderSessions, Some(&self.encodes))];
        for (metric, flags) in flags {
            let Some(flags) = flags else { continue };
            let mut of_metric = self.added.iter().filter(|((measured, ..), _)| *measured == metric);
            let Some((_, added)) = of_metric.next() else { continue };
            let marked = (0..).zip(flags.values()).filter(|(_, flag)| *flag == 1);
            let reported = Slot { reported: 1, ..Slot::default() };
            kept.extend(marked.map(|(index, _)| period(metric, added.source, index, &reported)));
        }
        kept
    }

    /// The usage of a day, counted from the epoch, by what was kept of it; `None` if no day
    /// can have these figures.
    pub fn of_kept(kept: &StoredUsage, day: i64, period_seconds: u32) -> Option<Self> {
        let periods = DAY_SECONDS as usize / period_seconds.max(1) as usize;
        let mut usage = Self::default();
        for series in &kept.series {
            usage.take_kept(series, day)?;
        }
        usage.take_periods(&kept.periods, periods, period_seconds)?;
        let reported = kept.periods.iter();
        let reported = reported.filter(|period| period.metric == Metric::GpuUtilization);
        let reported: BTreeSet<u32> = reported.map(|period| period.index).collect();
        for series in kept.series.iter().filter(|series| !series.is_empty) {
            let key = (series.metric, series.gpu, series.statistic);
            if is_fact(series.metric) && key != CPU_AVERAGE {
                let marks = likely_samples(&series.figures, &reported, periods, period_seconds);
                usage.places.insert(key, marks);
            }
        }
        Some(usage)
    }

    fn take_kept(&mut self, series: &StoredSeries, day: i64) -> Option<()> {
        let StoredSeries { metric, gpu, statistic, figures, .. } = series;
        let added = Added {
            is_empty: series.is_empty,
            source: series.source,
            joined_by: series.joined_by,
            rejected: series.rejected,
        };
        let is_new = self.added.insert((*metric, *gpu, *statistic), added).is_none();
        let is_sound = is_new && gpu.is_none_or(|gpu| gpu < MOST_GPUS) && is_sound(figures, day);
        if !is_sound {
            return None;
        }
        self.gpus.extend(gpu);
        let key = (*metric, *gpu, *statistic);
        if series.is_empty || !amounts_to_figures(key) {
            return Some(());
        }
        let amount = Amount::of_kept((*metric, *statistic), figures, day);
        // Days recorded by earlier versions hold the largest alone: no sign that it was quiet.
        let may_lack = key == CPU_MAXIMUM;
        let is_known = amount.is_some();
        self.amounts.extend(amount.map(|amount| (key, amount)));
        (is_known || may_lack).then_some(())
    }

    fn take_periods(
        &mut self,
        kept: &[StoredPeriod],
        periods: usize,
        period_seconds: u32,
    ) -> Option<()> {
        let mut grids = self.empty_grids(periods);
        let (mut sampled, mut encodes) = (vec![0; periods], vec![0; periods]);
        for period in kept {
            let place = period.index as usize;
            let is_sound = place < periods
                && period.reported <= u32::from(MOST_GPUS)
                && period.maxima <= u32::from(MOST_GPUS)
                && period.sum <= u64::from(period.reported) * u64::from(MOST_HUNDREDTHS)
                && period.maximum.is_none_or(|most| most <= MOST_HUNDREDTHS);
            if !is_sound {
                return None;
            }
            let signal = match period.metric {
                Metric::CpuUtilization => {
                    sampled[place] = 1;
                    continue;
                }
                Metric::GpuEncoderSessions => {
                    encodes[place] = 1;
                    continue;
                }
                metric => Signal::of(metric)?,
            };
            let mut own = grids.iter_mut();
            let (_, grid) = own.find(|(key, _)| *key == (signal, period.source))?;
            grid.slots[place] = Slot {
                sum: period.sum,
                reported: period.reported,
                maxima: period.maxima,
                maximum: period.maximum,
                works: period.works,
                ..Slot::default()
            };
        }
        let packed = grids.iter().map(|((signal, source), grid)| {
            let places = (0..).zip(&grid.slots).filter(|(_, slot)| slot.reported > 0);
            let spacing = spacing(places.map(|(place, _)| place), period_seconds);
            let key: GridKey = (*signal, *source, spacing);
            (key, grid.pack())
        });
        self.grids = packed.collect();
        if self.amounts.contains_key(&CPU_AVERAGE) {
            self.places.insert(CPU_AVERAGE, Column::of(sampled));
        }
        if encodes.contains(&1) {
            self.encodes = Column::of(encodes);
        }
        Some(())
    }

    /// The grids of the signals that have a point.
    fn empty_grids(&self, periods: usize) -> Vec<((Signal, SeriesSource), OpenGrid)> {
        let mut grids: Vec<((Signal, SeriesSource), OpenGrid)> = Vec::new();
        for ((metric, gpu, _), added) in self.added.iter().filter(|(_, added)| !added.is_empty) {
            let Some(signal) = Signal::of(*metric) else { continue };
            let key = (signal, added.source);
            let place = match grids.iter().position(|(known, _)| *known == key) {
                Some(place) => place,
                None => {
                    grids.push((key, OpenGrid::new(periods)));
                    grids.len() - 1
                }
            };
            grids[place].1.names_gpus |= gpu.is_some();
        }
        grids
    }
}

/// In which periods of a day a series was probably sampled, of which only the number of samples
/// was kept: as the GPUs of its machine were, if that is known, less what is missing at the
/// end of each dozen.
fn likely_samples(
    figures: &StoredFigures,
    reported: &BTreeSet<u32>,
    periods: usize,
    period_seconds: u32,
) -> Column {
    let each = figures.period_seconds.unwrap_or(0) / period_seconds.max(1);
    let every_place: BTreeSet<u32>;
    // A sample of a longer period stands for every period of the grid in it.
    let places = if reported.is_empty() || each > 1 {
        every_place = (0..periods as u32).collect();
        &every_place
    } else {
        reported
    };
    let (each, samples) = (each.max(1) as usize, places.len() / each.max(1) as usize);
    let count = figures.count.unwrap_or(samples as u64);
    let is_sampled = |rank: usize| ((rank / each) as u64 % 12) * (samples as u64) < 12 * count;
    let mut marks = vec![0; periods];
    for (rank, place) in places.iter().enumerate() {
        if is_sampled(rank)
            && let Some(mark) = marks.get_mut(*place as usize)
        {
            *mark = 1;
        }
    }
    Column::of(marks)
}

fn metric_of(signal: Signal) -> Metric {
    match signal {
        Signal::GpuUtilization => Metric::GpuUtilization,
        Signal::GpuPowerUtilization => Metric::GpuPowerUtilization,
    }
}

/// Whether a day, counted from the epoch, can have these figures.
fn is_sound(figures: &StoredFigures, day: i64) -> bool {
    let count = figures.count.unwrap_or(0);
    let of_steps: u64 = figures.counts.iter().map(|(_, count)| u64::from(*count)).sum();
    let is_of_day =
        |second: Option<i64>| second.is_none_or(|second| second.div_euclid(DAY_SECONDS) == day);
    let is_figure =
        |figure: Option<f64>| figure.is_none_or(|figure| figure.is_finite() && figure >= 0.0);
    count <= MOST_POINTS
        && of_steps <= MOST_POINTS
        && figures.active.is_none_or(|active| active <= count)
        && figures.period_seconds.is_none_or(|period| (1..=DAY_SECONDS as u32).contains(&period))
        && is_of_day(figures.first)
        && is_of_day(figures.last)
        && figures.first <= figures.last
        && is_figure(figures.min)
        && is_figure(figures.max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::{Usages, lab};
    use proptest::prelude::*;

    /// What was kept of each whole day of the window, beside the usage of what remains.
    fn kept_by_day(answers: &[lab::Answer]) -> Vec<(crate::domain::Window, Usages)> {
        let id = crate::domain::ResourceId::named("i-1");
        let stretches = lab::stretches().into_iter();
        let each = stretches.map(|stretch| {
            let usages = lab::usages(answers, stretch);
            if stretch.seconds() < DAY_SECONDS || usages.is_empty() {
                return (stretch, usages);
            }
            let kept = usages.of(&id).kept().expect("one source measured it");
            let day = stretch.start.as_second() / DAY_SECONDS;
            let again = Usage::of_kept(&kept, day, lab::PERIOD).expect("a day can have it");
            let mut usages = Usages::default();
            usages.insert(id.clone(), again);
            (stretch, usages)
        });
        each.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Four whole days by what is kept of them, and the window read in one.
        #[test]
        fn kept_days_give_the_same_figures(seed in any::<u64>()) {
            let answers = lab::answers(seed);
            let id = crate::domain::ResourceId::named("i-1");
            let joined = Usages::joined(kept_by_day(&answers), lab::window(), lab::PERIOD);
            let whole = lab::usages(&answers, lab::window());
            // When each GPU was sampled is not kept of a day.
            prop_assert!(
                lab::figures_but_outages(joined.of(&id)) == lab::figures_but_outages(whole.of(&id))
            );
        }
    }

    #[test]
    fn figures_that_no_day_has_are_refused() {
        let day = lab::stretches()[1];
        let number = day.start.as_second() / DAY_SECONDS;
        let usages = (0..500).map(|seed| lab::usages(&lab::answers(seed), day));
        let id = crate::domain::ResourceId::named("i-1");
        let kept = usages
            .filter_map(|usages| usages.of(&id).kept())
            .find(|kept| {
                let full = kept.series.iter().filter(|series| !series.is_empty);
                full.count() == 17 && !kept.periods.is_empty()
            })
            .expect("some day has everything");
        let read = |kept: &StoredUsage| Usage::of_kept(kept, number, lab::PERIOD);
        assert!(read(&kept).is_some());
        assert!(Usage::of_kept(&kept, number + 1, lab::PERIOD).is_none());
        let spoilt: [fn(&mut StoredUsage); 10] = [
            |kept| kept.series.push(kept.series[0].clone()),
            |kept| kept.series[0].gpu = Some(MOST_GPUS),
            |kept| kept.series[0].figures.count = None,
            |kept| kept.series[0].figures.count = Some(86_401),
            |kept| kept.series[0].figures.counts.reverse(),
            |kept| kept.series[0].figures.counts.push((u16::MAX, 1)),
            |kept| kept.series[0].figures.max = Some(f64::NAN),
            |kept| kept.periods[0].index = 288,
            |kept| kept.periods[0].sum = 2_560_001,
            |kept| kept.periods[0].metric = Metric::NetworkIn,
        ];
        for (number, spoil) in spoilt.iter().enumerate() {
            let mut kept = kept.clone();
            spoil(&mut kept);
            assert!(read(&kept).is_none(), "{number}");
        }
    }
}
