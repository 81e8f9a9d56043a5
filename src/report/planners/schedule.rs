//! `gpucost schedule` in words.

use super::figures::{basis, on_arm, step};
use crate::analysis::UnplacedJob;
use crate::domain::{HOUR_SECONDS, Money, shell_word};
use crate::planners::schedule::{
    JobPlan, JobSchedule, MOST_MISS_PERCENT, Placement, Rental, Where,
};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, column, detail};
use crate::report::shared::text::{counted, money, percent};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs with where and when each runs, and what that costs; beside them how many jobs that
/// were seen cannot be placed.
pub fn schedule_answer(found: &JobSchedule, unplaced: &BTreeMap<UnplacedJob, usize>) -> Doc {
    Doc {
        name: "schedule",
        headline: headline(found),
        given: given(found),
        steps: steps(found),
        tables: vec![jobs(found), plans(found)],
        caveats: caveats(found),
        missing: missing(found, unplaced),
        next: next(found),
        ..Doc::default()
    }
}

/// The least probability that one decimal of a percentage shows, 0–1.
const LEAST_SHOWN: f64 = 0.000_5;

fn amount(found: &JobSchedule, amount: Decimal) -> Money {
    Money::new(amount, found.ask.currency).rounded()
}

fn hours(seconds: i64) -> f64 {
    seconds as f64 / HOUR_SECONDS as f64
}

/// An instant; absent where it is none.
fn instant(second: i64) -> Value {
    Value::of(Timestamp::from_second(second).ok(), Value::Time)
}

fn headline(found: &JobSchedule) -> String {
    let jobs = counted(found.ask.jobs.len() as u64, "job", "jobs");
    let late = match found.planned.late() {
        0 => "no deadline is missed".to_owned(),
        1 => "1 deadline is missed".to_owned(),
        late => format!("{late} deadlines are missed"),
    };
    let risk = match found.planned.most_likely_miss() {
        Some(miss) if miss >= LEAST_SHOWN => {
            let miss = percent(miss * 100.0);
            format!(", unless spot is interrupted more often: up to {miss} probability for a job")
        }
        _ => String::new(),
    };
    format!(
        "{jobs} for {} instead of {} on demand at once; {late}{risk}",
        money(amount(found, found.planned.cost())),
        money(amount(found, found.first_come.cost())),
    )
}

fn given(found: &JobSchedule) -> Vec<Given> {
    let ask = &found.ask;
    let gpu_seconds: f64 = ask
        .jobs
        .iter()
        .map(|job| hours(job.seconds) * f64::from(job.gpus))
        .sum();
    let transfer = Money::new(ask.transfer_per_gb, ask.currency);
    vec![
        basis(
            "jobs",
            "jobs",
            Value::Count(ask.jobs.len() as u64),
            "--jobs, --profile-data, or jobs that were seen",
        ),
        basis(
            "gpu_hours",
            "GPU hours",
            Value::Number(gpu_seconds, 1),
            "the same",
        ),
        basis(
            "idle_machines",
            "machines with idle hours",
            Value::Count(ask.hosts.len() as u64),
            "the estate, --horizon",
        ),
        basis(
            "max_gpus",
            "rented GPUs at a time",
            Value::of(ask.most_gpus, |most| Value::Count(u64::from(most))),
            "--max-gpus",
        ),
        basis(
            "transfer_price_per_gb",
            "moving a GB between regions",
            Value::Price(transfer),
            "--transfer-price",
        ),
        basis(
            "restart_minutes",
            "restart, minutes",
            Value::Number(ask.checkpointing.restart.as_secs_f64() / 60.0, 1),
            "--restart-cost",
        ),
    ]
}

fn steps(found: &JobSchedule) -> Vec<Step> {
    let sum = |name: &str, plan: &JobPlan| {
        let arithmetic = format!(
            "{} compute + {} transfer",
            money(amount(found, plan.compute())),
            money(amount(found, plan.transfer()))
        );
        step(name, arithmetic, Value::Money(amount(found, plan.cost())))
    };
    let mut steps = vec![
        sum("planned", &found.planned),
        sum("first come, first served", &found.first_come),
    ];
    if let Some((best, is_whole)) = &found.best {
        steps.push(sum(best_name(*is_whole), best));
    }
    steps
}

fn best_name(is_whole: bool) -> &'static str {
    if is_whole {
        "best of every order"
    } else {
        "best of the orders tried"
    }
}

fn plans(found: &JobSchedule) -> Table {
    let jobs = &found.ask.jobs;
    let row = |name: &str, plan: &JobPlan| {
        let late = Value::Count(plan.late() as u64);
        vec![
            Value::text(name),
            Value::Money(amount(found, plan.cost())),
            Value::Money(amount(found, plan.compute())),
            Value::Money(amount(found, plan.transfer())),
            late,
            Value::Number(hours(plan.makespan_seconds(jobs)), 2),
            Value::Number(hours(plan.waited_seconds(jobs)), 2),
        ]
    };
    let mut rows = vec![
        row("planned", &found.planned),
        row("first come, first served", &found.first_come),
    ];
    if let Some((best, is_whole)) = &found.best {
        rows.push(row(best_name(*is_whole), best));
    }
    Table {
        key: "plans",
        title: "PLANS".to_owned(),
        noun: ("plan", "plans"),
        columns: vec![
            column("plan", "plan"),
            column("cost", "cost"),
            detail("compute_cost", "compute"),
            column("transfer_cost", "transfer"),
            column("missed_deadlines", "missed"),
            column("makespan_hours", "makespan h"),
            column("waited_hours", "waited h"),
        ],
        rows,
        ..Table::default()
    }
}

fn jobs(found: &JobSchedule) -> Table {
    let planned = found.planned.placements.iter();
    let rows = planned.zip(&found.first_come.placements);
    let rows = rows.map(|(one, before)| job(found, one, before)).collect();
    let placements = found.planned.placements.iter();
    let regions: BTreeSet<&str> = placements.map(|one| region_of(found, one)).collect();
    // What is the same for all jobs takes no column of a table.
    let unless = |is_same: bool, key, title| {
        if is_same {
            detail(key, title)
        } else {
            column(key, title)
        }
    };
    let only = regions.first().filter(|_| regions.len() == 1);
    let place = only.map_or(String::new(), |region| format!("in {region}, "));
    Table {
        key: "jobs",
        title: format!("JOBS  {place}times in UTC"),
        noun: ("job", "jobs"),
        columns: vec![
            column("job", "job"),
            column("place", "place"),
            unless(only.is_some(), "region", "region"),
            column("purchase_option", "option"),
            column("start", "start"),
            column("end", "end"),
            detail("deadline", "deadline"),
            detail("pieces", "pieces"),
            detail("gpus", "GPUs"),
            detail("transfer_cost", "transfer"),
            detail("miss_percent", "may miss"),
            column("cost", "cost"),
            column("first_come_cost", "at once"),
            unless(found.planned.late() == 0, "is_late", "late"),
        ],
        rows,
        ..Table::default()
    }
}

fn region_of<'a>(found: &'a JobSchedule, one: &Placement) -> &'a str {
    let ask = &found.ask;
    match one.place {
        Where::Host(host) => &ask.hosts[host].region,
        Where::Rental { rental, .. } => &ask.needs[ask.jobs[one.job].need].rentals[rental].region,
    }
}

fn job(found: &JobSchedule, one: &Placement, before: &Placement) -> Vec<Value> {
    let ask = &found.ask;
    let job = &ask.jobs[one.job];
    let (place, option) = match one.place {
        Where::Host(host) => (ask.hosts[host].id.clone(), "idle hours"),
        Where::Rental {
            rental,
            machines,
            spot,
        } => {
            let rental = &ask.needs[job.need].rentals[rental];
            let option = if spot.is_some() { "spot" } else { "on-demand" };
            (format!("{machines} × {}", rental.instance_type), option)
        }
    };
    vec![
        Value::text(job.name.as_str()),
        Value::Text(place),
        Value::text(region_of(found, one)),
        Value::text(option),
        instant(one.start()),
        instant(one.end()),
        job.deadline.map_or(Value::Absent, instant),
        Value::Count(one.spans.len() as u64),
        Value::Count(u64::from(job.gpus)),
        Value::Money(amount(found, one.transfer)),
        Value::of(one.miss, |miss| Value::Percent(miss * 100.0)),
        Value::Money(amount(found, one.total())),
        Value::Money(amount(found, before.total())),
        Value::Flag(one.is_late),
    ]
}

fn caveats(found: &JobSchedule) -> Vec<String> {
    let places: Vec<Where> = found
        .planned
        .placements
        .iter()
        .map(|one| one.place)
        .collect();
    let mut caveats = Vec::new();
    if places.iter().any(|place| matches!(place, Where::Host(_))) {
        caveats.push(
            "Idle hours are those of past weeks, and their owners may need them again. They \
             cost nothing more only where the machine is not switched off in them: a schedule \
             that stops it saves the same hours."
                .to_owned(),
        );
    }
    let unused = unused_gpus(found);
    if unused > 0 {
        caveats.push(format!(
            "Jobs do not share a rented machine here: {} paid for and stay unused. Jobs that run \
             at the same time may fit on one, for less.",
            match unused {
                1 => "1 GPU is".to_owned(),
                _ => format!("{unused} GPUs are"),
            }
        ));
    }
    let is_spot = |place: &Where| matches!(place, Where::Rental { spot: Some(_), .. });
    if places.iter().any(is_spot) {
        caveats.push(format!(
            "Spot times are longer by the checkpoints and restarts that are expected. With more \
             interruptions a job may miss its deadline: it is on spot only where the probability \
             of that is at most {MOST_MISS_PERCENT:.0}%, if interruptions come at random. \
             `--no-spot` has none."
        ));
    }
    if found
        .planned
        .placements
        .iter()
        .any(|one| one.transfer > Decimal::ZERO)
    {
        caveats.push(
            "Data is moved once for each job, at one price. The time that takes is not \
             counted, and some regions are more expensive to leave."
                .to_owned(),
        );
    }
    let rented = found.planned.placements.iter().filter_map(|one| {
        let Where::Rental { rental, .. } = one.place else {
            return None;
        };
        let need = &found.ask.needs[found.ask.jobs[one.job].need];
        Some(need.rentals.get(rental)?.instance_type.as_str())
    });
    caveats.extend(on_arm(rented));
    caveats.push(
        "Machines on demand and spot are there when a job starts, and a job takes as long on \
         every type with the GPU that it asks for. Prices do not depend on the hour."
            .to_owned(),
    );
    caveats
}

/// GPUs of rented machines that their jobs do not take, summed over the jobs.
fn unused_gpus(found: &JobSchedule) -> u64 {
    let ask = &found.ask;
    let unused = found.planned.placements.iter().filter_map(|one| {
        let Where::Rental {
            rental, machines, ..
        } = one.place
        else {
            return None;
        };
        let job = &ask.jobs[one.job];
        let rented = ask.needs[job.need].rentals.get(rental)?.gpus;
        let rented = u64::from(rented) * u64::from(machines);
        Some(rented.saturating_sub(job.gpus.into()))
    });
    unused.sum()
}

fn missing(found: &JobSchedule, unplaced: &BTreeMap<UnplacedJob, usize>) -> Vec<Missing> {
    let jobs = unplaced.iter().map(|(reason, count)| Missing {
        what: format!(
            "{}: {reason}",
            counted(*count as u64, "training job", "training jobs")
        ),
        remedy: "write jobs that are to be placed into a file, and pass `--jobs FILE`".to_owned(),
    });
    jobs.chain(other_currencies(found))
        .chain(spot_prices(found))
        .collect()
}

/// Machines whose prices do not compare with those of the plan.
fn other_currencies(found: &JobSchedule) -> impl Iterator<Item = Missing> {
    found.ask.needs.iter().flat_map(move |need| {
        need.other_currencies
            .iter()
            .map(move |(currency, count)| Missing {
                what: format!(
                    "{} with {}, priced in {currency} and not in {}: left out",
                    counted(*count as u64, "offer", "offers"),
                    need.name,
                    found.ask.currency
                ),
                remedy: format!(
                    "run `gpucost pricing --gpu {} --region all`",
                    shell_word(&need.name)
                ),
            })
    })
}

fn spot_prices(found: &JobSchedule) -> Vec<Missing> {
    let without_spot: BTreeSet<&str> = found
        .ask
        .jobs
        .iter()
        .filter(|job| job.is_restartable)
        .map(|job| &found.ask.needs[job.need])
        .filter(|need| !need.rentals.iter().any(|one| one.is_spot))
        .map(|need| need.name.as_str())
        .collect();
    let of = |name: &str| Missing {
        what: format!("spot price of a machine with {name}"),
        remedy: format!(
            "run `gpucost pricing --gpu {} --region all`",
            shell_word(name)
        ),
    };
    without_spot.into_iter().map(of).collect()
}

/// What the first job on spot rests on; without one, the prices of the first that is rented.
fn next(found: &JobSchedule) -> Vec<String> {
    let rented = |is_spot: bool| {
        let mut placements = found.planned.placements.iter();
        placements.find_map(|one| match one.place {
            Where::Rental {
                rental,
                machines,
                spot,
            } if spot.is_some() == is_spot => {
                let need = &found.ask.needs[found.ask.jobs[one.job].need];
                Some((need.rentals.get(rental)?, machines))
            }
            _ => None,
        })
    };
    let words = |one: &Rental| (shell_word(&one.instance_type), shell_word(&one.region));
    let on_spot = rented(true).map(|(one, machines)| {
        let (name, region) = words(one);
        let nodes = match machines {
            1 => String::new(),
            _ => format!(" --nodes {machines}"),
        };
        format!("gpucost spot --type {name} --region {region} --kind training --restartable{nodes}")
    });
    let on_demand = || {
        let (name, region) = words(rented(false)?.0);
        Some(format!("gpucost pricing {name} --region {region}"))
    };
    on_spot.or_else(on_demand).into_iter().collect()
}
