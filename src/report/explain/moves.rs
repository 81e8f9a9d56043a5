//! What stops, schedules, shared cards and the spot market rest on.

use super::cost::{figure, price, rates, share};
use super::line::{Line, PlanState};
use crate::analysis::AuditedWorkload;
use crate::catalog::{MigProfile, mig_profiles};
use crate::domain::{ACTIVE_PERCENT, Action, InstanceCost, Money, Workload, counted};
use crate::report::shared::text::{count, money};
use crate::savings::{
    SHARED_TARGET_PERCENT, Scheduling, Sharing, SharingMode, SpotFigures, WEEK_HOURS,
};
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a stop saves of its members, those that save alike together.
pub(super) fn stopped(action: &Action, audited: &AuditedWorkload, lines: &mut Vec<Line>) {
    let (Some(stop), Some(cost)) = (audited.proposals.stop(), &audited.workload.cost) else {
        return;
    };
    let members = audited.workload.instances.iter().zip(&cost.instances);
    let ended: Vec<_> = members.filter(|(id, _)| stop.members.contains(id)).collect();
    let open = |instance: &InstanceCost| {
        instance.monthly().amount() - instance.committed_monthly().amount()
    };
    let uncovered: Decimal = ended.iter().map(|(_, instance)| open(instance)).sum();
    let is_passed_on = uncovered != action.monthly_savings().amount();
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (id, instance) in ended {
        let (monthly, committed) = (instance.monthly(), instance.committed_monthly());
        let saves = if committed.amount().is_zero() || is_passed_on {
            money(monthly)
        } else {
            let saved = money(Money::new(open(instance), monthly.currency()));
            format!("{} − {} committed = {saved}", money(monthly), money(committed))
        };
        alike.entry(saves).or_default().push(id.as_str());
    }
    steps! { lines;
        "saved" => "{}, of which {} is certain", money(action.monthly_savings()), money(action.certain());
        "committed" if is_passed_on => "commitments that covered it cover other instances then";
        "instances" for (saves, ids) in alike => "{saves}: {}", ids.join(" ");
    }
}

/// The hours that are off, and what speaks against it.
pub(super) fn schedule(scheduling: &Scheduling, lines: &mut Vec<Line>) {
    let hours = &scheduling.schedule;
    let (off, unknown) = (hours.off_hours_per_week, hours.unknown_hours_per_week);
    steps! { lines;
        "time zone" => "{}", scheduling.zone;
        "off" => "{off} of {WEEK_HOURS} hours per week: every GPU was below {ACTIVE_PERCENT}% in each occurrence, at least two";
        "off" for maximum in hours.largest_maximum => "the highest sample in these hours is {maximum:.1}%";
        "on" if unknown > 0 => "{} per week, because data is missing", counted(unknown, "hour", "hours");
        "counter-evidence" for week in &hours.counter_evidence => "a schedule based on the other weeks would have cut {} in the week from {}", counted(week.active_hours_cut, "active hour", "active hours"), week.start;
        "share" => "{} of the running time falls in the off hours", share(hours.saved_share);
        "warning" for warning in &scheduling.warnings => "{warning}";
    }
}

/// The spot market of the type that the actions before led to.
pub(super) fn spot(state: &mut PlanState<'_>, lines: &mut Vec<Line>) {
    let markets = state.audited.proposals.spot();
    let Some(offer) = markets.and_then(|markets| markets.get(&state.instance_type)) else { return };
    market(&offer.figures, lines);
    let (effective, on_demand) = (offer.effective.amount(), offer.figures.on_demand.amount());
    let before = figure(state.monthly, 6);
    state.monthly = state.monthly * effective / on_demand;
    steps! { lines;
        "left" => "{before} × {} / {} = {} per month", effective.normalize(), on_demand.normalize(), figure(state.monthly, 6);
    }
}

fn market(figures: &SpotFigures, lines: &mut Vec<Line>) {
    let hazard = figures.interruptions;
    let band = hazard.band_per_node_hour.map_or_else(
        || "no interruption band".to_owned(),
        |band| format!("λ of the band −ln(1 − p)/730 = {band:.6}"),
    );
    let basis = if hazard.is_prudence { "prudence" } else { "the band" };
    let (nodes, hourly) = (figures.nodes, hazard.per_hour);
    let work = figures.checkpointing;
    let (cost, restart) = (work.cost.as_secs(), work.restart.as_secs());
    let interval = figures.checkpoint_interval.as_secs();
    let overhead = figure(figures.overhead, 6);
    let [spot, on_demand] = [figures.spot.rate, figures.on_demand].map(|rate| rate.amount());
    let (spot, on_demand) = (spot.normalize(), on_demand.normalize());
    let effective = figures.effective.zip(figures.effective_savings_percent());
    steps! { lines;
        "spot" => "{spot}/h: {}", figures.spot.basis;
        "price" for (key, quote) in &figures.spot.quotes => "{}/h {}", quote.rate.amount().normalize(), price(key, quote);
        "interruptions" => "{band} per node-hour; {nodes} × {:.6} by {basis}: λ = {hourly:.6} per hour", hourly / f64::from(nodes);
        "checkpoints" if figures.is_best_interval => "τ* = sqrt(2 × {cost} s × 3600 / λ) = {interval} s, at most 3600 s";
        "overhead" => "o = {cost} / {interval} + λ × ({interval} / 2 + {restart}) / 3600 = {overhead} (checkpoints alone {})", share(figures.checkpoint_share);
        "effective" for (rate, saved) in effective => "{spot} / (1 − {overhead}) = {}/h, {}% below {on_demand}/h; the price alone is {}% below", figure(rate.amount(), 6), figure(saved, 2), figure(figures.naive_savings_percent(), 2);
        "break-even" for even in figures.break_even_per_hour => "spot costs as much as on-demand at λ = {even:.4} per hour";
    }
}

/// Which tenants sit on which slices, and why they fit.
pub(super) fn sharing(workload: &Workload, sharing: &Sharing, lines: &mut Vec<Line>) {
    let Some(offer) = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref()) else { return };
    let total = mig_profiles(offer).iter().map(|profile| profile.compute_slices).max();
    // Tenants, and the most MiB and percent of one of them.
    let mut by_profile: BTreeMap<&str, (&MigProfile, u64, f64, f64)> = BTreeMap::new();
    for slice in sharing.cards.iter().flat_map(|card| &card.slices) {
        let Some((profile, _)) = &slice.placement else { continue };
        let seen = by_profile.entry(&profile.name).or_insert((profile, 0, 0.0, 0.0));
        let tenant = sharing.tenants[slice.tenant];
        seen.1 += 1;
        seen.2 = seen.2.max(tenant.vram_needed_mib);
        seen.3 = seen.3.max(tenant.peak_percent);
    }
    for (name, (profile, tenants, needed, peak)) in by_profile {
        let slices = f64::from(profile.compute_slices);
        let card_slices = f64::from(total.unwrap_or(profile.compute_slices));
        let memory = profile.memory_mib.map_or_else(|| "unknown".to_owned(), count);
        let needed = counted(format!("{needed:.0}"), "MiB", "MiB");
        steps! { lines;
            "slices" => "{tenants} × {name}: at most {needed} needed (peak with headroom) of {memory} MiB; peak at most {peak:.1}% × {card_slices} / {slices} slices = {:.1}% ≤ {SHARED_TARGET_PERCENT}%", peak * card_slices / slices;
        }
    }
    let fullest = sharing.cards.iter().map(|card| card.peak_percent).fold(0.0, f64::max);
    let how = if sharing.mode == SharingMode::Mps { ", using MPS" } else { "" };
    steps! { lines;
        "each card" => "at most {} tenants{how}, sum of peaks at most {fullest:.1}% ≤ {SHARED_TARGET_PERCENT}%", sharing.most_per_card();
    }
    let (Some(target), Some(cost)) = (sharing.action.target(), &workload.cost) else { return };
    let per_instance = usize::from(offer.share.visible_devices());
    let (cards, kept) = (sharing.cards.len(), target.count as usize);
    let by_cards = cards.div_ceil(per_instance);
    let by_cpu = if kept > by_cards { "; vCPUs require more" } else { "" };
    steps! { lines;
        "cards" => "{} / {per_instance} per instance: {}, rounded up{by_cpu}", counted(cards, "card", "cards"), counted(by_cards, "instance", "instances");
    }
    // Which ones go is not known: the most expensive stay.
    let mut dearest: Vec<&InstanceCost> = cost.instances.iter().collect();
    dearest.sort_by_key(|instance| Reverse(instance.quote.rate.amount() * instance.monthly_hours));
    let kept = dearest.into_iter().take(kept);
    let sum =
        rates(kept.map(|instance| (&instance.key, &instance.quote, instance.monthly_hours)), lines);
    steps! { lines;
        "left" => "{} per month", figure(sum, 6);
    }
}
