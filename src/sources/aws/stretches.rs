//! Asking for the time alone of which nothing is known yet. Pure: queries go in, and come out
//! by the time that they are asked for.

use super::metrics::{MetricQuery, MetricValues};
use crate::domain::{Fnv, Instance, ResourceId, Window};
use crate::sources::Known;
use jiff::Timestamp;
use std::collections::BTreeMap;

/// Queries for the same time.
#[derive(Debug, PartialEq)]
pub(super) struct Run {
    /// What is answered apart, ascending; each begins where the one before it ends.
    pub(super) stretches: Vec<Window>,
    pub(super) queries: Vec<MetricQuery>,
}

/// Queries by the time of which it is not known what they would answer.
pub(super) fn runs(queries: Vec<MetricQuery>, fleet: &[Instance], known: &dyn Known) -> Vec<Run> {
    let mut by_instance: BTreeMap<ResourceId, Vec<MetricQuery>> = BTreeMap::new();
    for query in queries {
        by_instance.entry(query.instance.clone()).or_default().push(query);
    }
    let mut runs: BTreeMap<(Timestamp, Timestamp), Run> = BTreeMap::new();
    for instance in fleet {
        let Some(own) = by_instance.remove(&instance.id) else { continue };
        let missing = known.missing(instance, &name_of(&own));
        for stretches in missing.chunk_by(|stretch, next| stretch.end == next.start) {
            let window = whole(stretches);
            let run = runs
                .entry((window.start, window.end))
                .or_insert_with(|| Run { stretches: stretches.to_vec(), queries: Vec::new() });
            run.queries.extend(own.iter().cloned());
        }
    }
    runs.into_values().collect()
}

/// From the beginning of the first to the end of the last.
pub(super) fn whole(stretches: &[Window]) -> Window {
    let ends = stretches.first().zip(stretches.last());
    ends.map_or(Window { start: Timestamp::MIN, end: Timestamp::MIN }, |(first, last)| Window {
        start: first.start,
        end: last.end,
    })
}

/// A name for what is asked of a machine: other series, dimensions, statistics or periods have
/// another one.
fn name_of(queries: &[MetricQuery]) -> String {
    let mut name = Fnv::default();
    for query in queries {
        name.add(&query.namespace);
        name.add(query.name);
        name.add(query.statistic.name());
        name.add(query.metric.name());
        name.add(&format!("{:?} {}", query.gpu, query.period_seconds));
        for (key, value) in query.dimensions.iter() {
            name.add(key);
            name.add(value);
        }
    }
    name.hex()
}

/// The values of each query in each stretch. What is before the first or after the last counts
/// as theirs, and is dropped with a reason where it is cleaned.
pub(super) fn cut(values: &[MetricValues], stretches: &[Window]) -> Vec<Vec<MetricValues>> {
    let last = stretches.len().saturating_sub(1);
    stretches
        .iter()
        .enumerate()
        .map(|(place, stretch)| {
            let is_own = |time: Timestamp| {
                (place == 0 || time >= stretch.start) && (place == last || time < stretch.end)
            };
            let of_stretch = values
                .iter()
                .map(|points| points.iter().copied().filter(|(time, _)| is_own(*time)).collect());
            of_stretch.collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JoinedBy, Metric, SeriesSource, Statistic};
    use std::cell::RefCell;
    use std::sync::Arc;

    fn at(day: i64) -> Timestamp {
        Timestamp::from_second(day * 86_400).expect("in range")
    }

    fn stretch(start: i64, end: i64) -> Window {
        Window { start: at(start), end: at(end) }
    }

    fn query(instance: &str, period_seconds: u32) -> MetricQuery {
        let dimensions = BTreeMap::from([("InstanceId".to_owned(), instance.to_owned())]);
        MetricQuery {
            instance: ResourceId::named(instance),
            gpu: None,
            metric: Metric::CpuUtilization,
            statistic: Statistic::Average,
            counts_readings: false,
            period_seconds,
            namespace: "AWS/EC2".into(),
            name: "CPUUtilization",
            dimensions: Arc::new(dimensions),
            source: SeriesSource::Ec2,
            joined_by: JoinedBy::InstanceId,
        }
    }

    /// Knows the second of three days of `i-old`, and nothing of others.
    #[derive(Debug, Default)]
    struct SecondDay(RefCell<Vec<String>>);

    impl Known for SecondDay {
        fn missing(&self, machine: &Instance, asked: &str) -> Vec<Window> {
            self.0.borrow_mut().push(asked.to_owned());
            let stretches = [stretch(1, 2), stretch(2, 3), stretch(3, 4)];
            let is_old = machine.id.as_str() == "i-old";
            let missing = stretches.into_iter().enumerate();
            missing
                .filter(|(place, _)| !(is_old && *place == 1))
                .map(|(_, stretch)| stretch)
                .collect()
        }
    }

    #[test]
    fn each_machine_is_asked_for_what_is_missing_of_it() {
        let instances = ["i-new", "i-old", "i-gone"].map(|id| Instance::sample(id, "", at(0)));
        let queries = vec![query("i-old", 300), query("i-old", 3_600), query("i-new", 300)];
        let known = SecondDay::default();
        let runs = runs(queries, &instances, &known);
        let asked: Vec<(Window, usize, Vec<String>)> = runs
            .iter()
            .map(|run| {
                let names = run.queries.iter().map(|query| query.instance.to_string());
                (whole(&run.stretches), run.stretches.len(), names.collect())
            })
            .collect();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            asked,
            [
                (stretch(1, 2), 1, names(&["i-old", "i-old"])),
                (stretch(1, 4), 3, names(&["i-new"])),
                (stretch(3, 4), 1, names(&["i-old", "i-old"])),
            ]
        );
        assert_eq!(known.0.borrow().len(), 2, "each machine is planned once");
    }

    #[test]
    fn what_is_asked_otherwise_has_another_name() {
        let one = name_of(&[query("i-1", 300)]);
        assert_eq!(one, name_of(&[query("i-1", 300)]));
        let maximum = MetricQuery { statistic: Statistic::Maximum, ..query("i-1", 300) };
        for other in [
            vec![],
            vec![query("i-2", 300)],
            vec![query("i-1", 3_600)],
            vec![maximum],
            vec![query("i-1", 300), query("i-1", 300)],
        ] {
            assert_ne!(one, name_of(&other));
        }
    }

    #[test]
    fn every_value_is_in_one_stretch() {
        let points = [0, 1, 2, 3, 4].map(|day| (at(day), day as f64));
        let stretches = [stretch(1, 2), stretch(2, 3), stretch(3, 4)];
        let cut = cut(&[points.to_vec()], &stretches);
        let values: Vec<Vec<f64>> = cut
            .iter()
            .map(|queries| queries[0].iter().map(|(_, value)| *value).collect())
            .collect();
        assert_eq!(values, [vec![0.0, 1.0], vec![2.0], vec![3.0, 4.0]]);
    }
}
