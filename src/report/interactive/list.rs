//! The list of workloads.

use super::model::Model;
use super::words::{bold, first_row, left, right, row};
use crate::analysis::AuditedWorkload;
use crate::domain::Money;
use crate::report::shared::sparkline::{WINDOW, peaks};
use crate::report::shared::text::{ABSENT, count, counted, fit, money_or_absent, percent};
use crate::report::shared::view::{RowFacts, SortKey, sum};
use ratatui::text::Line;
use std::collections::BTreeSet;

/// Columns that the name takes at least.
const LEAST_NAME: usize = 16;
/// Columns that mark the row of the cursor.
const MARK: usize = 2;

/// A column beside the name of a workload.
struct Column {
    title: &'static str,
    width: usize,
    /// Its place in the order in which columns are wanted.
    wanted: usize,
    /// On which side it stands.
    side: fn(&str, usize) -> String,
    cell: fn(&AuditedWorkload, &RowFacts, bool) -> String,
}

macro_rules! beside_the_name {
    ($($title:literal, $width:expr, $wanted:literal, $side:ident, $cell:expr;)*) => {
        /// Columns beside the name of a workload, in their order.
        static COLUMNS: &[Column] = &[
            $(Column { title: $title, width: $width, wanted: $wanted, side: $side, cell: $cell }),*
        ];
    };
}
beside_the_name! {
    "TYPE", 15, 3, left, |audited, facts, _| match audited.workload.instances.len() { 1 => facts.instance_type.clone(), number => format!("{number}×{}", facts.instance_type) };
    "REGION", 14, 7, left, |_, facts, _| facts.region.clone();
    "CLASS", 17, 4, left, |_, facts, _| facts.class.to_owned();
    "TEAM", 14, 8, left, |_, facts, _| facts.team.clone().unwrap_or_else(|| ABSENT.to_owned());
    "UTIL", 6, 2, right, |_, facts, _| facts.utilization.map_or_else(|| ABSENT.to_owned(), percent);
    "BUSIEST", WINDOW, 6, left, |audited, _, ascii| peaks(&audited.workload, ascii).unwrap_or_else(|| ABSENT.to_owned());
    "COST/MONTH", 12, 0, right, |_, facts, _| money_or_absent(facts.cost);
    "SAVES/MONTH", 12, 1, right, |_, facts, _| money_or_absent(facts.monthly_savings);
    "PLAN", 20, 5, left, |audited, _, _| audited.actions.iter().map(|action| action.kind().name()).collect::<Vec<_>>().join(", ");
}

pub(super) fn lines(model: &Model<'_>, width: usize, height: usize) -> Vec<Line<'static>> {
    let (columns, name) = columns(width);
    let sorted = model.view.sort.unwrap_or(SortKey::Cost);
    let line = |first: &str, cell: &dyn Fn(&Column) -> String| {
        let columns = columns.iter().copied();
        let cells = columns.map(|column| (column.side)(&cell(column), column.width));
        std::iter::once(left(first, name)).chain(cells).collect::<Vec<String>>().join(" ")
    };
    let header = line("WORKLOAD", &|column| column.title.to_owned());
    let mut lines = vec![
        Line::from(fit(&summary(model, sorted), width)),
        Line::styled(fit(&format!("  {header}"), width), bold()),
    ];
    let rows = height.saturating_sub(lines.len());
    let rows = listed(model, &model.shown, model.cursor, (width, rows), |index| {
        let place = model.shown[index];
        let audited = model.audit.workloads.get(place)?;
        let facts = model.facts.get(place)?;
        let cell = |column: &Column| (column.cell)(audited, facts, model.ascii);
        Some(row(&line(&audited.workload.name, &cell), index == model.cursor))
    });
    lines.extend(rows);
    lines
}

/// How many are shown, with their sums.
fn summary(model: &Model<'_>, sorted: SortKey) -> String {
    let workload_count = model.audit.workloads.len();
    let shown = model.shown.len();
    let sums = sums(model, &model.shown);
    let number = if shown == workload_count {
        counted(workload_count, "workload", "workloads")
    } else {
        format!("{} of {} workloads", count(shown as u64), count(workload_count as u64))
    };
    let filter = model.filter_words();
    format!("{number}, {sums} · by {sorted}{filter}")
}

/// The columns that fit, in their order, and the width that they leave to the name.
fn columns(width: usize) -> (Vec<&'static Column>, usize) {
    let mut places: Vec<usize> = (0..COLUMNS.len()).collect();
    places.sort_by_key(|place| COLUMNS[*place].wanted);
    let mut left = width.saturating_sub(MARK + LEAST_NAME);
    places.retain(|place| {
        let columns = COLUMNS[*place].width;
        let fits = left > columns;
        left -= if fits { columns + 1 } else { 0 };
        fits
    });
    places.sort_unstable();
    (places.into_iter().map(|place| &COLUMNS[place]).collect(), LEAST_NAME + left)
}

/// A line of a list.
enum Listed {
    Heading(Line<'static>),
    /// The row of this index.
    Row(usize),
}

/// The lines that a height has room for, with the row of the cursor among them; `places` are the
/// workloads of the rows, and `row` draws one of them by its index. Without groups these are the
/// rows.
pub(super) fn listed(
    model: &Model<'_>,
    places: &[usize],
    cursor: usize,
    (width, height): (usize, usize),
    row: impl Fn(usize) -> Option<Line<'static>>,
) -> Vec<Line<'static>> {
    let groups: Vec<Option<String>> = places.iter().map(|place| model.group_of(*place)).collect();
    let mut lines = Vec::new();
    let mut at_cursor = 0;
    for (index, group) in groups.iter().enumerate() {
        let is_first = index == 0 || groups[index - 1] != *group;
        if let Some(name) = group.as_ref().filter(|_| is_first) {
            let number = groups[index..].iter().take_while(|next| *next == group);
            let own = &places[index..index + number.count()];
            lines.push(Listed::Heading(heading(model, name, own, width)));
        }
        if index == cursor {
            at_cursor = lines.len();
        }
        lines.push(Listed::Row(index));
    }
    let first = first_row(at_cursor, lines.len(), height);
    let drawn = lines.into_iter().skip(first).take(height).filter_map(|line| match line {
        Listed::Heading(line) => Some(line),
        Listed::Row(index) => row(index),
    });
    drawn.collect()
}

/// A group with the cost and the savings of its workloads.
fn heading(model: &Model<'_>, name: &str, places: &[usize], width: usize) -> Line<'static> {
    let places: BTreeSet<usize> = places.iter().copied().collect();
    let number = counted(places.len(), "workload", "workloads");
    Line::styled(fit(&format!("{name}: {number}, {}", sums(model, &places)), width), bold())
}

/// What workloads cost and what the plan saves of that, in words.
fn sums<'a>(model: &Model<'_>, places: impl IntoIterator<Item = &'a usize> + Copy) -> String {
    let of = |amount: fn(&RowFacts) -> Option<Money>| {
        let facts = places.into_iter().filter_map(|place| model.facts.get(*place));
        money_or_absent(sum(facts.map(amount)))
    };
    let (cost, saved) = (of(|facts| facts.cost), of(|facts| facts.monthly_savings));
    format!("{cost} per month, saves {saved}")
}
