//! `gpucost share`: tenants on cards, and what that costs.

mod files;

use crate::analysis::{AuditedWorkload, NoTenant};
use crate::catalog::MigProfile;
use crate::domain::{Action, ActionKind, HourlyRate, Money, Target};
use crate::planners::share::{
    CardMode, Isolation, Method, MethodOutcome, Origin, PackedCard, Packing, SharePlan, ShareTenant,
};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::promises::RISKS;
use crate::report::shared::text::{
    counted, joined, money, money_or_absent, shell_word, unit_price,
};
use crate::savings::{SHARED_TARGET_PERCENT, Slice};
use files::{Node, by_memory_alone, fleet, nodes, packed_slices, replicas, resource, slowdown};
use rust_decimal::Decimal;

/// A card with its instance and its place there.
type Place<'a> = (&'a Node<'a>, usize, &'a PackedCard);

/// A tenant on a card of a plan.
type Placement<'a> = (&'a SharePlan, Place<'a>, &'a Slice);

columns! {
    fn placements<'a>(row: Placement<'a>) {
        text "tenant", "tenant", Narrow(0), tenant(row).name.clone();
        opt text "owner", "owner", Wide, tenant(row).owner.clone();
        word[Isolation::NAMES] "class", "class", Wide, tenant(row).isolation.name();
        count "instance", "instance", Narrow(0), row.1.0.number;
        count "gpu", "GPU", Narrow(0), row.1.1;
        word[CardMode::NAMES] "mode", "mode", Narrow(0), mode(&row.1).name();
        opt text "slice", "slice", Narrow(0), profile(row).map(|profile| profile.name.clone());
        opt count "slice_start", "start", Wide, row.2.placement.as_ref().map(|(_, start)| *start), "Memory slice.";
        text "resource", "resource", Wide, resource(mode(&row.1), profile(row).map(|profile| profile.name.as_str())), "Name in Kubernetes.";
        number[0] "vram_peak_mib", "VRAM, MiB", Wide, tenant(row).vram_peak_mib;
        number[0] "vram_needed_mib", "needs, MiB", Narrow(0), row.0.question.vram_needed_mib(tenant(row)), "With headroom.";
        opt percent "peak_percent", "peak", Narrow(0), tenant(row).peak_percent, "Of a whole card.";
        opt number[2] "slowdown_bound", "slowdown", Narrow(0), profile(row).map(|profile| slowdown(row.0.total_slices, profile.compute_slices)), "Times as long, at most.";
        text "source", "source", Wide, tenant(row).source.clone();
    }

    fn cards<'a>(row: Place<'a>) {
        count "instance", "instance", Narrow(0), row.0.number;
        count "gpu", "GPU", Narrow(0), row.1;
        word[CardMode::NAMES] "mode", "mode", Narrow(0), mode(row).name();
        text "setup", "setup", Narrow(0), row.0.setup.clone();
        opt text "owner", "owner", Wide, row.0.lot.owner.clone();
        count "tenants", "tenants", Narrow(0), row.2.tenants.len();
        opt percent "peak_percent", "peak", Narrow(0), row.2.peak_percent;
        opt percent "separate_peaks_percent", "separate peaks", Wide, row.2.separate_percent;
        number[0] "vram_needed_mib", "needs, MiB", Wide, row.2.vram_needed_mib;
        opt count "compute_slices_free", "compute free", Narrow(0), row.2.fragments.map(|slices| slices.compute_free);
        opt count "memory_slices_free", "memory free", Narrow(0), row.2.fragments.map(|slices| slices.memory_free);
        opt count "memory_slices_stranded", "stranded", Narrow(0), row.2.fragments.map(|slices| slices.memory_stranded);
    }

    fn ways<'a>(row: (&'a SharePlan, &'a MethodOutcome)) {
        text "method", "way", Narrow(0), way(row.1.method).to_owned();
        flag "chosen", "chosen", Wide, row.0.chosen().is_some_and(|(method, _)| method == row.1.method);
        opt count "cards", "cards", Narrow(0), row.1.outcome.as_ref().ok().map(Packing::cards);
        opt count "least_cards", "at least", Narrow(0), row.1.outcome.as_ref().ok().map(Packing::least_cards);
        opt count "instances", "instances", Narrow(0), row.1.outcome.as_ref().ok().map(Packing::instances_with_spare);
        opt money "cost_monthly", "month", Narrow(0), row.1.outcome.as_ref().ok().and_then(|packing| packing.monthly);
        opt money "saved_monthly", "saved", Wide, row.1.outcome.as_ref().ok().and_then(|packing| row.0.saved(packing));
        opt text "reason", "out because", Narrow(0), row.1.outcome.as_ref().err().map(ToString::to_string);
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
        given: given(plan),
        steps: steps(plan, packing),
        tables: tables(plan, &nodes, skipped, workloads),
        caveats: rows! {
            if !workloads.is_empty() => "these cards are for the tenants of all workloads at once, on one type: savings of the plan of the audit add up, and these do not come on top".to_owned();
            ..packing.into_iter().flat_map(|packing| caveats(plan, packing, &nodes));
        },
        missing: rows! {
            for tenant in plan.question.tenants.iter().filter(|tenant| tenant.peak_percent.is_none()) => Missing::new(format!("peak of {}", tenant.name), "run it alone on a GPU beside `gpucost profile --duration 1h`, and pass its 99th percentile as PEAK");
        },
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
    let places = || {
        nodes
            .iter()
            .flat_map(|node| (0..).zip(node.cards).map(move |(gpu, card)| (node, gpu, card)))
    };
    let placed =
        places().flat_map(|place| place.2.tenants.iter().map(move |slice| (plan, place, slice)));
    let methods = plan.methods.iter().map(|method| (plan, method));
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

fn tenant<'a>((plan, _, slice): &Placement<'a>) -> &'a ShareTenant {
    &plan.question.tenants[slice.tenant]
}

fn profile<'a>((_, _, slice): &Placement<'a>) -> Option<&'a MigProfile> {
    slice.placement.as_ref().map(|(profile, _)| profile)
}

fn mode((node, _, card): &Place<'_>) -> CardMode {
    node.mode_of(card)
}

fn headline(plan: &SharePlan, chosen: Option<(Method, &Packing)>) -> String {
    let question = &plan.question;
    let tenants = counted(question.tenants.len(), "tenant", "tenants");
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
    let (cards, way) = (counted(packing.cards(), "card", "cards"), way(method));
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
            counted(unknown, "tenant", "tenants")
        ),
    };
    format!("{gain}{tenants} on {cards} with {way}: {month}; {before}{basis}")
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

/// Where a type or a region is from.
fn origin(origin: Origin, flag: &'static str) -> &'static str {
    match origin {
        Origin::Flag => flag,
        Origin::MostTenants => "most tenants",
        Origin::Home => "home region",
    }
}

fn given(plan: &SharePlan) -> Vec<Given> {
    let question = &plan.question;
    let (on, price) = (&question.on, question.price.as_ref());
    let tenants = question.tenants.len();
    let peaks = match question.tenants.iter().filter(|tenant| !tenant.hours.is_empty()).count() {
        0 if tenants > 0 => "separate peaks added up",
        known if known == tenants => "peaks added up hour by hour",
        _ => "peaks added up hour by hour where hours are known",
    };
    let price_source = price.map_or("unpriced".to_owned(), |quote| {
        format!("Linux, {}, {}", quote.effective_date, quote.origin.name())
    });
    rows! {
        Given::new("instance_type", "instance type", Value::text(&on.instance_type), origin(question.on_origin, "--type"));
        Given::new("region", "region", Value::text(&question.region), origin(question.region_origin, "--region"));
        Given::new("gpus_per_instance", "GPUs of an instance", Value::make_count(on.cards), format!("{} GPUs", on.offer.model));
        Given::new("card_mib", "memory of a GPU, MiB", Value::Number(on.card_mib, 0), "catalog");
        Given::new("hourly", "on-demand price per hour", Value::make_price(price.map(|quote| quote.rate.an_hour())), price_source);
        Given::new("vram_headroom", "factor on VRAM", Value::Number(question.vram_headroom, 2), "policy");
        Given::new("target_percent", "peaks of a card", Value::Percent(SHARED_TARGET_PERCENT), "policy");
        Given::new("tenants", "tenants", Value::make_count(tenants), peaks);
    }
}

fn steps(plan: &SharePlan, packing: Option<&Packing>) -> Vec<Step> {
    let question = &plan.question;
    let price = question.price.as_ref().map(|quote| quote.rate);
    let hours = question.hours_per_month.normalize();
    let month = |instances: usize, rate: HourlyRate| {
        format!("{instances} × {} × {hours}", unit_price(rate.an_hour()))
    };
    let bound = |packing: &Packing| match packing.least_cards() {
        least if least == packing.cards() => "no packing takes fewer".to_owned(),
        least => format!("no packing takes fewer than {least}"),
    };
    let (before, cost_before) = match &question.today {
        Some(today) => {
            let parts = today.instances.values().map(|(count, rate)| Some(month(*count, (*rate)?)));
            let parts = parts.collect::<Option<Vec<String>>>().map(|parts| parts.join(" + "));
            (("instances today", fleet(today)), ("today, per month", parts, plan.today_monthly))
        }
        None => {
            let alone = format!("{} / {}, rounded up", question.tenants.len(), question.on.cards);
            let spare = match question.survive_nodes {
                0 => String::new(),
                spare => format!(", + {spare}"),
            };
            let parts = price.map(|rate| month(plan.alone_instances, rate));
            (
                ("instances for one GPU each", alone + &spare),
                ("one GPU each, per month", parts, plan.alone_monthly),
            )
        }
    };
    let (cost_name, parts, cost) = cost_before;
    rows! {
        ..packing.into_iter().flat_map(|packing| largest(plan, packing));
        for packing in packing => Step::new("cards", bound(packing), Value::make_count(packing.cards()));
        for packing in packing => Step::new("instances", instances(plan, packing), Value::make_count(packing.instances));
        for packing in packing.filter(|packing| packing.spare > 0) => Step::new("with spare instances", format!("{} + {}", packing.instances, packing.spare), Value::make_count(packing.instances_with_spare()));
        Step::new(before.0, before.1, Value::make_count(plan.instances_before()));
        for (packing, rate) in packing.zip(price) => Step::new("shared, per month", format!("{}, rounded to cents each", month(packing.instances_with_spare(), rate)), Value::make_money(packing.monthly));
        for (parts, cost) in parts.zip(cost) => Step::new(cost_name, format!("{parts}, rounded to cents each"), Value::Money(cost));
        ..packing.and_then(|packing| saved(plan, packing));
    }
}

fn instances(plan: &SharePlan, packing: &Packing) -> String {
    let lots = packing.lots.iter();
    let lots = lots.map(|lot| format!("{} / {}", lot.cards.len(), plan.question.on.cards));
    let each = if packing.lots.len() > 1 { ", each" } else { "," };
    format!("{}{each} rounded up", joined(lots, " + "))
}

/// What sharing saves, or costs more.
fn saved(plan: &SharePlan, packing: &Packing) -> Option<Step> {
    let saved = plan.saved(packing)?;
    let before = if plan.question.today.is_some() { "today" } else { "one GPU each" };
    if saved.amount() < Decimal::ZERO {
        let more = Money::new(-saved.amount(), saved.currency());
        return Some(Step::new("more per month", format!("shared − {before}"), Value::Money(more)));
    }
    let unknown = match by_memory_alone(plan, packing) {
        0 => String::new(),
        unknown => format!(", by memory alone for {}", counted(unknown, "tenant", "tenants")),
    };
    Some(Step::new("saved per month", format!("{before} − shared{unknown}"), Value::Money(saved)))
}

/// The arithmetic of the tenant with most memory, and of its slice.
fn largest(plan: &SharePlan, packing: &Packing) -> Vec<Step> {
    let question = &plan.question;
    let tenants = question.tenants.iter().enumerate().rev();
    let largest =
        tenants.max_by(|(_, left), (_, right)| left.vram_peak_mib.total_cmp(&right.vram_peak_mib));
    let Some((index, tenant)) = largest else { return Vec::new() };
    let needed = question.vram_needed_mib(tenant);
    let slice = packed_slices(packing).find(|slice| slice.tenant == index);
    let profile = slice.and_then(|slice| Some(&slice.placement.as_ref()?.0));
    let alike = question.tenants.iter().filter(|other| other.vram_peak_mib == tenant.vram_peak_mib);
    let name = match (profile, alike.count()) {
        (Some(_), alike @ 2..) => {
            format!("{} such as {}", counted(alike, "tenant", "tenants"), tenant.name)
        }
        _ => tenant.name.clone(),
    };
    let total = plan.total_slices;
    let peak = profile.zip(tenant.peak_percent);
    let peak = peak.map(|(profile, peak)| (peak, profile.compute_slices.max(1)));
    rows! {
        Step::new(format!("VRAM of {name}, MiB"), format!("{:.0} × {}", tenant.vram_peak_mib, question.vram_headroom), Value::Number(needed, 0));
        for profile in profile => Step::new("its slice", profile.memory_mib.map_or(String::new(), |mib| format!("{needed:.0} ≤ {mib} MiB of {}", profile.name)), Value::text(&profile.name));
        for (peak, slices) in peak => Step::new("its peak on the slice", format!("{peak:.1} × {total} / {slices} ≤ {SHARED_TARGET_PERCENT:.0}"), Value::Percent(peak * f64::from(total) / f64::from(slices)));
    }
}

/// What to know before cards are shared, the gravest first.
fn caveats(plan: &SharePlan, packing: &Packing, nodes: &[Node<'_>]) -> Vec<String> {
    let question = &plan.question;
    let (on, tenants) = (&question.on, &question.tenants);
    let of_tenants = |number: usize| counted(number, "tenant", "tenants");
    let of_instances = |number: usize| counted(number, "instance", "instances");
    let without_peak = tenants.iter().filter(|tenant| tenant.peak_percent.is_none()).count();
    let without_hours = tenants.iter().filter(|tenant| tenant.hours.is_empty()).count();
    let kept = question.today.as_ref().filter(|today| today.kept > 0);
    let gpus = packing.instances * usize::from(on.cards);
    let empty = gpus.saturating_sub(packing.cards());
    let paid = format!("{empty} of {gpus} GPUs stay empty, and are paid for");
    let smaller = plan.smaller(packing);
    let placements = packed_slices(packing).filter_map(|slice| slice.placement.as_ref());
    let smallest = placements.map(|(profile, _)| profile.compute_slices).min();
    let slower = smallest.map(|smallest| slowdown(plan.total_slices, smallest));
    let shares = |mode: CardMode| nodes.iter().any(|node| node.mode == mode);
    let is_uneven = nodes.iter().any(|node| {
        let has_replicas = matches!(node.mode, CardMode::Mps | CardMode::TimeSlicing);
        let most = replicas(node.cards);
        has_replicas && node.cards.iter().any(|card| card.tenants.len() < most)
    });
    let fragments = nodes.iter().flat_map(|node| node.cards).filter_map(|card| card.fragments);
    let stranded: u64 = fragments.map(|slices| u64::from(slices.memory_stranded)).sum();
    let fewer = packing.cards().saturating_sub(packing.least_cards());
    rows! {
        if !question.is_launched => format!("AWS launches no new {}: only instances that run already can be shared, and one that stops may not start again", on.instance_type);
        if without_peak > 0 => format!("the peak of {} is unknown: placed by memory alone, and the peaks of their cards are unknown as well", of_tenants(without_peak));
        for today in kept => format!("on {} of {} of today, other GPUs do work that is skipped: they stay until it moves, and what sharing saves is not known", today.kept, of_instances(today.count()));
        for smaller in smaller => format!("{paid}: {} × {name} with {} hold the same cards for {} per month. Check its CPUs and memory, and plan it with `--type {name}`", smaller.instances, counted(smaller.on.cards, "such GPU each", "such GPUs each"), money(smaller.monthly), name = smaller.on.instance_type);
        if smaller.is_none() && empty > 0 && empty * 2 >= gpus => format!("{paid}: no type with fewer of these GPUs is cheaper in this region");
        if packing.spare > 0 => format!("after the loss of {} all tenants have room; a spare instance must be set up like the lost one first", of_instances(packing.spare));
        if packing.spare == 0 && packing.instances > 0 => format!("losing one of {} leaves {}, and up to {} without room: `--survive-nodes 1` adds a spare one", of_instances(packing.instances), packing.instances - 1, of_tenants(packing.most_without_room));
        for ratio in slower => format!("a request may take up to {ratio:.2} times as long on the smallest slice: measure its latency there first");
        if slower.is_some_and(|ratio| ratio > question.max_latency_ratio) => format!("an audit plans requests that take more than {} times as long at `--risk high` alone", question.max_latency_ratio);
        if shares(CardMode::Mps) => "with MPS one process can slow down or crash the others of its card".to_owned();
        if exceeds_replica(plan, nodes) => "the device plugin gives every MPS replica the same part of the memory, and a tenant needs more than its part: start the control daemon with mps.sh instead".to_owned();
        if shares(CardMode::TimeSlicing) => "time-slicing limits no memory: a tenant that grows takes that of its neighbors".to_owned();
        if is_uneven => "Kubernetes hands out replicas in any order: tenants may meet on other cards than in this plan".to_owned();
        if without_hours > 0 && tenants.len() > 1 => format!("the hours of {} are unknown: their separate peaks are added up as if they came at the same time", of_tenants(without_hours));
        if stranded > 0 => format!("{} stranded: no slice of these tenants can begin there", counted(stranded, "free memory slice is", "free memory slices are"));
        if fewer > 0 => format!("another packing may take up to {} fewer: this one is not proved to be the best", counted(fewer, "card", "cards"));
    }
}

/// Whether a tenant needs more than the part of the memory that an MPS replica has.
fn exceeds_replica(plan: &SharePlan, nodes: &[Node<'_>]) -> bool {
    let question = &plan.question;
    nodes.iter().filter(|node| node.mode == CardMode::Mps).any(|node| {
        let part = question.on.card_mib / replicas(node.cards) as f64;
        let mut tenants = node.cards.iter().flat_map(|card| &card.tenants);
        tenants.any(|slice| question.vram_needed_mib(&question.tenants[slice.tenant]) > part)
    })
}
