//! `fix --format json`: every action with its steps, for other programs.

use super::checks::valid_until;
use super::planned::{FixItem, FixPlan};
use super::procedure::FixFile;
use super::steps::{ListedStep, listed};
use crate::report::SCHEMA_VERSION;
use crate::report::shared::text::{currency_code, json_account, json_document, json_money};
use serde::Serialize;

/// The actions of a plan with their steps as a JSON document.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn fix_json(plan: &FixPlan<'_>) -> Result<String, serde_json::Error> {
    let actions = plan.items.iter().enumerate();
    let saved = plan.monthly_savings();
    json_document(&Document {
        schema_version: SCHEMA_VERSION,
        gpucost_version: env!("CARGO_PKG_VERSION"),
        as_of: plan.as_of.to_string(),
        valid_until: valid_until(plan.as_of).to_string(),
        plan_risk: plan.risk.name(),
        currency: currency_code(saved),
        monthly_savings: saved.and_then(json_money),
        actions: actions.map(|(at, item)| action(at + 1, item)).collect(),
    })
}

#[derive(Serialize)]
struct Document<'a> {
    schema_version: &'static str,
    gpucost_version: &'static str,
    as_of: String,
    valid_until: String,
    plan_risk: &'static str,
    currency: Option<&'static str>,
    monthly_savings: Option<f64>,
    actions: Vec<ActionView<'a>>,
}

#[derive(Serialize)]
struct ActionView<'a> {
    id: String,
    number: usize,
    action: &'static str,
    name: &'a str,
    workloads: Vec<String>,
    account: Option<String>,
    region: Option<&'a str>,
    to: Option<String>,
    currency: &'static str,
    monthly_savings: Option<f64>,
    risk: &'static str,
    detail: &'a str,
    caveats: &'a [String],
    advice: &'a [String],
    by_hand: bool,
    why_by_hand: Option<&'static str>,
    steps: Vec<StepView<'a>>,
    files: Vec<FileView<'a>>,
}

#[derive(Serialize)]
struct StepView<'a> {
    number: usize,
    kind: &'static str,
    about: &'a str,
    command: Option<String>,
    must_print: Option<&'a str>,
    keeps: Option<&'static str>,
    by_hand: bool,
    why_by_hand: Option<&'static str>,
}

#[derive(Serialize)]
struct FileView<'a> {
    name: &'a str,
    about: &'a str,
    text: &'a str,
}

fn action<'a>(number: usize, item: &'a FixItem<'_>) -> ActionView<'a> {
    let fix = &item.fix;
    let (account, region) = item.place();
    let to = item.to();
    let steps = listed(item).into_iter().enumerate();
    ActionView {
        id: item.id(),
        number,
        action: fix.kind.name(),
        name: item.name(),
        workloads: fix.workloads(),
        account: json_account(account),
        region: (!region.is_empty()).then_some(region),
        to: (!to.is_empty()).then_some(to),
        currency: fix.monthly_savings.currency().code(),
        monthly_savings: json_money(fix.monthly_savings),
        risk: fix.risk.name(),
        detail: &fix.detail,
        caveats: &fix.caveats,
        advice: &fix.advice,
        by_hand: item.by_hand.is_some(),
        why_by_hand: item.by_hand,
        steps: steps.map(|(at, one)| step(at + 1, one)).collect(),
        files: item.procedure.files.iter().map(file).collect(),
    }
}

fn step(number: usize, one: ListedStep<'_>) -> StepView<'_> {
    StepView {
        number,
        kind: one.kind,
        about: one.about,
        command: one.command,
        must_print: one.must_print,
        keeps: one.keeps,
        by_hand: one.by_hand.is_some(),
        why_by_hand: one.by_hand,
    }
}

fn file(one: &FixFile) -> FileView<'_> {
    FileView {
        name: &one.name,
        about: &one.about,
        text: &one.text,
    }
}
