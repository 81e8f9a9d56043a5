//! A throughput curve from runs that were sampled, each at a batch of its own.

use super::exit::{Outcome, refusal, refused};
use super::sampled;
use crate::config::SettingsFile;
use crate::domain::shown;
use crate::planners::curve::CurvePoint;
use crate::profiling::RunProfile;
use std::path::{Path, PathBuf};

/// A run at a batch.
#[derive(Debug, Clone)]
pub(super) struct SampledBatch {
    pub batch: u32,
    pub path: PathBuf,
}

/// A batch and a file, such as `8:run.jsonl`.
pub(super) fn sampled_batch(text: &str) -> Result<SampledBatch, String> {
    let read = || {
        let (batch, path) = text.split_once(':')?;
        let batch: u32 = batch.trim().parse().ok()?;
        (batch > 0 && !path.is_empty()).then(|| SampledBatch { batch, path: PathBuf::from(path) })
    };
    read().ok_or_else(|| "expected BATCH:FILE, such as 8:run.jsonl".to_owned())
}

/// Requests a second of one GPU by batch.
pub(super) struct MeasuredCurve {
    /// By batch, ascending.
    pub points: Vec<CurvePoint>,
    pub source: String,
    pub instance_type: Option<String>,
    pub region: Option<String>,
}

impl MeasuredCurve {
    /// Of runs on one type; `None` without any.
    pub(super) fn read(
        runs: &[SampledBatch],
        unit: Option<&str>,
        settings: &SettingsFile,
    ) -> Outcome<Option<Self>> {
        let mut curve_so_far: Option<Self> = None;
        for run in runs {
            let profile = sampled::profile_of(&run.path, settings)?;
            let (unit, items_per_second) = throughput(&profile, unit, &run.path)?;
            let point = CurvePoint { batch: run.batch, items_per_second };
            let facts = profile.facts;
            match &mut curve_so_far {
                Some(curve) if curve.instance_type != facts.instance_type => {
                    return Err(refusal!(
                        "{} was sampled on another type than the first of `--curve-data`",
                        shown(&run.path);
                        "pass runs on one type"));
                }
                Some(curve) => curve.points.push(point),
                None => {
                    curve_so_far = Some(Self {
                        points: vec![point],
                        source: format!("{unit} per second and GPU in --curve-data"),
                        instance_type: facts.instance_type,
                        region: facts.region,
                    });
                }
            }
        }
        if let Some(curve) = &mut curve_so_far {
            curve.points.sort_by_key(|point| point.batch);
        }
        Ok(curve_so_far)
    }
}

/// The unit that was counted, and how many of them a GPU did per second.
fn throughput(profile: &RunProfile, unit: Option<&str>, path: &Path) -> Outcome<(String, f64)> {
    let file = shown(path);
    let units = &profile.end.units;
    let of_name = units.iter().filter(|counted| unit.is_none_or(|name| counted.unit == name));
    let of_name: Vec<_> = of_name.collect();
    let done = match of_name.as_slice() {
        [done] => *done,
        [] => {
            return Err(refusal!("{file} does not say how many requests were done";
                "sample it with `gpucost profile --samples run.jsonl --log server.log --log-unit \
                 requests=TEXT`, or pass `--curve`"));
        }
        [first, ..] => {
            return Err(refusal!("{file} counted {} units", of_name.len();
                "pass the one that is a request, such as `--unit {}`", first.unit));
        }
    };
    let seconds = profile.end.elapsed_seconds;
    let used = profile.gpus_used().filter(|used| *used > 0);
    let used = used.filter(|_| seconds > 0.0).ok_or_else(refused!(
        "{file} does not show on how many GPUs it ran";
        "sample it with `gpucost profile` on the host, or pass `--curve`"))?;
    Ok((done.unit.clone(), done.count as f64 / seconds / used as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_batch() {
        let read = sampled_batch("8:C:/runs/a.jsonl").expect("a run");
        assert_eq!((read.batch, read.path.to_str()), (8, Some("C:/runs/a.jsonl")));
        for bad in ["", "8", "8:", "0:a", ":a", "-1:a", "1.5:a", "a:8"] {
            assert!(sampled_batch(bad).is_err(), "{bad}");
        }
    }
}
