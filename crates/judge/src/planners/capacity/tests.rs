use super::*;
use crate::catalog::{Prices, shape, shapes};
use crate::domain::{PriceBook, PriceKey, RecordedRequest, RecordedWork};
use crate::savings::{Bound, RatioBasis};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, VecDeque};

const ONE_ZONE: Zones = Zones { count: 1, survive: 0 };

fn close(actual: f64, expected: f64, within: f64) {
    assert!((actual - expected).abs() <= within, "{actual} {expected}");
}

/// Steele, Lea and Flood's SplitMix64: the same numbers at every run.
struct Numbers(u64);

impl Numbers {
    /// Of 0 to 1, without 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

fn random(per_second: f64, gpu: Throughput) -> Load<'static> {
    Load {
        demand: Demand::Random,
        per_second,
        headroom_percent: 0.0,
        gpu,
        target_percent: 100.0,
        objective: None,
        service_times: ServiceTimes::Exponential,
    }
}

fn p(percentile: f64, seconds: f64) -> Option<Objective> {
    Some(Objective { seconds, percentile })
}

fn seconds_each(pairs: &[(f64, f64)]) -> Vec<RecordedRequest> {
    let request = |(at_seconds, seconds): &(f64, f64)| RecordedRequest {
        at_seconds: *at_seconds,
        work: RecordedWork::Seconds(*seconds),
    };
    pairs.iter().map(request).collect()
}

fn replayed(recording: &Recording, batch: u32, objective: Option<Objective>) -> Load<'_> {
    Load {
        demand: Demand::Recorded(recording),
        objective,
        ..random(
            recording.per_second,
            Throughput { batch, service_seconds: recording.mean_service_seconds },
        )
    }
}

#[test]
fn headroom_is_on_the_rate() {
    // 500 / 200 = 2.5, and 500 × 1.25 / 200 = 3.125.
    let mut load = random(500.0, Throughput::of_rate(200.0, 1));
    assert_eq!(load.need(1.0).expect("an answer").gpus, 3);
    load.headroom_percent = 25.0;
    let need = load.need(1.0).expect("an answer");
    assert_eq!((need.gpus_by_rate, need.gpus), (4, 4));
    // 625 / 800.
    close(need.utilization_percent, 78.125, 1e-9);
    // A batch of 32 in 160 ms is 200 a second.
    let gpu = Throughput { batch: 32, service_seconds: 0.16 };
    assert_eq!(random(500.0, gpu).need(1.0).expect("an answer").gpus, 3);
    // What doubles make of 0.3 / 0.1 and of 500 × 1.1 / 550 is 3 and 1 all the same.
    let exact = random(0.3, Throughput::of_rate(0.1, 1));
    assert_eq!(exact.need(1.0).expect("an answer").gpus, 3);
    let tenth = Load { headroom_percent: 10.0, ..random(500.0, Throughput::of_rate(550.0, 1)) };
    assert_eq!(tenth.need(1.0).expect("an answer").gpus, 1);
}

#[test]
fn waits_follow_erlangs_formula() {
    // Two Erlang on three servers: (8/6)(3/1) / (1 + 2 + 2 + 4) = 4/9; on four:
    // (16/24)(4/2) / (1 + 2 + 2 + 8/6 + 4/3) = 4/23.
    let of = |servers| Queue::new(2.0, 1.0, servers);
    assert_eq!(of(2), None, "it does not keep up");
    let three = of(3).expect("it keeps up");
    close(three.waiting_share, 4.0 / 9.0, 1e-12);
    close(of(4).expect("it keeps up").waiting_share, 4.0 / 23.0, 1e-12);
    // On three, θ = μ: e^(−3.5)(1 + 4/9 × 3.5). On four, θ = 2μ:
    // e^(−3.5) + 4/23 (e^(−3.5) − e^(−7)).
    let tail = |queue: Queue| queue.sojourn_tail(3.5, ServiceTimes::Exponential);
    close(tail(three), 0.077_171_090_968, 1e-9);
    close(tail(of(4).expect("it keeps up")), 0.035_290_514_110, 1e-9);
    // One server: the time is exponential with μ − λ.
    let queue = Queue::new(0.7, 1.0, 1).expect("it keeps up");
    close(queue.sojourn_tail(2.0, ServiceTimes::Exponential), (-0.6_f64).exp(), 1e-12);
    // "30 calls an hour of 5 minutes: fewest servers so that 90% are not delayed" of the
    // Wolfram Language's page on ErlangC: 0.1304 wait on five, 0.0474 on six.
    let calls = |servers| Queue::new(30.0 / 3_600.0, 300.0, servers).expect("it keeps up");
    close(calls(5).waiting_share, 0.130_371_297, 1e-9);
    close(calls(6).waiting_share, 0.047_444_812, 1e-9);
    // Long tails of a queue that hardly moves stay numbers.
    let slow = Queue::new(0.999_999, 1.0, 1).expect("it keeps up");
    let late = slow.sojourn_exceeded_by(0.01, ServiceTimes::Exponential);
    close(late / (100.0_f64.ln() / 1e-6), 1.0, 1e-6);
}

#[test]
fn an_objective_takes_more_gpus_than_the_rate() {
    let load = Load { objective: p(95.0, 3.5), ..random(2.0, Throughput::of_rate(1.0, 1)) };
    let need = load.need(1.0).expect("an answer");
    assert_eq!((need.gpus_by_rate, need.gpus), (2, 4));
    let latency = need.latency.expect("an objective");
    // 0.05 = e^(−t) + 4/23 (e^(−t) − e^(−2t)), solved by bisection elsewhere.
    close(latency.seconds, 3.149_704_333_9, 1e-8);
    close(latency.floor_seconds, 20.0_f64.ln(), 1e-12);

    // The GPUs of a batch of four are four servers each: 13 servers are enough for 10
    // a second, and so four GPUs.
    let each = |batch| Load {
        objective: p(95.0, 3.2),
        ..random(10.0, Throughput { batch, service_seconds: 1.0 })
    };
    let servers = each(1).need(1.0).expect("an answer").gpus;
    let gpus = each(4).need(1.0).expect("an answer").gpus;
    assert_eq!(gpus, servers.div_ceil(4));

    // A tenth slower is as many as of a GPU whose requests take a tenth longer.
    let slower = load.need(1.1).expect("an answer");
    let gpu = Throughput { batch: 1, service_seconds: 1.1 };
    let same = Load { gpu, ..load };
    assert_eq!(slower, same.need(1.0).expect("an answer"));
}

/// Late shares of 200,000 simulated requests, by a list of the times at which servers are
/// free.
fn simulated(per_second: f64, servers: usize, is_fixed: bool, limits: &[f64]) -> Vec<f64> {
    const REQUESTS: u32 = 200_000;
    let mut numbers = Numbers(7);
    let mut free = vec![0.0_f64; servers];
    let mut late = vec![0_u32; limits.len()];
    let mut now = 0.0;
    for _ in 0..REQUESTS {
        now += numbers.exponential(1.0 / per_second);
        let service = if is_fixed { 1.0 } else { numbers.exponential(1.0) };
        let next = free.iter_mut().min_by(|one, other| one.total_cmp(other));
        let next = next.expect("a server");
        *next = next.max(now) + service;
        for (late, limit) in late.iter_mut().zip(limits) {
            *late += u32::from(*next - now > *limit);
        }
    }
    let share = |late: &u32| f64::from(*late) / f64::from(REQUESTS);
    late.iter().map(share).collect()
}

#[test]
fn the_formula_agrees_with_a_simulation() {
    let limits = [1.5, 3.0, 6.0];
    for (per_second, servers) in [(0.7, 1), (3.0, 4), (17.0, 20)] {
        let queue = Queue::new(per_second, 1.0, servers).expect("it keeps up");
        let shares = simulated(per_second, servers as usize, false, &limits);
        for (share, limit) in shares.iter().zip(limits) {
            // The simulation differs by at most 0.0011 with these numbers.
            close(queue.sojourn_tail(limit, ServiceTimes::Exponential), *share, 0.002);
        }
        // Requests that all take as long wait less than is assumed.
        let shares = simulated(per_second, servers as usize, true, &limits);
        for (share, limit) in shares.iter().zip(limits) {
            let assumed = queue.sojourn_tail(limit, ServiceTimes::Fixed);
            assert!(assumed >= share - 0.002, "{assumed} {share}");
        }
    }
}

/// One event after the other: an end frees a server, an arrival joins the line.
fn one_by_one(requests: &[(f64, f64)], servers: usize) -> Vec<f64> {
    let mut working: Vec<(f64, usize)> = Vec::new();
    let mut line: VecDeque<usize> = VecDeque::new();
    let mut took = vec![0.0; requests.len()];
    let mut next = 0;
    while next < requests.len() || !working.is_empty() {
        let end = working.iter().copied().min_by(|one, other| one.0.total_cmp(&other.0));
        let arrival = requests.get(next).map(|request| request.0);
        let now = match (end, arrival) {
            (Some((end, done)), arrival) if arrival.is_none_or(|at| end <= at) => {
                working.retain(|(_, number)| *number != done);
                took[done] = end - requests[done].0;
                end
            }
            (_, Some(at)) => {
                line.push_back(next);
                next += 1;
                at
            }
            _ => unreachable!("a request is working or still to come"),
        };
        while working.len() < servers
            && let Some(first) = line.pop_front()
        {
            working.push((now + requests[first].1, first));
        }
    }
    took
}

#[test]
fn the_replay_agrees_with_one_event_after_the_other() {
    let mut numbers = Numbers(11);
    for case in 0..40 {
        let mut at = 0.0;
        let requests: Vec<(f64, f64)> = (0..80)
            .map(|_| {
                // Bursts: a third of them at the time of the one before.
                let gap = numbers.exponential(1.0);
                at += if numbers.uniform() < 0.33 { 0.0 } else { gap };
                let seconds = 0.1 + numbers.exponential(2.0);
                (at, seconds)
            })
            .collect();
        let recording =
            Recording::new(&seconds_each(&requests), WorkOf::Recorded).expect("a recording");
        let batch = 1 + case % 3;
        let (first, last) = (requests[0].0, requests[79].0);
        close(recording.per_second, 79.0 / (last - first), 1e-9);
        for seconds in [5.0, 9.0, 14.0] {
            // 90% of 80 requests are 72; those that may be late are the other 8.
            let late = |gpus: usize| {
                let took = one_by_one(&requests, gpus * batch as usize);
                let slow = took.iter().filter(|took| **took > seconds + 1e-6);
                slow.count()
            };
            let load = replayed(&recording, batch, p(90.0, seconds));
            let least = (recording.per_second * recording.mean_service_seconds / f64::from(batch))
                .ceil() as usize;
            let fewest = (least..=80).find(|gpus| late(*gpus) <= 8);
            match (load.need(1.0), fewest) {
                (Ok(need), Some(fewest)) => {
                    assert_eq!(need.gpus, fewest as u64, "case {case}, {seconds} s");
                    let mut took = one_by_one(&requests, fewest * batch as usize);
                    took.sort_by(f64::total_cmp);
                    let latency = need.latency.expect("an objective");
                    close(latency.seconds, took[71], 1e-9);
                }
                (Err(CapacityError::BelowFloor { floor_seconds, .. }), None) => {
                    let mut alone: Vec<f64> = requests.iter().map(|request| request.1).collect();
                    alone.sort_by(f64::total_cmp);
                    close(floor_seconds, alone[71], 1e-9);
                }
                (answer, expected) => panic!("case {case}: {answer:?} {expected:?}"),
            }
        }
    }
}

#[test]
fn a_recording_is_replayed_at_another_rate() {
    // Ten requests of 1 s, one a second: one GPU. At twice the rate: two.
    let requests: Vec<(f64, f64)> = (0..10).map(|at| (f64::from(at), 1.0)).collect();
    let recording =
        Recording::new(&seconds_each(&requests), WorkOf::Recorded).expect("a recording");
    let load = replayed(&recording, 1, p(99.0, 1.0));
    assert_eq!(load.need(1.0).expect("an answer").gpus, 1);
    let twice = Load { per_second: 2.0, ..load };
    assert_eq!(twice.need(1.0).expect("an answer").gpus, 2);
    // And with as much headroom.
    let headroom = Load { headroom_percent: 100.0, ..load };
    assert_eq!(headroom.need(1.0).expect("an answer").gpus, 2);
}

#[test]
fn work_follows_from_tokens() {
    let tokens = |at_seconds, prompt, generated| RecordedRequest {
        at_seconds,
        work: RecordedWork::Tokens { prompt, generated },
    };
    let requests = [tokens(0.0, 800.0, 100.0), tokens(10.0, 400.0, 50.0)];
    let mean = |prompt_per_second, batch| {
        let work = WorkOf::Tokens { per_second: 50.0, prompt_per_second, batch };
        Recording::new(&requests, work).expect("a recording")
    };
    // (900 + 450) / 50 / 2 = 13.5; (100/50 + 800/400 + 50/50 + 400/400) / 2 = 3.
    close(mean(None, 1).mean_service_seconds, 13.5, 1e-12);
    let fast = mean(Some(400.0), 1);
    close(fast.mean_service_seconds, 3.0, 1e-12);
    close(fast.mean_tokens.expect("recorded"), 675.0, 1e-12);
    // Four at a time share the rate.
    close(mean(Some(400.0), 4).mean_service_seconds, 12.0, 1e-12);
}

#[test]
fn zones_that_remain_hold_what_is_needed() {
    let fleet = |gpus, count, survive, each| {
        let fleet = Fleet::of(gpus, Zones { count, survive }, each);
        (fleet.gpus_per_zone, fleet.instances_per_zone, fleet.gpus)
    };
    // Four GPUs on the two of three zones that remain: two in each.
    assert_eq!(fleet(4, 3, 1, 1), (2, 2, 6));
    assert_eq!(fleet(4, 1, 0, 1), (4, 4, 4));
    assert_eq!(fleet(5, 3, 0, 1), (2, 2, 6));
    // Nine over two zones are five each: two instances with four GPUs.
    assert_eq!(fleet(9, 3, 1, 4), (5, 2, 24));
    let none = Zones { count: 2, survive: 2 };
    let none = none.check().expect_err("no zone").to_string();
    assert_eq!(none, "2 of 2 zones lost leaves no zone");
}

#[test]
fn measured_gpus_show_what_one_serves() {
    // 120 a second on eight GPUs at 40%: 120 / 3.2 = 37.5.
    let utilized = |mean_percent| Utilized {
        name: "captions".to_owned(),
        gpus: 8.0,
        mean_percent,
        samples: 4_032,
    };
    close(utilized(40.0).per_second(120.0).expect("busy"), 37.5, 1e-9);
    let idle = utilized(0.0).per_second(120.0);
    let idle = idle.expect_err("idle").to_string();
    assert!(idle.starts_with("no GPU of captions was busy"), "{idle}");
}

#[test]
fn questions_without_an_answer_say_why() {
    let gpu = Throughput::of_rate(10.0, 1);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let answer = random(rate, gpu).need(1.0);
        let error = answer.expect_err("no rate").to_string();
        assert!(error.ends_with("expected a number above zero"), "{rate}: {error}");
    }
    // A mean of 0.1 s is exceeded threefold by one of twenty: ln 20 = 2.9957.
    let tight = Load { objective: p(95.0, 0.25), ..random(5.0, gpu) };
    let error = tight.need(1.0).expect_err("it cannot be met");
    let CapacityError::BelowFloor { floor_seconds, .. } = error else {
        panic!("{error}");
    };
    close(floor_seconds, 0.299_573_227, 1e-9);
    assert_eq!(
        error.to_string(),
        "p95 of 0.25 s cannot be met by any number of GPUs: a request takes 0.299573 s at p95 \
         without any wait"
    );
    // Where all take 0.1 s, 0.5 e^(−5 × 0.15) = 23.6% are late on one, and
    // 0.1 e^(−15 × 0.15) = 1.1% on two.
    let fixed = Load { service_times: ServiceTimes::Fixed, ..tight };
    assert_eq!(fixed.need(1.0).expect("an answer").gpus, 2);
    let many = random(1e9, gpu).need(1.0);
    let many = many.expect_err("too many").to_string();
    assert!(many.ends_with("at most 1000000 are evaluated"), "{many}");
    let most = Load { objective: p(99.0, 1.0), ..random(1e7, gpu) };
    assert!(most.need(1.0).is_ok(), "the bound itself is evaluated");

    let recording = |pairs: &[(f64, f64)]| Recording::new(&seconds_each(pairs), WorkOf::Recorded);
    for pairs in [&[][..], &[(1.0, 1.0)], &[(1.0, 1.0), (1.0, 2.0)]] {
        let error = recording(pairs).expect_err("no rate").to_string();
        assert!(error.ends_with("so that they have no rate"), "{error}");
    }
    let unstated =
        [0.0, 1.0].map(|at_seconds| RecordedRequest { at_seconds, work: RecordedWork::Unstated });
    let answer = Recording::new(&unstated, WorkOf::Recorded);
    let error = answer.expect_err("no work").to_string();
    assert!(error.ends_with("the work that its time follows from"), "{error}");
}

/// Types bound each other's needs: each has those that it has alone.
#[test]
fn types_together_need_what_each_needs_alone() {
    let (book, no_discount) = (PriceBook::default(), BTreeMap::new());
    let prices = Prices::new(&book, &no_discount);
    let key = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
    let mut numbers = Numbers(15);
    for batch in [1, 3] {
        let mut at = 0.0;
        let requests: Vec<(f64, f64)> = (0..400)
            .map(|_| {
                let gap = numbers.exponential(0.4);
                at += if numbers.uniform() < 0.4 { 0.0 } else { gap };
                (at, 0.05 + numbers.exponential(0.5))
            })
            .collect();
        let recording =
            Recording::new(&seconds_each(&requests), WorkOf::Recorded).expect("a recording");
        let load = replayed(&recording, batch, p(90.0, 2.5));
        let question = CapacityQuestion {
            is_target_stated: false,
            service: Service {
                load,
                zones: ONE_ZONE,
                mean_per_second: None,
                tokens_per_request: None,
                hours_per_month: Decimal::from(730),
            },
            basis: ThroughputBasis::Recorded,
            arrivals_file: None,
            counts: None,
            types: Some(Types {
                measured: shape("g5.xlarge").expect("a type of the catalog"),
                others: shapes().filter(|shape| shape.gpu.is_some()).collect(),
                vram_peak_mib: None,
                vram_headroom: 1.2,
                bound: Bound::Unknown,
                prices: &prices,
                key: &key,
            }),
        };
        let answer = capacity(question).expect("an answer");
        let mut slowdowns = BTreeMap::new();
        for candidate in &answer.candidates {
            match &candidate.fits {
                Ok(fits) => {
                    assert_eq!(load.need(fits.ratio.value), Ok(fits.need));
                    slowdowns.insert(fits.ratio.value.to_bits(), fits.need.gpus);
                }
                Err(why) => {
                    let of_card = [
                        "another maker's drivers and libraries", "different CPU architecture",
                        "it can no longer be launched", "without any wait",
                    ];
                    let is_of_card = of_card.iter().any(|words| why.ends_with(words));
                    assert!(is_of_card || why.contains("unknown"), "{why}");
                }
            }
        }
        assert!(slowdowns.len() > 5, "{slowdowns:?}");
        assert!(slowdowns.values().is_sorted(), "{slowdowns:?}");
    }
}

#[test]
fn types_cost_what_their_instances_cost() {
    let (book, no_discount) = (PriceBook::default(), BTreeMap::new());
    let prices = Prices::new(&book, &no_discount);
    let key = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
    let of = |name: &str| shape(name).expect("a type of the catalog");
    let question = CapacityQuestion {
        is_target_stated: false,
        service: Service {
            load: Load { headroom_percent: 25.0, ..random(500.0, Throughput::of_rate(200.0, 1)) },
            zones: ONE_ZONE,
            mean_per_second: None,
            tokens_per_request: Some(400.0),
            hours_per_month: Decimal::from(730),
        },
        basis: ThroughputBasis::Stated,
        arrivals_file: None,
        counts: None,
        types: Some(Types {
            measured: of("g5.xlarge"),
            others: vec![
                of("g5.xlarge"),
                of("g6.xlarge"),
                of("g5.12xlarge"),
                of("g4dn.xlarge"),
                of("g4ad.xlarge"),
            ],
            vram_peak_mib: Some(15_000.0),
            vram_headroom: 1.2,
            bound: Bound::Unknown,
            prices: &prices,
            key: &key,
        }),
    };
    let answer = capacity(question).expect("an answer");
    let names: Vec<(&str, bool)> = answer
        .candidates
        .iter()
        .map(|kind| (kind.shape.instance_type.as_str(), kind.fits.is_ok()))
        .collect();
    assert_eq!(
        names,
        [
            ("g5.xlarge", true),
            ("g6.xlarge", true),
            ("g5.12xlarge", true),
            ("g4ad.xlarge", false),
            ("g4dn.xlarge", false),
        ]
    );
    let fits = |place: usize| answer.candidates[place].fits.as_ref().expect("it fits");
    let money = |place: usize| {
        let cost = fits(place).cost.expect("priced");
        let requests = cost.per_million_requests.expect("in range");
        let tokens = cost.per_million_tokens.expect("in range");
        (
            cost.hourly.amount().to_string(),
            cost.monthly.to_string(),
            requests.amount().round_dp(6).to_string(),
            tokens.amount().round_dp(6).to_string(),
        )
    };
    let text = |words: [&str; 4]| {
        let [hour, month, requests, tokens] = words.map(str::to_owned);
        (hour, month, requests, tokens)
    };
    // 4 × 1.006; × 730; 4.024 / 1.8 million an hour; / 400 tokens.
    assert_eq!(fits(0).ratio.basis, RatioBasis::SameGpu);
    assert_eq!(money(0), text(["4.024", "$2,937.52", "2.235556", "0.005589"]));
    // An L4 has 300 of 600 GB/s: 100 a second, 625 / 100 = 6.25, seven of 0.8048.
    assert!(fits(1).is_derived());
    close(fits(1).per_gpu_per_second, 100.0, 1e-9);
    assert_eq!(fits(1).need.gpus, 7);
    assert_eq!(money(1), text(["5.6336", "$4,112.53", "3.129778", "0.007824"]));
    // Four A10G in one instance.
    assert_eq!((fits(2).fleet.instances, fits(2).fleet.gpus), (1, 4));
    assert_eq!(money(2).1, "$4,140.56");
    // Radeon; and 18,000 of 15,360 MiB.
    let vendor = "another maker's drivers and libraries";
    assert_eq!(answer.candidates[3].fits, Err(vendor.to_owned()));
    let vram = "18,000 MiB of VRAM needed with headroom, 15,360 MiB usable";
    assert_eq!(answer.candidates[4].fits, Err(vram.to_owned()));
}
