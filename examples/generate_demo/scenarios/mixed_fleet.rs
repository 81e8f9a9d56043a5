//! `--demo mixed-fleet`: 33 instances of two accounts, most of which are best left
//! as they are: services that are at their limit at noon, a training run over
//! eight nodes, capacity that was reserved, hours that were bought ahead. What can
//! be saved is beside them: a member that nothing is sent to, room that nothing
//! runs in, volumes of a box that was stopped.
//!
//! What it costs a month today, in us-east-1 from `pricing-data/prices.csv`, with
//! 730 hours to the month; every running instance runs around the clock:
//!
//! ```text
//! workload             instances             on demand, an hour     a month
//! language-pretraining 8 × p4d.24xlarge      8 × 21.957642       128 232.63
//!                      reserved at           8 × 13.921094        81 299.19
//! document-model       2 × p5.48xlarge       2 × 55.04            80 358.40
//! captioning           4 × g6.12xlarge       4 ×  4.6016          13 436.67
//! search-ranking       6 × g5.xlarge         6 ×  1.006            4 406.28
//!                      under a savings plan  6 ×  0.63378          2 775.96
//! fraud-scoring        2 × g6e.4xlarge       2 ×  3.00424          4 386.19
//! speech-online        6 × g6.xlarge         6 ×  0.8048           3 525.02
//! viewers              2 × g6.2xlarge        2 ×  0.9776           1 427.30
//!                      2 of them, Windows    2 ×  1.3456           1 964.58
//! ocr-prototype        stopped, 2 100 GiB    0.08 a GiB-month        168.00
//! what was bought counted, not what it covers                    189 341.31
//! ```
//!
//! Room for one more p5.48xlarge, held and billed: 55.04 × 730 = 40 179.20.

use super::super::behaviour::{
    GpuUse, InstanceUse, Traffic, idle_member, in_step, level_cpu, noisy, own_queues,
};
use super::super::cards;
use super::super::chance::Chance;
use super::super::fleet::{Doing, Job, REGION, Setting};
use super::super::recording::{PERIODS, PERIODS_PER_DAY, PERIODS_PER_HOUR};
use super::time;
use gpucost::domain::{
    CapacityReservation, CommitmentTerm, Commitments, Currency, HourlyRate, OfferingClass,
    OperatingSystem, PaymentOption, PriceBasis, PriceBook, PriceKey, PriceOption, PriceOrigin,
    PriceQuote, ReservedInstances, SavingsPlan, SavingsPlanKind, Tenancy,
};
use gpucost::usage::Estate;
use jiff::civil::date;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The estate.
pub fn estate() -> Estate {
    Estate { prices: prices(), commitments: commitments(), ..super::estate(JOBS, 2) }
}

/// The second account; the other number AWS uses in examples.
const SECOND_ACCOUNT: &str = "444455556666";
/// The capacity reservation.
const RESERVED_CAPACITY: &str = "cr-0d3a91c47be58f260";

/// What a plan for the family pays for an hour of a g5.xlarge, as it was read from
/// the account: `0.63378`.
fn plan_rate() -> Decimal {
    Decimal::new(63_378, 5)
}

/// The term that everything was bought for.
const TERM: CommitmentTerm = CommitmentTerm::ONE_YEAR_NO_UPFRONT;

fn prices() -> PriceBook {
    let key = PriceKey::linux_on_demand(REGION, "g5.xlarge")
        .with_option(PriceOption::Ec2InstanceSavingsPlan(TERM));
    let quote = PriceQuote {
        rate: HourlyRate::new(plan_rate(), Currency::Usd).expect("above zero"),
        instalments: None,
        origin: PriceOrigin::Api,
        basis: PriceBasis::Observed,
        effective_date: date(2026, 10, 31),
        seen_on: date(2026, 10, 31),
        source: "savingsplans:DescribeSavingsPlanRates".to_owned(),
    };
    let mut book = PriceBook::default();
    book.insert(key, quote);
    book
}

/// Hours of all eight nodes, a plan for as much as six g5.xlarge take, and room for
/// three p5.48xlarge of which two are in use.
fn commitments() -> Commitments {
    Commitments {
        reserved_instances: vec![ReservedInstances {
            id: "7b1f0c52-93de-4a68-8f21-5c0a6e4d9b37".to_owned(),
            account: None,
            region: REGION.to_owned(),
            zone: None,
            instance_type: "p4d.24xlarge".to_owned(),
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            count: 8,
            class: OfferingClass::Standard,
            payment: PaymentOption::NoUpfront,
            start: time("2026-03-15T00:00:00Z"),
            end: time("2027-03-15T00:00:00Z"),
            currency: Currency::Usd,
            upfront: Decimal::ZERO,
            recurring_hourly: Decimal::new(13_921_094, 6),
        }],
        savings_plans: vec![SavingsPlan {
            id: "2e9d4a16-0f7c-4b53-a8c1-6d3f5e7b9024".to_owned(),
            account: None,
            kind: SavingsPlanKind::Ec2Instance,
            region: Some(REGION.to_owned()),
            family: Some("g5".to_owned()),
            currency: Currency::Usd,
            commitment_hourly: plan_rate() * Decimal::from(6),
            term: TERM,
            start: time("2026-05-01T00:00:00Z"),
            end: time("2027-05-01T00:00:00Z"),
        }],
        capacity_reservations: vec![CapacityReservation {
            id: RESERVED_CAPACITY.to_owned(),
            account: None,
            region: REGION.to_owned(),
            zone: format!("{REGION}d"),
            instance_type: "p5.48xlarge".to_owned(),
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            total: 3,
            available: 1,
            capacity_block: false,
            start: None,
            committed_until: None,
            end: None,
            tags: BTreeMap::new(),
        }],
        ..Commitments::default()
    }
}

const VIEWER_TAGS: &[(&str, &str)] = &[
    ("team", "design"),
    ("owner", "lena.fischer"),
    ("env", "production"),
    ("gpucost:kind", "serving"),
    ("gpucost:workload", "viewers"),
];

const CAPTIONING_TAGS: &[(&str, &str)] = &[
    ("team", "media"),
    ("owner", "omar.haddad"),
    ("env", "production"),
    ("gpucost:kind", "batch"),
    ("gpucost:workload", "captioning"),
];

const JOBS: &[Job] = &[
    Job {
        instance_type: "g5.xlarge",
        name: "search-ranking",
        count: 6,
        zones: "abc",
        launched: "2026-08-31T06:12:44Z",
        tags: &[
            ("team", "search"),
            ("owner", "aiko.sato"),
            ("env", "production"),
            ("gpucost:kind", "serving"),
            ("aws:autoscaling:groupName", "search-ranking"),
        ],
        card: cards::A10G,
        doing: Doing::Work(ranking_replica),
        setting: Setting { auto_scaling_group: Some("search-ranking"), ..Setting::USUAL },
    },
    Job {
        instance_type: "g6.xlarge",
        name: "speech-online",
        count: 6,
        zones: "abc",
        launched: "2026-09-08T11:40:03Z",
        tags: &[
            ("team", "speech"),
            ("owner", "ines.moreau"),
            ("env", "production"),
            ("gpucost:kind", "serving"),
            ("aws:autoscaling:groupName", "speech-online"),
        ],
        card: cards::L4,
        doing: Doing::Work(speech_replica),
        setting: Setting { auto_scaling_group: Some("speech-online"), ..Setting::USUAL },
    },
    Job {
        instance_type: "p4d.24xlarge",
        name: "language-pretraining",
        count: 8,
        zones: "b",
        launched: "2026-09-21T16:05:19Z",
        tags: &[
            ("team", "foundation"),
            ("owner", "grace.okafor"),
            ("env", "production"),
            ("gpucost:kind", "training"),
            ("gpucost:restartable", "false"),
            ("gpucost:workload", "language-pretraining"),
        ],
        card: cards::A100,
        doing: Doing::Work(pretraining_node),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "p5.48xlarge",
        name: "document-model",
        count: 2,
        zones: "d",
        launched: "2026-07-02T13:29:50Z",
        tags: &[
            ("team", "assistant"),
            ("owner", "jonas.weber"),
            ("env", "production"),
            ("gpucost:kind", "serving"),
            ("gpucost:workload", "document-model"),
        ],
        card: cards::H100,
        doing: Doing::Work(document_model),
        setting: Setting { capacity_reservation: Some(RESERVED_CAPACITY), ..Setting::USUAL },
    },
    Job {
        instance_type: "g6.2xlarge",
        name: "viewer",
        count: 2,
        zones: "ac",
        launched: "2026-06-17T08:54:36Z",
        tags: VIEWER_TAGS,
        card: cards::L4,
        doing: Doing::Work(viewer),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g6.2xlarge",
        name: "viewer",
        count: 2,
        zones: "ac",
        launched: "2026-06-17T09:01:22Z",
        tags: VIEWER_TAGS,
        card: cards::L4,
        doing: Doing::Work(viewer),
        setting: Setting { first: 3, operating_system: OperatingSystem::Windows, ..Setting::USUAL },
    },
    Job {
        instance_type: "g6e.4xlarge",
        name: "fraud-scoring",
        count: 2,
        zones: "ab",
        launched: "2026-04-27T14:18:07Z",
        tags: &[
            ("team", "payments"),
            ("owner", "samuel.ortiz"),
            ("env", "production"),
            ("gpucost:kind", "serving"),
            ("gpucost:workload", "fraud-scoring"),
        ],
        card: cards::L40S,
        doing: Doing::Work(scoring_replica),
        setting: Setting { account: SECOND_ACCOUNT, ..Setting::USUAL },
    },
    Job {
        instance_type: "g6.12xlarge",
        name: "captioning",
        count: 3,
        zones: "d",
        launched: "2026-08-03T07:55:40Z",
        tags: CAPTIONING_TAGS,
        card: cards::L4,
        doing: Doing::Work(captioning),
        setting: Setting::USUAL,
    },
    Job {
        instance_type: "g6.12xlarge",
        name: "captioning",
        count: 1,
        zones: "d",
        launched: "2026-08-03T07:58:11Z",
        tags: CAPTIONING_TAGS,
        card: cards::L4,
        doing: Doing::Work(idle_on_four_gpus),
        setting: Setting { first: 4, ..Setting::USUAL },
    },
    Job {
        instance_type: "g5.2xlarge",
        name: "ocr-prototype",
        count: 1,
        zones: "a",
        launched: "2026-05-06T10:33:28Z",
        tags: &[("team", "documents"), ("owner", "samuel.ortiz"), ("env", "poc")],
        card: cards::A10G,
        doing: Doing::Rest {
            stop: "User initiated (2026-09-04 17:20:09 GMT)",
            volumes_gib: &[100, 2000],
        },
        setting: Setting::USUAL,
    },
];

/// How busy the replicas of a service are by hour of day (UTC), percent: at their
/// limit at noon, and never without requests.
const ASKED_PERCENT: [f64; 24] = [
    22.0, 18.0, 16.0, 15.0, 15.0, 17.0, 22.0, 30.0, 42.0, 58.0, 74.0, 86.0, 90.0, 86.0, 76.0, 66.0,
    58.0, 54.0, 50.0, 46.0, 42.0, 36.0, 30.0, 26.0,
];

/// The same at a period of the window, every day alike.
fn asked_percent(period: usize) -> f64 {
    let within = period % PERIODS_PER_DAY;
    let hour = within / PERIODS_PER_HOUR;
    let weight = (within % PERIODS_PER_HOUR) as f64 / PERIODS_PER_HOUR as f64;
    let next = ASKED_PERCENT[(hour + 1) % 24];
    ASKED_PERCENT[hour] * (1.0 - weight) + next * weight
}

/// One GPU of a service, as busy as `percent` says in each period, with a CPU and
/// traffic that follow it: `mib` received and sent an hour for each percent.
fn replica(
    chance: &mut Chance,
    memory_mib: f64,
    percent: impl Fn(usize) -> f64,
    cpu_share: f64,
    mib: (f64, f64),
) -> InstanceUse {
    let mut gpu = GpuUse::unused(memory_mib);
    let mut cpu_percent = Vec::with_capacity(PERIODS);
    for period in 0..PERIODS {
        let average = noisy(chance, percent(period), 1);
        gpu.work(period, average, chance.between(2, 3));
        cpu_percent.push(noisy(chance, percent(period) * cpu_share, 1).round());
    }
    let (received_mib, sent_mib) = mib;
    let traffic = Traffic::by_hour(chance, |hour| {
        let asked = percent(hour * PERIODS_PER_HOUR);
        ((asked * received_mib) as i32, (asked * sent_mib) as i32)
    });
    InstanceUse { gpus: vec![gpu], cpu_percent, traffic }
}

/// A member of the group that ranks search results.
fn ranking_replica(chance: &mut Chance) -> InstanceUse {
    replica(chance, 15.0 * 1024.0, asked_percent, 0.6, (40.0, 110.0))
}

/// A member of the group that writes down speech.
fn speech_replica(chance: &mut Chance) -> InstanceUse {
    replica(chance, 13.0 * 1024.0, asked_percent, 0.7, (160.0, 20.0))
}

/// One of two that judge payments: busier at night than the others, at its limit
/// at noon like them.
fn scoring_replica(chance: &mut Chance) -> InstanceUse {
    let percent = |period| 15.0 + asked_percent(period) * 75.0 / 90.0;
    replica(chance, 30.0 * 1024.0, percent, 0.62, (60.0, 30.0))
}

/// One of eight nodes that train one model together: every step ends with an
/// exchange over the network, some 15 Gbit/s either way.
fn pretraining_node(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: in_step(chance, 8, 91.0, 36.0 * 1024.0),
        cpu_percent: level_cpu(chance, 34.0, 3),
        traffic: Traffic::level(chance, 6_437_000, 6_437_000),
    }
}

/// A model over the eight GPUs of an instance, asked around the clock and most at
/// noon: two thirds in the mean, and no more than a service should bear at most.
fn document_model(chance: &mut Chance) -> InstanceUse {
    let mut gpu = GpuUse::unused(71.0 * 1024.0);
    let mut cpu_percent = Vec::with_capacity(PERIODS);
    for period in 0..PERIODS {
        let asked = asked_percent(period);
        let average = noisy(chance, 56.0 + asked * 0.22, 1).round();
        gpu.work(period, average, chance.between(2, 3));
        cpu_percent.push(noisy(chance, 12.0 + asked * 0.1, 1).round());
    }
    InstanceUse { gpus: vec![gpu; 8], cpu_percent, traffic: Traffic::level(chance, 30_000, 52_000) }
}

/// Drawings rendered for people, with a CPU as busy as its GPU
/// allows.
fn viewer(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: own_queues(chance, 1, (63, 66), 12.0 * 1024.0),
        cpu_percent: level_cpu(chance, 47.0, 4),
        traffic: Traffic::level(chance, 4_000, 38_000),
    }
}

/// Four workers with a GPU each.
fn captioning(chance: &mut Chance) -> InstanceUse {
    InstanceUse {
        gpus: own_queues(chance, 4, (70, 76), 17.0 * 1024.0),
        cpu_percent: level_cpu(chance, 43.0, 4),
        traffic: Traffic::level(chance, 52_000, 3_000),
    }
}

fn idle_on_four_gpus(chance: &mut Chance) -> InstanceUse {
    idle_member(chance, 4)
}
