//! What the parts of an audit cost by a second dimension, such as teams by instance type.

use super::breakdown::{Dimension, cost_by};
use super::totals::plus;
use crate::analysis::Audit;
use crate::domain::Money;
use std::collections::BTreeMap;

/// What rows cost by column. Each row adds up to its total, and the totals add up to the cost
/// of all workloads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostMatrix {
    /// The columns by name, most expensive first; absent for those without one.
    pub columns: Vec<Option<String>>,
    /// How many more parts are together in one column behind these; zero without that column.
    pub other_columns: u64,
    /// Most expensive first.
    pub rows: Vec<CostRow>,
    /// The rows beyond these, with how many they are.
    pub other_rows: Option<(u64, CostRow)>,
}

/// One row of a [`CostMatrix`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostRow {
    /// Absent for what has none.
    pub label: Option<String>,
    /// Per month by column; absent where nothing in it is priced.
    pub cells: Vec<Option<Money>>,
    pub total: Option<Money>,
}

impl CostRow {
    fn add(&mut self, column: usize, cost: Option<Money>) {
        if let Some(cell) = self.cells.get_mut(column) {
            *cell = plus(*cell, cost);
        }
        self.total = plus(self.total, cost);
    }
}

impl CostMatrix {
    /// The most expensive rows and columns, at most so many of each, and the rest together.
    pub fn of(
        audit: &Audit,
        (by_row, by_column): (Dimension<'_>, Dimension<'_>),
        (most_rows, most_columns): (usize, usize),
    ) -> Self {
        let names = |dimension, most: usize| -> (Vec<Option<String>>, u64) {
            let parts = cost_by(audit, dimension);
            let others = parts.len().saturating_sub(most) as u64;
            let shown = parts.into_iter().take(most);
            (shown.map(|part| part.label).collect(), others)
        };
        let (rows, hidden_rows) = names(by_row, most_rows);
        let (columns, other_columns) = names(by_column, most_columns);
        let width = columns.len() + usize::from(other_columns > 0);
        let row = |label: Option<String>| CostRow {
            label,
            cells: vec![None; width],
            total: None,
        };
        let mut found: Vec<CostRow> = rows.iter().cloned().map(row).collect();
        let mut rest = row(None);
        let places = |names: &[Option<String>]| -> BTreeMap<Option<String>, usize> {
            let names = names.iter().cloned();
            names
                .enumerate()
                .map(|(place, name)| (name, place))
                .collect()
        };
        let (row_places, column_places) = (places(&rows), places(&columns));
        for audited in &audit.workloads {
            let place = |dimension: Dimension<'_>, places: &BTreeMap<Option<String>, usize>| {
                let label = dimension.label(audited).map(str::to_owned);
                places.get(&label).copied()
            };
            let in_sums = |amount: &Money| amount.currency() == audit.totals.currency;
            let cost = audited.workload.monthly_cost().filter(in_sums);
            let column = place(by_column, &column_places).unwrap_or(columns.len());
            match place(by_row, &row_places).and_then(|row| found.get_mut(row)) {
                Some(row) => row.add(column, cost),
                None => rest.add(column, cost),
            }
        }
        Self {
            columns,
            other_columns,
            rows: found,
            other_rows: (hidden_rows > 0).then_some((hidden_rows, rest)),
        }
    }
}
