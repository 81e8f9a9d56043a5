//! Rows of a list below the headings of their groups.

use super::model::Model;
use super::words::{bold, first_row};
use crate::domain::Money;
use crate::report::shared::text::{counted, fit, money_or_absent};
use crate::report::shared::view::{RowFacts, sum};
use ratatui::text::Line;
use std::collections::BTreeSet;

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
    let lines = lines.into_iter().skip(first).take(height);
    let drawn = lines.filter_map(|line| match line {
        Listed::Heading(line) => Some(line),
        Listed::Row(index) => row(index),
    });
    drawn.collect()
}

/// A group with the cost and the savings of its workloads.
fn heading(model: &Model<'_>, name: &str, places: &[usize], width: usize) -> Line<'static> {
    let places: BTreeSet<usize> = places.iter().copied().collect();
    let number = counted(places.len() as u64, "workload", "workloads");
    let text = format!("{name}: {number}, {}", sums(model, &places));
    Line::styled(fit(&text, width), bold())
}

/// What workloads cost and what the plan saves of that, in words.
pub(super) fn sums<'a>(
    model: &Model<'_>,
    places: impl IntoIterator<Item = &'a usize> + Copy,
) -> String {
    let of = |amount: fn(&RowFacts) -> Option<Money>| {
        let facts = places.into_iter().filter_map(|place| model.facts.get(*place));
        money_or_absent(sum(facts.map(amount)))
    };
    let (cost, saved) = (of(|facts| facts.cost), of(|facts| facts.monthly_savings));
    format!("{cost} per month, saves {saved}")
}
