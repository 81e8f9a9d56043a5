//! The flags that gpucost and `gpucost-engine` describe an archive with, in one grammar.

use super::points::{GAUGES, Key, Measure, PointColumns};
use std::ops::Range;

/// What a column may be of, as flags call it.
const KEYS: [&str; 7] = ["account", "region", "instance", "gpu", "metric", "ts", "value"];

/// The columns of an archive by pairs such as `instance=Hostname,ts=time`. A column that is
/// not named has the name of its key; accounts and regions without a column have these texts.
///
/// # Errors
/// In words, when a pair is none.
pub fn point_columns(
    texts: &[String],
    account: &str,
    region: &str,
) -> Result<PointColumns, String> {
    let pairs = pairs("--columns", texts, &KEYS)?;
    for (place, (key, _)) in pairs.iter().enumerate() {
        if pairs[..place].iter().any(|(known, _)| known == key) {
            return Err(format!("`--columns` names {key} twice"));
        }
    }
    let column =
        |key: &str| pairs.iter().find(|(known, _)| *known == key).map(|(_, column)| column.clone());
    let named = |key: &str| match column(key).unwrap_or_else(|| key.to_owned()) {
        name if name.is_empty() => Err(format!("`--columns` has no column for {key}")),
        name => Ok(name),
    };
    let text = |key: &str, same: &str| {
        let column = column(key).filter(|column| !column.is_empty());
        column.map_or_else(|| Key::Text(same.to_owned()), Key::Column)
    };
    Ok(PointColumns {
        account: text("account", account),
        region: text("region", region),
        instance: named("instance")?,
        // `gpu=` says that there is none.
        gpu: named("gpu").ok(),
        metric: named("metric")?,
        time: named("ts")?,
        value: named("value")?,
    })
}

/// The metrics of an archive by pairs such as
/// `gpu_utilization=DCGM_FI_DEV_GPU_UTIL,gpu_memory_used=mem_bytes/1048576`; without any pair
/// all metrics, under their own names.
///
/// # Errors
/// In words, when a pair is none.
pub fn measures(texts: &[String]) -> Result<Vec<Measure>, String> {
    let names = GAUGES.map(|(name, _)| name);
    let pairs = match texts {
        [] => names.map(|name| (name, name.to_owned())).into(),
        texts => pairs("--metric-map", texts, &names)?,
    };
    let mut measures: Vec<Measure> = Vec::new();
    for (name, text) in pairs {
        let measure = Measure::new(name, &text).ok_or_else(|| {
            format!("`--metric-map {name}={text}` has no name, or a scale beyond 1e-15 and 1e15")
        })?;
        if measures.iter().any(|known| known.name == measure.name) {
            return Err(format!("`--metric-map` names {} twice", measure.name));
        }
        measures.push(measure);
    }
    Ok(measures)
}

/// Pairs of a key and a text. A comma belongs to the text where no `KEY=` follows.
fn pairs<'k>(
    flag: &str,
    texts: &[String],
    keys: &[&'k str],
) -> Result<Vec<(&'k str, String)>, String> {
    let mut pairs: Vec<(&'k str, String)> = Vec::new();
    for text in texts {
        for (place, part) in text.split(',').enumerate() {
            let (key, value) = part.split_once('=').unwrap_or(("", part));
            if let Some(known) = keys.iter().find(|known| **known == key) {
                pairs.push((*known, value.to_owned()));
                continue;
            }
            match pairs.last_mut() {
                Some((_, last)) if place > 0 && key.is_empty() => {
                    last.push(',');
                    last.push_str(value);
                }
                _ => {
                    return Err(format!(
                        "`{flag}` takes pairs of KEY=NAME with the keys {}, not `{part}`",
                        keys.join(", ")
                    ));
                }
            }
        }
    }
    Ok(pairs)
}

/// The day after the last of the year 2199.
const END: i64 = 84_006;

/// Days named as `2026-11-22`, or as the first and the last of several,
/// `2026-11-20..2026-11-22`.
pub fn days_of(text: &str) -> Option<Range<i64>> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (day_of(first)?, day_of(last)?);
    (first <= last).then_some(first..last + 1)
}

/// The day of a date; of these years, dates are in the order of their texts.
fn day_of(text: &str) -> Option<i64> {
    let (mut first, mut end) = (0, END);
    while first < end {
        let middle = (first + end) / 2;
        if date_of(middle).as_str() < text { first = middle + 1 } else { end = middle }
    }
    (first < END && date_of(first) == text).then_some(first)
}

/// A day as `2026-11-22`.
pub fn date_of(day: i64) -> String {
    // 1970-01-01 is 719,468 days after 0000-03-01: years begin in March, so that the leap day
    // is their last.
    let since = day + 719_468;
    let era = since.div_euclid(146_097);
    let of_era = since.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{date:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(text: &str) -> Result<PointColumns, String> {
        point_columns(&[text.to_owned()], "1", "r")
    }

    #[test]
    fn columns_are_named_by_pairs_and_else_as_their_keys() {
        let parsed = columns("instance=Hostname,gpu=,ts=a, b,account=payer").expect("pairs");
        assert_eq!(parsed.instance, "Hostname");
        assert_eq!((parsed.gpu, parsed.time.as_str()), (None, "a, b"));
        assert_eq!(parsed.account, Key::Column("payer".to_owned()));
        assert_eq!(parsed.region, Key::Text("r".to_owned()));
        assert_eq!((&*parsed.metric, &*parsed.value), ("metric", "value"));
        for text in ["host=x", "instance", "instance=a,host=x", "ts=", "ts=a,ts=b", ""] {
            assert!(columns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn metrics_have_scales() {
        let of = |text: &str| measures(&[text.to_owned()]);
        let parsed = of("gpu_utilization=ratio*100,gpu_memory_used=a/b,gpu_memory_total=m/1048576");
        let parsed = parsed.expect("pairs");
        let parsed: Vec<(&str, f64)> =
            parsed.iter().map(|measure| (measure.name.as_str(), measure.scale)).collect();
        assert_eq!(parsed, [("ratio", 100.0), ("a/b", 1.0), ("m", 1.0 / 1_048_576.0)]);
        for text in [
            "utilization=x", "gpu_utilization=x*0", "gpu_utilization=x*-1",
            "gpu_utilization=x*inf", "gpu_utilization=", "gpu_utilization=x,gpu_memory_used=x",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
        assert_eq!(measures(&[]).map(|list| list.len()), Ok(11));
    }

    #[test]
    fn days_are_counted_from_1970() {
        // 1,793,491,200 seconds are 2026-11-01T00:00:00Z: 20,758 days.
        for (date, day) in [
            ("1970-01-01", 0),
            ("1970-03-01", 59),
            ("2000-02-29", 11_016),
            ("2024-02-29", 19_782),
            ("2026-11-01", 20_758),
            ("2199-12-31", 84_005),
        ] {
            assert_eq!(day_of(date), Some(day));
            assert_eq!(date_of(day), date);
        }
        for day in 0..END {
            assert_eq!(day_of(&date_of(day)), Some(day));
        }
    }

    #[test]
    fn what_is_no_day_is_none() {
        for text in [
            "", "2026", "2026-11", "2026-11-31", "2025-02-29", "2026-13-01", "2026-11-1",
            "+026-11-01", "1969-12-31", "2026-11-01-", "2026-11-01T00:00",
        ] {
            assert_eq!(day_of(text), None, "{text}");
        }
        assert_eq!(days_of("2026-11-01..2026-11-03"), Some(20_758..20_761));
        assert_eq!(days_of("2026-11-01"), Some(20_758..20_759));
        assert_eq!(days_of("2026-11-03..2026-11-01"), None);
    }
}
