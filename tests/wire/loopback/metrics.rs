//! Metric datums and the statistics over them.

use std::collections::BTreeMap;

/// What identifies a metric; dimensions are sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricId {
    pub region: String,
    pub namespace: String,
    pub name: String,
    pub dimensions: Vec<(String, String)>,
}

impl MetricId {
    pub fn new<'a>(
        region: &str,
        namespace: &str,
        name: &str,
        dimensions: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut dimensions: Vec<(String, String)> = dimensions
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        dimensions.sort();
        Self {
            region: region.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            dimensions,
        }
    }
}

/// How the datums of one period become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    Average,
    Maximum,
    Minimum,
    Sum,
    SampleCount,
}

impl Statistic {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Average" => Some(Self::Average),
            "Maximum" => Some(Self::Maximum),
            "Minimum" => Some(Self::Minimum),
            "Sum" => Some(Self::Sum),
            "SampleCount" => Some(Self::SampleCount),
            _ => None,
        }
    }

    fn over(self, datums: &[(i64, f64)]) -> f64 {
        let values = datums.iter().map(|&(_, value)| value);
        match self {
            Self::Average => values.sum::<f64>() / datums.len() as f64,
            Self::Maximum => values.fold(f64::NEG_INFINITY, f64::max),
            Self::Minimum => values.fold(f64::INFINITY, f64::min),
            Self::Sum => values.sum(),
            Self::SampleCount => datums.len() as f64,
        }
    }
}

/// The window and resolution of a query, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub start: i64,
    pub end: i64,
    pub period: i64,
}

/// All metrics of all regions; datums are sorted by time.
#[derive(Default)]
pub struct MetricStore(BTreeMap<MetricId, Vec<(i64, f64)>>);

impl MetricStore {
    pub fn put(
        &mut self,
        region: &str,
        namespace: &str,
        name: &str,
        dimensions: &[(&str, &str)],
        datums: impl IntoIterator<Item = (i64, f64)>,
    ) {
        let id = MetricId::new(region, namespace, name, dimensions.iter().copied());
        let series = self.0.entry(id).or_default();
        series.extend(datums);
        series.sort_by_key(|&(time, _)| time);
    }

    /// Every metric, in a stable order.
    pub fn ids(&self) -> impl Iterator<Item = &MetricId> {
        self.0.keys()
    }

    /// One value per period that has datums, oldest first; the time is the
    /// beginning of the period. Periods are aligned to the epoch, so the one
    /// that `window.start` falls into is answered whole; the end is exclusive.
    pub fn statistics(
        &self,
        id: &MetricId,
        window: Window,
        statistic: Statistic,
    ) -> Vec<(i64, f64)> {
        let Window { start, end, period } = window;
        let start = start - start.rem_euclid(period);
        let series = self.0.get(id).map_or(&[][..], Vec::as_slice);
        let first = series.partition_point(|&(time, _)| time < start);
        let last = series.partition_point(|&(time, _)| time < end);
        series[first.min(last)..last]
            .chunk_by(|a, b| a.0.div_euclid(period) == b.0.div_euclid(period))
            .map(|datums| {
                let time = datums[0].0;
                (time - time.rem_euclid(period), statistic.over(datums))
            })
            .collect()
    }
}
