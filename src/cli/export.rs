//! Exports of an audit for finance: its lists as CSV, FOCUS by instance and day, and a workbook.

use super::args::{AuditFormat, CsvTable, DocFormat, ExportArgs, OutputArgs};
use super::{Failure, Io, Outcome, output, refusal};
use crate::analysis::{
    Audit, ListPrices, Reconciliation, RunDays, charges, daily_charges, daily_unused_charges,
    unused_charges,
};
use crate::domain::Policy;
use crate::report::{
    AuditTable, Doc, audit_doc, audit_list, audit_workbook, doc_xlsx, focus_csv, promises_words,
};
use crate::savings::term_totals;
use crate::usage::Estate;
use rust_decimal::Decimal;

/// The byte order mark, by which spreadsheets know UTF-8.
const BOM: char = '\u{feff}';

impl ExportArgs {
    /// Fails where a flag does not belong to the format, and where a workbook would go to a
    /// terminal.
    pub(super) fn check(&self, format: AuditFormat, out: &OutputArgs, io: &Io<'_>) -> Outcome<()> {
        let is_focus = format == AuditFormat::Focus;
        let needs = |flag: &str, formats: &str, hint: &str| {
            Err(refusal!("`{flag}` works only with {formats}"; "{hint}"))
        };
        if self.csv_table.is_some() && !format.is_rows() {
            return needs("--csv-table", "`--format csv`", "add `--format csv`");
        }
        if self.by_day && !is_focus {
            return needs("--by-day", "`--format focus`", "add `--format focus`");
        }
        if self.bom && !format.is_rows() && !is_focus {
            let formats = "`--format csv` and `--format focus`";
            return needs("--bom", formats, "add `--format csv`, or omit `--bom`");
        }
        if format == AuditFormat::Doc(DocFormat::Xlsx) {
            output::refuse_binary(out, io)?;
        }
        Ok(())
    }

    /// What the plan promises to pay, where the list that is printed says nothing of it.
    pub(super) fn unlisted_promises(&self, format: AuditFormat, audit: &Audit) -> Option<String> {
        let is_listed = self.csv_table == Some(CsvTable::Purchases);
        let words = promises_words(&term_totals(&audit.purchases));
        let words = words.filter(|_| format.is_rows() && !is_listed)?;
        Some(format!("promises: {words}; `--csv-table purchases` lists them"))
    }

    /// A text, with a mark where one was asked for.
    pub(super) fn marked(&self, text: String) -> String {
        if self.bom { format!("{BOM}{text}") } else { text }
    }
}

/// What exports need of an estate that its audit does not keep.
pub(super) struct Facts {
    days: Option<RunDays>,
    prices: Option<ListPrices>,
}

impl Facts {
    /// Of an estate that is about to be audited.
    pub(super) fn of(
        (args, format): (&ExportArgs, AuditFormat),
        estate: &Estate,
        policy: &Policy,
    ) -> Self {
        let is_reconciled = format == AuditFormat::Doc(DocFormat::Xlsx)
            || args.csv_table == Some(CsvTable::Reconciliation);
        Self {
            days: args.by_day.then(|| RunDays::of(estate)),
            prices: is_reconciled.then(|| ListPrices::of(estate, policy)),
        }
    }

    fn reconciliation(&self, audit: &Audit) -> Reconciliation {
        Reconciliation::of(audit, &self.prices.clone().unwrap_or_default())
    }

    /// The list that rows were asked for.
    pub(super) fn rows(&self, audit: &Audit, args: &ExportArgs) -> Doc {
        let list = |table: AuditTable<'_>| audit_list(audit, table);
        match args.csv_table {
            None | Some(CsvTable::Workloads) => audit_doc(audit, None),
            Some(CsvTable::Actions) => list(AuditTable::Actions),
            Some(CsvTable::Purchases) => list(AuditTable::Purchases),
            Some(CsvTable::Findings) => list(AuditTable::Findings),
            Some(CsvTable::Gaps) => list(AuditTable::Gaps),
            Some(CsvTable::Prices) => list(AuditTable::Prices),
            Some(CsvTable::Reconciliation) => {
                list(AuditTable::Reconciliation(&self.reconciliation(audit)))
            }
        }
    }

    /// FOCUS, by workload or by instance and day.
    pub(super) fn focus(&self, audit: &Audit, hours_per_month: Decimal) -> Outcome<String> {
        let (used, unused) = match &self.days {
            Some(days) => (
                daily_charges(audit, days, hours_per_month),
                daily_unused_charges(audit, hours_per_month),
            ),
            None => (charges(audit, hours_per_month), unused_charges(audit, hours_per_month)),
        };
        focus_csv(&used, &unused).map_err(Failure::unexpected)
    }

    /// The workbook.
    pub(super) fn workbook(&self, audit: &Audit) -> Outcome<Vec<u8>> {
        let doc = audit_workbook(audit, &self.reconciliation(audit));
        doc_xlsx(&doc, audit.as_of).map_err(Failure::unexpected)
    }
}
