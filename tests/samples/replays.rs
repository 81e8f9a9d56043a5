//! Scaling policies and schedules on real records.

use crate::support::data::shared;
use flate2::read::GzDecoder;
use gpucost::domain::{Currency, HourlyRate};
use gpucost::planners::autoscale::{
    Autoscale, AutoscaleRequest, AutoscaleSubject, Demand, Held, InstancePrices, KnownPeriod,
    ScalingPolicy, SpotShare, Trigger, autoscale,
};
use gpucost::planners::schedule::{Job, JobPlan, Need, Rental, ScheduleRequest, schedule_jobs};
use gpucost::savings::Checkpointing;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::fs::File;

const PERIOD: i64 = 300;

/// The utilization of 80 containers, as though each had an instance with one GPU: in each
/// period of five minutes the sum of their means.
fn containers() -> Option<Demand> {
    let name = "samples/gpu-containers/pod_gpu_duty_cycle_anon.csv.gz";
    let file = File::open(shared("replayed containers", name)?).expect("the sample opens");
    let mut periods: BTreeMap<i64, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    let mut rows = csv::Reader::from_reader(GzDecoder::new(file));
    for row in rows.deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a whole row");
        let number = |column: &str| row[column].parse::<f64>().expect("a number");
        let period = (number("timestamp_anon") as i64).div_euclid(PERIOD);
        let container = row["container_ip"].clone();
        let by_container = periods.entry(period).or_default();
        by_container.entry(container).or_default().push(number("value"));
    }
    let first = *periods.keys().next().expect("periods");
    let last = *periods.keys().next_back().expect("periods");
    let none = BTreeMap::new();
    let known: Vec<KnownPeriod> = (first..=last)
        .map(|period| {
            let by_container = periods.get(&period).unwrap_or(&none);
            let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
            KnownPeriod {
                busy_gpus: Some(by_container.values().map(mean).sum::<f64>() / 100.0),
                instances: Some(u32::try_from(by_container.len()).expect("80 at most")),
            }
        })
        .collect();
    let start = Timestamp::from_second(first * PERIOD).expect("a time");
    Some(Demand::new(start, PERIOD, 1, &known).expect("a record"))
}

fn replayed(demand: Demand, target_percent: f64) -> Autoscale {
    let ask = AutoscaleRequest {
        subject: AutoscaleSubject {
            name: "containers".to_owned(),
            kind: None,
            instance_type: "z1.container".to_owned(),
            region: "us-east-1".to_owned(),
            scaling_group: None,
            source: "a trace".to_owned(),
            purchase_option: None,
        },
        demand,
        gpus_per_instance: 1,
        held: Held::Unknown,
        policy: ScalingPolicy {
            trigger: Trigger::Utilization { target_percent },
            cool_down_seconds: 900,
            start_up_seconds: 600,
            min: 1,
            max: 80,
            windows: Vec::new(),
            time_zone: ("UTC".to_owned(), TimeZone::UTC),
            spot: SpotShare::NONE,
        },
        prices: InstancePrices { on_demand: None, spot: None, band: None, has_commitments: false },
        late_after_seconds: PERIOD,
        max_unserved_percent: 2.0,
        least_interruptions_per_day: 1.0,
        hours_per_month: Decimal::from(730),
    };
    autoscale(ask).expect("a policy")
}

fn near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-6, "{actual}, expected {expected}");
}

/// 22.9 hours of 80 containers (alibaba/clusterdata, trace v2026-GenAI). 1,488.67 GPU hours
/// ran for 113.57 hours of work. The figures are those of a second program, which goes
/// minute by minute.
#[test]
fn containers_that_scale_need_less_than_a_sixth_of_what_ran() {
    let Some(demand) = containers() else { return };
    assert_eq!((demand.periods(), demand.saturated_periods), (275, Some(0)));
    near(demand.gpu_hours(), 113.569_967_047_719);
    near(demand.peak_gpus(), 16.053_819_193_729);
    let answer = replayed(demand, 60.0);
    let today = answer.today.expect("known");
    near(today.gpu_hours(1), 1_488.666_666_666_667);
    near(today.unserved_gpu_seconds, 0.0);
    // One is up in each of 13 periods without work.
    near(answer.hindsight.gpu_hours(1), 126.416_666_666_667);
    near(answer.replay.gpu_hours(1), 225.25);
    near(answer.replay.unserved_percent().expect("demand"), 3.800_949_730_000);
    assert_eq!((answer.replay.launches, answer.replay.most_instances), (116, 27));
    let others = [
        (30.0, 453.583_333_333_333, 1.458_245_504_116),
        (40.0, 339.833_333_333_333, 2.066_970_120_123),
        (50.0, 267.333_333_333_333, 3.300_723_180_403),
        (60.0, 225.25, 3.800_949_730_000),
        (70.0, 190.75, 5.362_468_295_599),
        (80.0, 162.666_666_666_667, 8.325_219_349_776),
        (85.0, 152.5, 9.390_278_200_484),
        (90.0, 140.75, 11.645_989_982_681),
    ];
    for (candidate, (target_percent, hours, unserved)) in answer.others.iter().zip(others) {
        assert_eq!(candidate.trigger, Trigger::Utilization { target_percent });
        near(candidate.replay.gpu_hours(1), hours);
        near(candidate.replay.unserved_percent().expect("demand"), unserved);
    }
    // 2% are accepted here, and 30% alone keeps them.
    assert_eq!(answer.cheapest, Some(0));
}

/// Pods of a cluster with GPUs (alibaba/clusterdata, trace gpu-v2023), each with whole GPUs.
fn pods() -> Option<Vec<Job>> {
    let path = shared("placed pods", "samples/schedule/openb_pod_list_default.csv")?;
    let mut rows = csv::Reader::from_path(path).expect("the sample opens");
    let jobs = rows.deserialize::<BTreeMap<String, String>>().map(|row| {
        let row = row.expect("a whole row");
        let number = |column: &str| row[column].parse::<i64>().expect("a number");
        let release = number("creation_time");
        Job {
            name: row["name"].clone(),
            need: 0,
            gpus: u32::try_from(number("num_gpu")).expect("a few"),
            seconds: number("deletion_time") - release,
            release,
            deadline: None,
            is_restartable: false,
            data_region: None,
            data_gb: Decimal::ZERO,
        }
    });
    Some(jobs.filter(|job| job.gpus > 0 && job.seconds > 0).collect())
}

/// 7,063 pods took 59,781.26 GPU hours and 71 GPUs at most. With 48 GPUs they wait: in order
/// of arrival 94,940 hours in all; where a pod may take what is free before those that came
/// earlier can start, 50,988. The figures are those of a second program, which keeps a list
/// of running pods and not of free GPUs.
#[test]
fn pods_wait_less_where_they_may_overtake() {
    let Some(jobs) = pods() else { return };
    let gpus: u32 = jobs.iter().map(|job| job.gpus).sum();
    assert_eq!((jobs.len(), gpus), (7_063, 7_432));
    let ask = |most_gpus: u32| ScheduleRequest {
        jobs: jobs.clone(),
        needs: vec![Need {
            name: "GPU".to_owned(),
            rentals: vec![Rental {
                instance_type: "z1.gpu".to_owned(),
                region: "us-east-1".to_owned(),
                gpus: 1,
                rate: HourlyRate::new(Decimal::ONE, Currency::Usd).expect("positive"),
                quote: None,
                is_spot: false,
                band: None,
            }],
            hosts: Vec::new(),
            other_currencies: BTreeMap::new(),
        }],
        hosts: Vec::new(),
        most_gpus: Some(most_gpus),
        home_region: "us-east-1".to_owned(),
        currency: Currency::Usd,
        transfer_per_gb: Decimal::ZERO,
        checkpointing: Checkpointing::default(),
        least_interruptions_per_day: 1.0,
    };
    let waiting = |plan: &JobPlan| {
        let placed = plan.placements.iter();
        placed.filter(|placement| placement.start() > jobs[placement.job].release).count()
    };
    let enough = schedule_jobs(ask(71)).expect("a plan");
    assert_eq!(enough.first_come.waited_seconds(&jobs), 0);
    assert_eq!(enough.planned.waited_seconds(&jobs), 0);
    assert_eq!(enough.planned.makespan_seconds(&jobs), 12_902_960);

    let plan = schedule_jobs(ask(48)).expect("a plan");
    let (planned, first_come) = (&plan.planned, &plan.first_come);
    assert_eq!(first_come.makespan_seconds(&jobs), 13_064_211);
    assert_eq!(first_come.waited_seconds(&jobs), 341_784_489);
    assert_eq!(waiting(first_come), 3_534);
    assert_eq!(planned.makespan_seconds(&jobs), 13_020_084);
    assert_eq!(planned.waited_seconds(&jobs), 183_556_459);
    assert_eq!(waiting(planned), 3_410);
    // Each job is rounded to a millionth of a dollar.
    let cost = planned.cost() - "59781.259167".parse::<Decimal>().expect("a decimal");
    assert!(cost.abs() < Decimal::new(1, 2), "{cost}");
    assert_eq!(plan.best, None);
}
