//! What a history keeps of a series of each metric and statistic: which figures, from which
//! periods.

use super::dialect::Dialect;
use super::gauge::Gauge;

/// How the readings of a period become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reduction {
    Average,
    Maximum,
    Sum,
}

impl Reduction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Average => "average",
            Self::Maximum => "maximum",
            Self::Sum => "sum",
        }
    }

    /// The value of a row of periods.
    pub(super) fn value(self) -> &'static str {
        match self {
            Self::Average => MEAN,
            Self::Maximum => "p.high",
            Self::Sum => TOTAL,
        }
    }
}

/// The sum of the readings of a row of periods: whole ones, and 2^-40 of one.
pub(super) const TOTAL: &str = "(cast(p.whole as double) + cast(p.part as double) / 1099511627776)";
/// Their mean.
pub(super) const MEAN: &str =
    "(cast(p.whole as double) + cast(p.part as double) / 1099511627776) / p.n";

/// A series that a history keeps of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) gauge: Gauge,
    pub(super) reduction: Reduction,
    pub(super) figures: Figures,
}

/// Which figures of a series are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figures {
    /// None but that there are points.
    Nothing,
    /// How many periods have points.
    Count,
    /// Beside that the largest, how many are active, and when the first and the last begin.
    Activity,
    /// Beside that the extremes.
    Extremes,
    /// The largest alone.
    Largest,
    /// Hours, and the sum of their means in thousandths.
    Thousandths,
    /// Hours, the sum of their sums, and the largest in Gbit/s.
    Traffic,
}

/// Everything that is kept, by metric and statistic.
pub(super) const KEPT: [Kept; 13] = [
    kept(Gauge::Utilization, Reduction::Average, Figures::Count),
    kept(Gauge::Utilization, Reduction::Maximum, Figures::Activity),
    kept(Gauge::MemoryUsed, Reduction::Average, Figures::Extremes),
    kept(Gauge::MemoryUsed, Reduction::Maximum, Figures::Extremes),
    kept(Gauge::MemoryTotal, Reduction::Maximum, Figures::Largest),
    kept(Gauge::PowerDraw, Reduction::Average, Figures::Thousandths),
    kept(Gauge::Temperature, Reduction::Maximum, Figures::Largest),
    kept(Gauge::EncoderSessions, Reduction::Maximum, Figures::Largest),
    kept(
        Gauge::PowerUtilization,
        Reduction::Average,
        Figures::Nothing,
    ),
    kept(
        Gauge::PowerUtilization,
        Reduction::Maximum,
        Figures::Nothing,
    ),
    kept(Gauge::Cpu, Reduction::Average, Figures::Count),
    kept(Gauge::NetworkIn, Reduction::Sum, Figures::Traffic),
    kept(Gauge::NetworkOut, Reduction::Sum, Figures::Traffic),
];

const fn kept(gauge: Gauge, reduction: Reduction, figures: Figures) -> Kept {
    Kept {
        gauge,
        reduction,
        figures,
    }
}

/// The texts of a statement that are about figures.
pub(super) struct FigureTexts {
    /// Aggregates of the values of a day.
    pub(super) aggregates: String,
    pub(super) n: String,
    pub(super) period_seconds: String,
    pub(super) min: String,
    pub(super) max: String,
    pub(super) sum: String,
    pub(super) n_active: String,
    pub(super) first: String,
    pub(super) last: String,
}

impl Figures {
    /// Whether an hour is a period.
    pub(super) fn is_hourly(self) -> bool {
        matches!(self, Self::Thousandths | Self::Traffic)
    }

    pub(super) fn texts(self, dialect: Dialect) -> FigureTexts {
        let whole = dialect.whole_type();
        // A series without any valid point has no figures.
        let some = |value: &str| format!("case when g.n > 0 then cast({value} as {whole}) end");
        let widened = |value: &str| widened(value, dialect);
        let none = FigureTexts {
            aggregates: String::new(),
            n: dialect.no_whole().to_owned(),
            period_seconds: dialect.no_whole().to_owned(),
            min: dialect.no_real().to_owned(),
            max: dialect.no_real().to_owned(),
            sum: dialect.no_whole().to_owned(),
            n_active: dialect.no_whole().to_owned(),
            first: dialect.no_whole().to_owned(),
            last: dialect.no_whole().to_owned(),
        };
        match self {
            Self::Nothing => none,
            Self::Count => FigureTexts {
                n: some("g.n"),
                period_seconds: some("300"),
                ..none
            },
            Self::Activity => FigureTexts {
                aggregates: ACTIVITY.to_owned(),
                n: some("g.n"),
                period_seconds: some("300"),
                max: widened("g.high"),
                n_active: some("g.active"),
                first: some("g.earliest"),
                last: some("g.latest"),
                ..none
            },
            Self::Extremes => FigureTexts {
                aggregates: "\n    min(p.value) as low, max(p.value) as high,".to_owned(),
                n: some("g.n"),
                period_seconds: some("300"),
                min: widened("g.low"),
                max: widened("g.high"),
                ..none
            },
            Self::Largest => FigureTexts {
                aggregates: "\n    max(p.value) as high,".to_owned(),
                max: widened("g.high"),
                ..none
            },
            Self::Thousandths => FigureTexts {
                aggregates: format!(
                    "\n    sum(cast(floor(({}) * 1000 + 0.5) as {whole})) as total,",
                    widened("p.value")
                ),
                n: some("g.n"),
                sum: some("g.total"),
                ..none
            },
            Self::Traffic => FigureTexts {
                aggregates: format!(
                    "\n    sum(cast(floor(({value}) + 0.5) as {whole})) as total,\
                     \n    max(({value}) * 8 / 3600 / 1e9) as busiest,",
                    value = widened("p.value")
                ),
                n: some("g.n"),
                period_seconds: some("3600"),
                max: "g.busiest".to_owned(),
                sum: some("g.total"),
                ..none
            },
        }
    }
}

const ACTIVITY: &str = "
    max(p.value) as high,
    sum(case when p.value >= 1 then 1 else 0 end) as active,
    min(case when p.value is not null then p.period end) as earliest,
    max(case when p.value is not null then p.period end) as latest,";

/// The decimal with four places that a value of single precision stands for, as
/// `usage::series` widens it.
fn widened(value: &str, dialect: Dialect) -> String {
    let single = dialect.single_type();
    let rounded = format!("floor({value} * 10000 + 0.5) / 10000");
    format!(
        "case when cast({rounded} as {single}) = cast({value} as {single}) \
         then {rounded} else {value} end"
    )
}
