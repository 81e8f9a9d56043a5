//! Who is where, what is free, and which ways to share are open.

use super::nodes::{Node, resource};
use super::words::method_words;
use crate::analysis::NoTenant;
use crate::planners::share::{MethodOutcome, PackedCard, SharePlan};
use crate::report::doc::{Table, Value, column, detail};
use crate::savings::Slice;

pub(super) fn sheets(plan: &SharePlan, nodes: &[Node<'_>], left_out: &[NoTenant]) -> Vec<Table> {
    let mut sheets = vec![placements(plan, nodes), cards(nodes), methods(plan)];
    if !left_out.is_empty() {
        sheets.push(without_card(left_out));
    }
    sheets
}

/// Every card with its instance and its place there.
fn places<'a>(
    nodes: &'a [Node<'a>],
) -> impl Iterator<Item = (&'a Node<'a>, usize, &'a PackedCard)> {
    nodes.iter().flat_map(|node| {
        let cards = node.cards.iter().enumerate();
        cards.map(move |(gpu, card)| (node, gpu, card))
    })
}

fn placements(plan: &SharePlan, nodes: &[Node<'_>]) -> Table {
    let rows = places(nodes).flat_map(|(node, gpu, card)| {
        let tenants = card.tenants.iter();
        tenants.map(move |slice| placement(plan, (node, gpu, card), slice))
    });
    Table {
        key: "placements",
        title: "PLACEMENTS".to_owned(),
        noun: ("tenant", "tenants"),
        columns: vec![
            column("tenant", "tenant"),
            detail("owner", "owner"),
            detail("class", "class"),
            column("instance", "instance"),
            column("gpu", "GPU"),
            column("mode", "mode"),
            column("slice", "slice"),
            detail("slice_start", "start"),
            detail("resource", "resource"),
            detail("vram_peak_mib", "VRAM, MiB"),
            column("vram_needed_mib", "needs, MiB"),
            column("peak_percent", "peak"),
            column("slowdown_bound", "slowdown"),
            detail("source", "source"),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

fn placement(
    plan: &SharePlan,
    (node, gpu, card): (&Node<'_>, usize, &PackedCard),
    slice: &Slice,
) -> Vec<Value> {
    let question = &plan.question;
    let tenant = &question.tenants[slice.tenant];
    let profile = slice.placement.as_ref().map(|(profile, _)| profile);
    let start = slice.placement.as_ref().map(|(_, start)| *start);
    vec![
        Value::text(&tenant.name),
        Value::of(tenant.owner.as_deref(), Value::text),
        Value::text(tenant.isolation.name()),
        Value::Count(node.number as u64),
        Value::Count(gpu as u64),
        Value::text(node.mode_of(card).name()),
        Value::of(profile, |profile| Value::text(&profile.name)),
        Value::of(start, |start| Value::Count(u64::from(start))),
        Value::text(resource(
            node.mode_of(card),
            profile.map(|one| one.name.as_str()),
        )),
        Value::Number(tenant.vram_peak_mib, 0),
        Value::Number(question.vram_needed_mib(tenant), 0),
        Value::of(tenant.peak_percent, Value::Percent),
        Value::of(profile, |profile| {
            let slices = f64::from(profile.compute_slices.max(1));
            Value::Number(f64::from(plan.total_slices) / slices, 2)
        }),
        Value::text(&tenant.source),
    ]
}

fn cards(nodes: &[Node<'_>]) -> Table {
    let rows = places(nodes).map(|(node, gpu, card)| {
        let free = |slices: Option<u8>| Value::of(slices, |one| Value::Count(u64::from(one)));
        let fragments = card.fragments;
        vec![
            Value::Count(node.number as u64),
            Value::Count(gpu as u64),
            Value::text(node.mode_of(card).name()),
            Value::text(&node.setup),
            Value::of(node.lot.owner.as_deref(), Value::text),
            Value::Count(card.tenants.len() as u64),
            Value::of(card.peak_percent, Value::Percent),
            Value::of(card.separate_percent, Value::Percent),
            Value::Number(card.vram_needed_mib, 0),
            free(fragments.map(|one| one.compute_free)),
            free(fragments.map(|one| one.memory_free)),
            free(fragments.map(|one| one.memory_stranded)),
        ]
    });
    Table {
        key: "cards",
        title: "CARDS".to_owned(),
        noun: ("card", "cards"),
        columns: vec![
            column("instance", "instance"),
            column("gpu", "GPU"),
            column("mode", "mode"),
            column("setup", "setup"),
            detail("owner", "owner"),
            column("tenants", "tenants"),
            column("peak_percent", "peak"),
            detail("separate_peaks_percent", "separate peaks"),
            detail("vram_needed_mib", "needs, MiB"),
            column("compute_slices_free", "compute free"),
            column("memory_slices_free", "memory free"),
            column("memory_slices_stranded", "stranded"),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

fn methods(plan: &SharePlan) -> Table {
    let chosen = plan.chosen().map(|(method, _)| method);
    let rows = plan
        .methods
        .iter()
        .map(|MethodOutcome { method, outcome }| {
            let name = Value::text(method_words(*method));
            match outcome {
                Ok(packing) => vec![
                    name,
                    Value::Flag(chosen == Some(*method)),
                    Value::Count(packing.cards() as u64),
                    Value::Count(packing.least_cards() as u64),
                    Value::Count(packing.instances_with_spare() as u64),
                    Value::of(packing.monthly, Value::Money),
                    Value::of(plan.saved(packing), Value::Money),
                    Value::Absent,
                ],
                Err(reason) => {
                    let mut row = vec![name, Value::Flag(false)];
                    row.resize(7, Value::Absent);
                    row.push(Value::text(reason.to_string()));
                    row
                }
            }
        });
    Table {
        key: "methods",
        title: "WAYS TO SHARE".to_owned(),
        noun: ("way", "ways"),
        columns: vec![
            column("method", "way"),
            detail("chosen", "chosen"),
            column("cards", "cards"),
            column("least_cards", "at least"),
            column("instances", "instances"),
            column("cost_monthly", "month"),
            detail("saved_monthly", "saved"),
            column("reason", "out because"),
        ],
        rows: rows.collect(),
        ..Table::default()
    }
}

fn without_card(left_out: &[NoTenant]) -> Table {
    let row = |one: &NoTenant| vec![Value::text(&one.name), Value::text(&one.reason)];
    Table {
        key: "left_out",
        title: "LEFT OUT".to_owned(),
        noun: ("workload", "workloads"),
        columns: vec![column("name", "name"), column("reason", "because")],
        rows: left_out.iter().map(row).collect(),
        ..Table::default()
    }
}
