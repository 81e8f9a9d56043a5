//! Points of an archive under the names that statements read.

use super::dialect::{Dialect, TimeUnit};
use super::text::fill;
use std::ops::Range;

/// Adds up points by series and five minutes, which everything else is made of.
const PERIODS: &str = include_str!("periods.sql");

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

/// A gauge that is none, or a scale that no unit has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadMeasure;

impl Measure {
    /// A metric under its own name, with a scale such as `*100` or `/1048576` after it or
    /// none.
    ///
    /// # Errors
    /// When the gauge is not one of [`GAUGES`], and when the scale is not between 1e-15 and
    /// 1e15.
    pub fn new(gauge: &str, text: &str) -> Result<Self, BadMeasure> {
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
        let known = GAUGES.into_iter().find(|(known, _)| *known == gauge);
        let (gauge, is_of_instance) = known.ok_or(BadMeasure)?;
        let is_sound = (1e-15..=1e15).contains(&scale) && !name.is_empty();
        is_sound
            .then(|| Self {
                gauge,
                is_of_instance,
                name: name.to_owned(),
                scale,
            })
            .ok_or(BadMeasure)
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
        let names = self.measures.iter().filter(|one| is_asked(one));
        let names = names.map(|one| self.dialect.text(&one.name));
        names.collect::<Vec<String>>().join(", ")
    }

    fn case(&self, of: impl Fn(&Measure) -> String) -> String {
        let arms = self.measures.iter().map(|one| {
            let name = self.dialect.text(&one.name);
            format!(" when {name} then {}", of(one))
        });
        let arms: String = arms.collect();
        format!("case {}{arms} end", self.ident(&self.columns.metric))
    }

    /// Whether a row has everything but a value.
    fn placed(&self) -> String {
        let columns = &self.columns;
        let keys = [&columns.account, &columns.region].into_iter();
        let keys = keys.filter_map(|key| match key {
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
        let mut text = format!(
            "{metric} in ({names}) and {} and {value} is not null",
            self.placed()
        );
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
        let names = self.names(|one| one.is_of_instance);
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
        if self.measures.iter().all(|one| one.scale == 1.0) {
            return value;
        }
        self.case(|one| format!("{value} * {}e0", one.scale))
    }

    /// The rows of the archive under the names that statements read.
    pub(super) fn rows(&self) -> String {
        let columns = &self.columns;
        let key = |key: &Key| match key {
            Key::Column(column) => self.ident(column),
            Key::Text(text) => self.dialect.text(text),
        };
        let time = self.ident(&columns.time);
        format!(
            "        select {} as account, {} as region, {} as instance,\n          \
             {} as gpu,\n          {} as name,\n          {} as metric,\n          \
             {} as second,\n          {} as value,\n          ({}) as is_placed,\n          \
             ({}) as is_wanted\n        from {}",
            key(&columns.account),
            key(&columns.region),
            self.ident(&columns.instance),
            self.gpu(),
            self.ident(&columns.metric),
            self.case(|one| format!("'{}'", one.gauge)),
            self.dialect.seconds(&time, self.time_unit),
            self.value(),
            self.placed(),
            self.wanted(),
            self.from
        )
    }

    /// The statement of points added up by series and five minutes. Its result is what
    /// [`super::statements`] may read in place of the points.
    pub fn periods(&self) -> String {
        let keys = "p.account, p.region, p.instance, p.gpu, p.metric, p.second";
        let (value, copies, group) = match self.is_distinct {
            true => (
                "max(p.value)",
                "count(*)",
                format!("\n      group by {keys}"),
            ),
            false => ("p.value", "1", String::new()),
        };
        let copied = format!(
            "select {keys}, {value} as value, {copies} as copies\n      from (\n{}\n      ) as p\
             \n      where p.is_wanted{group}",
            self.rows()
        );
        fill(&self.dialect.worded(PERIODS), &[("copied", &copied)])
    }
}
