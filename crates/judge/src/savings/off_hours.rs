//! The schedule of a workload as an action, with its dollars and its dangers.

use super::MovedInstance;
use super::group_share::{GroupAdvice, scheduled};
use super::schedule::{NoSchedule, Schedule, WEEK_HOURS, schedule};
use crate::catalog;
use crate::domain::{
    Action, ActionKind, Member, Money, Policy, PurchaseOption, Risk, Verdict, Workload,
    WorkloadKind, counted,
};
use jiff::tz::TimeZone;
use rust_decimal::Decimal;

/// Tag that names the time zone in which a workload's week runs.
pub const TIME_ZONE_TAG: &str = "gpucost:timezone";

/// Families whose capacity is scarce: what is given back may not come back.
const SCARCE_FAMILIES: [&str; 2] = ["p4", "p5"];

/// Running a workload only in the hours that it uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Scheduling {
    pub action: Action,
    pub schedule: Schedule,
    /// Share of the running time of each instance that falls into the hours off, 0–1, in
    /// the order of its members.
    pub saved_shares: Vec<Decimal>,
    /// The time zone that they are in, and why that one, such as `UTC, because
    /// neither a tag nor the policy names a zone`.
    pub zone: String,
    /// The name of that zone in the IANA database, such as `Europe/Berlin`.
    pub zone_name: String,
    pub warnings: Vec<String>,
    /// What to do and to check, the warnings first.
    pub steps: Vec<String>,
}

/// Switches a workload off in the hours in which it never works. Saves the share
/// of its running time that falls into them; what is committed saves nothing. `ended` are
/// other members of its Auto Scaling group that a plan ends before.
///
/// # Errors
/// With the reason why there is nothing to switch off or to save.
pub fn off_in_unused_hours(
    workload: &Workload,
    verdict: &Verdict,
    policy: &Policy,
    ended: &[&Member],
) -> Result<Scheduling, NoSchedule> {
    if workload.rests_on_runs().is_some() {
        return Err(NoSchedule::OnlyRuns);
    }
    if verdict.confidence.is_none() || verdict.is_idle() {
        return Err(NoSchedule::NotWorking);
    }
    let mut ran = workload.usage.iter().filter(|usage| usage.running.running_seconds > 0);
    let is_measured = ran.all(|usage| {
        let summary = usage.summary.as_ref();
        summary.is_some_and(|summary| summary.suffices(policy))
    });
    if !is_measured {
        return Err(NoSchedule::Unmeasured);
    }
    let pays_by_the_hour =
        matches!(workload.key.purchase_option, PurchaseOption::OnDemand | PurchaseOption::Spot);
    if !pays_by_the_hour {
        return Err(NoSchedule::CommittedHours);
    }
    let zone = Zone::of(workload, policy);
    // The habit of a group is that of every member: one that is new may have another.
    for (member, usage) in workload.members.iter().zip(&workload.usage) {
        if usage.running.running_seconds > 0 {
            Schedule::suffices(&member.activity)?;
        }
    }
    let mut schedule = schedule(&workload.activity, &zone.rules)?;
    let cost = workload.cost.as_ref().ok_or(NoSchedule::Unpriced)?;
    let saved_shares: Vec<Decimal> = match workload.members.as_slice() {
        [_] => vec![schedule.saved_share],
        members => members
            .iter()
            .map(|member| schedule.saved_share_of(&member.activity, &zone.rules))
            .collect(),
    };
    let costs = cost.instances.iter();
    let costs: Vec<Decimal> = costs.map(|instance| instance.monthly_exact().amount()).collect();
    schedule.saved_share = weighted_share(&saved_shares, &costs);
    if schedule.saved_share.is_zero() {
        return Err(NoSchedule::StoppedAlready);
    }
    let monthly = cost.compute_monthly;
    let action = Action::saving(
        ActionKind::Schedule,
        None,
        detail(&schedule, &zone.name),
        Money::new(monthly.amount() * schedule.saved_share, monthly.currency()),
        monthly,
        risk(workload),
    )
    .ok_or(NoSchedule::StoppedAlready)?;
    let warnings = warnings(workload, &schedule, &zone);
    let in_group = scheduled(workload, ended);
    let of_group = in_group.iter().flat_map(|advice| advice.caveats.clone());
    Ok(Scheduling {
        zone: format!("{}, {}", zone.name, zone.basis),
        zone_name: zone.name.clone(),
        action: action.with_caveats(of_group.chain(caveats(workload)).collect()),
        steps: steps(&schedule, &zone, &warnings, in_group),
        warnings,
        schedule,
        saved_shares,
    })
}

impl Scheduling {
    /// Share of the cost that falls into the hours off where each instance moves to what
    /// takes its place, 0–1.
    pub fn saved_share_of(&self, moved: &[MovedInstance]) -> Decimal {
        let costs = moved.iter().map(|instance| instance.monthly_at_todays_hours);
        weighted_share(&self.saved_shares, &costs.collect::<Vec<_>>())
    }
}

/// Share of a cost that falls into the hours off: each instance saves the share of its
/// own running time at its own price.
fn weighted_share(shares: &[Decimal], costs: &[Decimal]) -> Decimal {
    if shares.iter().all(|share| *share == shares[0]) {
        return shares.first().copied().unwrap_or_default();
    }
    let saved: Decimal = shares.iter().zip(costs).map(|(share, cost)| share * cost).sum();
    let total: Decimal = costs.iter().sum();
    saved.checked_div(total).unwrap_or_default()
}

/// Low where a tag declares work that no user waits for, high where requests or
/// production may, medium between.
fn risk(workload: &Workload) -> Risk {
    if workload.is_production() || workload.kind == WorkloadKind::Serving {
        return Risk::High;
    }
    match workload.declared_kind() {
        WorkloadKind::Development | WorkloadKind::Evaluation | WorkloadKind::Batch => Risk::Low,
        WorkloadKind::Training | WorkloadKind::Serving | WorkloadKind::Unknown => Risk::Medium,
    }
}

fn caveats(workload: &Workload) -> Vec<String> {
    let mut caveats = Vec::new();
    if workload.kind == WorkloadKind::Serving {
        caveats.push("requests fail during the off hours".to_owned());
    } else if workload.is_production() {
        caveats.push("production: callers fail during the off hours".to_owned());
    } else if workload.declared_kind() == WorkloadKind::Unknown {
        caveats.push(
            "workload kind not declared: requests would fail during the off hours".to_owned(),
        );
    }
    if is_scarce(workload) {
        caveats.push("P4 and P5 capacity may not be available again".to_owned());
    }
    caveats
}

fn is_scarce(workload: &Workload) -> bool {
    let instance_type = workload.key.instance_type.as_str();
    SCARCE_FAMILIES.iter().any(|scarce| instance_type.starts_with(scarce))
}

fn detail(schedule: &Schedule, zone: &str) -> String {
    let saved = if schedule.saved_share == schedule.off_share {
        String::new()
    } else {
        let percent = (schedule.saved_share * Decimal::ONE_HUNDRED).round_dp(1);
        format!("; {percent}% of its running time, the rest is already stopped")
    };
    format!(
        "off {} of {WEEK_HOURS} hours per week: {} ({zone}){saved}",
        schedule.off_hours_per_week,
        schedule.in_words()
    )
}

/// A time zone with the reason for it.
struct Zone {
    name: String,
    rules: TimeZone,
    basis: String,
    /// A name in the tag that no zone has.
    unknown: Option<String>,
}

impl Zone {
    /// By the workload's tag, else by the policy, else UTC.
    fn of(workload: &Workload, policy: &Policy) -> Self {
        let tag = workload
            .tags
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(TIME_ZONE_TAG))
            .map(|(_, value)| value.trim());
        if let Some((name, rules)) = tag.and_then(|name| Some((name, catalog::time_zone(name)?))) {
            return Self {
                name: name.to_owned(),
                rules,
                basis: format!("from the tag {TIME_ZONE_TAG}"),
                unknown: None,
            };
        }
        let unknown = tag.map(str::to_owned);
        let by_policy =
            policy.time_zone.as_ref().and_then(|name| Some((name, catalog::time_zone(name)?)));
        match by_policy {
            Some((name, rules)) => {
                Self { name: name.clone(), rules, basis: "from the policy".to_owned(), unknown }
            }
            None => Self {
                name: "UTC".to_owned(),
                rules: TimeZone::UTC,
                basis: "because neither a tag nor the policy sets a time zone".to_owned(),
                unknown,
            },
        }
    }
}

fn warnings(workload: &Workload, schedule: &Schedule, zone: &Zone) -> Vec<String> {
    let mut warnings = Vec::new();
    if workload.has_instance_store() {
        warnings.push(
            "confirm that no data on the instance store is needed: every stop erases it".to_owned(),
        );
    }
    if is_scarce(workload) {
        warnings.push(
            "P4 and P5 capacity may not be available again: a start can fail with \
             insufficient capacity, and a reservation that holds it costs as much as running"
                .to_owned(),
        );
    }
    let cut = schedule.active_hours_cut();
    if cut > 0 {
        let weeks = counted(schedule.counter_evidence.len(), "week", "weeks");
        let cut = counted(cut, "active hour", "active hours");
        warnings.push(format!(
            "usage varies by week: schedules based on the other weeks would have cut {cut} \
             over {weeks}"
        ));
    }
    if schedule.unknown_hours_per_week > 0 {
        warnings.push(format!(
            "on only because of missing data: {} per week, which agents without outages would \
             free",
            counted(schedule.unknown_hours_per_week, "hour", "hours")
        ));
    }
    if let Some(name) = &zone.unknown {
        warnings.push(format!("the tag {TIME_ZONE_TAG} has an unknown time zone: {name}"));
    }
    warnings
}

fn steps(
    schedule: &Schedule,
    zone: &Zone,
    warnings: &[String],
    in_group: Option<GroupAdvice>,
) -> Vec<String> {
    let mut steps = warnings.to_vec();
    steps.push(format!("off {}; time zone {}, {}", schedule.in_words(), zone.name, zone.basis));
    match in_group {
        Some(advice) => steps.extend(advice.steps),
        None => {
            steps.push("stop and start it with EventBridge Scheduler in these hours".to_owned())
        }
    }
    steps.push(
        "start it early enough to be ready, and keep a way to run it outside the schedule"
            .to_owned(),
    );
    steps
}
