//! Points of an archive under the names that statements read.

use super::dialect::{Dialect, TimeUnit, block, fill};
use std::ops::Range;

/// The rows of an archive, and their sums by series and five minutes, which everything else is
/// made of.
const POINTS: &str = include_str!("points.sql");

const DAY_SECONDS: i64 = 86_400;

/// What a point measures, as a history names it. Beside it, whether it is of the instance,
/// whatever GPU a point names.
pub const GAUGES: [(&str, bool); 11] = [
    ("gpu_utilization", false),
    ("gpu_memory_used", false),
    ("gpu_memory_total", false),
    ("gpu_power_draw", false),
    ("gpu_temperature", false),
    ("gpu_encoder_sessions", false),
    ("gpu_sm_activity", false),
    ("gpu_power_utilization", false),
    ("cpu_utilization", true),
    ("network_in", true),
    ("network_out", true),
];

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
    /// One of [`GAUGES`].
    pub gauge: &'static str,
    is_of_instance: bool,
    /// As the archive has it.
    pub name: String,
    /// What a value is multiplied by to be a percentage, MiB, watts or degrees Celsius.
    pub scale: f64,
}

impl Measure {
    /// A metric under its own name, with a scale such as `*100` or `/1048576` after it or
    /// none. `None` of a gauge that is not one of [`GAUGES`], and of a scale that is not between
    /// 1e-15 and 1e15.
    pub fn new(gauge: &str, text: &str) -> Option<Self> {
        let scaled = text.rfind(['*', '/']).and_then(|place| {
            let (name, end) = text.split_at(place);
            let number: f64 = end.get(1..)?.parse().ok()?;
            Some((name, if end.starts_with('*') { number } else { 1.0 / number }))
        });
        let (name, scale) = scaled.unwrap_or((text, 1.0));
        let (gauge, is_of_instance) = GAUGES.into_iter().find(|(known, _)| *known == gauge)?;
        let is_sound = (1e-15..=1e15).contains(&scale) && !name.is_empty();
        is_sound.then(|| Self { gauge, is_of_instance, name: name.to_owned(), scale })
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

impl Points {
    /// What the column of times has in some days, in its own unit; `None` of what is not a
    /// number.
    pub fn times(&self, days: &Range<i64>) -> Option<Range<i64>> {
        let of_day = DAY_SECONDS * self.time_unit.per_second()?;
        Some(days.start * of_day..days.end * of_day)
    }

    fn ident(&self, name: &str) -> String {
        self.dialect.ident(name)
    }

    /// Some metrics as the archive has them, in a list.
    fn names(&self, is_asked: impl Fn(&Measure) -> bool) -> String {
        let names = self.measures.iter().filter(|measure| is_asked(measure));
        names.map(|measure| self.dialect.text(&measure.name)).collect::<Vec<String>>().join(", ")
    }

    fn case(&self, of: impl Fn(&Measure) -> String) -> String {
        let arms = self.measures.iter().map(|measure| {
            let name = self.dialect.text(&measure.name);
            format!(" when {name} then {}", of(measure))
        });
        let arms: String = arms.collect();
        format!("case {}{arms} end", self.ident(&self.columns.metric))
    }

    /// Whether a row has everything but a value.
    fn placed(&self) -> String {
        let columns = &self.columns;
        let keys = [&columns.account, &columns.region].into_iter().filter_map(|key| match key {
            Key::Column(column) => Some(column),
            Key::Text(_) => None,
        });
        let names = keys.chain([&columns.instance, &columns.metric, &columns.time]);
        let known = names.map(|name| format!("{} is not null", self.ident(name)));
        known.collect::<Vec<String>>().join(" and ")
    }

    /// Whether a row is a point that counts, valid or not.
    fn wanted(&self) -> String {
        let columns = &self.columns;
        let (metric, value) = (self.ident(&columns.metric), self.ident(&columns.value));
        let names = self.names(|_| true);
        let mut text =
            format!("{metric} in ({names}) and {} and {value} is not null", self.placed());
        if let Some(days) = &self.days {
            // A column that is compared as it is lets an engine skip whole files.
            let time = self.ident(&columns.time);
            let (time, Range { start, end }) = match self.times(days) {
                Some(times) => (time, times),
                None => {
                    let seconds = days.start * DAY_SECONDS..days.end * DAY_SECONDS;
                    (self.dialect.seconds(&time, self.time_unit), seconds)
                }
            };
            text.push_str(&format!(" and {time} >= {start} and {time} < {end}"));
        }
        text
    }

    fn gpu(&self) -> String {
        let names = self.names(|measure| measure.is_of_instance);
        match &self.columns.gpu {
            None => "cast(null as bigint)".to_owned(),
            Some(gpu) if names.is_empty() => self.ident(gpu),
            Some(gpu) => {
                let (metric, gpu) = (self.ident(&self.columns.metric), self.ident(gpu));
                format!("case when {metric} in ({names}) then null else {gpu} end")
            }
        }
    }

    fn value(&self) -> String {
        let value = format!("cast({} as double)", self.ident(&self.columns.value));
        if self.measures.iter().all(|measure| measure.scale == 1.0) {
            return value;
        }
        self.case(|measure| format!("{value} * {}e0", measure.scale))
    }

    /// The rows of the archive under the names that statements read.
    pub(super) fn rows(&self) -> String {
        let columns = &self.columns;
        let key = |key: &Key| match key {
            Key::Column(column) => self.ident(column),
            Key::Text(text) => self.dialect.text(text),
        };
        let time = self.ident(&columns.time);
        fill(
            block(POINTS, "rows"),
            &[
                ("account", &key(&columns.account)),
                ("region", &key(&columns.region)),
                ("instance", &self.ident(&columns.instance)),
                ("gpu", &self.gpu()),
                ("name", &self.ident(&columns.metric)),
                ("metric", &self.case(|measure| format!("'{}'", measure.gauge))),
                ("second", &self.dialect.seconds(&time, self.time_unit)),
                ("value", &self.value()),
                ("placed", &self.placed()),
                ("wanted", &self.wanted()),
                ("archive", &self.from),
            ],
        )
    }

    /// The statement of points added up by series and five minutes. Its result is what
    /// [`super::statements`] may read in place of the points.
    pub fn periods(&self) -> String {
        let copied = match self.is_distinct {
            true => block(POINTS, "distinct points"),
            false => block(POINTS, "every point"),
        };
        let copied = fill(copied, &[("rows", &self.rows())]);
        fill(&self.dialect.worded(block(POINTS, "periods")), &[("copied", &copied)])
    }
}
