//! An audit for programs, and its schema.

use super::findings::{findings, findings_table};
use super::record::{document, extras};
use super::screen::headline;
use super::workloads::{unused_table, workloads_table};
use crate::analysis::{Audit, Grouping};
use crate::report::doc::{CsvRows, Doc, Record, Table, doc_schema};
use crate::report::promises::purchases_table;

/// An audit for programs: everything, with its groups where they were asked for.
pub fn audit_doc(audit: &Audit, by: Option<&Grouping>) -> Doc {
    Doc {
        name: "audit",
        headline: headline(audit),
        record: Record::of(document(), &audit),
        extras: Record::of(extras(), &(audit, by)),
        csv: CsvRows::Tables(2),
        tables: vec![
            workloads_table(&audit.workloads, false),
            unused_table(&audit.unused),
            purchases_table(&audit.purchases),
            findings_table(audit, |_| true, true),
        ],
        gaps: Some(audit.gaps.clone()),
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of an audit.
    audit_schema: "audit", [Doc { extras: Record::heads(extras()), ..Doc::form_with_gaps(Record::heads(document()), [workloads_table([], false), unused_table(&[]), purchases_table(&[]), Table::of("findings", "", ("", ""), findings(), [])]) }],
    "The report of an audit. Money per month has cents, rates per hour up to six decimals; percentages are 0-100 and shares 0-1. Keys may be added within a schema version."
}
