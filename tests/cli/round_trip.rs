//! What is saved is what is read.

use crate::cli::contract::DEMO;
use crate::cli::estates::{START_SECOND, one, situations};
use crate::cli::world::World;
use gpucost::domain::{
    AwsOpinion, BatchEnvironment, Currency, JoinedBy, Metric, ProfiledRun, ResourceId,
    SampleCounts, ScalingGroup, SeriesSource, Statistic, WarmPool,
};
use gpucost::sources::files::{parse_estate, write_estate};
use gpucost::usage::{Estate, Points, Series};
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use std::fs;

#[test]
fn a_saved_demo_gives_the_answer_of_the_demo() {
    for name in ["saved.json", "saved.json.gz"] {
        let world = World::new();
        let path = world.path(name);
        let saving = world.run(&["audit", "--demo", "--format", "json", "--save", &path]);
        assert_eq!(saving.code, 0, "{}", saving.stderr);
        assert_eq!(saving.stdout, DEMO.stdout, "saving changes nothing");
        let bytes = fs::read(&path).expect("it was saved");
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), name.ends_with(".gz"));
        let (audit, demo) =
            (world.run(&["audit", "--from", &path, "--format", "json"]).json(), DEMO.json());
        for key in ["as_of", "scope", "summary", "workloads", "findings", "gaps", "api"] {
            assert_eq!(audit[key], demo[key], "{name}: {key}");
        }
    }
}

#[test]
fn reading_and_saving_again_changes_no_byte() {
    let world = World::new();
    for name in ["first.json", "first.json.gz"] {
        let (first, second) = (world.path(name), world.path(&format!("second-{name}")));
        let steady = crate::cli::settings::steady();
        world.run(&["inventory", "--from", &steady, "--save", &first]);
        world.run(&["inventory", "--from", &first, "--save", &second]);
        let bytes = |path: &str| fs::read(path).expect("it was saved");
        assert_eq!(bytes(&first), bytes(&second), "{name}");
    }
}

#[test]
fn every_situation_survives_writing_and_reading() {
    for path in situations() {
        let text = fs::read(&path).expect("a readable file");
        let estate = parse_estate(&text[..]).expect("an estate");
        assert_eq!(written_and_read(&estate), estate, "{}", path.display());
    }
}

#[test]
fn a_filtered_estate_is_saved_filtered() {
    let world = World::new();
    let path = world.path("part.json");
    let outcome = world.run(&["inventory", "--demo", "--tag", "team=quality", "--save", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows = world.run(&["inventory", "--from", &path, "--format", "json"]).json();
    assert_eq!(rows["instances"].as_array().expect("a list").len(), 5);
}

fn written_and_read(estate: &Estate) -> Estate {
    let mut text = Vec::new();
    write_estate(estate, &mut text).expect("memory takes everything");
    parse_estate(&text[..]).expect("what was written is an estate")
}

/// An estate with one instance and no series.
fn bare() -> Estate {
    let mut estate = one();
    estate["metrics"] = json!([]);
    parse_estate(estate.to_string().as_bytes()).expect("an estate")
}

#[test]
fn profiled_runs_survive_writing_and_reading() {
    let mut estate = bare();
    let run = |covers_a_command, figure: Option<f64>| ProfiledRun {
        instance: estate.instances[0].id.clone(),
        start: estate.window.start,
        end: estate.window.start + SignedDuration::from_mins(144),
        covers_a_command,
        samples: figure.map(|_| SampleCounts { reported: 140, taken: 143, missed: 1 }),
        gpu_mean_percent: figure,
        cpu_p95_percent: figure,
        memory_p95_mib: figure.map(|figure| figure * 1_000.0),
    };
    let runs = vec![run(true, Some(17.5)), run(false, None)];
    estate.profiles = runs;
    assert_eq!(written_and_read(&estate), estate);
    // Without any the file is what it always was.
    estate.profiles.clear();
    let mut text = Vec::new();
    write_estate(&estate, &mut text).expect("memory takes everything");
    assert!(!String::from_utf8_lossy(&text).contains("profiles"));
}

#[test]
fn a_key_of_an_estate_stands_once() {
    let estate = one().to_string();
    let twice = estate.replacen('{', "{\"as_of\": \"2026-11-01T00:00:00Z\",", 1);
    let error = parse_estate(twice.as_bytes()).expect_err("as_of is there twice");
    assert!(error.to_string().contains("duplicate key `as_of`"), "{error}");
}

#[test]
fn invalid_profiled_runs_are_named() {
    let with = |run: serde_json::Value| {
        let mut estate = one();
        estate["profiles"] = json!([run]);
        let failed = parse_estate(estate.to_string().as_bytes());
        failed.expect_err("an invalid run").to_string()
    };
    let id = one()["instances"][0]["id"].clone();
    let (start, end) = ("2026-10-20T10:00:00Z", "2026-10-20T12:00:00Z");
    for (run, invalid) in [
        (
            json!({"instance": "i-gone", "start": start, "end": end}),
            "a profile belongs to i-gone, which is not among the instances",
        ),
        (json!({"instance": id, "start": end, "end": start}), "ends before it starts"),
        (
            json!({"instance": id, "start": start, "end": end, "gpu_mean_percent": 101.0}),
            "has an invalid `gpu_mean_percent` of 101",
        ),
        (
            json!({
                "instance": id, "start": start, "end": end,
                "samples": {"reported": 9, "taken": 8, "missed": 0},
            }),
            "more samples of the profile of",
        ),
        (json!({"instance": id, "start": start, "end": end, "gpu": 1}), "unknown field `gpu`"),
    ] {
        let reported = with(run);
        assert!(reported.contains(invalid), "{reported}");
    }
}

#[test]
fn runs_of_earlier_recordings_are_read_under_their_earlier_keys() {
    let with = |key: &str, reported: &str| {
        let mut estate = one();
        let mut counts = json!({"taken": 143, "missed": 1});
        counts[reported] = json!(140);
        let mut run = json!({
            "instance": estate["instances"][0]["id"],
            "start": "2026-10-20T10:00:00Z", "end": "2026-10-20T12:00:00Z",
        });
        run[key] = counts;
        estate["profiles"] = json!([run]);
        parse_estate(estate.to_string().as_bytes()).expect("an estate")
    };
    let earlier = with("looks", "told");
    assert_eq!(earlier, with("samples", "reported"));
    let counts = earlier.profiles[0].samples.expect("counts");
    assert_eq!((counts.reported, counts.taken, counts.missed), (140, 143, 1));
}

/// Stretches of a series: a value and how often it comes, or a gap.
fn stretches() -> impl Strategy<Value = Vec<(Option<f64>, u32)>> {
    let value = prop_oneof![
        3 => Just(None),
        2 => Just(Some(0.0)),
        3 => (0_u32..=100).prop_map(|whole| Some(f64::from(whole))),
        3 => (0_u32..=10_000).prop_map(|hundredths| Some(f64::from(hundredths) / 100.0)),
        3 => (0.0..100.0).prop_map(Some),
    ];
    vec((value, 1_u32..40), 0..40)
}

fn raw(stretches: &[(Option<f64>, u32)]) -> Vec<(Timestamp, f64)> {
    let mut second = START_SECOND;
    let mut points = Vec::new();
    for (value, times) in stretches {
        for _ in 0..*times {
            let instant = Timestamp::from_second(second).expect("in range");
            points.extend(value.map(|value| (instant, value)));
            second += 300;
        }
    }
    points
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_series_survives_writing_and_reading(
        stretches in stretches(),
        scale in prop_oneof![Just(1.0), Just(819.2)],
        gpu in proptest::option::of(0_u16..16),
        bad_points in vec(0_usize..5, 0..4),
        tags in proptest::collection::btree_map(".{0,12}", ".{0,12}", 0..4),
    ) {
        let mut estate = bare();
        let metric = if scale == 1.0 { Metric::GpuUtilization } else { Metric::GpuMemoryUsed };
        let mut points: Vec<(Timestamp, f64)> = raw(&stretches)
            .into_iter()
            .map(|(time, value)| (time, value * scale))
            .collect();
        let count = points.iter().filter(|(time, _)| *time < estate.window.end).count();
        for bad in bad_points {
            let at = |second| Timestamp::from_second(second).expect("in range");
            points.push(match bad {
                0 => (at(START_SECOND), f64::NAN),
                1 => (at(START_SECOND), -1.0),
                2 => (at(START_SECOND), f64::INFINITY),
                _ => (estate.window.end, 1.0),
            });
        }
        let (points, rejected) = Points::clean(
            points,
            (metric, Statistic::Average),
            estate.window,
            300,
        );
        prop_assert_eq!(points.len(), count);
        estate.instances[0].tags = tags;
        estate.metrics.push(Series {
            instance: estate.instances[0].id.clone(),
            gpu,
            metric,
            statistic: Statistic::Average,
            source: SeriesSource::CloudWatchAgent,
            joined_by: JoinedBy::Hostname,
            points,
            rejected,
        });
        let read = written_and_read(&estate);
        prop_assert_eq!(&read, &estate);
        prop_assert_eq!(&read.metrics[0].points, &estate.metrics[0].points);
    }
}

#[test]
fn a_window_with_fractions_of_a_second_loses_no_point() {
    let mut estate = crate::cli::estates::one();
    estate["window_start"] = serde_json::json!("2026-10-18T00:00:00.5Z");
    estate["window_end"] = serde_json::json!("2026-11-01T00:00:00.75Z");
    let read = |text: &[u8]| gpucost::sources::files::parse_estate(text).expect("an estate");
    let first = read(estate.to_string().as_bytes());
    assert_eq!(first.metrics[0].points.len(), 4032);
    assert_eq!(written_and_read(&first), first);
}

#[test]
fn scaling_groups_and_opinions_survive_writing_and_reading() {
    let mut estate = bare();
    let group = |name: &str, warm_pool| ScalingGroup {
        name: name.to_owned(),
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        desired: 6,
        min: 4,
        max: 8,
        is_weighted: true,
        instance_types: vec!["g5.xlarge".to_owned(), "g4dn.xlarge".to_owned()],
        on_demand_base: Some(1),
        on_demand_above_base_percent: Some(50),
        spot_allocation: Some("lowest-price".to_owned()),
        warm_pool,
        suspended: vec!["Launch".to_owned()],
        protected: vec![estate.instances[0].id.clone()],
        in_service: None,
        batch: None,
    };
    let batch = |queues: Option<&str>| BatchEnvironment {
        name: "nightly".to_owned(),
        min_vcpus: 16,
        desired_vcpus: 24,
        instance_types: vec!["g5".to_owned()],
        is_spot: queues.is_none(),
        queues: queues.map(|name| vec![name.to_owned()]),
    };
    let pool =
        |state: Option<&str>, size| WarmPool { min_size: 2, state: state.map(str::to_owned), size };
    let groups = vec![
        group("a", None),
        group("b", Some(pool(None, None))),
        group("c", Some(pool(Some("Stopped"), Some(3)))),
        ScalingGroup {
            in_service: Some(vec![estate.instances[0].id.clone()]),
            batch: Some(batch(None)),
            ..group("d", None)
        },
        ScalingGroup {
            in_service: Some(Vec::new()),
            batch: Some(batch(Some("q"))),
            ..group("e", None)
        },
    ];
    estate.scaling_groups = groups;
    let opinion = |action: &str, to: Option<&str>, savings| AwsOpinion {
        instances: vec![estate.instances[0].id.clone()],
        action: action.to_owned(),
        to: to.map(str::to_owned),
        monthly_savings: savings,
    };
    let euros = AwsOpinion::estimate(41_200.into(), Currency::Eur);
    let opinions = vec![
        opinion("Rightsize", Some("g5.xlarge"), euros),
        opinion("Stop", None, None),
        AwsOpinion {
            instances: vec![estate.instances[0].id.clone(), ResourceId::named("i-other")],
            ..opinion("ScaleIn", None, euros)
        },
    ];
    estate.opinions = opinions;
    assert_eq!(written_and_read(&estate), estate);
    let mut document = one();
    let group = json!({
        "name": "a", "account": "1", "region": "us-east-1", "desired": 1, "min": 0, "max": 1,
    });
    document["scaling_groups"] = json!([group.clone(), group.clone()]);
    let error = parse_estate(document.to_string().as_bytes()).expect_err("twice");
    assert!(error.to_string().contains("duplicate"), "{error}");
    let mut group = group;
    group["min"] = json!(2);
    document["scaling_groups"] = json!([group]);
    let error = parse_estate(document.to_string().as_bytes()).expect_err("sizes");
    assert!(error.to_string().contains("`min` of a is 2"), "{error}");
}
