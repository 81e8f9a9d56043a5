//! `gpucost place` in words.

use super::on_arm;
use crate::analysis::UnplacedJob;
use crate::domain::{HOUR_SECONDS, Money, shell_word};
use crate::planners::schedule::{
    Job, JobPlan, JobSchedule, MOST_MISS_PERCENT, Placement, Rental, Where,
};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::shared::text::{counted, money, percent};
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs with where and when each runs, and what that costs; beside them how many jobs that
/// were seen cannot be placed.
pub fn place_answer(schedule: &JobSchedule, unplaced: &BTreeMap<UnplacedJob, usize>) -> Doc {
    let plans = Table::of("plans", "PLANS", ("plan", "plans"), of_plans(), compared(schedule));
    Doc {
        name: "place",
        headline: headline(schedule),
        given: given(schedule),
        steps: steps(schedule),
        tables: vec![jobs(schedule), plans],
        caveats: caveats(schedule),
        missing: unknown(schedule, unplaced),
        next: next(schedule),
        ..Doc::default()
    }
}

/// The least probability that one decimal of a percentage shows, 0–1.
const LEAST_SHOWN: f64 = 0.000_5;

fn amount(schedule: &JobSchedule, amount: Decimal) -> Money {
    Money::new(amount, schedule.request.currency).rounded()
}

fn hours(seconds: i64) -> f64 {
    seconds as f64 / HOUR_SECONDS as f64
}

/// An instant; absent where it is none.
fn instant(second: i64) -> Option<Timestamp> {
    Timestamp::from_second(second).ok()
}

fn headline(schedule: &JobSchedule) -> String {
    let jobs = counted(schedule.request.jobs.len(), "job", "jobs");
    let late = match schedule.planned.late() {
        0 => "no deadline is missed".to_owned(),
        1 => "1 deadline is missed".to_owned(),
        late => format!("{late} deadlines are missed"),
    };
    let risk = match schedule.planned.most_likely_miss() {
        Some(miss) if miss >= LEAST_SHOWN => {
            let miss = percent(miss * 100.0);
            format!(", unless spot is interrupted more often: up to {miss} probability for a job")
        }
        _ => String::new(),
    };
    let costs = [schedule.planned.cost(), schedule.first_come.cost()];
    let [planned, at_once] = costs.map(|cost| amount(schedule, cost));
    format!("{jobs} for {planned} instead of {at_once} on demand at once; {late}{risk}")
}

fn given(schedule: &JobSchedule) -> Vec<Given> {
    let request = &schedule.request;
    let gpu_hours = request.jobs.iter().map(|job| hours(job.seconds) * f64::from(job.gpus));
    rows! {
        Given::new("jobs", "jobs", Value::Count(request.jobs.len() as u64), "--jobs, --profile-data, or jobs that were seen");
        Given::new("gpu_hours", "GPU hours", Value::Number(gpu_hours.sum(), 1), "the same");
        Given::new("idle_machines", "machines with idle hours", Value::Count(request.hosts.len() as u64), "the estate, --horizon");
        Given::new("max_gpus", "rented GPUs at a time", Value::make_count(request.most_gpus), "--max-gpus");
        Given::new("transfer_price_per_gb", "moving a GB between regions", Value::Price(Money::new(request.transfer_per_gb, request.currency)), "--transfer-price");
        Given::new("restart_minutes", "restart, minutes", Value::Number(request.checkpointing.restart.as_secs_f64() / 60.0, 1), "--restart-cost");
    }
}

/// The plans that are compared, with their names.
fn compared(schedule: &JobSchedule) -> Vec<(&'static str, &JobPlan, &JobSchedule)> {
    let best = schedule.best.as_ref().map(|(best, is_whole)| {
        (if *is_whole { "best of every order" } else { "best of the orders tried" }, best, schedule)
    });
    rows! {
        ("planned", &schedule.planned, schedule);
        ("first come, first served", &schedule.first_come, schedule);
        ..best;
    }
}

fn steps(schedule: &JobSchedule) -> Vec<Step> {
    let plans = compared(schedule).into_iter().map(|(name, plan, _)| {
        let [cost, compute, transfer] = [plan.cost(), plan.compute(), plan.transfer()];
        let [compute, transfer] = [compute, transfer].map(|part| money(amount(schedule, part)));
        let arithmetic = format!("{compute} compute + {transfer} transfer");
        Step::new(name, arithmetic, Value::Money(amount(schedule, cost)))
    });
    plans.collect()
}

/// A job as it is planned, and as it would run at once.
type Row<'a> = (&'a JobSchedule, &'a Placement, &'a Placement);

columns! {
    fn of_plans<'a>(row: (&'static str, &'a JobPlan, &'a JobSchedule)) {
        text "plan", "plan", Narrow(0), row.0.to_owned();
        money "cost", "cost", Narrow(0), amount(row.2, row.1.cost());
        money "compute_cost", "compute", Wide, amount(row.2, row.1.compute());
        money "transfer_cost", "transfer", Narrow(0), amount(row.2, row.1.transfer());
        count "missed_deadlines", "missed", Narrow(0), row.1.late();
        number[2] "makespan_hours", "makespan h", Narrow(0), hours(row.1.makespan_seconds(&row.2.request.jobs));
        number[2] "waited_hours", "waited h", Narrow(0), hours(row.1.waited_seconds(&row.2.request.jobs));
    }

    fn of_jobs<'a>(row: Row<'a>) {
        text "job", "job", Narrow(0), job(row.0, row.1).name.clone();
        text "place", "place", Narrow(0), place(row.0, row.1);
        text "region", "region", Narrow(0), region_of(row.0, row.1).to_owned();
        text "purchase_option", "option", Narrow(0), option(row.1.place).to_owned();
        opt time "start", "start", Narrow(0), instant(row.1.start());
        opt time "end", "end", Narrow(0), instant(row.1.end());
        opt time "deadline", "deadline", Wide, job(row.0, row.1).deadline.and_then(instant);
        count "pieces", "pieces", Wide, row.1.spans.len();
        count "gpus", "GPUs", Wide, job(row.0, row.1).gpus;
        money "transfer_cost", "transfer", Wide, amount(row.0, row.1.transfer);
        opt percent "miss_percent", "may miss", Wide, row.1.miss.map(|miss| miss * 100.0);
        money "cost", "cost", Narrow(0), amount(row.0, row.1.total());
        money "first_come_cost", "at once", Narrow(0), amount(row.0, row.2.total());
        flag "is_late", "late", Narrow(0), row.1.is_late;
    }
}

fn jobs(schedule: &JobSchedule) -> Table {
    let placements = || schedule.planned.placements.iter();
    let rows = placements().zip(&schedule.first_come.placements);
    let rows = rows.map(|(planned, first_come)| (schedule, planned, first_come));
    let regions: BTreeSet<&str> =
        placements().map(|placement| region_of(schedule, placement)).collect();
    let only = regions.first().filter(|_| regions.len() == 1);
    let place = only.map_or(String::new(), |region| format!("in {region}, "));
    Table::of("jobs", format!("JOBS  {place}times in UTC"), ("job", "jobs"), of_jobs(), rows)
        .wide_unless(only.is_none(), &["region"])
        .wide_unless(schedule.planned.late() > 0, &["is_late"])
}

fn job<'a>(schedule: &'a JobSchedule, placement: &Placement) -> &'a Job {
    &schedule.request.jobs[placement.job]
}

fn rental<'a>(schedule: &'a JobSchedule, job: &Job, rental: usize) -> &'a Rental {
    &schedule.request.needs[job.need].rentals[rental]
}

fn region_of<'a>(schedule: &'a JobSchedule, placement: &Placement) -> &'a str {
    match placement.place {
        Where::Host(host) => &schedule.request.hosts[host].region,
        Where::Rental { rental: place, .. } => {
            &rental(schedule, job(schedule, placement), place).region
        }
    }
}

fn place(schedule: &JobSchedule, placement: &Placement) -> String {
    match placement.place {
        Where::Host(host) => schedule.request.hosts[host].id.clone(),
        Where::Rental { rental: place, machines, .. } => {
            let rental = rental(schedule, job(schedule, placement), place);
            format!("{machines} × {}", rental.instance_type)
        }
    }
}

fn option(place: Where) -> &'static str {
    match place {
        Where::Host(_) => "idle hours",
        Where::Rental { spot: Some(_), .. } => "spot",
        Where::Rental { .. } => "on-demand",
    }
}

/// Jobs on rented machines: how many of which, and whether they are spot.
fn rented(schedule: &JobSchedule) -> impl Iterator<Item = (&Job, u32, &Rental, bool)> {
    schedule.planned.placements.iter().filter_map(|placement| {
        let job = job(schedule, placement);
        let Where::Rental { rental: place, machines, spot } = placement.place else { return None };
        Some((job, machines, rental(schedule, job, place), spot.is_some()))
    })
}

fn caveats(schedule: &JobSchedule) -> Vec<String> {
    let placements = &schedule.planned.placements;
    // GPUs of rented machines that their jobs do not take, summed over the jobs.
    let unused = |(job, machines, rental, _): (&Job, u32, &Rental, bool)| {
        (u64::from(rental.gpus) * u64::from(machines)).saturating_sub(job.gpus.into())
    };
    let unused = match rented(schedule).map(unused).sum() {
        0_u64 => None,
        1 => Some("1 GPU is".to_owned()),
        unused => Some(format!("{unused} GPUs are")),
    };
    rows! {
        if placements.iter().any(|placement| matches!(placement.place, Where::Host(_))) => "Idle hours are those of past weeks, and their owners may need them again. They cost nothing more only where the machine is not switched off in them: a schedule that stops it saves the same hours.".to_owned();
        for unused in unused => format!("Jobs do not share a rented machine here: {unused} paid for and stay unused. Jobs that run at the same time may fit on one, for less.");
        if rented(schedule).any(|(_, _, _, is_spot)| is_spot) => format!("Spot times are longer by the checkpoints and restarts that are expected. With more interruptions a job may miss its deadline: it is on spot only where the probability of that is at most {MOST_MISS_PERCENT:.0}%, if interruptions come at random. `--no-spot` has none.");
        if placements.iter().any(|placement| placement.transfer > Decimal::ZERO) => "Data is moved once for each job, at one price. The time that takes is not counted, and some regions are more expensive to leave.".to_owned();
        ..on_arm(rented(schedule).map(|(_, _, rental, _)| rental.instance_type.as_str()));
        "Machines on demand and spot are there when a job starts, and a job takes as long on every type with the GPU that it asks for. Prices do not depend on the hour.".to_owned();
    }
}

fn unknown(schedule: &JobSchedule, unplaced: &BTreeMap<UnplacedJob, usize>) -> Vec<Missing> {
    let request = &schedule.request;
    let others = request.needs.iter();
    let others =
        others.flat_map(|need| need.other_currencies.iter().map(move |other| (need, other)));
    let restartable = request.jobs.iter().filter(|job| job.is_restartable);
    let needs = restartable.map(|job| &request.needs[job.need]);
    let without_spot = needs.filter(|need| !need.rentals.iter().any(|rental| rental.is_spot));
    let without_spot: BTreeSet<&str> = without_spot.map(|need| need.name.as_str()).collect();
    let remedy = |gpu| format!("run `gpucost pricing --gpu {} --region all`", shell_word(gpu));
    rows! {
        for (reason, jobs) in unplaced => Missing::new(format!("{}: {reason}", counted(*jobs, "training job", "training jobs")), "write jobs that are to be placed into a file, and pass `--jobs FILE`");
        for (need, (currency, offers)) in others => Missing::new(format!("{} with {}, priced in {currency} and not in {}: skipped", counted(*offers, "offer", "offers"), need.name, request.currency), remedy(&need.name));
        for gpu in without_spot => Missing::new(format!("spot price of a machine with {gpu}"), remedy(gpu));
    }
}

/// What the first job on spot rests on; without one, the prices of the first that is rented.
fn next(schedule: &JobSchedule) -> Vec<String> {
    let of = |wanted: bool| rented(schedule).find(|(_, _, _, is_spot)| *is_spot == wanted);
    let command = of(true).or_else(|| of(false)).map(|(_, machines, rental, is_spot)| {
        let [name, region] = [&rental.instance_type, &rental.region].map(|word| shell_word(word));
        if !is_spot {
            return format!("gpucost pricing {name} --region {region}");
        }
        let nodes = if machines == 1 { String::new() } else { format!(" --nodes {machines}") };
        format!("gpucost spot --type {name} --region {region} --kind training --restartable{nodes}")
    });
    command.into_iter().collect()
}
