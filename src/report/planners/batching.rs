//! `gpucost batching` in words.

use super::figures::{an_hour, basis, decimal, decimals_of, not_launched, step};
use crate::domain::shell_word;
use crate::planners::batching::{BatchChoice, Batching};
use crate::planners::curve::CurvePoint;
use crate::planners::paying::Today;
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, column, detail};
use crate::report::shared::text::{counted, money, unit_price};
use rust_decimal::Decimal;

/// What each limit on batches leads to, and the cheapest that holds the objective.
/// `curve_source` is where the throughput is from, `server` what has it, `today` what serves
/// the requests now.
pub fn batching_answer(
    found: &Batching,
    curve_source: &str,
    server: (&str, &str),
    today: Option<&Today>,
) -> Doc {
    let best = &found.choices[found.best];
    Doc {
        name: "batching",
        headline: headline(found, best, server),
        given: given(found, curve_source, today),
        steps: steps(found, best, today),
        tables: vec![choices(found), curve(found)],
        caveats: caveats(found, today),
        missing: missing(found),
        next: next(found),
        ..Doc::default()
    }
}

fn headline(found: &Batching, best: &BatchChoice, (one, many): (&str, &str)) -> String {
    let machine = &found.ask.machine;
    let servers = counted(best.servers.into(), one, many);
    let answer = format!(
        "{} requests per second in batches of up to {} need {servers}, and take at most {} ms if they \
         arrive evenly",
        per_second(found),
        best.limit,
        decimal(best.longest_seconds() * 1e3, 1)
    );
    let (Some(name), Some(month)) = (&machine.instance_type, found.monthly(best)) else {
        return answer;
    };
    let rented = u64::from(best.machines) * u64::from(machine.servers);
    let with = if rented == u64::from(best.servers) {
        String::new()
    } else {
        format!(" with {}", counted(rented, one, many))
    };
    format!(
        "{answer}: {} × {name}{with} for {} per month",
        best.machines,
        money(month)
    )
}

/// All requests.
fn per_second(found: &Batching) -> String {
    let rate = found.ask.requests_per_second;
    decimal(rate, decimals_of(rate))
}

fn given(found: &Batching, curve_source: &str, today: Option<&Today>) -> Vec<Given> {
    let ask = &found.ask;
    let milliseconds = |seconds: f64| Value::Number(seconds * 1e3, 1);
    let mut given = vec![
        basis(
            "requests_per_second",
            "requests per second",
            Value::Number(
                ask.requests_per_second,
                decimals_of(ask.requests_per_second),
            ),
            "--rate",
        ),
        basis(
            "curve_points",
            "points of the curve",
            Value::Count(ask.curve.points().len() as u64),
            curve_source,
        ),
        basis(
            "max_wait_ms",
            "longest wait for a batch, ms",
            milliseconds(ask.max_wait_seconds),
            "--max-wait",
        ),
        basis(
            "target_percent",
            "load at most",
            Value::Percent(ask.target * 100.0),
            "--target, or serving_target_percent of the policy",
        ),
        basis(
            "latency_ms",
            "objective, ms",
            Value::of(ask.objective_seconds, milliseconds),
            "--latency",
        ),
        basis(
            "servers_per_instance",
            "servers on an instance",
            Value::Count(ask.machine.servers.into()),
            "--type",
        ),
    ];
    if let Some(today) = today {
        given.extend([
            basis(
                "current_type",
                "type today",
                Value::text(&today.instance_type),
                &today.name,
            ),
            basis(
                "current_instances",
                "instances today",
                Value::Count(today.instances.into()),
                &today.name,
            ),
            basis(
                "current_hourly",
                "price of one today, per hour",
                Value::of(today.rate, |rate| Value::Price(an_hour(rate))),
                "as it is paid",
            ),
        ]);
    }
    given
}

/// What a month of today's instances costs, all hours of it.
fn month_of(today: &Today, found: &Batching) -> Option<Step> {
    let rate = today.rate?;
    let (instances, hours) = (Decimal::from(today.instances), found.ask.hours_per_month);
    Some(step(
        "a month of today's instances",
        format!(
            "{instances} × {} × {} h",
            unit_price(an_hour(rate)),
            hours.normalize()
        ),
        Value::Money(rate.times_hours(instances * hours).rounded()),
    ))
}

fn steps(found: &Batching, best: &BatchChoice, today: Option<&Today>) -> Vec<Step> {
    let ask = &found.ask;
    let rate = ask.requests_per_second / f64::from(best.servers);
    let milliseconds = |seconds: f64| decimal(seconds * 1e3, 2);
    let all = per_second(found);
    let of_server = decimals_of(rate).max(2);
    let of_machines = found.ask.machine.rate.map(|price| {
        format!(
            "{} × {} / ({all} × 3,600) × 10⁶",
            best.machines,
            unit_price(an_hour(price))
        )
    });
    let mut steps = vec![
        step(
            "requests per second of a server",
            format!("{all} / {}", best.servers),
            Value::Number(rate, of_server),
        ),
        step(
            "load",
            format!(
                "{} / {} at batch {}",
                decimal(rate, of_server),
                decimal(ask.curve.items_per_second(f64::from(best.limit)), 2),
                best.limit
            ),
            Value::Percent(best.load * 100.0),
        ),
        step(
            "batch",
            batch_of(found, best, rate),
            Value::Number(best.batch, 2),
        ),
        step(
            "time of a batch, ms",
            format!("the curve at {}", decimal(best.batch, 2)),
            Value::Number(best.service_seconds * 1e3, 2),
        ),
        step(
            "longest time, ms",
            format!(
                "{} + {}",
                milliseconds(best.wait_seconds),
                milliseconds(best.service_seconds)
            ),
            Value::Number(best.longest_seconds() * 1e3, 2),
        ),
        step(
            "a million requests",
            of_machines.unwrap_or_else(|| "no price is known".to_owned()),
            Value::of(found.per_million(best), Value::Price),
        ),
    ];
    steps.extend(today.and_then(|today| month_of(today, found)));
    steps
}

/// How a batch comes about.
fn batch_of(found: &Batching, best: &BatchChoice, rate: f64) -> String {
    let arriving = |seconds: f64| {
        format!(
            "{} × {} ms, from 1 to {}",
            decimal(rate, decimals_of(rate).max(2)),
            decimal(seconds * 1e3, 2),
            best.limit
        )
    };
    let max_wait = found.ask.max_wait_seconds;
    if best.wait_seconds > max_wait {
        format!("{}, while a batch runs", arriving(best.service_seconds))
    } else {
        arriving(max_wait)
    }
}

fn choices(found: &Batching) -> Table {
    let objective = found.ask.objective_seconds.unwrap_or(f64::INFINITY);
    let row = |one: &BatchChoice| {
        vec![
            Value::Count(one.limit.into()),
            Value::Number(one.batch, 1),
            Value::Number(one.wait_seconds * 1e3, 1),
            Value::Number(one.service_seconds * 1e3, 1),
            Value::Number(one.mean_seconds() * 1e3, 1),
            Value::Number(one.longest_seconds() * 1e3, 1),
            Value::Flag(one.longest_seconds() <= objective),
            Value::Percent(one.load * 100.0),
            Value::Count(one.servers.into()),
            Value::Count(one.machines.into()),
            Value::of(found.monthly(one), Value::Money),
            Value::of(found.per_million(one), Value::Price),
        ]
    };
    Table {
        key: "choices",
        title: "LIMITS ON BATCHES".to_owned(),
        noun: ("limit", "limits"),
        columns: vec![
            column("batch_limit", "limit"),
            column("mean_batch", "batch"),
            detail("wait_ms", "wait ms"),
            detail("service_ms", "batch ms"),
            column("mean_ms", "mean ms"),
            column("longest_ms", "longest ms"),
            column("holds_objective", "holds"),
            column("load_percent", "load"),
            column("servers", "servers"),
            column("instances", "instances"),
            column("cost_monthly", "month"),
            column("cost_per_million_requests", "1M requests"),
        ],
        rows: found.choices.iter().map(row).collect(),
        ..Table::default()
    }
}

fn curve(found: &Batching) -> Table {
    let row = |point: &CurvePoint| {
        vec![
            Value::Count(point.batch.into()),
            Value::Number(point.items_per_second, decimals_of(point.items_per_second)),
            Value::Number(f64::from(point.batch) / point.items_per_second * 1e3, 1),
        ]
    };
    Table {
        key: "curve",
        title: "THROUGHPUT of a server".to_owned(),
        noun: ("point", "points"),
        columns: vec![
            column("batch", "batch"),
            column("items_per_second", "items/s"),
            column("batch_ms", "batch ms"),
        ],
        rows: found.ask.curve.points().iter().map(row).collect(),
        ..Table::default()
    }
}

fn caveats(found: &Batching, today: Option<&Today>) -> Vec<String> {
    let named = found.ask.machine.instance_type.as_deref();
    let always = [
        "Requests arrive evenly here. At random arrivals, some wait longer, the more the higher \
         the load. Where the rate changes from minute to minute, pass that of the busiest.",
        "Between two points of the curve, the time of a batch grows evenly. A batch below the \
         first point takes as long as the first.",
    ];
    let retired = named.and_then(not_launched);
    let committed = today.filter(|today| today.is_committed).map(|today| {
        format!(
            "Commitments pay of {}, and cost as much with fewer instances: they save nothing until \
             the commitments end.",
            today.name
        )
    });
    let first = retired.into_iter().chain(committed);
    first.chain(always.map(str::to_owned)).collect()
}

fn missing(found: &Batching) -> Vec<Missing> {
    let mut missing = Vec::new();
    if found.ask.machine.instance_type.is_none() {
        missing.push(Missing {
            what: "cost of a server".to_owned(),
            remedy: "pass its instance type with `--type`".to_owned(),
        });
    }
    missing
}

fn next(found: &Batching) -> Vec<String> {
    let named = found.ask.machine.instance_type.iter();
    let command = |name: &String| format!("gpucost pricing {} --region all", shell_word(name));
    named.map(command).collect()
}
