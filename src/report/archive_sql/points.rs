//! Points of an archive, and the statement that adds them up by series and five minutes,
//! which everything else is made of.

use super::dialect::{Dialect, TimeUnit};
use super::gauge::Gauge;
use super::template::fill;
use std::ops::Range;

/// Adds up points; see the template.
const PERIODS: &str = include_str!("periods.sql");
/// One of the points of a series with the same time.
const DISTINCT: &str = include_str!("distinct.sql");

const DAY_SECONDS: i64 = 86_400;

/// Where a text of a history comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Column(String),
    /// The same for all points.
    Text(String),
}

/// The columns of an archive, by their names in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointColumns {
    pub account: Key,
    pub region: Key,
    pub instance: String,
    /// The index of the GPU on its host.
    pub gpu: Option<String>,
    pub metric: String,
    pub time: String,
    pub value: String,
}

/// A metric of an archive, and what it measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Measure {
    pub gauge: Gauge,
    /// As the archive has it.
    pub name: String,
    /// What a value is multiplied by to be a percentage, MiB, watts or degrees Celsius.
    pub scale: f64,
}

/// A scale that no unit has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadMeasure;

impl Measure {
    /// A metric under its own name, with a scale such as `*100` or `/1048576` after it or
    /// none.
    ///
    /// # Errors
    /// When the scale is not between 1e-15 and 1e15.
    pub fn new(gauge: Gauge, text: &str) -> Result<Self, BadMeasure> {
        let scaled = text.rfind(['*', '/']).and_then(|place| {
            let (name, end) = text.split_at(place);
            let number: f64 = end.get(1..)?.parse().ok()?;
            let scale = if end.starts_with('*') {
                number
            } else {
                1.0 / number
            };
            Some((name, scale))
        });
        let (name, scale) = scaled.unwrap_or((text, 1.0));
        let is_sound = (1e-15..=1e15).contains(&scale) && !name.is_empty();
        is_sound
            .then(|| Self {
                gauge,
                name: name.to_owned(),
                scale,
            })
            .ok_or(BadMeasure)
    }

    /// Under the name that a history has.
    pub fn plain(gauge: Gauge) -> Self {
        Self {
            gauge,
            name: gauge.name().to_owned(),
            scale: 1.0,
        }
    }
}

/// Points of an archive, and how an engine reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    pub dialect: Dialect,
    /// What comes after `from`, quoted.
    pub from: String,
    pub columns: PointColumns,
    pub time_unit: TimeUnit,
    /// At least one.
    pub measures: Vec<Measure>,
    /// Who measured, in the words of a history.
    pub source: String,
    /// Days counted from 1970; all where absent.
    pub days: Option<Range<i64>>,
    /// Whether one of several points of a series with the same time is taken, which groups
    /// all points by time.
    pub is_distinct: bool,
}

/// What part of a statement is about an archive, put together once.
pub(super) struct Parts<'a> {
    points: &'a Points,
    measures: Vec<&'a Measure>,
}

impl Points {
    /// What the column of times has in some days, in its own unit; `None` of what is not a
    /// number.
    pub fn times(&self, days: &Range<i64>) -> Option<Range<i64>> {
        let of_day = DAY_SECONDS * self.time_unit.per_second()?;
        Some(days.start * of_day..days.end * of_day)
    }

    /// The parts of a statement about some metrics.
    pub(super) fn parts(&self, is_asked: impl Fn(Gauge) -> bool) -> Parts<'_> {
        let measures = self.measures.iter().filter(|one| is_asked(one.gauge));
        Parts {
            points: self,
            measures: measures.collect(),
        }
    }

    /// What is measured, in order, each once.
    pub fn gauges(&self) -> impl Iterator<Item = Gauge> {
        let is_there = move |gauge: &Gauge| self.measures.iter().any(|one| one.gauge == *gauge);
        Gauge::ALL.into_iter().filter(is_there)
    }

    /// The statement of all metrics. Its result is what [`super::statements`] may read in
    /// place of the points.
    pub fn periods(&self) -> String {
        self.parts(|_| true).periods()
    }

    /// The keys of a machine that are columns of the archive, with their names in it.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let columns = &self.columns;
        let texts = [("account", &columns.account), ("region", &columns.region)];
        let texts = texts.into_iter().filter_map(|(name, key)| match key {
            Key::Column(column) => Some((name, column.as_str())),
            Key::Text(_) => None,
        });
        texts.chain([("instance", columns.instance.as_str())])
    }

    fn ident(&self, name: &str) -> String {
        self.dialect.ident(name)
    }

    /// The time of a point in seconds.
    pub(super) fn second(&self) -> String {
        let column = self.ident(&self.columns.time);
        self.dialect.seconds(&column, self.time_unit)
    }

    /// Whether a row has everything but a value.
    pub(super) fn placed(&self) -> String {
        let names = self.keys().map(|(_, column)| column);
        let names = names.chain([self.columns.metric.as_str(), self.columns.time.as_str()]);
        let known = names.map(|name| format!("{} is not null", self.ident(name)));
        known.collect::<Vec<String>>().join(" and ")
    }
}

impl Parts<'_> {
    fn case(&self, of: impl Fn(&Measure) -> String) -> String {
        let dialect = self.points.dialect;
        let arms = self.measures.iter().map(|one| {
            let name = dialect.text(&one.name);
            format!(" when {name} then {}", of(one))
        });
        let arms: String = arms.collect();
        let column = self.points.ident(&self.points.columns.metric);
        format!("case {column}{arms} end")
    }

    /// The points that count, valid or not.
    pub(super) fn condition(&self) -> String {
        let points = self.points;
        let names = self
            .measures
            .iter()
            .map(|one| points.dialect.text(&one.name));
        let names: Vec<String> = names.collect();
        let metric = points.ident(&points.columns.metric);
        let mut all = vec![
            format!("{metric} in ({})", names.join(", ")),
            points.placed(),
            format!("{} is not null", points.ident(&points.columns.value)),
        ];
        if let Some(days) = &points.days {
            // A column that is compared as it is lets an engine leave out whole files.
            let (time, Range { start, end }) = match points.times(days) {
                Some(times) => (points.ident(&points.columns.time), times),
                None => {
                    let seconds = days.start * DAY_SECONDS..days.end * DAY_SECONDS;
                    (points.second(), seconds)
                }
            };
            all.push(format!("{time} >= {start} and {time} < {end}"));
        }
        all.join(" and ")
    }

    /// What tells a point of a series from others: the expression, and the column that it is in
    /// place of, each once.
    fn identity(&self) -> Vec<(String, String)> {
        let points = self.points;
        let columns = &points.columns;
        let plain = |name: &str| (points.ident(name), points.ident(name));
        let mut all: Vec<(String, String)> = Vec::new();
        let keys = points.keys().map(|(_, column)| plain(column));
        let gpu = columns.gpu.as_deref();
        let gpu = gpu.map(|gpu| (self.gpu(), points.ident(gpu)));
        let others = [plain(&columns.metric), plain(&columns.time)];
        for one in keys.chain(gpu).chain(others) {
            if !all.iter().any(|(_, column)| *column == one.1) {
                all.push(one);
            }
        }
        all
    }

    /// What points of a series with the same time have in common, whatever the archive calls
    /// their metric.
    pub(super) fn groups(&self) -> String {
        let metric = self.points.ident(&self.points.columns.metric);
        let all = self.identity().into_iter().map(|(expression, column)| {
            if column == metric {
                self.case(|one| format!("'{}'", one.gauge.name()))
            } else {
                expression
            }
        });
        all.collect::<Vec<String>>().join(", ")
    }

    fn gpu(&self) -> String {
        let points = self.points;
        let of_instance = self
            .measures
            .iter()
            .filter(|one| one.gauge.is_of_instance());
        let names: Vec<String> = of_instance
            .map(|one| points.dialect.text(&one.name))
            .collect();
        match &points.columns.gpu {
            None => points.dialect.no_whole().to_owned(),
            Some(gpu) if names.is_empty() => points.ident(gpu),
            Some(gpu) => {
                let metric = points.ident(&points.columns.metric);
                let (gpu, names) = (points.ident(gpu), names.join(", "));
                format!("case when {metric} in ({names}) then null else {gpu} end")
            }
        }
    }

    fn value(&self) -> String {
        let value = format!(
            "cast({} as double)",
            self.points.ident(&self.points.columns.value)
        );
        if self.measures.iter().all(|one| one.scale == 1.0) {
            return value;
        }
        self.case(|one| format!("{value} * {}e0", one.scale))
    }

    /// The largest value plus one, if it is the same for all metrics.
    fn most(&self) -> String {
        match self.measures.as_slice() {
            [one] => one.gauge.most().to_owned(),
            _ => self.case(|one| one.gauge.most().to_owned()),
        }
    }

    /// Points added up by series and five minutes.
    pub(super) fn periods(&self) -> String {
        let (points, dialect) = (self.points, self.points.dialect);
        let keys = points.keys().map(|(name, _)| name).chain(["gpu"]);
        let keys = keys.collect::<Vec<&str>>().join(", ");
        let columns = points.keys();
        let columns = columns.map(|(name, column)| format!("{} as {name}", points.ident(column)));
        let columns = columns.chain([format!("{} as gpu", self.gpu())]);
        let columns = columns.collect::<Vec<String>>().join(", ");
        let condition = self.condition();
        let (from, copies) = if points.is_distinct {
            (self.distinct(&condition), "copies")
        } else {
            (points.from.clone(), "1")
        };
        let tally = |fault: u8| match points.is_distinct {
            true => format!("coalesce(sum(case when fault = {fault} then copies end), 0)"),
            false => format!("count(case when fault = {fault} then 1 end)"),
        };
        let duplicate = match points.is_distinct {
            true => "coalesce(sum(case when fault = 0 then copies - 1 end), 0)",
            false => "0",
        };
        fill(
            PERIODS,
            &[
                ("keys", &keys),
                ("columns", &columns),
                (
                    "metric",
                    &self.case(|one| format!("'{}'", one.gauge.name())),
                ),
                ("second", &points.second()),
                ("value", &self.value()),
                ("copies", copies),
                ("not_a_number", &tally(1)),
                ("negative", &tally(2)),
                ("over_100", &tally(3)),
                ("duplicate", duplicate),
                ("most", &self.most()),
                ("points", &from),
                ("where", &condition),
                ("bigint", dialect.whole_type()),
                ("bit_or", dialect.bit_or()),
            ],
        )
    }

    fn distinct(&self, condition: &str) -> String {
        let points = self.points;
        let identity = self.identity();
        let columns = identity.iter().map(|(expression, column)| {
            if expression == column {
                column.clone()
            } else {
                format!("{expression} as {column}")
            }
        });
        let columns = columns.collect::<Vec<String>>().join(", ");
        let groups = identity.into_iter().map(|(expression, _)| expression);
        let groups = groups.collect::<Vec<String>>().join(", ");
        fill(
            DISTINCT,
            &[
                ("columns", &columns),
                ("groups", &groups),
                ("value", &points.ident(&points.columns.value)),
                ("points", &points.from),
                ("where", condition),
            ],
        )
    }
}
