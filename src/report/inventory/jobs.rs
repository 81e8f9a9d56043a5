//! Training jobs of an inventory, for programs and for people.

use crate::analysis::ListedJob;
use crate::domain::{Currency, Money, TrainingJob};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, counted, fit, json_account, json_money, money_or_absent, percent,
};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct JobView {
    name: String,
    account: Option<String>,
    region: String,
    instances: Vec<PartView>,
    status: Option<&'static str>,
    started: Option<String>,
    ended: Option<String>,
    billable_seconds: Option<u32>,
    training_seconds: Option<u32>,
    warm_pool_seconds: Option<u32>,
    spot: bool,
    spot_saving_percent: Option<f64>,
    checkpoints: bool,
    training_plan: Option<String>,
    currency: Option<&'static str>,
    cost: Option<f64>,
    warm_pool_cost: Option<f64>,
}

#[derive(Serialize)]
struct PartView {
    instance_type: String,
    count: u32,
}

pub(super) fn job_view(listed: &ListedJob<'_>) -> JobView {
    let job = listed.job;
    let instances = job.instances.iter().map(|(name, count)| PartView {
        instance_type: name.clone(),
        count: *count,
    });
    JobView {
        name: job.name.clone(),
        account: json_account(&job.account),
        region: job.region.clone(),
        instances: instances.collect(),
        status: job.status.map(|status| status.name()),
        started: job.started.map(|time| time.to_string()),
        ended: job.ended.map(|time| time.to_string()),
        billable_seconds: job.billable_seconds,
        training_seconds: job.training_seconds,
        warm_pool_seconds: job.warm_pool_seconds,
        spot: job.is_spot,
        spot_saving_percent: job.spot_saving_percent(),
        checkpoints: job.has_checkpoints,
        training_plan: job.plan.clone(),
        currency: listed
            .cost
            .or(listed.warm_pool_cost)
            .map(Money::currency)
            .map(Currency::code),
        cost: listed.cost.and_then(json_money),
        warm_pool_cost: listed.warm_pool_cost.and_then(json_money),
    }
}

/// What each training job cost. It is spend of the past, so it has a section of its own.
pub(super) fn jobs_section(jobs: &[ListedJob<'_>], style: TableStyle) -> String {
    let title = format!(
        "TRAINING JOBS  {}, billed in the past and in no monthly cost",
        counted(jobs.len() as u64, "job", "jobs")
    );
    let header = [
        "JOB",
        "COST",
        "WARM POOL",
        "BILLABLE HOURS",
        "SPOT SAVING",
        "STATUS",
        "REGION",
        "INSTANCES",
    ];
    let mut table = PlainTable::new(&header, 1..=4);
    for listed in jobs {
        let job = listed.job;
        table.row(vec![
            fit(&job.name, 30),
            cost(listed),
            money_or_absent(listed.warm_pool_cost),
            hours(job.billable_seconds),
            job.spot_saving_percent()
                .map_or_else(|| ABSENT.to_owned(), percent),
            job.status
                .map_or_else(|| ABSENT.to_owned(), |status| status.to_string()),
            fit(&job.region, 16),
            fit(&instances(job), 60),
        ]);
    }
    format!("{}\n{}", style.heading(&title), table.text(style))
}

fn cost(listed: &ListedJob<'_>) -> String {
    match listed.cost {
        Some(cost) => cost.to_string(),
        None if listed.job.plan.is_some() => "prepaid".to_owned(),
        None if listed.is_unpriced => "unpriced".to_owned(),
        None => ABSENT.to_owned(),
    }
}

/// Of each instance.
fn hours(seconds: Option<u32>) -> String {
    seconds.map_or_else(
        || ABSENT.to_owned(),
        |seconds| format!("{:.2}", f64::from(seconds) / 3_600.0),
    )
}

fn instances(job: &TrainingJob) -> String {
    let parts = job.instances.iter();
    let parts: Vec<String> = parts
        .map(|(name, count)| format!("{count} × {name}"))
        .collect();
    parts.join(", ")
}
