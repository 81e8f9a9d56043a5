//! Who is where, what is free, and which ways to share are open.

use super::nodes::{Node, resource};
use super::words::method_words;
use crate::analysis::NoTenant;
use crate::planners::share::{MethodOutcome, PackedCard, SharePlan};
use crate::report::answer::{Figure, Sheet, column, detail};
use crate::savings::Slice;

pub(super) fn sheets(plan: &SharePlan, nodes: &[Node<'_>], left_out: &[NoTenant]) -> Vec<Sheet> {
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

fn placements(plan: &SharePlan, nodes: &[Node<'_>]) -> Sheet {
    let rows = places(nodes).flat_map(|(node, gpu, card)| {
        let tenants = card.tenants.iter();
        tenants.map(move |slice| placement(plan, (node, gpu, card), slice))
    });
    Sheet {
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
    }
}

fn placement(
    plan: &SharePlan,
    (node, gpu, card): (&Node<'_>, usize, &PackedCard),
    slice: &Slice,
) -> Vec<Figure> {
    let question = &plan.question;
    let tenant = &question.tenants[slice.tenant];
    let profile = slice.placement.as_ref().map(|(profile, _)| profile);
    let start = slice.placement.as_ref().map(|(_, start)| *start);
    vec![
        Figure::text(&tenant.name),
        Figure::of(tenant.owner.as_deref(), Figure::text),
        Figure::text(tenant.isolation.name()),
        Figure::Count(node.number as u64),
        Figure::Count(gpu as u64),
        Figure::text(node.mode_of(card).name()),
        Figure::of(profile, |profile| Figure::text(&profile.name)),
        Figure::of(start, |start| Figure::Count(u64::from(start))),
        Figure::text(resource(
            node.mode_of(card),
            profile.map(|one| one.name.as_str()),
        )),
        Figure::Number(tenant.vram_peak_mib, 0),
        Figure::Number(question.vram_needed_mib(tenant), 0),
        Figure::of(tenant.peak_percent, Figure::Percent),
        Figure::of(profile, |profile| {
            let slices = f64::from(profile.compute_slices.max(1));
            Figure::Number(f64::from(plan.total_slices) / slices, 2)
        }),
        Figure::text(&tenant.source),
    ]
}

fn cards(nodes: &[Node<'_>]) -> Sheet {
    let rows = places(nodes).map(|(node, gpu, card)| {
        let free = |slices: Option<u8>| Figure::of(slices, |one| Figure::Count(u64::from(one)));
        let fragments = card.fragments;
        vec![
            Figure::Count(node.number as u64),
            Figure::Count(gpu as u64),
            Figure::text(node.mode_of(card).name()),
            Figure::text(&node.setup),
            Figure::of(node.lot.owner.as_deref(), Figure::text),
            Figure::Count(card.tenants.len() as u64),
            Figure::of(card.peak_percent, Figure::Percent),
            Figure::of(card.separate_percent, Figure::Percent),
            Figure::Number(card.vram_needed_mib, 0),
            free(fragments.map(|one| one.compute_free)),
            free(fragments.map(|one| one.memory_free)),
            free(fragments.map(|one| one.memory_stranded)),
        ]
    });
    Sheet {
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
    }
}

fn methods(plan: &SharePlan) -> Sheet {
    let chosen = plan.chosen().map(|(method, _)| method);
    let rows = plan
        .methods
        .iter()
        .map(|MethodOutcome { method, outcome }| {
            let name = Figure::text(method_words(*method));
            match outcome {
                Ok(packing) => vec![
                    name,
                    Figure::Flag(chosen == Some(*method)),
                    Figure::Count(packing.cards() as u64),
                    Figure::Count(packing.least_cards() as u64),
                    Figure::Count(packing.instances_with_spare() as u64),
                    Figure::of(packing.monthly, Figure::Money),
                    Figure::of(plan.saved(packing), Figure::Money),
                    Figure::Absent,
                ],
                Err(reason) => {
                    let mut row = vec![name, Figure::Flag(false)];
                    row.resize(7, Figure::Absent);
                    row.push(Figure::text(reason.to_string()));
                    row
                }
            }
        });
    Sheet {
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
    }
}

fn without_card(left_out: &[NoTenant]) -> Sheet {
    let row = |one: &NoTenant| vec![Figure::text(&one.name), Figure::text(&one.reason)];
    Sheet {
        key: "left_out",
        title: "LEFT OUT".to_owned(),
        noun: ("workload", "workloads"),
        columns: vec![column("name", "name"), column("reason", "because")],
        rows: left_out.iter().map(row).collect(),
    }
}
