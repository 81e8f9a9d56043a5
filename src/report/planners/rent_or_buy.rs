//! Renting or buying.

use super::figures::not_launched;
use crate::analysis::AWS;
use crate::domain::{Currency, Money};
use crate::planners::rent_or_buy::{Input, Own, PricedRental, RentOrBuy, Rental, TURN_PERCENT};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, column, detail};
use crate::report::shared::text::{counted, money};
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeSet;

/// What an own server costs beside rented machines; `fleet` is the workload that it would take
/// over, with its instances.
pub fn rent_or_buy_answer(found: &RentOrBuy, fleet: Option<(&str, u32)>) -> Doc {
    Doc {
        name: "rent-or-buy",
        headline: headline(found),
        given: given(&found.own),
        steps: steps(found),
        tables: vec![options(found), parts(found), sensitivity(found)],
        caveats: caveats(found, fleet),
        missing: missing(&found.own),
        next: next(found),
        ..Doc::default()
    }
}

fn usd(amount: Decimal) -> Money {
    Money::new(amount, Currency::Usd)
}

fn month(month: Option<u32>) -> Value {
    Value::of(month, |month| Value::Count(month.into()))
}

fn months_in_words(month: Option<u32>, own: &Own) -> String {
    month.map_or_else(
        || {
            let years = counted(own.years.into(), "year", "years");
            format!("never pays off within {years}")
        },
        |month| format!("pays off in month {month}"),
    )
}

fn named(rental: &Rental) -> String {
    let provider = rental.provider.as_deref();
    let region = rental.region.as_deref();
    let place = match (provider, region) {
        (Some(provider), Some(region)) => format!(" at {provider} in {region}"),
        (Some(provider), None) => format!(" at {provider}"),
        _ => String::new(),
    };
    format!("{} {}{place}", rental.machine, rental.paying)
}

fn against(one: &PricedRental, own: &Own) -> String {
    let saved = one.saved_by_owning;
    let costs = if saved.amount() < Decimal::ZERO {
        format!("costs {} more", money(usd(-saved.amount())))
    } else {
        format!("costs {} less", money(saved))
    };
    let years = counted(own.years.into(), "year", "years");
    format!(
        "against {} the own server {} and {costs} over {years}",
        named(&one.rental),
        months_in_words(one.break_even_month, own)
    )
}

fn headline(found: &RentOrBuy) -> String {
    let Some(asked) = found.asked() else {
        return String::new();
    };
    let first = against(asked, &found.own);
    match found.cheapest() {
        Some(cheapest) if cheapest.rental != asked.rental => {
            format!("{first}; {}", against(cheapest, &found.own))
        }
        _ => first,
    }
}

fn number(value: Decimal, decimals: usize) -> Value {
    Value::of(value.to_f64(), |value| Value::Number(value, decimals))
}

fn percent(value: Decimal) -> Value {
    Value::of(value.to_f64(), Value::Percent)
}

fn figure(input: Input, value: Decimal) -> Value {
    match input {
        Input::Purchase | Input::Rack => Value::Money(usd(value)),
        Input::Spares | Input::Residual | Input::Capital | Input::Utilization => percent(value),
        Input::Watts => number(value, 0),
        Input::Pue => number(value, 3),
        Input::StaffHours => number(value, 1),
        Input::Electricity | Input::StaffHourly | Input::Rent => Value::Price(usd(value)),
    }
}

fn key_and_name(input: Input) -> (&'static str, &'static str) {
    match input {
        Input::Purchase => ("purchase", "purchase price"),
        Input::Spares => ("spares_percent", "spares, of the price"),
        Input::Residual => ("residual_percent", "residual value, of the price"),
        Input::Watts => ("watts", "mean draw, watts"),
        Input::Pue => ("pue", "PUE"),
        Input::Electricity => ("electricity_per_kwh", "electricity per kWh"),
        Input::Rack => ("rack_monthly", "rack per month"),
        Input::StaffHours => ("staff_hours_monthly", "staff hours per month"),
        Input::StaffHourly => ("staff_hourly", "staff per hour"),
        Input::Capital => ("capital_percent", "cost of capital per year"),
        Input::Utilization => ("utilization_percent", "utilization"),
        Input::Rent => ("rent", "price of the rented machine"),
    }
}

fn given(own: &Own) -> Vec<Given> {
    let source = |input: Input| own.sources.get(&input).cloned().unwrap_or_default();
    let of_input = |input: Input| {
        let (key, name) = key_and_name(input);
        Some(Given {
            key,
            name,
            value: figure(input, own.get(input)?),
            source: source(input),
        })
    };
    let mut all = vec![
        Given {
            key: "gpus",
            name: "GPUs",
            value: Value::Count(own.gpus.into()),
            source: "--gpus, or those of --type".to_owned(),
        },
        Given {
            key: "years",
            name: "years",
            value: Value::Count(own.years.into()),
            source: "--years".to_owned(),
        },
    ];
    all.extend(Input::ALL.iter().copied().filter_map(of_input));
    all
}

fn steps(found: &RentOrBuy) -> Vec<Step> {
    let own = &found.own;
    let hours = own.hours_of_month.normalize();
    let mut steps = vec![
        Step {
            name: "paid at once".to_owned(),
            arithmetic: format!(
                "{} × (1 + {}%)",
                own.purchase.normalize(),
                own.spares_percent.normalize()
            ),
            result: Value::Money(found.outlay),
        },
        Step {
            name: "electricity per month".to_owned(),
            arithmetic: format!(
                "{} W / 1,000 × {hours} h × {} × {}",
                own.watts.round_dp(1).normalize(),
                own.pue.normalize(),
                own.electricity.normalize()
            ),
            result: part(found, "electricity"),
        },
        Step {
            name: "own server per month".to_owned(),
            arithmetic: "electricity + rack + staff + capital".to_owned(),
            result: Value::Money(found.monthly),
        },
        Step {
            name: "own server over the term".to_owned(),
            arithmetic: format!(
                "{} + {} × {} - {}",
                money(found.outlay),
                own.months(),
                money(found.monthly),
                money(found.residual)
            ),
            result: Value::Money(found.total),
        },
    ];
    if let Some(asked) = found.asked() {
        let rental = &asked.rental;
        let share = if rental.paying.is_committed() {
            String::new()
        } else {
            format!(" × {}%", own.utilization_percent.normalize())
        };
        steps.push(Step {
            name: "rent per month".to_owned(),
            arithmetic: format!(
                "{} × {} GPUs × {hours} h{share}",
                rental.per_gpu_hour.round_dp(6).normalize(),
                rental.billed_gpus(own)
            ),
            result: Value::Money(asked.monthly),
        });
        let saved = asked.monthly.amount() - found.monthly.amount();
        if saved > Decimal::ZERO {
            steps.push(Step {
                name: "month of break-even".to_owned(),
                arithmetic: format!(
                    "{} / ({} - {}), rounded up",
                    money(found.outlay),
                    money(asked.monthly),
                    money(found.monthly)
                ),
                result: month(asked.break_even_month),
            });
        }
    }
    steps
}

fn part(found: &RentOrBuy, name: &str) -> Value {
    let part = found.parts.iter().find(|part| part.name == name);
    Value::of(part, |part| Value::Money(usd(part.monthly)))
}

fn options(found: &RentOrBuy) -> Table {
    let own = vec![
        Value::text("own server"),
        Value::text("buy"),
        Value::Absent,
        Value::Absent,
        Value::Absent,
        Value::Absent,
        Value::Money(found.monthly),
        Value::Money(found.total),
        Value::of(found.per_useful_gpu_hour, cents_price),
        Value::Absent,
        Value::Absent,
        Value::Absent,
    ];
    let row = |one: &PricedRental| {
        let rental = &one.rental;
        vec![
            Value::text(&rental.machine),
            Value::text(rental.paying.name()),
            Value::of(rental.provider.as_ref(), Value::text),
            Value::of(rental.region.as_ref(), Value::text),
            Value::Count(rental.machines(&found.own).into()),
            Value::Price(usd(rental.per_gpu_hour)),
            Value::Money(one.monthly),
            Value::Money(one.total),
            Value::of(one.per_useful_gpu_hour, cents_price),
            month(one.break_even_month),
            Value::Money(one.saved_by_owning),
            Value::of(rental.seen_on, |date| Value::text(date.to_string())),
        ]
    };
    Table {
        key: "options",
        title: "OWN SERVER AND RENTED MACHINES".to_owned(),
        noun: ("option", "options"),
        columns: vec![
            column("machine", "machine"),
            column("paying", "by"),
            column("provider", "provider"),
            detail("region", "region"),
            column("machines", "machines"),
            detail("gpu_hourly", "gpu-h"),
            detail("monthly_cost", "month"),
            column("term_cost", "term"),
            column("useful_gpu_hourly", "useful gpu-h"),
            column("break_even_month", "pays off"),
            detail("saved_by_owning", "saved by owning"),
            detail("price_date", "price seen"),
        ],
        rows: std::iter::once(own)
            .chain(found.rentals.iter().map(row))
            .collect(),
        ..Table::default()
    }
}

/// A price that is a quotient, to four decimals.
fn cents_price(price: Money) -> Value {
    Value::Price(Money::new(price.amount().round_dp(4), price.currency()))
}

fn parts(found: &RentOrBuy) -> Table {
    let rows = found.parts.iter().map(|part| {
        vec![
            Value::text(part.name),
            Value::Money(usd(part.once)),
            Value::Money(usd(part.monthly)),
            Value::Money(usd(part.total)),
        ]
    });
    Table {
        key: "parts",
        title: "WHAT THE OWN SERVER COSTS".to_owned(),
        noun: ("part", "parts"),
        columns: vec![
            column("part", "part"),
            column("once", "once"),
            column("monthly_cost", "month"),
            column("term_cost", "term"),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

fn sensitivity(found: &RentOrBuy) -> Table {
    let rows = found.sensitivity.iter().map(|one| {
        let value = |place: usize| Value::of(one.values, |values| figure(one.input, values[place]));
        let [asked_down, asked_up] = one.asked_months;
        let [cheapest_down, cheapest_up] = one.cheapest_months;
        vec![
            Value::text(one.input.name()),
            value(0),
            value(1),
            month(asked_down),
            month(asked_up),
            month(cheapest_down),
            month(cheapest_up),
        ]
    });
    Table {
        key: "sensitivity",
        title: format!("MONTH OF BREAK-EVEN WITH EACH INPUT {TURN_PERCENT}% LOWER AND HIGHER"),
        noun: ("input", "inputs"),
        columns: vec![
            column("input", "input"),
            column("value_low", "low"),
            column("value_high", "high"),
            column("month_low", "month, low"),
            column("month_high", "month, high"),
            detail("cheapest_month_low", "against the cheapest, low"),
            detail("cheapest_month_high", "against the cheapest, high"),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

fn caveats(found: &RentOrBuy, fleet: Option<(&str, u32)>) -> Vec<String> {
    let own = &found.own;
    let turned = found.sensitivity.iter().flat_map(|one| one.asked_months);
    let turned: Vec<Option<u32>> = turned.collect();
    let earliest = turned.iter().flatten().min();
    let latest = turned.iter().flatten().max();
    let months = match earliest.zip(latest) {
        Some((earliest, latest)) if turned.contains(&None) => {
            format!("from month {earliest} to {latest}, or never")
        }
        Some((earliest, latest)) => format!("from month {earliest} to {latest}"),
        None => "never".to_owned(),
    };
    let mut caveats = of_machines(found);
    if let Some((name, instances)) = fleet.filter(|(_, instances)| *instances > 1) {
        caveats.push(format!(
            "{name} has {instances} instances: the server is compared with as many GPUs as it \
             has, and not with all of them"
        ));
    }
    caveats.push(format!(
        "with one input {TURN_PERCENT}% lower or higher, the server pays off against the \
         machine that was asked about: {months}"
    ));
    caveats.push(
        "a machine rented by the hour is taken to run only while its GPUs are needed; one that \
         always runs costs as much as at a utilization of 100%"
            .to_owned(),
    );
    caveats.push(
        "prices of rented machines are taken to stay as they are over the term; a commitment \
         is taken to be renewed at its price"
            .to_owned(),
    );
    caveats.push(
        "network, storage, software, insurance, taxes and the time until delivery are not \
         computed"
            .to_owned(),
    );
    if own.capital_percent.is_zero() {
        caveats.push("the cost of capital is not computed without `--capital-percent`".to_owned());
    }
    caveats
}

/// Providers whose machines belong to others, and the word for such machines elsewhere.
const MARKETPLACES: [&str; 4] = ["akash", "salad", "tensordock", "vast-ai"];
const COMMUNITY: &str = "[community]";

/// What to know of the machines that are compared.
fn of_machines(found: &RentOrBuy) -> Vec<String> {
    let mut caveats = Vec::new();
    let asked = found.asked().map(|one| type_of(&one.rental));
    caveats.extend(asked.and_then(not_launched));
    let several = found.rentals.iter().filter(|one| !one.is_alike).count();
    if several > 0 {
        caveats.push(format!(
            "{several} of {} are several machines with fewer GPUs each, and last: no NVLink \
             links GPUs of two machines, so that work on all of them together is slower there \
             or does not run",
            counted(found.rentals.len() as u64, "rental", "rentals")
        ));
    }
    let of_others: BTreeSet<String> = found
        .rentals
        .iter()
        .filter_map(|one| of_marketplace(&one.rental))
        .collect();
    if !of_others.is_empty() {
        let names: Vec<String> = of_others.into_iter().collect();
        caveats.push(format!(
            "machines of {} belong to hosts of many owners: ask what they promise",
            names.join(", ")
        ));
    }
    let others = found.rentals.iter().map(|one| &one.rental);
    let others = others.filter(|one| one.provider.as_deref().is_some_and(|name| name != AWS));
    let mut seen_on: Vec<Date> = others.filter_map(|one| one.seen_on).collect();
    seen_on.sort_unstable();
    if let (Some(first), Some(last)) = (seen_on.first(), seen_on.last()) {
        let when = if first == last {
            format!("on {first}")
        } else {
            format!("from {first} to {last}")
        };
        caveats.push(format!("prices of other providers were seen {when}"));
    }
    caveats
}

/// The type of a machine of AWS.
fn type_of(rental: &Rental) -> &str {
    let machine = rental.machine.as_str();
    machine.split(' ').next().unwrap_or(machine)
}

fn of_marketplace(rental: &Rental) -> Option<String> {
    let provider = rental.provider.as_deref()?;
    if rental.machine.contains(COMMUNITY) {
        return Some(format!("{provider} {COMMUNITY}"));
    }
    MARKETPLACES
        .contains(&provider)
        .then(|| provider.to_owned())
}

fn missing(own: &Own) -> Vec<Missing> {
    let is_measured = own
        .sources
        .get(&Input::Watts)
        .is_some_and(|source| source.contains("--profile-data"));
    if is_measured {
        return Vec::new();
    }
    vec![Missing {
        what: "measured draw of the GPUs".to_owned(),
        remedy: "run `gpucost profile --samples run.jsonl -- COMMAND` on such GPUs, then pass \
                 `--profile-data run.jsonl` and `--host-watts`"
            .to_owned(),
    }]
}

fn next(found: &RentOrBuy) -> Vec<String> {
    let rental = found.asked().map(|one| &one.rental);
    let Some(region) = rental.and_then(|rental| rental.region.as_ref()) else {
        return Vec::new();
    };
    let name = rental.map_or("", type_of);
    let mut rentals = found.rentals.iter().map(|one| &one.rental);
    let mut next = Vec::new();
    if rentals.any(|one| one.is_asked && one.paying.is_committed()) {
        next.push(format!("gpucost reserved --type {name} --region {region}"));
    }
    next.push(format!("gpucost pricing {name} --region all"));
    next
}
