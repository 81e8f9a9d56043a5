//! `audit --format xlsx`: the lists of the audit as sheets of a workbook, and a first sheet
//! whose totals are formulas over them.

use super::sheets;
use crate::analysis::{Audit, Reconciliation};
use crate::domain::Money;
use crate::report::doc::{Line, LineValue, Page, Value, Workbook};
use rust_xlsxwriter::XlsxError;

const WORKLOADS: &str = "Workloads";
const ACTIONS: &str = "Actions";
const RECONCILIATION: &str = "Reconciliation";

/// The audit as a workbook.
///
/// # Errors
/// When it has more rows than the format holds.
pub fn audit_xlsx(audit: &Audit, reconciled: &Reconciliation) -> Result<Vec<u8>, XlsxError> {
    let pages = [
        Page {
            name: WORKLOADS,
            sheet: sheets::workloads(audit),
            summed: &[
                "monthly_cost",
                "committed_monthly_cost",
                "plan_monthly_savings",
                "plan_planned_monthly_cost",
            ],
        },
        Page {
            name: ACTIONS,
            sheet: sheets::actions(audit),
            summed: &["monthly_savings", "waste_monthly_savings"],
        },
        Page {
            name: "Purchases",
            sheet: sheets::purchases(audit),
            summed: &["upfront", "monthly", "term_total", "monthly_savings"],
        },
        // Findings overlap: their savings do not add up.
        Page {
            name: "Findings",
            sheet: sheets::findings(audit),
            summed: &[],
        },
        Page {
            name: "Gaps",
            sheet: sheets::gaps(audit),
            summed: &[],
        },
        Page {
            name: "Prices",
            sheet: sheets::prices(audit),
            summed: &[],
        },
        Page {
            name: RECONCILIATION,
            sheet: sheets::reconciliation(reconciled),
            summed: &sheets::STEPS,
        },
    ];
    let mut workbook = Workbook::new();
    for page in &pages {
        workbook.add(page)?;
    }
    let lines = summary(audit, reconciled, &workbook);
    workbook.add_first("Summary", &lines)?;
    workbook.finish(audit.as_of)
}

fn summary(audit: &Audit, reconciled: &Reconciliation, workbook: &Workbook) -> Vec<Line> {
    let totals = &audit.totals;
    let line = |name: &str, value, note: &str| Line {
        name: name.to_owned(),
        value: LineValue::Value(value),
        note: note.to_owned(),
    };
    let count = |name, number| line(name, Value::Count(number), "");
    let lines = vec![
        line(
            "gpucost_version",
            Value::text(env!("CARGO_PKG_VERSION")),
            "",
        ),
        line("as_of", Value::Time(audit.as_of), "UTC"),
        line("window_start", Value::Time(audit.window.start), "UTC"),
        line("window_end", Value::Time(audit.window.end), "UTC"),
        line("source", Value::text(audit.source.name()), ""),
        line("accounts", Value::text(audit.accounts.join(", ")), ""),
        line("regions", Value::text(audit.regions.join(", ")), ""),
        line(
            "plan_risk",
            Value::text(audit.plan_risk.name()),
            "risk level of the plan",
        ),
        count("instances", totals.instances),
        count("stopped_instances", totals.stopped_instances),
        count("gpus", totals.gpus),
        line(
            "unpriced_instances",
            Value::Count(totals.unpriced_instances),
            "what has no price is not in any amount",
        ),
        count("findings", audit.findings.len() as u64),
        count("gaps", audit.gaps.len() as u64),
    ];
    let mut summary = Summary { lines, workbook };
    summary.amounts(audit);
    summary.reconciliation(audit, reconciled);
    summary.lines
}

/// The lines of the first sheet, as they are made.
struct Summary<'a> {
    lines: Vec<Line>,
    workbook: &'a Workbook,
}

impl Summary<'_> {
    /// Totals per month, each over the rows of a sheet.
    fn amounts(&mut self, audit: &Audit) {
        let totals = &audit.totals;
        let cost = self.total(
            "monthly_cost",
            totals.monthly_cost,
            (WORKLOADS, "monthly_cost"),
        );
        let savings = self.total(
            "monthly_savings",
            totals.monthly_savings(),
            (ACTIONS, "monthly_savings"),
        );
        let waste = self.total(
            "monthly_waste",
            totals.monthly_waste,
            (ACTIONS, "waste_monthly_savings"),
        );
        self.formula(
            "monthly_optimization",
            totals.monthly_optimization,
            format!("=B{savings}-B{waste}"),
        );
        self.formula(
            "planned_monthly_cost",
            totals.planned_monthly_cost,
            format!("=B{cost}-B{savings}"),
        );
        self.formula(
            "annual_savings",
            totals.annual_savings(),
            format!("=12*B{savings}"),
        );
        self.total(
            "committed_monthly_cost",
            totals.committed_monthly_cost,
            (WORKLOADS, "committed_monthly_cost"),
        );
    }

    /// The way from list prices to the cost, and the cost as it follows from them.
    fn reconciliation(&mut self, audit: &Audit, reconciled: &Reconciliation) {
        let steps = &reconciled.total;
        let cost = audit.totals.monthly_cost;
        let of = |amount| cost.map(|cost| Money::new(amount, cost.currency()));
        let amounts = [
            ("reconciled_list", steps.list),
            ("reconciled_unlisted", steps.unlisted),
            ("reconciled_discount", steps.discount),
            ("reconciled_spot", steps.spot),
            ("reconciled_commitments", steps.commitments),
            ("reconciled_idle_storage", steps.idle_storage),
            ("reconciled_unused", steps.unused),
        ];
        let columns = sheets::STEPS.into_iter();
        let rows: Vec<usize> = amounts
            .into_iter()
            .zip(columns)
            .map(|((name, amount), column)| self.total(name, of(amount), (RECONCILIATION, column)))
            .collect();
        let signs = ["", "+", "-", "-", "-", "+", "+"];
        let terms = signs
            .iter()
            .zip(rows)
            .map(|(sign, row)| format!("{sign}B{row}"));
        self.formula(
            "reconciled_cost",
            of(steps.explained()),
            format!("={}", terms.collect::<String>()),
        );
    }

    /// A total under a column of a sheet. Gives the row of the line.
    fn total(
        &mut self,
        name: &'static str,
        amount: Option<Money>,
        (page, column): (&'static str, &'static str),
    ) -> usize {
        let total = amount.and_then(|amount| self.workbook.total(page, column, amount.currency()));
        let value = match (amount, total) {
            (Some(amount), Some(total)) => {
                let sum = Money::new(total.amount, amount.currency());
                LineValue::Formula(format!("={}", total.cell), sum)
            }
            _ => LineValue::Value(Value::of(amount, Value::Money)),
        };
        let note = format!("sum of {column} in {page}");
        let name = name.to_owned();
        self.push(Line { name, value, note })
    }

    /// An amount that follows from lines above.
    fn formula(&mut self, name: &'static str, amount: Option<Money>, formula: String) -> usize {
        let value = match amount {
            Some(amount) => LineValue::Formula(formula, amount),
            None => LineValue::Value(Value::Absent),
        };
        let note = String::new();
        let name = name.to_owned();
        self.push(Line { name, value, note })
    }

    fn push(&mut self, line: Line) -> usize {
        self.lines.push(line);
        // Below the header, and counted from 1.
        self.lines.len() + 1
    }
}
