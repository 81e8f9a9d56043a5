//! The flags that gpucost and `gpucost-engine` describe an archive with, in one grammar.

use super::points::{GAUGES, Key, Measure, PointColumns};

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
    let column = |key: &str| {
        let pair = pairs.iter().find(|(known, _)| *known == key);
        pair.map(|(_, column)| column.clone())
    };
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
}
