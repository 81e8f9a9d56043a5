//! The statements of the tables of usage.

use super::gauge::Gauge;
use super::layout::Table;
use super::points::{Key, Points};
use super::series::{KEPT, Kept, MEAN};
use super::template::fill;

const ASKED_TEMPLATE: &str = include_str!("usage_asked.sql");
const SERIES: &str = include_str!("usage_series.sql");
const GRID: &str = include_str!("usage_grid.sql");
const MARKS: &str = include_str!("usage_marks.sql");
const HIST: &str = include_str!("usage_hist.sql");
const HOUR: &str = include_str!("usage_hour.sql");
const HOURS: &str = include_str!("hours.sql");

/// What a run that was made from an archive is said to have asked.
pub const ASKED: &str = "rollup";

/// A statement whose result is rows of a table, with the day as `dt` after its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub table: Table,
    /// What it is about; all metrics where absent.
    pub gauge: Option<Gauge>,
    /// Without a semicolon.
    pub text: String,
}

/// The statements that give all tables. They read the points themselves, or, where its name is
/// given, a table with the result of [`Points::periods`].
pub fn statements(points: &Points, periods: Option<&str>) -> Vec<Statement> {
    let writer = Writer { points, periods };
    let mut all = vec![writer.asked()];
    for gauge in points.gauges() {
        let kept = KEPT.iter().filter(|one| one.gauge == gauge);
        all.extend(kept.map(|one| writer.series(*one)));
        all.extend(writer.grid(gauge));
        all.extend(writer.hist(gauge));
        all.push(writer.hour(gauge));
    }
    all
}

struct Writer<'a> {
    points: &'a Points,
    periods: Option<&'a str>,
}

impl Writer<'_> {
    /// What a statement about some metrics reads.
    fn source(&self, is_asked: impl Fn(Gauge) -> bool) -> String {
        match self.periods {
            Some(name) => name.to_owned(),
            None => format!("(\n{}\n)", self.points.parts(is_asked).periods()),
        }
    }

    /// Puts together what a statement of any table has, and what this one has.
    fn fill(
        &self,
        (table, template): (Table, &str),
        gauge: Option<Gauge>,
        own: &[(&str, &str)],
    ) -> Statement {
        let (points, dialect) = (self.points, self.points.dialect);
        let periods = self.source(|one| gauge.is_none_or(|gauge| gauge == one));
        let metric = format!("'{}'", gauge.map_or("", Gauge::name));
        let whole = dialect.whole_type();
        let day = format!("cast(floor(cast(p.period as double) / 86400) as {whole})");
        let named = ["sum", "max", "min", "first", "last", "hour"];
        let named = named.map(|name| (name, dialect.ident(name)));
        let texts = [
            (
                "machine",
                self.machine(|name| format!("p.{name} as {name}")),
            ),
            ("by_machine", self.machine(|name| format!("p.{name}"))),
            ("machine_out", self.machine_out()),
            ("periods", periods),
            ("metric", metric),
            ("source", dialect.text(&points.source)),
            ("gpu_out", format!("cast(g.gpu as {whole})")),
            ("day", day),
            ("dt", dialect.day_text("g.day")),
        ];
        let constant = [
            ("bigint", whole),
            ("real", dialect.single_type()),
            ("mean", MEAN),
            ("no_number", dialect.no_whole()),
        ];
        // What is its own comes first, and hides what all have.
        let texts = texts.iter().chain(&named);
        let texts = texts.map(|(name, text)| (*name, text.as_str()));
        let values: Vec<(&str, &str)> = own.iter().copied().chain(texts).chain(constant).collect();
        Statement {
            table,
            gauge,
            text: format!("{}{}", fill(template, &values), dialect.settings()),
        }
    }

    fn machine(&self, each: impl Fn(&str) -> String) -> String {
        let keys: Vec<String> = self.points.keys().map(|(name, _)| each(name)).collect();
        keys.join(", ")
    }

    fn machine_out(&self) -> String {
        let dialect = self.points.dialect;
        let columns = &self.points.columns;
        let column = |name: &str| format!("cast(g.{name} as {}) as {name}", dialect.text_type());
        let key = |name: &str, key: &Key| match key {
            Key::Column(_) => column(name),
            Key::Text(text) => format!("{} as {name}", dialect.text(text)),
        };
        [
            key("account", &columns.account),
            key("region", &columns.region),
            column("instance"),
        ]
        .join(", ")
    }

    fn asked(&self) -> Statement {
        let asked = self.points.dialect.text(ASKED);
        self.fill((Table::Asked, ASKED_TEMPLATE), None, &[("asked", &asked)])
    }

    fn series(&self, kept: Kept) -> Statement {
        let texts = kept.figures.texts(self.points.dialect);
        let hours = kept.figures.is_hourly().then(|| self.hours(kept.gauge));
        let statistic = format!("'{}'", kept.reduction.name());
        let mut own = vec![
            ("statistic", statistic.as_str()),
            ("joined_by", "'instance-id'"),
            ("value", kept.reduction.value()),
            ("figures", texts.aggregates.as_str()),
            ("n", texts.n.as_str()),
            ("period_seconds", texts.period_seconds.as_str()),
            ("min_value", texts.min.as_str()),
            ("max_value", texts.max.as_str()),
            ("sum_value", texts.sum.as_str()),
            ("n_active", texts.n_active.as_str()),
            ("first_value", texts.first.as_str()),
            ("last_value", texts.last.as_str()),
        ];
        own.extend(hours.as_deref().map(|hours| ("periods", hours)));
        self.fill((Table::Series, SERIES), Some(kept.gauge), &own)
    }

    /// Rows of periods, added up by hour.
    fn hours(&self, gauge: Gauge) -> String {
        fill(
            HOURS,
            &[
                (
                    "machine",
                    &self.machine(|name| format!("p.{name} as {name}")),
                ),
                ("by_machine", &self.machine(|name| format!("p.{name}"))),
                ("periods", &self.source(|one| one == gauge)),
                ("metric", &format!("'{}'", gauge.name())),
                ("bigint", self.points.dialect.whole_type()),
            ],
        )
    }

    fn grid(&self, gauge: Gauge) -> Option<Statement> {
        match gauge {
            Gauge::Utilization | Gauge::PowerUtilization => {
                Some(self.fill((Table::Grid, GRID), Some(gauge), &[]))
            }
            // A sample of CPU shows that the instance ran, whatever it is: for some engines
            // -0.0 is below 0.
            Gauge::Cpu => Some(self.marks(gauge, "-1")),
            Gauge::EncoderSessions => Some(self.marks(gauge, "1e-300")),
            _ => None,
        }
    }

    /// Periods with a value from the least on.
    fn marks(&self, gauge: Gauge, least: &str) -> Statement {
        self.fill((Table::Grid, MARKS), Some(gauge), &[("least", least)])
    }

    fn hist(&self, gauge: Gauge) -> Option<Statement> {
        let whole = self.points.dialect.whole_type();
        let (steps, bucket) = match gauge {
            Gauge::Utilization | Gauge::Cpu => ("100", "p.step".to_owned()),
            Gauge::MemoryUsed | Gauge::PowerDraw => ("1", mebibytes()),
            _ => return None,
        };
        let bucket = format!("cast({bucket} as {whole})");
        let hours = (gauge == Gauge::PowerDraw).then(|| self.hours(gauge));
        let mut own = vec![("steps", steps), ("bucket", bucket.as_str())];
        own.extend(hours.as_deref().map(|hours| ("periods", hours)));
        Some(self.fill((Table::Hist, HIST), Some(gauge), &own))
    }

    fn hour(&self, gauge: Gauge) -> Statement {
        let dialect = self.points.dialect;
        let active = match gauge {
            Gauge::Utilization => format!("cast(g.active as {})", dialect.whole_type()),
            _ => dialect.no_whole().to_owned(),
        };
        self.fill((Table::Hour, HOUR), Some(gauge), &[("n_active", &active)])
    }
}

/// The bucket of whole MiB or watts, `p.step`, as `usage::Scale` counts them: one by one below 2,048,
/// and then in 1,024 steps for each doubling, up to 16 TiB.
fn mebibytes() -> String {
    let doublings: String = (1..=13)
        .map(|shift: u32| {
            let (end, first, wide) = (1_u64 << (shift + 11), shift * 1_024, 1_u64 << shift);
            format!(" when p.step < {end} then {first} + floor(p.step / {wide})")
        })
        .collect();
    // 2^24 itself is the first step of the fourteenth doubling, which has no other.
    format!("case when p.step < 2048 then p.step{doublings} else 15360 end")
}
