//! Two runs of one command beside each other, such as on another type or with another batch.

use crate::domain::{HourlyRate, Money, PastRun, named_enum, units_of_price};
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};

/// A change that counts as noise unless the user knows better, percent: speeds of cards of
/// one model differ by 8% on average, over 18,800 hours of five clusters (Sinha et al., Not
/// All GPUs Are Created Equal, SC 2022).
pub const USUAL_NOISE_PERCENT: f64 = 8.0;

/// Two runs beside each other.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDiff<'a> {
    pub old: &'a PastRun,
    pub new: &'a PastRun,
    /// What makes the two hard to compare, in words.
    pub caveats: Vec<String>,
    /// Figures that either run has: per unit of work first, then of the whole runs.
    pub figures: Vec<RunFigure>,
    /// Largest change that counts as noise, percent.
    pub noise_percent: f64,
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunValue {
    Money(Money),
    /// In the unit of its figure.
    Number(f64),
}

impl RunValue {
    fn number(self) -> Option<f64> {
        match self {
            Self::Money(amount) => amount.amount().to_f64(),
            Self::Number(number) => Some(number),
        }
    }
}

/// A figure of two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFigure {
    pub kind: RunFigureKind,
    /// The unit of work that it is about.
    pub unit: Option<String>,
    pub old: Option<RunValue>,
    pub new: Option<RunValue>,
    /// Percent of the old figure; absent where one is unknown, the old is zero, or the
    /// currencies differ.
    pub change_percent: Option<f64>,
    /// Absent where the change says nothing.
    pub verdict: Option<RunVerdict>,
}

named_enum! {
    /// What a figure is.
    RunFigureKind {
        UnitsPerHour = "units_per_hour",
        /// Of as many units as prices of the unit are for.
        CostOfUnit = "cost_of_unit",
        /// Of as many, in watt-hours.
        EnergyOfUnit = "energy_of_unit_wh",
        /// In percent.
        Mfu = "mfu_pct",
        /// In seconds.
        Duration = "elapsed_seconds",
        Cost = "run_cost",
        /// In kilowatt-hours.
        Energy = "energy_kwh",
        /// Mean over all GPUs, in percent.
        Utilization = "gpu_utilization_mean_pct",
        /// In GiB.
        VramPeak = "vram_peak_gb",
    }
}

impl RunFigureKind {
    /// The number of units that it is of; one where it is of none.
    pub fn per(self, unit: Option<&str>) -> u32 {
        match (self, unit) {
            (Self::CostOfUnit | Self::EnergyOfUnit, Some(unit)) => units_of_price(unit),
            _ => 1,
        }
    }

    /// Whether more of it is better; absent where that depends on what is wanted.
    fn more_is_better(self) -> Option<bool> {
        match self {
            Self::UnitsPerHour | Self::Mfu => Some(true),
            Self::CostOfUnit | Self::EnergyOfUnit | Self::Duration | Self::Cost | Self::Energy => {
                Some(false)
            }
            Self::Utilization | Self::VramPeak => None,
        }
    }
}

named_enum! {
    /// What a change says.
    RunVerdict {
        Better = "better",
        Worse = "worse",
        Higher = "higher",
        Lower = "lower",
        WithinNoise = "within-noise",
    }
}

impl<'a> RunDiff<'a> {
    /// Compares two runs; changes of at most so many percent are noise.
    pub fn of(old: &'a PastRun, new: &'a PastRun, noise_percent: f64) -> Self {
        let units = shared_units(old, new);
        let did_same = units.iter().all(|(_, before, now)| before == now);
        let ended_well = [old, new].iter().all(|run| run.exit_code == Some(0));
        let mut figures = Vec::new();
        let mut add = |kind, unit: Option<&str>, values, noise: Option<f64>| {
            figures.extend(RunFigure::of(kind, unit, values, noise));
        };
        for (unit, before, now) in &units {
            // Lines of a log are whole: one more or less proves nothing.
            let noise = noise_percent.max((1.0 / before + 1.0 / now) * 100.0);
            let noise = Some(noise).filter(|noise| noise.is_finite());
            for (kind, of) in OF_UNITS {
                let unit = Some(unit.as_str());
                let per = f64::from(kind.per(unit));
                add(kind, unit, [of(old, before / per), of(new, now / per)], noise);
            }
        }
        let number =
            |of: fn(&PastRun) -> Option<f64>| [old, new].map(|run| of(run).map(RunValue::Number));
        let noise = Some(noise_percent);
        let of_same_work = noise.filter(|_| did_same && ended_well);
        let of_judged = noise.filter(|_| old.is_judged && new.is_judged);
        add(RunFigureKind::Mfu, None, number(|run| run.mfu_percent), noise);
        add(RunFigureKind::Duration, None, number(|run| Some(run.elapsed_seconds)), of_same_work);
        let costs = [old, new].map(|run| cost(run).map(RunValue::Money));
        add(RunFigureKind::Cost, None, costs, of_same_work);
        add(RunFigureKind::Energy, None, number(|run| run.energy_kwh), of_same_work);
        let utilization = number(|run| run.utilization_mean_percent);
        add(RunFigureKind::Utilization, None, utilization, of_judged);
        add(RunFigureKind::VramPeak, None, number(|run| run.vram_peak_gib), noise);
        Self { old, new, caveats: caveats(old, new, &units), figures, noise_percent }
    }
}

type OfUnits = fn(&PastRun, f64) -> Option<RunValue>;

/// What a unit has, from the run and how many it did, in as many as the figure is of.
const OF_UNITS: [(RunFigureKind, OfUnits); 3] = [
    (RunFigureKind::UnitsPerHour, |run, count| {
        let hours = run.elapsed_seconds / 3_600.0;
        (hours > 0.0).then(|| RunValue::Number(count / hours))
    }),
    (RunFigureKind::CostOfUnit, |run, count| {
        let cost = cost(run)?;
        let each = cost.amount().checked_div(Decimal::from_f64(count)?)?;
        Some(RunValue::Money(Money::new(each, cost.currency())))
    }),
    (RunFigureKind::EnergyOfUnit, |run, count| {
        let wh = run.energy_kwh? * 1_000.0;
        (count > 0.0).then(|| RunValue::Number(wh / count))
    }),
];

/// Unrounded, so that what a step costs keeps its digits.
fn cost(run: &PastRun) -> Option<Money> {
    let hours = Decimal::from_f64(run.elapsed_seconds / 3_600.0)?;
    run.hourly.map(|rate: HourlyRate| rate.times_hours(hours))
}

/// Units that both counted, with both numbers, in the order of the newer.
fn shared_units(old: &PastRun, new: &PastRun) -> Vec<(String, f64, f64)> {
    let of_new = new.units.iter().filter_map(|(unit, now)| {
        let mut before = old.units.iter();
        let (_, before) = before.find(|(name, _)| name == unit)?;
        Some((unit.clone(), *before, *now))
    });
    of_new.collect()
}

fn caveats(old: &PastRun, new: &PastRun, units: &[(String, f64, f64)]) -> Vec<String> {
    let mut caveats = Vec::new();
    for (run, which) in [(old, "old"), (new, "new")] {
        match run.exit_code {
            Some(0) => {}
            Some(code) => caveats.push(format!(
                "the command of the {which} run ended with {code}: time, cost and energy of the \
                 whole runs are not compared"
            )),
            None => caveats.push(format!(
                "the {which} run does not cover a whole command: time, cost and energy of the \
                 whole runs are not compared"
            )),
        }
        if !run.is_judged {
            caveats
                .push(format!("the {which} run has too few samples of utilization to compare it"));
        }
    }
    for (unit, before, now) in units.iter().filter(|(_, before, now)| before != now) {
        caveats.push(format!(
            "the runs did {before} and {now} {unit}: compare what one costs, not the whole runs"
        ));
    }
    if units.is_empty() {
        caveats.push(
            "no unit of work was counted in both runs: nothing says that they did the same"
                .to_owned(),
        );
    }
    if old.gpucost_version != new.gpucost_version {
        caveats.push("the summaries were written by different versions of gpucost".to_owned());
    }
    caveats
}

impl RunFigure {
    /// `None` where neither run has it; judged only with a noise.
    fn of(
        kind: RunFigureKind,
        unit: Option<&str>,
        [old, new]: [Option<RunValue>; 2],
        noise: Option<f64>,
    ) -> Option<Self> {
        old.or(new)?;
        let change_percent = change(old, new);
        let verdict = change_percent.zip(noise).map(|(change, noise)| {
            match (kind.more_is_better(), change > 0.0) {
                _ if change.abs() <= noise => RunVerdict::WithinNoise,
                (Some(more), rises) if more == rises => RunVerdict::Better,
                (Some(_), _) => RunVerdict::Worse,
                (None, true) => RunVerdict::Higher,
                (None, false) => RunVerdict::Lower,
            }
        });
        Some(Self { kind, unit: unit.map(str::to_owned), old, new, change_percent, verdict })
    }
}

fn change(old: Option<RunValue>, new: Option<RunValue>) -> Option<f64> {
    let (old, new) = old.zip(new)?;
    if let (RunValue::Money(old), RunValue::Money(new)) = (old, new)
        && old.currency() != new.currency()
    {
        return None;
    }
    let (old, new) = old.number().zip(new.number())?;
    (old > 0.0).then(|| (new - old) / old * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn run(elapsed_seconds: f64, hourly: &str, steps: f64) -> PastRun {
        PastRun {
            gpucost_version: None,
            hostname: None,
            instance_type: None,
            region: None,
            gpus: vec![Some("NVIDIA A10G".to_owned())],
            exit_code: Some(0),
            elapsed_seconds,
            hourly: HourlyRate::new(hourly.parse().expect("a number"), Currency::Usd),
            is_judged: true,
            utilization_mean_percent: Some(50.0),
            vram_peak_gib: Some(10.0),
            energy_kwh: Some(1.0),
            mfu_percent: None,
            units: vec![("steps".to_owned(), steps)],
        }
    }

    fn verdict(diff: &RunDiff<'_>, kind: RunFigureKind) -> Option<&'static str> {
        let figure = diff.figures.iter().find(|figure| figure.kind == kind);
        figure.expect("listed").verdict.map(RunVerdict::name)
    }

    #[test]
    fn half_the_time_at_three_times_the_price_is_faster_and_more_expensive() {
        // 3,600 s at $1 against 1,800 s at $3: $1.00 and $1.50 for 1,000 steps.
        let (old, new) = (run(3_600.0, "1", 1_000.0), run(1_800.0, "3", 1_000.0));
        let diff = RunDiff::of(&old, &new, 8.0);
        let figure = |kind| {
            let mut figures = diff.figures.iter();
            figures.find(|figure| figure.kind == kind).expect("listed")
        };
        let speed = figure(RunFigureKind::UnitsPerHour);
        assert_eq!(speed.old, Some(RunValue::Number(1_000.0)));
        assert_eq!(speed.new, Some(RunValue::Number(2_000.0)));
        assert_eq!(speed.change_percent, Some(100.0));
        assert_eq!(speed.verdict, Some(RunVerdict::Better));
        let change = figure(RunFigureKind::CostOfUnit).change_percent;
        assert!(change.is_some_and(|change| (change - 50.0).abs() < 1e-9));
        assert_eq!(verdict(&diff, RunFigureKind::Cost), Some("worse"));
        assert_eq!(verdict(&diff, RunFigureKind::Duration), Some("better"));
        assert_eq!(verdict(&diff, RunFigureKind::Energy), Some("within-noise"));
        assert!(diff.caveats.is_empty(), "{:?}", diff.caveats);
    }

    #[test]
    fn tokens_are_compared_by_the_million() {
        let tokens = |count: f64| PastRun {
            units: vec![("tokens".to_owned(), count)],
            ..run(3_600.0, "1", 0.0)
        };
        let (old, new) = (tokens(500e6), tokens(1_000e6));
        let diff = RunDiff::of(&old, &new, 8.0);
        let values = |kind| {
            let mut figures = diff.figures.iter();
            let figure = figures.find(|figure| figure.kind == kind).expect("listed");
            (figure.kind.per(figure.unit.as_deref()), figure.old, figure.new)
        };
        let dollars = |text: &str| {
            let amount = text.parse().expect("a decimal");
            Some(RunValue::Money(Money::new(amount, Currency::Usd)))
        };
        // $1 of 500 and of 1,000 million.
        let costs = (1_000_000, dollars("0.002"), dollars("0.001"));
        assert_eq!(values(RunFigureKind::CostOfUnit), costs);
        // 1,000 Wh of as many.
        let number = |number| Some(RunValue::Number(number));
        let energy = (1_000_000, number(2.0), number(1.0));
        assert_eq!(values(RunFigureKind::EnergyOfUnit), energy);
        let speeds = (1, number(500e6), number(1_000e6));
        assert_eq!(values(RunFigureKind::UnitsPerHour), speeds);
    }

    #[test]
    fn what_is_no_more_than_noise_is_not_judged() {
        let old = run(1_000.0, "1", 1_000.0);
        // The boundary itself is noise: 1,080 s are 8% more.
        for (seconds, said) in [(1_080.0, "within-noise"), (1_081.0, "worse"), (919.0, "better")] {
            let new = run(seconds, "1", 1_000.0);
            let diff = RunDiff::of(&old, &new, 8.0);
            assert_eq!(verdict(&diff, RunFigureKind::Duration), Some(said), "{seconds}");
        }
        // Ten steps are counted to 10% each: 15% faster proves nothing.
        let (old, new) = (run(1_150.0, "1", 10.0), run(1_000.0, "1", 10.0));
        let diff = RunDiff::of(&old, &new, 8.0);
        assert_eq!(verdict(&diff, RunFigureKind::UnitsPerHour), Some("within-noise"));
    }

    #[test]
    fn runs_of_different_work_are_compared_by_the_unit_alone() {
        let (old, mut new) = (run(1_000.0, "1", 1_000.0), run(1_000.0, "1", 2_000.0));
        let diff = RunDiff::of(&old, &new, 8.0);
        assert_eq!(verdict(&diff, RunFigureKind::UnitsPerHour), Some("better"));
        assert_eq!(verdict(&diff, RunFigureKind::Duration), None);
        assert_eq!(diff.caveats.len(), 1);
        new.exit_code = Some(137);
        new.units.clear();
        new.is_judged = false;
        new.hourly = None;
        let diff = RunDiff::of(&old, &new, 8.0);
        for kind in [RunFigureKind::Cost, RunFigureKind::Energy, RunFigureKind::Utilization] {
            assert_eq!(verdict(&diff, kind), None, "{kind:?}");
        }
        assert_eq!(diff.caveats.len(), 3, "{:?}", diff.caveats);
    }

    #[test]
    fn two_currencies_and_zeros_have_no_change() {
        let old = run(0.0, "1", 0.0);
        let mut new = run(1_000.0, "1", 0.0);
        new.hourly = HourlyRate::new(Decimal::ONE, Currency::Cny);
        let diff = RunDiff::of(&old, &new, 8.0);
        assert!(diff.figures.iter().all(|figure| figure.change_percent.is_none_or(f64::is_finite)));
        assert_eq!(verdict(&diff, RunFigureKind::Cost), None);
        assert_eq!(verdict(&diff, RunFigureKind::Duration), None);
    }
}
