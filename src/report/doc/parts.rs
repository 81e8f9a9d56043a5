//! What documents of every command have in common, by its columns.

use super::{Doc, Given, Missing, Printed, Record, Step, Table, Value, tables};
use crate::domain::{Currency, Gap};
use std::borrow::Cow;

/// The commands whose documents are answers.
const ANSWERS: &[&str] = &[
    "autoscale", "bill", "capacity", "history", "history digest", "kpi", "place", "rent-or-buy",
    "reserved", "select", "share",
];

columns! {
    fn answer(doc: Doc) {
        word[ANSWERS] "planner", "", Data, doc.name, "The command that was asked.";
        text "headline", "", Data, doc.headline.clone(), "The answer in one sentence.";
        opt word[Currency::NAMES] "currency", "", Data, currency(doc), "Of all amounts; null where there are none, or where they are in several.";
    }

    fn given<'a>(fact: &'a Given) {
        text "key", "", Data, fact.key.to_owned(), "What it is, with its unit last.";
        any "value", "", Data, fact.value.clone(), "null where it is not known.";
        text "source", "", Data, fact.source.clone(), "Where it is from: a flag, a measurement, a page with its date.";
    }

    fn step<'a>(step: &'a Step) {
        text "name", "", Data, step.name.clone(), "";
        text "arithmetic", "", Data, step.arithmetic.clone(), "With its figures, such as 500 / 200 = 2.5, rounded up.";
        any "result", "", Data, step.result.clone(), "null where it is not known.";
    }

    fn missing<'a>(missing: &'a Missing) {
        text "what", "", Data, missing.what.clone(), "What was not known.";
        text "remedy", "", Data, missing.remedy.clone(), "What to run or to set.";
    }

    fn file<'a>(file: &'a Printed) {
        text "name", "", Data, file.name.clone(), "Such as nodepool.yaml.";
        text "purpose", "", Data, file.purpose.clone(), "What it is for, and how to apply it.";
        text "text", "", Data, file.text.clone(), "Its content.";
    }

    /// What could not be read.
    pub(in crate::report) fn gap_columns<'a>(gap: &'a Gap) {
        text "what", "", Data, gap.what.to_string(), "";
        text "where", "", Data, gap.place.clone(), "";
        text "reason", "", Data, gap.reason.clone(), "";
        text "hint", "", Data, gap.hint.clone(), "";
        opt text "cause", "", Data, gap.cause.as_ref().map(|cause| cause.kind().name().to_owned()), "The name of its cause; null where an estate states its reason in its own words.";
    }
}

/// What could not be read, for programs.
pub(in crate::report) fn gaps_table(list: &[Gap]) -> Table {
    Table::of("gaps", "GAPS", ("gap", "gaps"), gap_columns(), list)
}

/// The keys of the document itself.
pub(super) fn record(doc: &Doc) -> Cow<'_, Record> {
    if doc.is_answer() { Cow::Owned(Record::of(answer(), doc)) } else { Cow::Borrowed(&doc.record) }
}

/// The parts of a document that are rows; the titles are for schemas.
pub(super) fn parts(doc: &Doc) -> [Table; 4] {
    let noun = ("row", "rows");
    tables! {
        "given", "What the figures rest on.", noun, given(), &doc.given;
        "steps", "How the figures follow, in order.", noun, step(), &doc.steps;
        "missing", "What was not known, and how to measure it.", noun, missing(), &doc.missing;
        "files", "Configuration to apply; none of it was applied.", noun, file(), &doc.files;
    }
}

/// The parts that are texts, with what they mean.
pub(super) fn lists(doc: &Doc) -> [(&'static str, &'static str, &[String]); 2] {
    [
        (
            "caveats",
            "What somebody who acts on it must know, the most serious first.",
            &doc.caveats,
        ),
        ("next", "Commands that go on from here.", &doc.next),
    ]
}

/// The currency of the amounts; absent where none is in it, or more than one.
fn currency(doc: &Doc) -> Option<&'static str> {
    let given = doc.given.iter().map(|input| &input.value);
    let steps = doc.steps.iter().map(|step| &step.result);
    let cells = doc.tables.iter().flat_map(|table| &table.rows).flatten();
    let amounts = given.chain(steps).chain(cells).filter_map(Value::amount);
    let mut codes = amounts.map(|amount| amount.currency().code());
    let first = codes.next()?;
    codes.all(|code| code == first).then_some(first)
}
