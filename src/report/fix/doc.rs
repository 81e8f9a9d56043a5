//! The actions of a plan as a document: one page, and the steps of the selected ones.

use super::checks::valid_until;
use super::planned::{FixItem, FixPlan};
use super::procedure::Line;
use crate::analysis::FixTarget;
use crate::domain::{ActionKind, counted};
use crate::report::doc::{Doc, Printed, Record, Table, columns, doc_schema, rows, tables};
use crate::report::promises::RISKS;
use crate::report::promises::{target, target_in_words};
use crate::report::reserved::CURRENCIES;
use crate::report::shared::next::Invocation;
use crate::report::shared::text::{joined, minute, money, money_or_absent, safe, shell_word};
use crate::report::shared::view::sum;
use crate::savings::{Promise, Purchase};
use rust_decimal::prelude::ToPrimitive;

const KINDS: &[&str] = &["check", "change", "undo", "watch"];

/// What a document of a plan has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixView {
    /// One page: actions, promises, and commands that go on. In JSON each action has its steps.
    Page,
    /// The same, and below it the steps to type.
    Steps,
    /// The same as tables, and a table of all steps.
    Tables,
    /// A row for each step.
    Rows,
}

columns! {
    fn document<'a>(plan: &'a FixPlan<'a>) {
        text "gpucost_version", "", Data, env!("CARGO_PKG_VERSION").to_owned(), "";
        time "as_of", "", Data, plan.as_of, "The time that the plan describes.";
        time "valid_until", "", Data, valid_until(plan.as_of), "The time from which a script refuses to run.";
        word[RISKS] "plan_risk", "", Data, plan.risk.name(), "Maximum risk of the plan.";
        opt word[CURRENCIES] "currency", "", Data, plan.monthly_savings().map(|sum| sum.currency().code()), "null without any action, and in several currencies.";
        opt money "monthly_savings", "", Data, plan.monthly_savings(), "The sum over the actions; null without any, and in several currencies.";
    }

    fn extras<'a>(plan: &'a FixPlan<'a>) {
        opt record[target] "target", "", Json, plan.target, "Only with --target: what the plan was to save.";
    }

    fn actions<'a>(item: &'a FixItem<'a>) {
        count "number", "#", Narrow(0), item.number, "Its place in the order of the plan, from 1.";
        money "monthly_savings", "saves", Narrow(0), item.fix.monthly_savings, "Per month.";
        word[ActionKind::NAMES] "action", "action", Narrow(0), item.fix.kind.name(), "";
        text "name", "name", Narrow(0), item.fix.name().to_owned(), "The workload, the capacity reservation, or the type that is bought.";
        word[RISKS] "risk", "risk", Narrow(0), item.fix.risk.name(), "";
        text "effort", "effort", Screen, item.effort(), "";
        opt text "to", "to", Narrow(0), item.to(), "What it leads to; null where nothing takes its place.";
        text "detail", "detail", Wide, item.fix.detail.clone(), "With its arithmetic.";
        text "id", "", Data, item.fix.id(), "Stable across runs.";
        texts "workloads", "", Data, item.fix.workloads(), "IDs; empty for a capacity reservation.";
        opt text "account", "", Data, item.place().0.map(str::to_owned), "";
        opt text "region", "", Data, item.place().1.map(str::to_owned), "";
        word[CURRENCIES] "currency", "", Data, item.fix.monthly_savings.currency().code(), "";
        texts "caveats", "", Data, item.fix.caveats.clone(), "The gravest first.";
        texts "advice", "", Data, item.fix.advice.clone(), "What the audit recommends, in words.";
        flag "by_hand", "", Data, item.why_manual.is_some(), "Whether a person carries it out.";
        opt text "why_by_hand", "", Data, item.why_manual.map(str::to_owned), "null where the script carries it out.";
        rows[steps] "steps", "", Data, item.lines(), "Checks, changes, the way back, what to watch.";
        rows[files] "files", "", Data, &item.procedure.files, "Files to apply.";
    }

    fn steps<'a>(line: Line<'a>) {
        count "number", "", Data, line.number, "Its place among the steps of the action, from 1.";
        word[KINDS] "kind", "", Data, line.kind, "";
        text "about", "", Data, line.step.about.clone(), "The step in words.";
        opt text "command", "", Data, line.command(), "As it is typed in a POSIX shell, on one line.";
        opt text "must_print", "", Data, line.step.expected().map(str::to_owned), "What the command prints where the next step may follow.";
        opt text "keeps", "", Data, line.step.variable().map(str::to_owned), "The shell variable that holds what the command prints.";
        flag "by_hand", "", Data, line.why_manual.is_some(), "Whether a person does it.";
        opt text "why_by_hand", "", Data, line.why_manual.map(str::to_owned), "null for what the script runs.";
    }

    fn files<'a>(file: &'a Printed) {
        text "name", "", Data, file.name.clone(), "";
        text "about", "", Data, file.purpose.clone(), "";
        text "text", "", Data, file.text.clone(), "";
    }

    fn promises<'a>(row: (&'a FixItem<'a>, &'a Purchase, Promise)) {
        count "number", "#", Narrow(0), row.0.number, "That of its action.";
        text "buy", "buy", Screen, format!("{} × {}", row.1.count, row.1.key.instance_type), "";
        text "id", "", Data, row.0.fix.id(), "That of its action.";
        count "count", "", Data, row.1.count, "";
        text "instance_type", "", Data, row.1.key.instance_type.clone(), "";
        text "term", "term", Narrow(0), row.1.what(), "";
        word[CURRENCIES] "currency", "", Data, row.2.term_total.currency().code(), "";
        money "term_total", "promised", Narrow(0), row.2.term_total, "Everything that is paid until the term ends.";
        money "upfront", "upfront", Narrow(0), row.2.upfront, "The part of it that is paid at once.";
        money "monthly", "per month", Narrow(0), row.2.monthly, "The part of it that is paid per month, used or not.";
        opt percent "break_even_utilization", "pays from", Narrow(0), row.2.break_even_percent.to_f64(), "Percentage of the hours from which on it pays.";
        number "evidence_days", "days of evidence", Wide, row.2.evidence_days.round_dp(1), "Days for which every instance was observed that it was sized by.";
    }

    /// A step beside its action; a sum over the rows counts the saving of an action once.
    fn rows<'a>(row: (&'a FixItem<'a>, Line<'a>)) {
        text "id", "", Data, row.0.fix.id(), "";
        word[ActionKind::NAMES] "action", "action", Narrow(0), row.0.fix.kind.name(), "";
        text "name", "name", Narrow(0), row.0.fix.name().to_owned(), "";
        texts "workloads", "", Data, row.0.fix.workloads(), "";
        opt text "account", "", Data, row.0.place().0.map(str::to_owned), "";
        opt text "region", "", Data, row.0.place().1.map(str::to_owned), "";
        opt text "to", "", Data, row.0.to(), "";
        word[RISKS] "risk", "", Data, row.0.fix.risk.name(), "";
        word[CURRENCIES] "currency", "", Data, row.0.fix.monthly_savings.currency().code(), "";
        opt money "monthly_savings", "", Data, (row.1.number == 1).then_some(row.0.fix.monthly_savings), "";
        count "step", "step", Narrow(0), row.1.number, "";
        word[KINDS] "kind", "kind", Narrow(0), row.1.kind, "";
        text "about", "about", Narrow(0), row.1.step.about.clone(), "";
        opt text "command", "command", Narrow(0), row.1.command(), "";
        opt text "must_print", "must print", Narrow(0), row.1.step.expected().map(str::to_owned), "";
        opt text "keeps", "variable", Narrow(0), row.1.step.variable().map(str::to_owned), "";
        flag "by_hand", "manual", Narrow(0), row.1.why_manual.is_some(), "";
        opt text "why_by_hand", "", Data, row.1.why_manual.map(str::to_owned), "";
        texts "caveats", "", Data, row.0.fix.caveats.clone(), "";
    }
}

/// The selected actions of a plan as a document.
pub fn fix_doc(plan: &FixPlan<'_>, invocation: &Invocation, view: FixView) -> Doc {
    let (number, at, risk) = (plan.number(), minute(plan.as_of), plan.risk);
    let saved = money_or_absent(plan.monthly_savings());
    let mut doc = Doc {
        name: "fix",
        headline: format!("{number} of the plan of {at} at risk {risk}: {saved} per month"),
        about: plan.target.iter().map(target_in_words).collect(),
        record: Record::of(document(), &plan),
        extras: Record::of(extras(), &plan),
        tables: tables(&plan.items).into(),
        next: next(plan, invocation, view),
        ..Doc::default()
    };
    doc.tables[0].notes = notes(plan, view);
    let steps = || {
        let items = plan.items.iter();
        let steps = items.flat_map(|item| item.lines().into_iter().map(move |line| (item, line)));
        Table::of("steps", "STEPS", ("step", "steps"), rows(), steps)
    };
    match view {
        FixView::Page => {}
        FixView::Steps => doc.files = plan.items.iter().flat_map(printed).collect(),
        FixView::Tables => doc.tables.push(steps()),
        FixView::Rows => doc.tables = vec![steps()],
    }
    doc
}

schema! {
    /// The JSON schema of `gpucost fix`.
    fix_schema: "fix", [Doc { extras: Record::heads(extras()), ..Doc::form(Record::heads(document()), tables(&[])) }],
    "How the actions of a plan are carried out; docs/fix.md says what the steps are. Keys may be added within a schema version."
}

fn tables<'a>(items: &'a [FixItem<'a>]) -> [Table; 2] {
    let promised = items.iter().filter_map(|item| match &item.fix.target {
        FixTarget::Purchase(purchase) => Some((item, *purchase, purchase.promise()?)),
        _ => None,
    });
    let promised: Vec<(&FixItem<'_>, &Purchase, Promise)> = promised.collect();
    let paid = sum(promised.iter().map(|(.., promise)| Some(promise.term_total)));
    let upfront = sum(promised.iter().map(|(.., promise)| Some(promise.upfront)));
    let sums = paid.zip(upfront).map(|(paid, upfront)| {
        format!("  {} until the terms end, {} of it upfront", money(paid), money(upfront))
    });
    let promises_title = format!("PROMISES{}", sums.unwrap_or_default());
    tables! {
        "actions", "ACTIONS  in the order in which to carry them out", ("action", "actions"), actions(), items;
        "promises", promises_title, ("promise", "promises"), promises(), promised;
    }
}

/// What a reader of the actions must know.
fn notes(plan: &FixPlan<'_>, view: FixView) -> Vec<String> {
    let bounded = plan.items.iter().filter(|item| item.saves_at_most());
    let numbers = joined(bounded.map(|item| item.number.to_string()), ", ");
    rows! {
        if !numbers.is_empty() => format!("{numbers} saves at most this: snapshots that keep the data are billed, as the runbook says");
        if view == FixView::Page && !plan.items.is_empty() => "`--action ACTION:NAME` prints the steps of one action, and `--all` those of every action".to_owned();
    }
}

/// Commands that go on: the steps of the first action, the runbook, and the script.
fn next(plan: &FixPlan<'_>, invocation: &Invocation, view: FixView) -> Vec<String> {
    let Some(first) = plan.items.first() else { return Vec::new() };
    let action = format!("{}:{}", first.fix.kind, first.fix.name());
    let action = format!("--action {}", shell_word(&action));
    // Masked names are in no account, so that no script has them.
    let is_masked = invocation.scope.iter().any(|word| word == "--redact");
    rows! {
        if view == FixView::Page => invocation.command("fix", true, &action);
        invocation.command("fix", true, "--format markdown");
        if !is_masked => invocation.command("fix", true, "--format script");
    }
}

/// The steps of an action to type, then its files.
fn printed(item: &FixItem<'_>) -> Vec<Printed> {
    let fix = &item.fix;
    let (account, region) = item.place();
    let facts: Vec<String> = rows! {
        for account in account => format!("account {account}");
        for region in region => format!("region {region}");
        format!("risk {}", fix.risk);
        item.effort();
        fix.detail.clone();
    };
    let comment = |line: String| format!("# {}", safe(&line));
    let lines: Vec<String> = rows! {
        for why in item.why_manual => comment(format!("manual: {why}"));
        for caveat in &fix.caveats => comment(format!("caveat: {caveat}"));
        for advice in item.advice() => comment(format!("advice: {advice}"));
        ..item.procedure.shell_lines();
    };
    let steps = Printed::new(item.heading(), facts.join("; "), lines.join("\n"));
    std::iter::once(steps).chain(item.procedure.files.iter().cloned()).collect()
}

impl FixItem<'_> {
    /// How many steps it takes, and who takes them.
    fn effort(&self) -> String {
        let steps = self.procedure.before.len() + self.procedure.steps.len();
        format!("{}, {}", counted(steps, "step", "steps"), self.by())
    }

    fn lines(&self) -> Vec<Line<'_>> {
        self.procedure.lines(self.why_manual)
    }
}

impl Line<'_> {
    fn command(&self) -> Option<String> {
        self.step.command.as_ref().map(super::procedure::Command::text)
    }
}
