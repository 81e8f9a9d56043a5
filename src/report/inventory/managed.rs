//! Inference components and training plans of an inventory, for programs and for people.

use crate::analysis::ListedHost;
use crate::domain::{Copies, InferenceComponent, Money, TrainingPlan};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, counted, currency_code, devices_or_absent, fit, json_account, json_money, json_rate,
    money_or_absent,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct HostView {
    account: Option<String>,
    region: String,
    group: String,
    instances: Vec<String>,
    gpus: Option<f64>,
    reserved_gpus: Option<f64>,
    unreserved_gpus: Option<f64>,
    currency: Option<&'static str>,
    unreserved_hourly_cost: Option<f64>,
    components: Vec<ComponentView>,
}

#[derive(Serialize)]
struct ComponentView {
    name: String,
    desired_copies: Option<u32>,
    copies: Vec<CopiesView>,
}

#[derive(Serialize)]
struct CopiesView {
    instance_type: Option<String>,
    count: u32,
    gpus_each: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct PlanView {
    id: String,
    account: Option<String>,
    region: String,
    status: Option<&'static str>,
    instances: Vec<PartView>,
    total: Option<u32>,
    in_use: Option<u32>,
    start: Option<String>,
    end: Option<String>,
    duration_minutes: Option<u64>,
    currency: Option<&'static str>,
    upfront_fee: Option<f64>,
    effective_hourly: Option<f64>,
}

#[derive(Serialize)]
struct PartView {
    instance_type: String,
    count: u32,
}

/// A number of GPUs to six decimals.
fn number(gpus: Option<Decimal>) -> Option<f64> {
    gpus?.round_dp(6).to_f64()
}

pub(super) fn host_view(listed: &ListedHost<'_>) -> HostView {
    let host = listed.host;
    HostView {
        account: json_account(&host.account),
        region: host.region.clone(),
        group: host.group.clone(),
        instances: listed.instances.iter().map(ToString::to_string).collect(),
        gpus: number(listed.gpus),
        reserved_gpus: number(listed.reserved),
        unreserved_gpus: number(listed.unreserved()),
        currency: currency_code(listed.unreserved_hourly),
        unreserved_hourly_cost: listed.unreserved_hourly.and_then(json_money),
        components: host.components.iter().map(component_view).collect(),
    }
}

fn component_view(component: &InferenceComponent) -> ComponentView {
    let copies = component.copies.iter();
    ComponentView {
        name: component.name.clone(),
        desired_copies: component.desired_copies,
        copies: copies
            .map(|one: &Copies| CopiesView {
                instance_type: one.instance_type.clone(),
                count: one.count,
                gpus_each: number(one.gpus_each),
            })
            .collect(),
    }
}

pub(super) fn plan_view(plan: &TrainingPlan) -> PlanView {
    let instances = plan.instances.iter().map(|(name, count)| PartView {
        instance_type: name.clone(),
        count: *count,
    });
    let hourly = plan.effective_hourly();
    PlanView {
        id: plan.id.clone(),
        account: json_account(&plan.account),
        region: plan.region.clone(),
        status: plan.status.map(|status| status.name()),
        instances: instances.collect(),
        total: plan.total,
        in_use: plan.in_use,
        start: plan.start.map(|time| time.to_string()),
        end: plan.end.map(|time| time.to_string()),
        duration_minutes: plan.duration_minutes,
        currency: currency_code(plan.upfront_fee),
        upfront_fee: plan.upfront_fee.and_then(json_money),
        effective_hourly: hourly.and_then(|rate| json_rate(rate.amount())),
    }
}

/// How far the GPUs of endpoints are reserved.
pub(super) fn hosts_section(hosts: &[ListedHost<'_>], style: TableStyle) -> String {
    let components: usize = hosts.iter().map(|one| one.host.components.len()).sum();
    let title = format!(
        "INFERENCE COMPONENTS  {} on {}",
        counted(components as u64, "component", "components"),
        counted(hosts.len() as u64, "endpoint variant", "endpoint variants"),
    );
    let header = [
        "ENDPOINT",
        "GPUS",
        "RESERVED",
        "UNRESERVED",
        "UNRESERVED $/HOUR",
        "REGION",
        "COPIES",
    ];
    let mut table = PlainTable::new(&header, 1..=4);
    for listed in hosts {
        let host = listed.host;
        let name = host.group.strip_prefix("endpoint/").unwrap_or(&host.group);
        table.row(vec![
            fit(name, 30),
            devices_or_absent(listed.gpus),
            devices_or_absent(listed.reserved),
            devices_or_absent(listed.unreserved()),
            money_or_absent(listed.unreserved_hourly),
            fit(&host.region, 16),
            fit(&copies(&host.components), 60),
        ]);
    }
    format!("{}\n{}", style.heading(&title), table.text(style))
}

/// Copies of each component, such as `2 × llama`.
fn copies(components: &[InferenceComponent]) -> String {
    if components.is_empty() {
        return ABSENT.to_owned();
    }
    let all = components
        .iter()
        .map(|one| format!("{} × {}", one.current_copies(), one.name));
    all.collect::<Vec<_>>().join(", ")
}

/// What was paid ahead for capacity.
pub(super) fn plans_section(plans: &[TrainingPlan], style: TableStyle) -> String {
    let title = format!(
        "TRAINING PLANS  {}, prepaid and in no monthly cost",
        counted(plans.len() as u64, "plan", "plans")
    );
    let header = [
        "PLAN",
        "FEE",
        "$/HOUR EACH",
        "IN USE",
        "STATUS",
        "FROM",
        "UNTIL",
        "REGION",
        "INSTANCES",
    ];
    let mut table = PlainTable::new(&header, 1..=3);
    for plan in plans {
        let hourly = plan.effective_hourly();
        let hourly = hourly.map(|rate| Money::new(rate.amount(), rate.currency()));
        table.row(vec![
            fit(plan.name(), 30),
            money_or_absent(plan.upfront_fee),
            money_or_absent(hourly),
            in_use(plan),
            plan.status
                .map_or_else(|| ABSENT.to_owned(), |status| status.to_string()),
            day(plan.start),
            day(plan.end),
            fit(&plan.region, 16),
            fit(&instances(plan), 60),
        ]);
    }
    format!("{}\n{}", style.heading(&title), table.text(style))
}

/// Instances in use among all, such as `3 of 4`.
fn in_use(plan: &TrainingPlan) -> String {
    match (plan.in_use, plan.total) {
        (Some(used), Some(total)) => format!("{used} of {total}"),
        _ => ABSENT.to_owned(),
    }
}

fn day(time: Option<Timestamp>) -> String {
    time.map_or_else(
        || ABSENT.to_owned(),
        |time| time.to_zoned(TimeZone::UTC).date().to_string(),
    )
}

fn instances(plan: &TrainingPlan) -> String {
    let parts = plan.instances.iter();
    let parts: Vec<String> = parts
        .map(|(name, count)| format!("{count} × {name}"))
        .collect();
    parts.join(", ")
}
