//! `gpucost capacity` for requests in batches, in words.

use super::figures::{current, decimal, decimals_of, not_launched};
use crate::domain::shell_word;
use crate::planners::batching::{BatchChoice, Batching};
use crate::planners::curve::CurvePoint;
use crate::planners::paying::Today;
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::shared::text::{counted, unit_price};
use rust_decimal::Decimal;

/// What each limit on batches leads to, and the cheapest that holds the objective.
/// `curve_source` is where the throughput is from, `server` what has it, `today` what serves
/// the requests now.
pub fn batching_answer(
    batching: &Batching,
    curve_source: &str,
    server: (&str, &str),
    today: Option<&Today>,
) -> Doc {
    let best = &batching.choices[batching.best];
    let named = batching.request.machine.instance_type.as_ref();
    let choices = batching.choices.iter().map(|choice| (choice, batching));
    Doc {
        name: "capacity",
        headline: headline(batching, best, server),
        given: given(batching, curve_source, today),
        steps: steps(batching, best, today),
        tables: rows! {
            Table::of("choices", "LIMITS ON BATCHES", ("limit", "limits"), of_choices(), choices);
            Table::of("curve", "THROUGHPUT of a server", ("point", "points"), of_curve(), batching.request.curve.points());
        },
        caveats: caveats(batching, today),
        missing: rows! {
            if named.is_none() => Missing::new("cost of a server", "pass its instance type with `--type`");
        },
        next: rows! {
            for name in named => format!("gpucost pricing {} --region all", shell_word(name));
        },
        ..Doc::default()
    }
}

fn headline(batching: &Batching, best: &BatchChoice, (singular, many): (&str, &str)) -> String {
    let machine = &batching.request.machine;
    let servers = counted(best.servers, singular, many);
    let (rate, limit) = (per_second(batching), best.limit);
    let longest = decimal(best.longest_seconds() * 1e3, 1);
    let answer = format!(
        "{rate} requests per second in batches of up to {limit} need {servers}, and take at most \
         {longest} ms if they arrive evenly"
    );
    let (Some(name), Some(month)) = (&machine.instance_type, batching.monthly(best)) else {
        return answer;
    };
    let with = match u64::from(best.machines) * u64::from(machine.servers) {
        rented if rented == u64::from(best.servers) => String::new(),
        rented => format!(" with {}", counted(rented, singular, many)),
    };
    format!("{answer}: {} × {name}{with} for {month} per month", best.machines)
}

/// All requests.
fn per_second(batching: &Batching) -> String {
    let rate = batching.request.requests_per_second;
    decimal(rate, decimals_of(rate))
}

fn given(batching: &Batching, curve_source: &str, today: Option<&Today>) -> Vec<Given> {
    let request = &batching.request;
    let rate = Value::Number(request.requests_per_second, decimals_of(request.requests_per_second));
    rows! {
        Given::new("requests_per_second", "requests per second", rate, "--rate");
        Given::new("curve_points", "points of the curve", Value::make_count(request.curve.points().len()), curve_source);
        Given::new("max_wait_ms", "longest wait for a batch, ms", Value::Number(request.max_wait_seconds * 1e3, 1), "--max-wait");
        Given::new("target_percent", "load at most", Value::Percent(request.target * 100.0), "--target, or serving_target_percent of the policy");
        Given::new("objective_ms", "objective, ms", Value::make_number(request.objective_seconds.map(|seconds| seconds * 1e3), 1), "--objective");
        Given::new("servers_per_instance", "servers on an instance", Value::Count(request.machine.servers.into()), "--type");
        ..today.into_iter().flat_map(current);
    }
}

fn steps(batching: &Batching, best: &BatchChoice, today: Option<&Today>) -> Vec<Step> {
    let request = &batching.request;
    let rate = request.requests_per_second / f64::from(best.servers);
    let total_rate = per_second(batching);
    let rate_decimals = decimals_of(rate).max(2);
    let (wait, service) = (best.wait_seconds * 1e3, best.service_seconds * 1e3);
    let most = decimal(request.curve.items_per_second(f64::from(best.limit)), 2);
    let hours = request.hours_per_month;
    let paid = today.and_then(|today| Some((Decimal::from(today.instances), today.rate?)));
    let of_machines = request.machine.rate.map_or("no price is known".to_owned(), |price| {
        let (machines, price) = (best.machines, unit_price(price.an_hour()));
        format!("{machines} × {price} / ({total_rate} × 3,600) × 10⁶")
    });
    rows! {
        Step::new("requests per second of a server", format!("{total_rate} / {}", best.servers), Value::Number(rate, rate_decimals));
        Step::new("load", format!("{} / {most} at batch {}", decimal(rate, rate_decimals), best.limit), Value::Percent(best.load * 100.0));
        Step::new("batch", batch_of(batching, best, rate), Value::Number(best.batch, 2));
        Step::new("time of a batch, ms", format!("the curve at {}", decimal(best.batch, 2)), Value::Number(service, 2));
        Step::new("longest time, ms", format!("{} + {}", decimal(wait, 2), decimal(service, 2)), Value::Number(best.longest_seconds() * 1e3, 2));
        Step::new("a million requests", of_machines, Value::make_price(batching.per_million(best)));
        for (instances, rate) in paid => Step::new("a month of today's instances", format!("{instances} × {} × {} h", unit_price(rate.an_hour()), hours.normalize()), Value::Money(rate.times_hours(instances * hours).rounded()));
    }
}

/// How a batch comes about.
fn batch_of(batching: &Batching, best: &BatchChoice, rate: f64) -> String {
    let arriving = |seconds: f64| {
        let (rate, ms) = (decimal(rate, decimals_of(rate).max(2)), decimal(seconds * 1e3, 2));
        format!("{rate} × {ms} ms, from 1 to {}", best.limit)
    };
    let max_wait = batching.request.max_wait_seconds;
    if best.wait_seconds > max_wait {
        format!("{}, while a batch runs", arriving(best.service_seconds))
    } else {
        arriving(max_wait)
    }
}

columns! {
    fn of_choices<'a>(row: (&'a BatchChoice, &'a Batching)) {
        count "batch_limit", "limit", Narrow(0), row.0.limit;
        number "mean_batch", "batch", Narrow(0), row.0.batch;
        number "wait_ms", "wait ms", Wide, row.0.wait_seconds * 1e3;
        number "service_ms", "batch ms", Wide, row.0.service_seconds * 1e3;
        number "mean_ms", "mean ms", Narrow(0), row.0.mean_seconds() * 1e3;
        number "longest_ms", "longest ms", Narrow(0), row.0.longest_seconds() * 1e3;
        flag "holds_objective", "holds", Narrow(0), row.0.longest_seconds() <= row.1.request.objective_seconds.unwrap_or(f64::INFINITY);
        percent "load_percent", "load", Narrow(0), row.0.load * 100.0;
        count "servers", "servers", Narrow(0), row.0.servers;
        count "instances", "instances", Narrow(0), row.0.machines;
        opt money "cost_monthly", "month", Narrow(0), row.1.monthly(row.0);
        opt price "cost_per_million_requests", "1M requests", Narrow(0), row.1.per_million(row.0);
    }

    fn of_curve<'a>(row: &'a CurvePoint) {
        count "batch", "batch", Narrow(0), row.batch;
        cell "items_per_second", "items/s", Narrow(0), Value::Number(row.items_per_second, decimals_of(row.items_per_second));
        number "batch_ms", "batch ms", Narrow(0), f64::from(row.batch) / row.items_per_second * 1e3;
    }
}

fn caveats(batching: &Batching, today: Option<&Today>) -> Vec<String> {
    let named = batching.request.machine.instance_type.as_deref();
    rows! {
        ..named.and_then(not_launched);
        for today in today.filter(|today| today.is_committed) => format!("Commitments pay of {}, and cost as much with fewer instances: they save nothing until the commitments end.", today.name);
        "Requests arrive evenly here. At random arrivals, some wait longer, the more the higher the load. Where the rate changes from minute to minute, pass that of the busiest.".to_owned();
        "Between two points of the curve, the time of a batch grows evenly. A batch below the first point takes as long as the first.".to_owned();
    }
}
