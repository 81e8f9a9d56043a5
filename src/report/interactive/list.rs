//! The list of workloads.

use super::groups::{Listed, listed};
use super::model::Model;
use super::words::{bold, left, right, row};
use crate::analysis::AuditedWorkload;
use crate::domain::Money;
use crate::report::shared::sparkline::sparkline;
use crate::report::shared::text::{ABSENT, count, counted, fit, money_or_absent, percent};
use crate::report::shared::view::{RowFacts, SortKey, sum};
use ratatui::text::Line;

/// Columns that the name takes at least.
const LEAST_NAME: usize = 16;
/// Columns that mark the row of the cursor.
const MARK: usize = 2;
/// Hours of a bar's part of the window.
const BARS: usize = 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Type,
    Region,
    Class,
    Team,
    Mean,
    Bars,
    Cost,
    Savings,
    Actions,
}

/// Columns beside the name in the order in which they are wanted, with their widths.
const WANTED: [(Column, usize); 9] = [
    (Column::Cost, 12),
    (Column::Savings, 12),
    (Column::Mean, 6),
    (Column::Type, 15),
    (Column::Class, 17),
    (Column::Actions, 20),
    (Column::Bars, BARS),
    (Column::Region, 14),
    (Column::Team, 14),
];
const ORDER: [Column; 10] = [
    Column::Name,
    Column::Type,
    Column::Region,
    Column::Class,
    Column::Team,
    Column::Mean,
    Column::Bars,
    Column::Cost,
    Column::Savings,
    Column::Actions,
];

pub(super) fn lines(model: &Model<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    let columns = columns(width);
    let sorted = model.view.sort.unwrap_or(SortKey::Cost);
    let header = |column: Column| match column {
        Column::Name => "WORKLOAD",
        Column::Type => "TYPE",
        Column::Region => "REGION",
        Column::Class => "CLASS",
        Column::Team => "TEAM",
        Column::Mean => "UTIL",
        Column::Bars => "BUSIEST",
        Column::Cost => "COST/MONTH",
        Column::Savings => "SAVES/MONTH",
        Column::Actions => "PLAN",
    };
    let header = joined(&columns, |column| header(column).to_owned());
    let mut lines = vec![
        Line::from(fit(&summary(model, sorted), width)),
        Line::styled(fit(&format!("  {header}"), width), bold()),
    ];
    let rows = height.saturating_sub(lines.len());
    for one in listed(model, &model.shown, model.cursor, (width, rows)) {
        let index = match one {
            Listed::Heading(line) => {
                lines.push(line);
                continue;
            }
            Listed::Row(index) => index,
        };
        let place = model.shown[index];
        let (Some(audited), Some(facts)) =
            (model.audit.workloads.get(place), model.facts.get(place))
        else {
            continue;
        };
        let text = joined(&columns, |column| cell(column, audited, facts, model.ascii));
        lines.push(row(&text, index == model.cursor));
    }
    lines
}

/// How many are shown, with their sums.
fn summary(model: &Model<'_>, sorted: SortKey) -> String {
    let all = model.audit.workloads.len();
    let shown = model.shown.len();
    let facts = || {
        model
            .shown
            .iter()
            .filter_map(|place| model.facts.get(*place))
    };
    let of = |amount: fn(&RowFacts) -> Option<Money>| money_or_absent(sum(facts().map(amount)));
    let number = if shown == all {
        counted(all as u64, "workload", "workloads")
    } else {
        format!("{} of {} workloads", count(shown as u64), count(all as u64))
    };
    let filter = if model.filter.is_empty() {
        String::new()
    } else {
        format!(" · filter `{}`", model.filter)
    };
    format!(
        "{number}, {} per month, saves {} · by {sorted}{filter}",
        of(|facts| facts.cost),
        of(|facts| facts.monthly_savings),
    )
}

/// The columns that fit, in their order.
fn columns(width: usize) -> Vec<(Column, usize)> {
    let mut left = width.saturating_sub(MARK + LEAST_NAME);
    let mut chosen = Vec::new();
    for (column, columns) in WANTED {
        if left > columns {
            left -= columns + 1;
            chosen.push((column, columns));
        }
    }
    chosen.push((Column::Name, LEAST_NAME + left));
    chosen.sort_by_key(|(column, _)| ORDER.iter().position(|other| other == column));
    chosen
}

fn joined(columns: &[(Column, usize)], cell: impl Fn(Column) -> String) -> String {
    let cells = columns.iter().map(|(column, width)| {
        let text = cell(*column);
        match column {
            Column::Mean | Column::Cost | Column::Savings => right(&text, *width),
            _ => left(&text, *width),
        }
    });
    cells.collect::<Vec<String>>().join(" ")
}

fn cell(column: Column, audited: &AuditedWorkload, facts: &RowFacts, ascii: bool) -> String {
    match column {
        Column::Name => audited.workload.name.clone(),
        Column::Type => match audited.workload.instances.len() {
            1 => facts.instance_type.clone(),
            number => format!("{number}×{}", facts.instance_type),
        },
        Column::Region => facts.region.clone(),
        Column::Class => facts.class.to_owned(),
        Column::Team => facts.team.clone().unwrap_or_else(|| ABSENT.to_owned()),
        Column::Mean => facts.utilization.map_or_else(|| ABSENT.to_owned(), percent),
        Column::Bars => {
            let hours = audited.workload.activity.hours();
            let maxima: Vec<Option<f64>> = hours.map(|hour| hour.maximum).collect();
            sparkline(&maxima, BARS, ascii).unwrap_or_else(|| ABSENT.to_owned())
        }
        Column::Cost => money_or_absent(facts.cost),
        Column::Savings => money_or_absent(facts.monthly_savings),
        Column::Actions => {
            let kinds = audited.actions.iter().map(|action| action.kind().name());
            kinds.collect::<Vec<&str>>().join(", ")
        }
    }
}
