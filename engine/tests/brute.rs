//! What a history keeps of points, worked out one by one as docs/history.md says it.

use crate::generated::{DAY, Point};
use std::collections::BTreeMap;

const PERCENT: [&str; 3] = ["gpu_utilization", "gpu_power_utilization", "cpu_utilization"];

/// Metrics, statistics, and the seconds of their periods.
const KEPT: [(&str, &str, i64); 13] = [
    ("gpu_utilization", "average", 300),
    ("gpu_utilization", "maximum", 300),
    ("gpu_memory_used", "average", 300),
    ("gpu_memory_used", "maximum", 300),
    ("gpu_memory_total", "maximum", DAY),
    ("gpu_power_draw", "average", 3_600),
    ("gpu_temperature", "maximum", 3_600),
    ("gpu_encoder_sessions", "maximum", 300),
    ("gpu_power_utilization", "average", 300),
    ("gpu_power_utilization", "maximum", 300),
    ("cpu_utilization", "average", 300),
    ("network_in", "sum", 3_600),
    ("network_out", "sum", 3_600),
];

/// Rows of tables by name, each as its cells.
pub type Tables = BTreeMap<String, Vec<Vec<String>>>;

#[derive(Default)]
struct Slot {
    n: u64,
    sum: u64,
    max: Option<u64>,
    n_max: u64,
    works: bool,
}

type SeriesKey<'a> = (i64, &'a str, Option<i64>, &'a str);

pub fn tables(points: &[Point]) -> Tables {
    let mut series: BTreeMap<SeriesKey<'_>, Vec<(i64, f64)>> = BTreeMap::new();
    for point in points.iter().filter(|one| one.metric != "sm_active") {
        let Some(value) = point.value else { continue };
        let is_one = ["cpu_utilization", "network_in", "network_out"].contains(&point.metric);
        let gpu = point.gpu.filter(|_| !is_one);
        let key = (point.time.div_euclid(DAY), &*point.instance, gpu, point.metric);
        series.entry(key).or_default().push((point.time, value));
    }
    let mut all = Tables::new();
    let mut slots: BTreeMap<(i64, &str, &str, i64), Slot> = BTreeMap::new();
    for ((day, instance, gpu, metric), raw) in &series {
        let asked = row(&["", "", instance, "rollup", "300", &date(*day)]);
        let known = all.entry("usage_asked".to_owned()).or_default();
        if !known.contains(&asked) {
            known.push(asked);
        }
        for (_, statistic, period) in KEPT.iter().filter(|(name, ..)| name == metric) {
            let cleaned = clean(raw, metric, statistic, *period);
            let figures = figures(metric, statistic, *period, &cleaned);
            let key = row(&["", "", instance, metric, &shown(*gpu), statistic]);
            let rows = all.entry("usage_series".to_owned()).or_default();
            rows.push([key.clone(), figures, vec![date(*day)]].concat());
            let hist = all.entry("usage_hist".to_owned()).or_default();
            for (bucket, n) in histogram(metric, statistic, &cleaned.points) {
                let step = row(&[&bucket.to_string(), &n.to_string(), &date(*day)]);
                hist.push([key.clone(), step].concat());
            }
            for (time, value) in &cleaned.points {
                let hundredths = (value * 100.0).round() as u64;
                let key = (*day, *instance, *metric, *time);
                match (*metric, *statistic) {
                    ("gpu_utilization" | "gpu_power_utilization", "average") => {
                        let slot = slots.entry(key).or_default();
                        slot.n += 1;
                        slot.sum += hundredths;
                        slot.works |= hundredths >= 500;
                    }
                    ("gpu_utilization" | "gpu_power_utilization", _) => {
                        let slot = slots.entry(key).or_default();
                        slot.max = slot.max.max(Some(hundredths));
                        slot.n_max += u64::from(gpu.is_some());
                    }
                    ("cpu_utilization", _) => slots.entry(key).or_default().n = 1,
                    ("gpu_encoder_sessions", _) if *value > 0.0 => {
                        slots.entry(key).or_default().n = 1;
                    }
                    _ => {}
                }
            }
        }
    }
    let grid = all.entry("usage_grid".to_owned()).or_default();
    for ((day, instance, metric, time), slot) in slots {
        let figures = [
            time.to_string(),
            slot.n.to_string(),
            slot.sum.to_string(),
            shown(slot.max),
            slot.n_max.to_string(),
            u8::from(slot.works).to_string(),
        ];
        let key = row(&["", "", instance, metric, "prometheus"]);
        grid.push([key, figures.to_vec(), vec![date(day)]].concat());
    }
    for rows in all.values_mut() {
        rows.sort();
    }
    all
}

struct Cleaned {
    /// When each period begins, and its value.
    points: Vec<(i64, f64)>,
    not_a_number: u64,
    negative: u64,
    over_100: u64,
    duplicate: u64,
}

fn clean(raw: &[(i64, f64)], metric: &str, statistic: &str, period: i64) -> Cleaned {
    let mut cleaned =
        Cleaned { points: Vec::new(), not_a_number: 0, negative: 0, over_100: 0, duplicate: 0 };
    let mut periods: BTreeMap<i64, BTreeMap<i64, f64>> = BTreeMap::new();
    for (time, value) in raw {
        if !(*value as f32).is_finite() {
            cleaned.not_a_number += 1;
        } else if *value < 0.0 {
            cleaned.negative += 1;
        } else if PERCENT.contains(&metric) && *value > 100.0 {
            cleaned.over_100 += 1;
        } else {
            let begins = time - time.rem_euclid(period);
            let own = periods.entry(begins).or_default();
            cleaned.duplicate += u64::from(own.insert(*time, *value).is_some());
        }
    }
    for (begins, readings) in periods {
        let values = readings.values().copied();
        let sum: f64 = values.clone().sum();
        let value = match statistic {
            "average" => sum / readings.len() as f64,
            "maximum" => values.fold(0.0, f64::max),
            _ => sum,
        };
        cleaned.points.push((begins, f64::from(value as f32)));
    }
    cleaned
}

/// Cells of `usage_series` after the statistic.
fn figures(metric: &str, statistic: &str, period: i64, cleaned: &Cleaned) -> Vec<String> {
    let points = &cleaned.points;
    let values = || points.iter().map(|(_, value)| *value);
    let largest = values().reduce(f64::max).map(widened);
    let smallest = values().reduce(f64::min).map(widened);
    let some =
        |number: Option<f64>| number.map_or("null".to_owned(), |one| format!("{:?}", one + 0.0));
    let is_known = !points.is_empty();
    let count = |number: u64| {
        if is_known { number.to_string() } else { "null".to_owned() }
    };
    let null = || "null".to_owned();
    let n = count(points.len() as u64);
    let seconds = count(period as u64);
    // n, period, min, max, sum, n_active, first, last
    let own: [String; 8] = match (metric, statistic) {
        ("gpu_utilization", "maximum") => [
            n,
            seconds,
            null(),
            some(largest),
            null(),
            count(values().filter(|value| *value >= 1.0).count() as u64),
            points.first().map_or_else(null, |(time, _)| time.to_string()),
            points.last().map_or_else(null, |(time, _)| time.to_string()),
        ],
        ("gpu_utilization" | "cpu_utilization", _) => {
            [n, seconds, null(), null(), null(), null(), null(), null()]
        }
        ("gpu_memory_used", _) => {
            [n, seconds, some(smallest), some(largest), null(), null(), null(), null()]
        }
        ("gpu_memory_total" | "gpu_temperature" | "gpu_encoder_sessions", _) => {
            [null(), null(), null(), some(largest), null(), null(), null(), null()]
        }
        ("gpu_power_draw", _) => {
            let sum: u64 = values().map(|watts| (widened(watts) * 1_000.0).round() as u64).sum();
            [n, null(), null(), null(), count(sum), null(), null(), null()]
        }
        ("network_in" | "network_out", _) => {
            let sum: u64 = values().map(|bytes| widened(bytes).round() as u64).sum();
            let gbps = values().map(|bytes| widened(bytes) * 8.0 / 3_600.0 / 1e9);
            let busiest = some(gbps.reduce(f64::max));
            [n, seconds, null(), busiest, count(sum), null(), null(), null()]
        }
        _ => [null(), null(), null(), null(), null(), null(), null(), null()],
    };
    let dropped = [cleaned.not_a_number, cleaned.negative, cleaned.over_100, cleaned.duplicate, 0];
    let before = row(&["prometheus", "instance-id", if is_known { "0" } else { "1" }]);
    let dropped = dropped.map(|number| number.to_string());
    [before, own.to_vec(), dropped.to_vec()].concat()
}

fn histogram(metric: &str, statistic: &str, points: &[(i64, f64)]) -> BTreeMap<u64, u64> {
    let mut buckets = BTreeMap::new();
    for (_, value) in points {
        let bucket = match (metric, statistic) {
            ("gpu_utilization" | "cpu_utilization", "average") => (value * 100.0).round() as u64,
            ("gpu_memory_used", "average") => {
                let whole = (value.round() as u64).min(1 << 24);
                if whole < 2_048 {
                    whole
                } else {
                    let shift = u64::from(whole.ilog2()) - 10;
                    shift * 1_024 + (whole >> shift)
                }
            }
            _ => continue,
        };
        *buckets.entry(bucket).or_default() += 1;
    }
    buckets
}

fn widened(value: f64) -> f64 {
    let rounded = (value * 10_000.0).round() / 10_000.0;
    if f64::from(rounded as f32) == value { rounded } else { value }
}

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn shown<T: ToString>(number: Option<T>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

/// Days of November 2026 and of the month after it, by hand.
pub fn date(day: i64) -> String {
    let since = day - crate::generated::FIRST_DAY;
    if since < 30 {
        format!("2026-11-{:02}", since + 1)
    } else {
        format!("2026-12-{:02}", since - 29)
    }
}
