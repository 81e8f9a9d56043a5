//! Renting or buying.

use super::not_launched;
use crate::analysis::AWS;
use crate::domain::{Currency, Money};
use crate::planners::rent_or_buy::{
    Input, Own, Part, PricedRental, RentOrBuy, Rental, Sensitivity, TURN_PERCENT,
};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::shared::text::{counted, joined, less, money};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// What an own server costs beside rented machines; `fleet` is the workload that it would take
/// over, with its instances.
pub fn rent_or_buy_answer(comparison: &RentOrBuy, fleet: Option<(&str, u32)>) -> Doc {
    let own = std::iter::once((None, comparison));
    let options = own.chain(comparison.rentals.iter().map(|rented| (Some(rented), comparison)));
    let turned = format!("MONTH OF BREAK-EVEN WITH EACH INPUT {TURN_PERCENT}% LOWER AND HIGHER");
    let source = comparison.own.sources.get(&Input::Watts);
    let is_measured = source.is_some_and(|source| source.contains("--profile-data"));
    Doc {
        name: "rent-or-buy",
        headline: headline(comparison),
        given: given(&comparison.own),
        steps: steps(comparison),
        tables: rows! {
            Table::of("options", "OWN SERVER AND RENTED MACHINES", ("option", "options"), of_options(), options);
            Table::of("parts", "WHAT THE OWN SERVER COSTS", ("part", "parts"), of_parts(), &comparison.parts);
            Table::of("sensitivity", turned, ("input", "inputs"), of_inputs(), &comparison.sensitivity);
        },
        caveats: caveats(comparison, fleet),
        missing: rows! {
            if !is_measured => Missing::new("measured draw of the GPUs", "run `gpucost profile --samples run.jsonl -- COMMAND` on such GPUs, then pass `--profile-data run.jsonl` and `--host-watts`");
        },
        next: next(comparison),
        ..Doc::default()
    }
}

fn usd(amount: Decimal) -> Money {
    Money::new(amount, Currency::Usd)
}

fn named(rental: &Rental) -> String {
    let place = match (&rental.provider, &rental.region) {
        (Some(provider), Some(region)) => format!(" at {provider} in {region}"),
        (Some(provider), None) => format!(" at {provider}"),
        _ => String::new(),
    };
    format!("{} {}{place}", rental.machine, rental.paying)
}

fn against(priced: &PricedRental, own: &Own) -> String {
    let costs = less(priced.saved_by_owning);
    let years = counted(own.years, "year", "years");
    let pays_off = match priced.break_even_month {
        Some(month) => format!("pays off in month {month}"),
        None => format!("never pays off within {years}"),
    };
    format!(
        "against {} the own server {pays_off} and costs {costs} over {years}",
        named(&priced.rental)
    )
}

fn headline(comparison: &RentOrBuy) -> String {
    let Some(asked) = comparison.asked() else { return String::new() };
    let first = against(asked, &comparison.own);
    match comparison.cheapest() {
        Some(cheapest) if cheapest.rental != asked.rental => {
            format!("{first}; {}", against(cheapest, &comparison.own))
        }
        _ => first,
    }
}

/// The key of an input, its name and its value.
fn line(input: Input, value: Decimal) -> (&'static str, &'static str, Value) {
    let number = |decimals| Value::make_number(value, decimals);
    let percent = Value::make_percent(value);
    let (money, price) = (Value::Money(usd(value)), Value::Price(usd(value)));
    match input {
        Input::Purchase => ("purchase", "purchase price", money),
        Input::Spares => ("spares_percent", "spares, of the price", percent),
        Input::Residual => ("residual_percent", "residual value, of the price", percent),
        Input::Watts => ("watts", "mean draw, watts", number(0)),
        Input::Pue => ("pue", "PUE", number(3)),
        Input::Electricity => ("electricity_per_kwh", "electricity per kWh", price),
        Input::Rack => ("rack_monthly", "rack per month", money),
        Input::StaffHours => ("staff_hours_monthly", "staff hours per month", number(1)),
        Input::StaffHourly => ("staff_hourly", "staff per hour", price),
        Input::Capital => ("capital_percent", "cost of capital per year", percent),
        Input::Utilization => ("utilization_percent", "utilization", percent),
        Input::Rent => ("rent", "price of the rented machine", price),
    }
}

fn given(own: &Own) -> Vec<Given> {
    let inputs = Input::ALL.iter().filter_map(|input| {
        let (key, name, value) = line(*input, own.get(*input)?);
        Some(Given::new(key, name, value, own.sources.get(input).cloned().unwrap_or_default()))
    });
    rows! {
        Given::new("gpus", "GPUs", Value::Count(own.gpus.into()), "--gpus, or those of --type");
        Given::new("years", "years", Value::Count(own.years.into()), "--years");
        ..inputs;
    }
}

fn steps(comparison: &RentOrBuy) -> Vec<Step> {
    let own = &comparison.own;
    let hours = own.hours_of_month.normalize();
    let electricity = comparison.parts.iter().find(|part| part.name == "electricity");
    let electricity = electricity.map(|part| usd(part.monthly));
    let asked = comparison.asked();
    let rent = |rented: &PricedRental| {
        let (rental, used) = (&rented.rental, own.utilization_percent.normalize());
        let share =
            if rental.paying.is_committed() { String::new() } else { format!(" × {used}%") };
        let price = rental.per_gpu_hour.round_dp(6).normalize();
        format!("{price} × {} × {hours} h{share}", counted(rental.billed_gpus(own), "GPU", "GPUs"))
    };
    rows! {
        Step::new("paid at once", format!("{} × (1 + {}%)", own.purchase.normalize(), own.spares_percent.normalize()), Value::Money(comparison.outlay));
        Step::new("electricity per month", format!("{} W / 1,000 × {hours} h × {} × {}", own.watts.round_dp(1).normalize(), own.pue.normalize(), own.electricity.normalize()), Value::make_money(electricity));
        Step::new("own server per month", "electricity + rack + staff + capital", Value::Money(comparison.monthly));
        Step::new("own server over the term", format!("{} + {} × {} - {}", money(comparison.outlay), own.months(), money(comparison.monthly), money(comparison.residual)), Value::Money(comparison.total));
        for rented in asked => Step::new("rent per month", rent(rented), Value::Money(rented.monthly));
        for rented in asked.filter(|rented| rented.monthly.amount() > comparison.monthly.amount()) => Step::new("month of break-even", format!("{} / ({} - {}), rounded up", money(comparison.outlay), money(rented.monthly), money(comparison.monthly)), Value::make_count(rented.break_even_month));
    }
}

columns! {
    /// Of a rented machine, else of the own server.
    fn of_options<'a>(row: (Option<&'a PricedRental>, &'a RentOrBuy)) {
        text "machine", "machine", Narrow(0), row.0.map_or("own server", |rented| rented.rental.machine.as_str()).to_owned();
        text "paying", "by", Narrow(0), row.0.map_or("buy", |rented| rented.rental.paying.name()).to_owned();
        opt text "provider", "provider", Narrow(0), row.0.and_then(|rented| rented.rental.provider.clone());
        opt text "region", "region", Wide, row.0.and_then(|rented| rented.rental.region.clone());
        opt count "machines", "machines", Narrow(0), row.0.map(|rented| rented.rental.machines(&row.1.own));
        opt price "gpu_hourly", "gpu-h", Wide, row.0.map(|rented| usd(rented.rental.per_gpu_hour));
        money "monthly_cost", "month", Wide, row.0.map_or(row.1.monthly, |rented| rented.monthly);
        money "term_cost", "term", Narrow(0), row.0.map_or(row.1.total, |rented| rented.total);
        opt price "useful_gpu_hourly", "useful gpu-h", Narrow(0), row.0.map_or(row.1.per_useful_gpu_hour, |rented| rented.per_useful_gpu_hour).map(|price| Money::new(price.amount().round_dp(4), price.currency()));
        opt count "break_even_month", "pays off", Narrow(0), row.0.and_then(|rented| rented.break_even_month);
        opt money "saved_by_owning", "saved by owning", Wide, row.0.map(|rented| rented.saved_by_owning);
        opt date "price_date", "price seen", Wide, row.0.and_then(|rented| rented.rental.seen_on);
    }

    fn of_parts<'a>(row: &'a Part) {
        text "part", "part", Narrow(0), row.name.to_owned();
        money "once", "once", Narrow(0), usd(row.once);
        money "monthly_cost", "month", Narrow(0), usd(row.monthly);
        money "term_cost", "term", Narrow(0), usd(row.total);
    }

    fn of_inputs<'a>(row: &'a Sensitivity) {
        text "input", "input", Narrow(0), row.input.name().to_owned();
        opt cell "value_low", "low", Narrow(0), Value::of(row.values, |[low, _]| line(row.input, low).2);
        opt cell "value_high", "high", Narrow(0), Value::of(row.values, |[_, high]| line(row.input, high).2);
        opt count "month_low", "month, low", Narrow(0), row.asked_months[0];
        opt count "month_high", "month, high", Narrow(0), row.asked_months[1];
        opt count "cheapest_month_low", "against the cheapest, low", Wide, row.cheapest_months[0];
        opt count "cheapest_month_high", "against the cheapest, high", Wide, row.cheapest_months[1];
    }
}

fn caveats(comparison: &RentOrBuy, fleet: Option<(&str, u32)>) -> Vec<String> {
    let own = &comparison.own;
    let turned = comparison.sensitivity.iter().flat_map(|sensitivity| sensitivity.asked_months);
    let turned: Vec<Option<u32>> = turned.collect();
    let (earliest, latest) = (turned.iter().flatten().min(), turned.iter().flatten().max());
    let months = match earliest.zip(latest) {
        Some((earliest, latest)) if turned.contains(&None) => {
            format!("from month {earliest} to {latest}, or never")
        }
        Some((earliest, latest)) => format!("from month {earliest} to {latest}"),
        None => "never".to_owned(),
    };
    rows! {
        ..of_machines(comparison);
        for (name, instances) in fleet.filter(|(_, instances)| *instances > 1) => format!("{name} has {instances} instances: the server is compared with as many GPUs as it has, and not with all of them");
        format!("with one input {TURN_PERCENT}% lower or higher, the server pays off against the machine that was asked about: {months}");
        "a machine rented by the hour is taken to run only while its GPUs are needed; one that always runs costs as much as at a utilization of 100%".to_owned();
        "prices of rented machines are taken to stay as they are over the term; a commitment is taken to be renewed at its price".to_owned();
        "network, storage, software, insurance, taxes and the time until delivery are not computed".to_owned();
        if own.capital_percent.is_zero() => "the cost of capital is not computed without `--capital-percent`".to_owned();
    }
}

/// Providers whose machines belong to others, and the word for such machines elsewhere.
const MARKETPLACES: [&str; 4] = ["akash", "salad", "tensordock", "vast-ai"];
const COMMUNITY: &str = "[community]";

/// What to know of the machines that are compared.
fn of_machines(comparison: &RentOrBuy) -> Vec<String> {
    let rentals = || comparison.rentals.iter().map(|rented| &rented.rental);
    let several = comparison.rentals.iter().filter(|rental| !rental.is_alike).count();
    let counted = counted(comparison.rentals.len(), "rental", "rentals");
    let hosts = joined(rentals().filter_map(of_marketplace).collect::<BTreeSet<_>>(), ", ");
    let others =
        rentals().filter(|rental| rental.provider.as_deref().is_some_and(|name| name != AWS));
    let days: BTreeSet<Date> = others.filter_map(|rental| rental.seen_on).collect();
    let when = days.first().zip(days.last()).map(|(first, last)| {
        if first == last { format!("on {first}") } else { format!("from {first} to {last}") }
    });
    rows! {
        ..comparison.asked().and_then(|rented| not_launched(type_of(&rented.rental)));
        if several > 0 => format!("{several} of {counted} are several machines with fewer GPUs each, and last: no NVLink links GPUs of two machines, so that work on all of them together is slower there or does not run");
        if !hosts.is_empty() => format!("machines of {hosts} belong to hosts of many owners: ask what they promise");
        for when in when => format!("prices of other providers were seen {when}");
    }
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
    MARKETPLACES.contains(&provider).then(|| provider.to_owned())
}

fn next(comparison: &RentOrBuy) -> Vec<String> {
    let rental = comparison.asked().map(|rented| &rented.rental);
    let place = rental.and_then(|rental| Some((type_of(rental), rental.region.as_ref()?)));
    let mut rentals = comparison.rentals.iter().map(|rented| &rented.rental);
    let is_committed = rentals.any(|rented| rented.is_asked && rented.paying.is_committed());
    rows! {
        for (name, region) in place.filter(|_| is_committed) => format!("gpucost reserved --type {name} --region {region}");
        for (name, _) in place => format!("gpucost pricing {name} --region all");
    }
}
