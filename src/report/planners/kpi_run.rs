//! `gpucost kpi` of one run: what its hours cost, and each unit of its work.

use super::figures::{an_hour, basis, missing, rows, step};
use super::kpi::{Figure, kpis, unit_cost};
use crate::analysis::RunKpis;
use crate::report::doc::{Doc, Given, Step, Value};
use crate::report::shared::kpis::per;
use crate::report::shared::text::{money, unit_price};

/// What units of a run cost; `source` says where its hours and type are from.
pub fn kpi_run_answer(found: &RunKpis, source: &str) -> Doc {
    let cost = Figure(
        "cost of the run".to_owned(),
        found.run.key.instance_type.clone(),
        Value::Money(found.cost),
        found.cost.currency().code().to_owned(),
    );
    Doc {
        name: "kpi",
        headline: headline(found),
        given: given(found, source),
        steps: steps(found),
        tables: vec![kpis(rows! {
            cost;
            ..found.unit_costs.iter().map(unit_cost);
        })],
        caveats: rows! {
            "the price is that of the instances on demand: storage, network and commitments are not in it".to_owned();
        },
        missing: rows! {
            if found.unit_costs.is_empty() => missing("units of work", "pass `--unit NAME=COUNT`, or `--log FILE` with `--log-unit NAME=TEXT`, here or to `gpucost profile`");
        },
        ..Doc::default()
    }
}

fn headline(found: &RunKpis) -> String {
    let cost = money(found.cost);
    let first = found.unit_costs.first();
    match first.and_then(|one| Some((one, one.price()?))) {
        Some((one, price)) => format!(
            "The run costs {cost}: {} per {}",
            unit_price(price),
            per(one.per(), &one.unit)
        ),
        None => format!("The run costs {cost}"),
    }
}

fn given(found: &RunKpis, source: &str) -> Vec<Given> {
    let (run, quote) = (&found.run, &found.quote);
    let dated = format!("{}, {}", quote.origin.name(), quote.effective_date);
    let place = format!("{} in {}", run.key.instance_type, run.key.region);
    rows! {
        basis("instance_type", "instance type", Value::Text(place), source);
        basis("instances", "instances", Value::Count(run.instances.into()), source);
        basis("hours", "hours of each", Value::make_number(run.hours, 4), source);
        basis("on_demand_hourly", "price per hour", Value::Price(an_hour(quote.rate)), dated);
    }
}

fn steps(found: &RunKpis) -> Vec<Step> {
    let run = &found.run;
    let (hours, rate) = (run.hours.round_dp(6).normalize(), found.quote.rate.amount());
    let cost = found.cost.amount();
    let times = |per: u32| match per {
        1 => String::new(),
        per => format!(" × {per}"),
    };
    rows! {
        step("cost of the run", format!("{} × {hours} h × {}", run.instances, rate.normalize()), Value::Money(found.cost));
        for unit in &found.unit_costs => step(
            format!("per {}", per(unit.per(), &unit.unit)),
            format!("{cost}{} / {}", times(unit.per()), unit.count.normalize()),
            Value::make_price(unit.price()),
        );
    }
}
