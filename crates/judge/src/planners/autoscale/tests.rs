use super::*;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const PERIOD: i64 = 300;

/// A day from a Monday at midnight: 2 GPUs until 08:00, 6 until 16:00, then 3.
fn three_levels(today: Option<u32>) -> Demand {
    let periods: Vec<KnownPeriod> = [2.0, 6.0, 3.0]
        .into_iter()
        .flat_map(|gpus| std::iter::repeat_n(gpus, 96))
        .map(|gpus| KnownPeriod { busy_gpus: Some(gpus), instances: today })
        .collect();
    demand_of(&periods, 1)
}

fn demand_of(periods: &[KnownPeriod], gpus: u32) -> Demand {
    let monday: Timestamp = "2026-11-02T00:00:00Z".parse().expect("a time stamp");
    Demand::new(monday, PERIOD, gpus, periods).expect("known")
}

fn known(gpus: &[f64]) -> Vec<KnownPeriod> {
    let of = |gpus: &f64| KnownPeriod { busy_gpus: Some(*gpus), instances: None };
    gpus.iter().map(of).collect()
}

fn policy(target_percent: f64) -> ScalingPolicy {
    ScalingPolicy {
        trigger: Trigger::Utilization { target_percent },
        cool_down_seconds: 900,
        start_up_seconds: 600,
        min: 1,
        max: 20,
        windows: Vec::new(),
        time_zone: ("UTC".to_owned(), TimeZone::UTC),
        spot: SpotShare::NONE,
    }
}

fn request(demand: Demand, policy: ScalingPolicy) -> AutoscaleRequest {
    AutoscaleRequest {
        subject: AutoscaleSubject {
            name: "day".to_owned(),
            kind: None,
            instance_type: "z1.small".to_owned(),
            region: "us-east-1".to_owned(),
            scaling_group: None,
            source: "by hand".to_owned(),
            purchase_option: None,
        },
        demand,
        gpus_per_instance: 1,
        held: Held::Unknown,
        policy,
        prices: InstancePrices { on_demand: None, spot: None, band: None, has_commitments: false },
        late_after_seconds: 300,
        max_unserved_percent: 0.1,
        least_interruptions_per_day: 1.0,
        hours_per_month: Decimal::from(730),
    }
}

fn near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9, "{actual}, expected {expected}");
}

/// At 60%: 4 instances for 2 GPUs. At 08:05, 4 fully used ones want 4 / 0.6, rounded up
/// to 7; they serve from 08:15. At 08:20, 6 / 0.6 = 10. At 16:15, 15 minutes after 10 were
/// last wanted, 3 / 0.6 = 5.
///
/// 4 × 8 h 05 + 7 × 15 min + 10 × 7 h 55 + 5 × 7 h 45 = 32.33 + 1.75 + 79.17 + 38.75 = 152 h.
/// From 08:00 to 08:15, 2 of 6 GPUs were missing: 0.5 of 88 GPU hours.
#[test]
fn a_day_with_three_levels_by_hand() {
    let answer = autoscale(request(three_levels(Some(10)), policy(60.0))).expect("a policy");
    let replay = answer.replay;
    assert_eq!(replay.on_demand_seconds, 152 * 3_600);
    assert_eq!((replay.spot_seconds, replay.launches), (0, 6));
    assert_eq!(replay.most_instances, 10);
    near(replay.demand_gpu_seconds, 88.0 * 3_600.0);
    near(replay.unserved_gpu_seconds, 1_800.0);
    near(replay.unserved_percent().expect("demand"), 0.5 / 88.0 * 100.0);
    let today = answer.today.expect("10 instances all day");
    assert_eq!(today.on_demand_seconds, 240 * 3_600);
    assert_eq!(answer.hindsight.on_demand_seconds, 88 * 3_600);
    near(answer.hindsight.unserved_gpu_seconds, 0.0);
    // At 40%, 5 instances for 2 GPUs leave one of 6 without a GPU for 15 minutes: 0.28%.
    // At 30% there are 7.
    let cheapest = &answer.others[answer.cheapest.expect("one of them")];
    let thirty = Trigger::Utilization { target_percent: 30.0 };
    assert_eq!(cheapest.trigger, thirty);
    near(cheapest.replay.unserved_gpu_seconds, 0.0);
}

/// 10 instances from 07:45: 4 × 7 h 45 + 10 × 8 h 30 + 5 × 7 h 45 = 154.75 h.
#[test]
fn a_window_starts_instances_before_they_are_needed() {
    let mut early = policy(60.0);
    early.windows = vec![ScheduleWindow::parse("mon-fri@07:45-16:00=10").expect("a window")];
    let answer = autoscale(request(three_levels(None), early.clone())).expect("a policy");
    assert_eq!(answer.replay.on_demand_seconds * 100, 15_475 * 3_600);
    near(answer.replay.unserved_gpu_seconds, 0.0);
    assert_eq!(answer.today, None);
    // On the other days it is shut.
    early.windows = vec![ScheduleWindow::parse("sat,sun@07:45-16:00=10").expect("a window")];
    let answer = autoscale(request(three_levels(None), early)).expect("a policy");
    assert_eq!(answer.replay.on_demand_seconds, 152 * 3_600);
}

/// Of 4, 7, 10 and 5 instances, 3, 5, 6 and 4 are on demand: 2, and half of the rest,
/// rounded up. 3 × 8 h 05 + 5 × 15 min + 6 × 7 h 55 + 4 × 7 h 45 = 104 h; the other 48 h are
/// spot. Without spot 3 of 6 GPUs are missing for 15 minutes and 1 for the next 15.
#[test]
fn spot_beside_a_base_on_demand() {
    let mut mixed = policy(60.0);
    mixed.spot = SpotShare { on_demand_base: 2, spot_percent: 50.0 };
    let answer = autoscale(request(three_levels(None), mixed)).expect("a policy");
    let replay = answer.replay;
    assert_eq!(replay.on_demand_seconds, 104 * 3_600);
    assert_eq!(replay.spot_seconds, 48 * 3_600);
    near(replay.unserved_without_spot_gpu_seconds, 3_600.0);
    // Once a day and instance, each for the ten minutes of a start.
    let risk = answer.risk.expect("spot");
    near(risk.expected, 2.0);
    near(risk.lost_gpu_hours, 2.0 / 6.0);
}

#[test]
fn on_demand_is_rounded_up_as_a_group_does() {
    let half = SpotShare { on_demand_base: 1, spot_percent: 50.0 };
    let of = |share: SpotShare| [0, 1, 2, 3, 4].map(|total| share.on_demand(total));
    assert_eq!(of(half), [0, 1, 2, 2, 3]);
    assert_eq!(of(SpotShare::NONE), [0, 1, 2, 3, 4]);
    let all_spot = SpotShare { on_demand_base: 0, spot_percent: 100.0 };
    assert_eq!(of(all_spot), [0; 5]);
}

/// One GPU serves a request in 100 s, and an instance may have two. In the second period
/// 3 GPUs of work meet one instance: 600 GPU seconds wait, 6 requests, with the one that is
/// worked on 7, so 4 instances. These do 900 GPU seconds in the third.
#[test]
fn a_queue_shows_all_that_waits() {
    let mut queue = policy(60.0);
    queue.trigger = Trigger::Queue { requests_per_instance: 2.0, request_seconds: 100.0 };
    (queue.cool_down_seconds, queue.start_up_seconds) = (0, 0);
    let demand = demand_of(&known(&[1.0, 3.0, 1.0, 1.0]), 1);
    let mut asked = request(demand, queue);
    let answer = autoscale(asked.clone()).expect("a policy");
    // 1 + 1 + 4 + 2 periods.
    assert_eq!(answer.replay.on_demand_seconds, 8 * PERIOD);
    near(answer.replay.unserved_gpu_seconds, 0.0);
    asked.late_after_seconds = 0;
    let answer = autoscale(asked).expect("a policy");
    near(answer.replay.unserved_gpu_seconds, 600.0);
}

/// One GPU does 3 of 300 GPU hours, however long is waited: what is left waits at the end.
#[test]
fn what_still_waits_at_the_end_is_late() {
    let mut queue = policy(60.0);
    queue.trigger = Trigger::Queue { requests_per_instance: 2.0, request_seconds: 1.0 };
    queue.max = 1;
    let demand = demand_of(&known(&[100.0; 36]), 1);
    let mut asked = request(demand, queue);
    asked.late_after_seconds = 3 * 3_600;
    let answer = autoscale(asked).expect("a policy");
    near(answer.replay.unserved_gpu_seconds, 297.0 * 3_600.0);
    assert!(!answer.is_accepted(&answer.replay));
}

/// Ten instances for a day: spot seconds, and without a spot price no cost.
#[test]
fn a_fleet_on_spot_is_not_priced_on_demand() {
    let mut asked = request(three_levels(Some(10)), policy(60.0));
    asked.subject.purchase_option = Some(PurchaseOption::Spot);
    let answer = autoscale(asked).expect("a policy");
    let today = answer.today.expect("known");
    assert_eq!((today.on_demand_seconds, today.spot_seconds), (0, 240 * 3_600));
    assert_eq!(answer.cost(&today), None);
}

#[test]
fn nothing_runs_at_zero_and_the_first_request_starts_one() {
    let mut to_zero = policy(50.0);
    (to_zero.min, to_zero.cool_down_seconds) = (0, 300);
    let demand = demand_of(&known(&[1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]), 1);
    let answer = autoscale(request(demand, to_zero)).expect("a policy");
    // 2 up for the first two periods; at zero for three. One is launched after the fifth,
    // serves from the eighth, and is paid for from its launch.
    assert_eq!(answer.replay.on_demand_seconds, (2 + 2 + 3) * PERIOD);
    near(answer.replay.unserved_gpu_seconds, 3.0 * 300.0);
}

/// A simulation apart: one minute after the other, instances in a list, with the minute
/// from which each serves. Wanted numbers are kept in a list, not in a queue.
fn by_the_minute(gpus: &[f64], each: u32, policy: &ScalingPolicy) -> (i64, f64) {
    let Trigger::Utilization { target_percent } = policy.trigger else {
        panic!("utilization");
    };
    let need = |busy: f64| (busy * 100.0 / (f64::from(each) * target_percent) - 1e-9).ceil();
    let mut wanted: Vec<(i64, i64)> = vec![(0, need(gpus[0]) as i64)];
    let first = wanted[0].1.clamp(policy.min.into(), policy.max.into());
    let mut ready: Vec<i64> = vec![0; first as usize];
    let (mut paid, mut unserved) = (0, 0.0);
    for (index, gpus) in gpus.iter().enumerate() {
        let now = index as i64 * 5;
        let recent = wanted.iter().enumerate().filter(|(place, (at, _))| {
            place + 1 == wanted.len() || at * 60 > now * 60 - policy.cool_down_seconds
        });
        let largest = recent.map(|(_, (_, number))| *number).max().expect("the last");
        let last = wanted.last().expect("one").1;
        let total = ready.len() as i64;
        let number = last.max(largest.min(total));
        let number = number.clamp(policy.min.into(), policy.max.into());
        for _ in total..number {
            ready.push(now + policy.start_up_seconds / 60);
        }
        ready.truncate(number as usize);
        let (mut served, mut capacity) = (0.0, 0.0);
        for minute in now..now + 5 {
            paid += ready.len() as i64 * 60;
            let up = ready.iter().filter(|from| **from <= minute).count() as f64;
            let done = gpus.min(up * f64::from(each));
            unserved += (gpus - done) * 60.0;
            served += done;
            capacity += up * f64::from(each);
        }
        let up = ready.iter().filter(|from| **from < now + 5).count() as f64;
        let next = if capacity > 0.0 {
            need(served / capacity * up * f64::from(each))
        } else {
            f64::from(u8::from(*gpus > 0.0))
        };
        wanted.push((now + 5, next as i64));
    }
    (paid, unserved)
}

/// Paid time to the second, and work without a GPU to a millionth: start-up times are whole
/// minutes, so nothing happens between two of them.
#[test]
fn a_simulation_by_the_minute_agrees() {
    let mut random = fastrand::Rng::with_seed(15);
    for _ in 0..300 {
        let mut level = 0.0;
        let gpus: Vec<f64> = (0..random.usize(1..150))
            .map(|_| {
                if random.u8(..) < 40 {
                    level = f64::from(random.u32(0..400)) / 10.0;
                }
                level
            })
            .collect();
        let each = random.u32(1..5);
        let mut policy = policy(f64::from(random.u32(20..=100)));
        policy.min = random.u32(0..4);
        policy.max = random.u32(4..50);
        policy.cool_down_seconds = random.i64(0..60) * 60;
        policy.start_up_seconds = random.i64(0..25) * 60;
        let (paid, unserved) = by_the_minute(&gpus, each, &policy);
        let mut asked = request(demand_of(&known(&gpus), each), policy.clone());
        asked.gpus_per_instance = each;
        let replay = autoscale(asked).expect("a policy").replay;
        assert_eq!(replay.on_demand_seconds, paid, "{gpus:?} {each} {policy:?}");
        let off = (replay.unserved_gpu_seconds - unserved).abs();
        assert!(off <= 1e-6 * unserved.max(1.0), "{gpus:?} {each} {policy:?}");
    }
}

#[test]
fn hindsight_is_the_least_that_serves_everything() {
    let demand = demand_of(&known(&[0.0, 0.1, 4.0, 4.1, 8.0]), 4);
    let mut asked = request(demand, policy(60.0));
    asked.gpus_per_instance = 4;
    asked.policy.min = 0;
    let answer = autoscale(asked.clone()).expect("a policy");
    // 0 + 1 + 1 + 2 + 2.
    assert_eq!(answer.hindsight.on_demand_seconds, 6 * PERIOD);
    near(answer.hindsight.unserved_gpu_seconds, 0.0);
    // One stays up without demand.
    asked.policy.min = 1;
    let answer = autoscale(asked).expect("a policy");
    assert_eq!(answer.hindsight.on_demand_seconds, 7 * PERIOD);
}

/// At most 3: 2 × 8 h + 3 × 8 h + 3 × 8 h = 64 h, and 3 GPUs of work find none for 8 h. With
/// half of what is above one as spot, 2, 3 and 3 have 2 on demand each: 1, and half of the
/// rest rounded up, which is 48 h of the 64.
#[test]
fn hindsight_keeps_the_limits_of_the_policy() {
    let mut asked = request(three_levels(None), policy(60.0));
    asked.policy.max = 3;
    let answer = autoscale(asked.clone()).expect("a policy");
    assert_eq!(answer.hindsight.on_demand_seconds, 64 * 3_600);
    near(answer.hindsight.unserved_gpu_seconds, 24.0 * 3_600.0);
    asked.policy.max = 5;
    let window = ScheduleWindow::parse("mon@20:00-24:00=5").expect("a window");
    asked.policy.windows = vec![window];
    let answer = autoscale(asked.clone()).expect("a policy");
    // 2 × 8 h + 5 × 8 h + 3 × 4 h + 5 × 4 h.
    assert_eq!(answer.hindsight.on_demand_seconds, 88 * 3_600);
    (asked.policy.max, asked.policy.windows) = (3, Vec::new());
    asked.policy.spot = SpotShare { on_demand_base: 1, spot_percent: 50.0 };
    let answer = autoscale(asked).expect("a policy");
    assert_eq!(answer.hindsight.on_demand_seconds, 48 * 3_600);
    assert_eq!(answer.hindsight.spot_seconds, 16 * 3_600);
}

/// Five models on GPUs of 40,960 MiB: 30,000 and 10,000 fill the first, 25,000 and 15,000
/// the second, and 20,000 takes a third. Two instances of two GPUs hold them.
#[test]
fn instances_that_hold_every_model_stay_up() {
    let needed = [20_000.0, 10_000.0, 30_000.0, 15_000.0, 25_000.0];
    let models = HeldModels::packed(&needed, 40_960.0);
    assert_eq!((models.models, models.gpus), (5, 3));
    near(models.vram_needed_mib, 100_000.0);
    let held = Held::Models(models);
    assert_eq!([1, 2, 8].map(|gpus| held.least_instances(gpus)), [3, 2, 1]);
    // What is larger than a GPU has one to itself, as it has today.
    assert_eq!(HeldModels::packed(&[50_000.0, 1.0], 40_960.0).gpus, 2);
    assert_eq!(Held::Models(HeldModels::packed(&[], 40_960.0)).least_instances(8), 1);
    for unknown in [Held::Copies, Held::Unknown] {
        assert_eq!(unknown.least_instances(2), 1);
    }
}

#[test]
fn samples_stand_for_what_follows_them() {
    let at = |minute: i64| Timestamp::from_second(1_800_000_000 + minute * 60).expect("a time");
    // 2 for 5 min, then 4 for 2.5 min and 8 for 2.5 min; after 65 min nothing is known for
    // 5 minutes. The last sample stands for as long as the one before it, an hour at most.
    let samples = [
        (at(0), 2.0),
        (at(5), 4.0),
        (Timestamp::from_second(1_800_000_450).expect("a time"), 8.0),
        (at(10), 1.0),
        (at(75), 3.0),
    ];
    let demand = Demand::of_samples(&samples, Some(2), 4).expect("a record");
    assert_eq!(demand.gpus[..3], [2.0, 6.0, 1.0]);
    assert_eq!(demand.periods(), 27);
    assert_eq!(demand.unknown_periods, 1);
    assert_eq!(demand.gpus[14..], [[1.0].as_slice(), &[3.0; 12]].concat());
    assert_eq!(demand.saturated_periods, Some(0));
    assert_eq!(Demand::of_samples(&samples[..1], None, 1), Err(DemandError::OneInstant));
    assert_eq!(Demand::of_samples(&[], None, 1), Err(DemandError::Unknown));
    let late = Timestamp::from_second(1_900_000_000).expect("a time");
    let long = Demand::of_samples(&[samples[0], (late, 1.0)], None, 1);
    assert!(matches!(long, Err(DemandError::TooLong { .. })), "{long:?}");
}

#[test]
fn what_is_saturated_is_counted() {
    let of = |busy: f64| KnownPeriod { busy_gpus: Some(busy), instances: Some(2) };
    // 95% of 8 GPUs are 7.6.
    let demand = demand_of(&[of(7.5), of(7.6), of(8.0)], 4);
    assert_eq!(demand.saturated_periods, Some(2));
}

#[test]
fn windows_are_read_and_checked() {
    let week = ScheduleWindow::parse("fri-mon@22:00-24:00=3").expect("a window");
    assert_eq!(week.days, [true, false, false, false, true, true, true]);
    assert_eq!((week.from_minute, week.to_minute, week.min), (1_320, 1_440, 3));
    for bad in [
        "", "mon@08:00-20:00", "noday@08:00-20:00=1", "mon@8-20=1", "mon@08:00-24:01=1",
        "mon@08:60-20:00=1", "mon@20:00-08:00=1", "mon@08:00-20:00=-1",
    ] {
        assert!(ScheduleWindow::parse(bad).is_err(), "{bad}");
    }
    let night = ScheduleWindow::parse("mon@20:00-08:00=1").expect_err("over midnight");
    assert!(night.contains("mon@20:00-24:00=1"), "{night}");
    let mut limits = policy(60.0);
    (limits.min, limits.max) = (4, 3);
    let why = |limits: &ScalingPolicy| limits.check().expect_err("refused").to_string();
    assert_eq!(why(&limits), "a minimum of 4 instances is above the maximum of 3");
    (limits.min, limits.windows) = (1, vec![week]);
    limits.max = 2;
    assert_eq!(why(&limits), "a window with 3 instances is above the maximum of 2");
    limits.max = 0;
    assert_eq!(why(&limits), "a maximum of no instances");
}
