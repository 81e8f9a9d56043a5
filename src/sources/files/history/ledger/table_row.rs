//! A row of any table of an audit, with the file that it belongs into.

use super::rows::{ACTION, COST, action_of, cells_of_action, cells_of_day, day_of};
use crate::domain::{RecordedAction, WorkloadDay};
use crate::sources::files::history::columns::{Cell, Schema, TableError};
use crate::sources::files::history::layout::name_of;
use crate::sources::files::history::table::Row;
use jiff::civil::Date;

#[derive(Debug)]
pub(in crate::sources::files::history) enum TableRow {
    Cost(Box<WorkloadDay>),
    Action {
        run_id: String,
        on: Date,
        action: Box<RecordedAction>,
    },
}

/// Reads a row of a table.
///
/// # Errors
/// When it has a value that is never written.
pub(in crate::sources::files::history) fn row_of(
    schema: &Schema,
    row: &Row<'_>,
) -> Result<TableRow, TableError> {
    match schema.name {
        name if name == COST.name => Ok(TableRow::Cost(Box::new(day_of(row)?))),
        name if name == ACTION.name => {
            let (run_id, on, action) = action_of(row)?;
            Ok(TableRow::Action {
                run_id,
                on,
                action: Box::new(action),
            })
        }
        _ => Err(TableError::Columns),
    }
}

impl TableRow {
    /// The file of its run.
    pub(in crate::sources::files::history) fn file(&self) -> String {
        match self {
            Self::Cost(row) => name_of(COST.name, row.day, &row.run_id),
            Self::Action { run_id, on, .. } => name_of(ACTION.name, *on, run_id),
        }
    }

    /// Its cells.
    ///
    /// # Errors
    /// When a text or a figure is beyond what a table holds.
    pub(in crate::sources::files::history) fn cells(&self) -> Result<Vec<Cell>, TableError> {
        let scope = |id: &str| {
            id.rsplit_once('-')
                .map_or(String::new(), |(_, of)| of.to_owned())
        };
        match self {
            Self::Cost(row) => cells_of_day(row, &scope(&row.run_id)),
            Self::Action { run_id, on, action } => {
                cells_of_action(action, (run_id, &scope(run_id)), *on)
            }
        }
    }
}
