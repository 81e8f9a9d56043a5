//! `gpucost kpi` of one run: what its hours cost, and each unit of its work.

use super::kpi::{OF_KPIS, unit_row};
use crate::analysis::RunKpis;
use crate::domain::Money;
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value};
use crate::report::shared::kpis::per;
use crate::report::shared::text::{money, unit_price};
use rust_decimal::prelude::ToPrimitive;

/// What units of a run cost; `source` says where its hours and type are from.
pub fn kpi_run_answer(found: &RunKpis, source: &str) -> Doc {
    let mut rows = vec![vec![
        Value::text("cost of the run"),
        Value::text(&found.run.key.instance_type),
        Value::Money(found.cost),
        Value::text(found.cost.currency().code()),
    ]];
    rows.extend(found.unit_costs.iter().map(unit_row));
    let nothing_counted = Missing {
        what: "units of work".to_owned(),
        remedy: "pass `--unit NAME=COUNT`, or `--log FILE` with `--log-unit NAME=TEXT`, here or \
                 to `gpucost profile`"
            .to_owned(),
    };
    let is_counted = !found.unit_costs.is_empty();
    Doc {
        name: "kpi",
        headline: headline(found),
        given: given(found, source),
        steps: steps(found),
        tables: vec![Table {
            key: "kpis",
            title: "KEY FIGURES".to_owned(),
            noun: ("row", "rows"),
            columns: OF_KPIS.to_vec(),
            rows,
            ..Table::default()
        }],
        caveats: vec![
            "the price is that of the instances on demand: storage, network and commitments \
             are not in it"
                .to_owned(),
        ],
        missing: (!is_counted)
            .then_some(nothing_counted)
            .into_iter()
            .collect(),
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
    let run = &found.run;
    let rate = found.quote.rate;
    let one = |key, name, value, source: &str| Given {
        key,
        name,
        value,
        source: source.to_owned(),
    };
    let dated = format!(
        "{}, {}",
        found.quote.origin.name(),
        found.quote.effective_date
    );
    let place = format!("{} in {}", run.key.instance_type, run.key.region);
    let hours = Value::of(run.hours.to_f64(), |hours| Value::Number(hours, 4));
    let price = Value::Price(Money::new(rate.amount(), rate.currency()));
    vec![
        one("instance_type", "instance type", Value::text(place), source),
        one(
            "instances",
            "instances",
            Value::Count(run.instances.into()),
            source,
        ),
        one("hours", "hours of each", hours, source),
        one("on_demand_hourly", "price per hour", price, &dated),
    ]
}

fn steps(found: &RunKpis) -> Vec<Step> {
    let run = &found.run;
    let rate = found.quote.rate;
    let hours = run.hours.round_dp(6).normalize();
    let mut steps = vec![Step {
        name: "cost of the run".to_owned(),
        arithmetic: format!(
            "{} × {hours} h × {}",
            run.instances,
            rate.amount().normalize()
        ),
        result: Value::Money(found.cost),
    }];
    steps.extend(found.unit_costs.iter().map(|one| Step {
        name: format!("per {}", per(one.per(), &one.unit)),
        arithmetic: match one.per() {
            1 => format!("{} / {}", found.cost.amount(), one.count.normalize()),
            per => format!(
                "{} × {per} / {}",
                found.cost.amount(),
                one.count.normalize()
            ),
        },
        result: Value::of(one.price(), Value::Price),
    }));
    steps
}
