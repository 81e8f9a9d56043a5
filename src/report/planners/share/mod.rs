//! `gpucost share`: tenants on cards, and what that costs.

mod caveats;
mod files;
mod nodes;
mod steps;

use crate::analysis::{AuditedWorkload, NoTenant};
use crate::catalog::MigProfile;
use crate::domain::{Action, ActionKind, Money, Target};
use crate::planners::share::{
    CardMode, Isolation, Method, MethodOutcome, PackedCard, Packing, SharePlan, ShareTenant,
};
use crate::report::doc::{Doc, Missing, Table, columns, rows};
use crate::report::promises::RISKS;
use crate::report::shared::text::{money_or_absent, shell_word};
use nodes::{Node, by_memory_alone, count_of, fleet, nodes, resource, slowdown};
use rust_decimal::Decimal;

/// A card with its instance and its place there.
#[derive(Clone, Copy)]
struct Place<'a> {
    node: &'a Node<'a>,
    gpu: usize,
    card: &'a PackedCard,
    mode: CardMode,
}

struct Placement<'a> {
    place: Place<'a>,
    tenant: &'a ShareTenant,
    vram_needed_mib: f64,
    slice: Option<&'a (MigProfile, u8)>,
    total_slices: u8,
}

struct Way<'a> {
    method: Method,
    is_chosen: bool,
    packing: Option<&'a Packing>,
    saved: Option<Money>,
    reason: Option<String>,
}

columns! {
    fn placements<'a>(row: Placement<'a>) {
        text "tenant", "tenant", Narrow(0), row.tenant.name.clone();
        opt text "owner", "owner", Wide, row.tenant.owner.clone();
        word[Isolation::NAMES] "class", "class", Wide, row.tenant.isolation.name();
        count "instance", "instance", Narrow(0), row.place.node.number;
        count "gpu", "GPU", Narrow(0), row.place.gpu;
        word[CardMode::NAMES] "mode", "mode", Narrow(0), row.place.mode.name();
        opt text "slice", "slice", Narrow(0), row.slice.map(|(profile, _)| profile.name.clone());
        opt count "slice_start", "start", Wide, row.slice.map(|(_, start)| *start), "Memory slice.";
        text "resource", "resource", Wide, resource(row.place.mode, row.slice.map(|(profile, _)| profile.name.as_str())), "Name in Kubernetes.";
        number[0] "vram_peak_mib", "VRAM, MiB", Wide, row.tenant.vram_peak_mib;
        number[0] "vram_needed_mib", "needs, MiB", Narrow(0), row.vram_needed_mib, "With headroom.";
        opt percent "peak_percent", "peak", Narrow(0), row.tenant.peak_percent, "Of a whole card.";
        opt number[2] "slowdown_bound", "slowdown", Narrow(0), row.slice.map(|(profile, _)| slowdown(row.total_slices, profile.compute_slices)), "Times as long, at most.";
        text "source", "source", Wide, row.tenant.source.clone();
    }

    fn cards<'a>(row: Place<'a>) {
        count "instance", "instance", Narrow(0), row.node.number;
        count "gpu", "GPU", Narrow(0), row.gpu;
        word[CardMode::NAMES] "mode", "mode", Narrow(0), row.mode.name();
        text "setup", "setup", Narrow(0), row.node.setup.clone();
        opt text "owner", "owner", Wide, row.node.lot.owner.clone();
        count "tenants", "tenants", Narrow(0), row.card.tenants.len();
        opt percent "peak_percent", "peak", Narrow(0), row.card.peak_percent;
        opt percent "separate_peaks_percent", "separate peaks", Wide, row.card.separate_percent;
        number[0] "vram_needed_mib", "needs, MiB", Wide, row.card.vram_needed_mib;
        opt count "compute_slices_free", "compute free", Narrow(0), row.card.fragments.map(|slices| slices.compute_free);
        opt count "memory_slices_free", "memory free", Narrow(0), row.card.fragments.map(|slices| slices.memory_free);
        opt count "memory_slices_stranded", "stranded", Narrow(0), row.card.fragments.map(|slices| slices.memory_stranded);
    }

    fn ways<'a>(row: Way<'a>) {
        text "method", "way", Narrow(0), way(row.method).to_owned();
        flag "chosen", "chosen", Wide, row.is_chosen;
        opt count "cards", "cards", Narrow(0), row.packing.map(Packing::cards);
        opt count "least_cards", "at least", Narrow(0), row.packing.map(Packing::least_cards);
        opt count "instances", "instances", Narrow(0), row.packing.map(Packing::instances_with_spare);
        opt money "cost_monthly", "month", Narrow(0), row.packing.and_then(|packing| packing.monthly);
        opt money "saved_monthly", "saved", Wide, row.saved;
        opt text "reason", "out because", Narrow(0), row.reason.clone();
    }

    fn skipped<'a>(row: &'a NoTenant) {
        text "name", "name", Narrow(0), row.name.clone();
        text "reason", "because", Narrow(0), row.reason.clone();
    }

    fn planned<'a>(row: (&'a AuditedWorkload, &'a Action)) {
        text "workload", "id", Wide, row.0.workload.id();
        text "name", "workload", Narrow(0), row.0.workload.name.clone();
        word[ActionKind::NAMES] "action", "action", Narrow(0), row.1.kind().name();
        opt text "to", "to", Narrow(0), row.1.target().map(Target::to_string);
        money "monthly_savings", "saves", Narrow(0), row.1.monthly_savings();
        word[RISKS] "risk", "risk", Narrow(0), row.1.risk().name();
        texts "caveats", "caveats", Data, row.1.caveats().to_vec();
    }
}

/// A sharing plan as an answer; `skipped` share no card, and `workloads` are those of the tenants
/// in an audit.
pub fn share_answer(plan: &SharePlan, skipped: &[NoTenant], workloads: &[&AuditedWorkload]) -> Doc {
    let chosen = plan.chosen();
    let packing = chosen.map(|(_, packing)| packing);
    let nodes = packing.map_or_else(Vec::new, |packing| nodes(packing, plan.question.on.cards));
    Doc {
        name: "share",
        headline: headline(plan, chosen),
        given: steps::given(plan),
        steps: steps::steps(plan, packing),
        tables: tables(plan, &nodes, skipped, workloads),
        caveats: rows! {
            if !workloads.is_empty() => "these cards are for the tenants of all workloads at once, on one type: savings of the plan of the audit add up, and these do not come on top".to_owned();
            for caveat in packing.map_or_else(Vec::new, |packing| caveats::caveats(plan, packing, &nodes)) => caveat;
        },
        missing: missing_data(plan),
        files: files::files(plan, &nodes),
        next: next(plan, packing),
        ..Doc::default()
    }
}

/// A way to share, for people.
fn way(method: Method) -> &'static str {
    match method {
        Method::Mig => "MIG",
        Method::ByClass => "the sharing of each class",
        Method::Mps => "MPS",
        Method::TimeSlicing => "time-slicing",
    }
}

fn tables(
    plan: &SharePlan,
    nodes: &[Node<'_>],
    skipped_tenants: &[NoTenant],
    workloads: &[&AuditedWorkload],
) -> Vec<Table> {
    let question = &plan.question;
    let places = || {
        nodes.iter().flat_map(|node| {
            let cards = node.cards.iter().enumerate();
            cards.map(move |(gpu, card)| Place { node, gpu, card, mode: node.mode_of(card) })
        })
    };
    let placed = places().flat_map(|place| {
        place.card.tenants.iter().map(move |slice| {
            let tenant = &question.tenants[slice.tenant];
            let (vram_needed_mib, total_slices) =
                (question.vram_needed_mib(tenant), plan.total_slices);
            let slice = slice.placement.as_ref();
            Placement { place, tenant, vram_needed_mib, slice, total_slices }
        })
    });
    let chosen = plan.chosen().map(|(method, _)| method);
    let methods = plan.methods.iter().map(|MethodOutcome { method, outcome }| {
        let packing = outcome.as_ref().ok();
        let (is_chosen, saved) =
            (chosen == Some(*method), packing.and_then(|packing| plan.saved(packing)));
        let reason = outcome.as_ref().err().map(ToString::to_string);
        Way { method: *method, is_chosen, packing, saved, reason }
    });
    let actions = workloads.iter();
    let actions =
        actions.flat_map(|audited| audited.actions.iter().map(|action| (*audited, action)));
    rows! {
        if !workloads.is_empty() => Table::of("plan", "THE PLAN OF THE AUDIT", ("action", "actions"), planned(), actions);
        Table::of("placements", "PLACEMENTS", ("tenant", "tenants"), placements(), placed);
        Table::of("cards", "CARDS", ("card", "cards"), cards(), places());
        Table::of("methods", "WAYS TO SHARE", ("way", "ways"), ways(), methods);
        if !skipped_tenants.is_empty() => Table::of("left_out", "SKIPPED", ("workload", "workloads"), skipped(), skipped_tenants);
    }
}

fn headline(plan: &SharePlan, chosen: Option<(Method, &Packing)>) -> String {
    let question = &plan.question;
    let tenants = count_of(question.tenants.len(), "tenant", "tenants");
    let per_month = |fleet: String, cost: Option<Money>| {
        format!("{fleet}, {} per month", money_or_absent(cost))
    };
    let on = |instances: usize| format!("{instances} × {}", question.on.instance_type);
    let before = match &question.today {
        Some(today) => per_month(format!("today: {}", fleet(today)), plan.today_monthly),
        None => {
            per_month(format!("one GPU each: {}", on(plan.alone_instances)), plan.alone_monthly)
        }
    };
    let Some((method, packing)) = chosen else {
        return format!("{tenants} cannot share the GPUs of this type; {before}");
    };
    let (cards, way) = (count_of(packing.cards(), "card", "cards"), way(method));
    let month = per_month(on(packing.instances_with_spare()), packing.monthly);
    let gain = match plan.saved(packing) {
        Some(saved) if saved.amount() > Decimal::ZERO => String::new(),
        Some(saved) if saved.amount() < Decimal::ZERO => {
            let more = Money::new(-saved.amount(), saved.currency());
            format!("sharing costs {more} more per month. ")
        }
        None if packing.instances_with_spare() < plan.instances_before() => String::new(),
        Some(_) | None => "sharing frees no instance. ".to_owned(),
    };
    let basis = match by_memory_alone(plan, packing) {
        0 => String::new(),
        1 => "; this rests on memory alone for 1 tenant: measure its peak first".to_owned(),
        unknown => format!(
            "; this rests on memory alone for {}: measure their peaks first",
            count_of(unknown, "tenant", "tenants")
        ),
    };
    format!("{gain}{tenants} on {cards} with {way}: {month}; {before}{basis}")
}

fn missing_data(plan: &SharePlan) -> Vec<Missing> {
    let unknown = plan.question.tenants.iter().filter(|tenant| tenant.peak_percent.is_none());
    rows! {
        for tenant in unknown => Missing::new(format!("peak of {}", tenant.name), "run it alone on a GPU beside `gpucost profile --duration 1h`, and pass its 99th percentile as PEAK");
    }
}

fn next(plan: &SharePlan, packing: Option<&Packing>) -> Vec<String> {
    let question = &plan.question;
    let name = shell_word(&question.on.instance_type);
    let region = shell_word(&question.region);
    let smaller = packing.and_then(|packing| plan.smaller(packing));
    // A commitment to what sharing does not make cheaper is not advice.
    let is_gain = |saved: Money| saved.amount() > Decimal::ZERO;
    let saves = |packing: &&Packing| plan.saved(packing).is_some_and(is_gain);
    let is_advised = smaller.is_none() && question.has_commitments;
    rows! {
        for smaller in smaller => format!("gpucost pricing {} --region {region}", shell_word(&smaller.on.instance_type));
        if smaller.is_none() => format!("gpucost pricing {name} --region all");
        for packing in packing.filter(saves).filter(|_| is_advised) => format!("gpucost reserved --type {name} --region {region} --count {}", packing.instances_with_spare());
    }
}
