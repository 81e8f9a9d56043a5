//! `gpucost autoscale` in words.

mod caveats;
mod files;
mod words;

use super::figures::{an_hour, basis, step};
use crate::domain::shell_word;
use crate::planners::autoscale::{Autoscale, AutoscaleAsk, Held, Replay};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, column, detail};
use crate::report::shared::text::{counted, money, percent};
use caveats::{caveats, is_committed};
use words::{hours_of, minutes, target};

/// A policy beside today, hindsight and other targets.
pub fn autoscale_answer(found: &Autoscale) -> Doc {
    Doc {
        name: "autoscale",
        headline: headline(found),
        given: given(found),
        steps: steps(found),
        tables: vec![policies(found)],
        caveats: caveats(found),
        missing: missing(found),
        files: files::files(found),
        next: next(found),
        ..Doc::default()
    }
}

fn headline(found: &Autoscale) -> String {
    let subject = &found.ask.subject;
    let gpus = found.ask.gpus_per_instance;
    let policy = target(found.ask.policy.trigger);
    let unserved = match found.replay.unserved_percent() {
        Some(share) => format!("{} of its demand waits or fails", percent(share)),
        None => "it has no demand".to_owned(),
    };
    let amount = |replay: &Replay| match found.cost(replay) {
        Some(cost) => money(cost),
        None => format!("{} GPU hours", hours_of(replay.gpu_hours(gpus))),
    };
    // What a commitment pays for is not saved.
    let today = found.today.as_ref();
    let today = today.filter(|_| !subject.purchase_option.is_some_and(is_committed));
    let today = today.map(|today| format!(" instead of {}", amount(today)));
    format!(
        "With {policy}, {} takes {}{} over {} h; {unserved}",
        subject.name,
        amount(&found.replay),
        today.unwrap_or_default(),
        hours_of(found.ask.demand.hours()),
    )
}

fn given(found: &Autoscale) -> Vec<Given> {
    let ask = &found.ask;
    let (demand, prices, policy) = (&ask.demand, &ask.prices, &ask.policy);
    let source = ask.subject.source.as_str();
    let per_type = format!("{} of the catalog", ask.subject.instance_type);
    let mut given = vec![
        basis(
            "demand_gpu_hours",
            "demand, GPU hours",
            Value::Number(demand.gpu_hours(), 1),
            source,
        ),
        basis(
            "peak_gpus",
            "largest demand, GPUs",
            Value::Number(demand.peak_gpus(), 1),
            source,
        ),
        basis(
            "hours",
            "hours on record",
            Value::Number(demand.hours(), 1),
            source,
        ),
        basis(
            "gpus_per_instance",
            "GPUs per instance",
            Value::Count(u64::from(ask.gpus_per_instance)),
            &per_type,
        ),
    ];
    let on_demand = prices.on_demand.as_ref().map(|quote| {
        let source = format!("{}, {}", quote.source, quote.seen_on);
        basis(
            "on_demand_hourly",
            "on-demand price per hour",
            Value::Price(an_hour(quote.rate)),
            &source,
        )
    });
    let has_spot = policy.spot.spot_percent > 0.0;
    let spot = prices.spot.as_ref().filter(|_| has_spot).map(|spot| {
        let source = format!("{}, {}", spot.basis, spot.seen_on);
        basis(
            "spot_hourly",
            "spot price per hour",
            Value::Price(an_hour(spot.rate)),
            &source,
        )
    });
    given.extend(on_demand.into_iter().chain(spot));
    given.extend(held_memory(ask));
    given.extend(limits(ask));
    given.push(basis(
        "max_unserved_percent",
        "share that may wait or fail",
        Value::Percent(ask.max_unserved_percent),
        "--max-unserved",
    ));
    given
}

fn held_memory(ask: &AutoscaleAsk) -> Option<Given> {
    let Held::Models(models) = ask.held else {
        return None;
    };
    let source = format!(
        "peaks of {} with headroom, as much as {} hold",
        counted(models.models.into(), "GPU", "GPUs"),
        counted(models.gpus.into(), "GPU", "GPUs"),
    );
    let held = Value::Number(models.vram_needed_mib, 0);
    Some(basis("held_vram_mib", "VRAM held, MiB", held, &source))
}

/// Where the least number of instances is from.
fn least_source(ask: &AutoscaleAsk) -> String {
    match ask.held {
        Held::Models(models) if ask.policy.min == models.instances(ask.gpus_per_instance) => {
            format!(
                "VRAM held: {} / {}, rounded up",
                models.gpus, ask.gpus_per_instance
            )
        }
        _ if ask.policy.min == 0 => "--scale-to-zero or --min".to_owned(),
        _ => "--min".to_owned(),
    }
}

fn limits(ask: &AutoscaleAsk) -> [Given; 6] {
    let policy = &ask.policy;
    let count = |number: u32| Value::Count(u64::from(number));
    [
        basis(
            "start_up_minutes",
            "start-up, minutes",
            Value::Number(minutes(policy.start_up_seconds), 1),
            "--start-up",
        ),
        basis(
            "cool_down_minutes",
            "cool-down, minutes",
            Value::Number(minutes(policy.cool_down_seconds), 1),
            "--cool-down",
        ),
        basis(
            "min_instances",
            "least instances",
            count(policy.min),
            &least_source(ask),
        ),
        basis(
            "max_instances",
            "most instances",
            count(policy.max),
            "--max",
        ),
        basis(
            "on_demand_base",
            "instances always on demand",
            count(policy.spot.on_demand_base),
            "--on-demand-base",
        ),
        basis(
            "spot_percent",
            "spot above them",
            Value::Percent(policy.spot.spot_percent),
            "--spot-share",
        ),
    ]
}

fn steps(found: &Autoscale) -> Vec<Step> {
    let prices = &found.ask.prices;
    let rate = prices
        .on_demand
        .as_ref()
        .map(|quote| quote.rate.amount().normalize());
    let spot = prices
        .spot
        .as_ref()
        .map(|spot| spot.rate.amount().normalize());
    let part = |seconds: i64, rate: Option<rust_decimal::Decimal>| {
        let hours = hours_of(seconds as f64 / 3_600.0);
        rate.map_or(format!("{hours} h"), |rate| format!("{hours} h × {rate}"))
    };
    let paid = |name: &str, replay: &Replay| {
        let mut arithmetic = part(replay.on_demand_seconds, rate);
        if replay.spot_seconds > 0 {
            arithmetic.push_str(&format!(" + {} spot", part(replay.spot_seconds, spot)));
        }
        let cost = Value::of(found.cost(replay), Value::Money);
        step(name, arithmetic, cost)
    };
    let mut steps = Vec::new();
    steps.extend(found.today.as_ref().map(|today| paid("today", today)));
    steps.push(paid("policy", &found.replay));
    steps.push(paid("hindsight", &found.hindsight));
    let gpu_hours = |seconds: f64| hours_of(seconds / 3_600.0);
    steps.push(step(
        "waits or fails",
        format!(
            "{} of {} GPU hours",
            gpu_hours(found.replay.unserved_gpu_seconds),
            gpu_hours(found.replay.demand_gpu_seconds)
        ),
        Value::of(found.replay.unserved_percent(), Value::Percent),
    ));
    if let Some(risk) = &found.risk {
        steps.push(step(
            "interruptions",
            format!(
                "{} spot hours × {:.5} per hour",
                hours_of(risk.spot_hours),
                risk.rate.per_hour
            ),
            Value::Number(risk.expected, 1),
        ));
    }
    steps
}

fn policies(found: &Autoscale) -> Table {
    let ask = &found.ask;
    let row = |name: String, replay: &Replay| {
        let gpus = ask.gpus_per_instance;
        vec![
            Value::Text(name),
            Value::of(found.cost(replay), Value::Money),
            Value::of(found.monthly(replay), Value::Money),
            Value::Number(replay.gpu_hours(gpus), 1),
            Value::of(replay.utilization_percent(gpus), Value::Percent),
            Value::of(replay.unserved_percent(), |share| Value::Number(share, 2)),
            Value::Flag(found.is_accepted(replay)),
            Value::Count(u64::from(replay.most_instances)),
            Value::Count(replay.launches),
        ]
    };
    let mut rows = Vec::new();
    rows.extend(
        found
            .today
            .as_ref()
            .map(|today| row("today".to_owned(), today)),
    );
    rows.push(row(
        format!("asked: {}", target(ask.policy.trigger)),
        &found.replay,
    ));
    rows.push(row("best in hindsight".to_owned(), &found.hindsight));
    let others = found.others.iter().enumerate();
    rows.extend(others.map(|(index, one)| {
        let mark = if found.cheapest == Some(index) {
            "cheapest: "
        } else {
            ""
        };
        row(format!("{mark}{}", target(one.trigger)), &one.replay)
    }));
    Table {
        key: "policies",
        title: "POLICIES  the same limits with other targets".to_owned(),
        noun: ("policy", "policies"),
        columns: vec![
            column("policy", "policy"),
            column("cost", "cost"),
            column("cost_monthly", "month"),
            column("gpu_hours", "GPU hours"),
            detail("utilization_percent", "busy"),
            column("unserved_percent", "waits/fails %"),
            column("is_accepted", "accepted"),
            detail("most_instances", "most instances"),
            detail("launches", "launches"),
        ],
        rows,
        ..Table::default()
    }
}

fn missing(found: &Autoscale) -> Vec<Missing> {
    let ask = &found.ask;
    let (subject, prices) = (&ask.subject, &ask.prices);
    let name = shell_word(&subject.instance_type);
    let of = |what: &str| Missing {
        what: format!("{what} of {} in {}", subject.instance_type, subject.region),
        remedy: format!("run `gpucost pricing {name} --region all`"),
    };
    let has_spot = ask.policy.spot.spot_percent > 0.0;
    let mut missing = Vec::new();
    if prices.on_demand.is_none() {
        missing.push(of("on-demand price"));
    }
    if has_spot && prices.spot.is_none() {
        missing.push(of("spot price"));
    }
    if has_spot && prices.band.is_none() {
        missing.push(of("interruption band"));
    }
    missing
}

fn next(found: &Autoscale) -> Vec<String> {
    let subject = &found.ask.subject;
    let name = shell_word(&subject.instance_type);
    let region = shell_word(&subject.region);
    let mut next = vec![format!("gpucost pricing {name} --region {region}")];
    let prices = &found.ask.prices;
    if prices.on_demand.is_some() && prices.has_commitments {
        next.push(format!("gpucost reserved --type {name} --region {region}"));
    }
    next
}
