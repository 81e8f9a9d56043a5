//! What a Terraform plan changes, in short: what runs, what it comes to, and what
//! the figures rest on.

use crate::analysis::{PlannedChange, PlannedSide, PlannedTotals};
use crate::report::gate::brief::{GateBrief, again, cost_words, delta_words};
use crate::report::shared::markdown::escape::{SENTENCE_WIDTH, bounded};
use crate::report::shared::next::Invocation;
use crate::report::shared::text::{count, counted};
use jiff::Timestamp;

/// What a type is called that the plan does not name.
const UNKNOWN_TYPE: &str = "unknown type";

/// What a plan changes, for the formats of a gate. `name` is what the user calls
/// the plan; `unjudged` are rules that a plan cannot be held against.
pub fn terraform_brief(
    change: &PlannedChange,
    unjudged: &[&'static str],
    name: &str,
    as_of: Timestamp,
) -> GateBrief {
    let rows = &change.rows;
    let number = rows.len() as u64;
    let mut subject = counted(number, "resource with GPUs", "resources with GPUs");
    if change.unpriced > 0 {
        subject.push_str(&format!(", {} not fully priced", count(change.unpriced)));
    }
    let shown = |sentence: String| bounded(&sentence, SENTENCE_WIDTH);
    let sums: Vec<PlannedTotals> = change.totals.values().copied().collect();
    let is_known = rows.iter().all(|row| row.monthly_delta().is_some());
    GateBrief {
        as_of,
        subject,
        nothing: change.nothing().map(shown).unwrap_or_default(),
        // A sum that leaves something out is not what the plan costs.
        monthly_cost: match sums.as_slice() {
            [sums] if change.unpriced == 0 => Some(sums.after),
            _ => None,
        },
        cost: cost_words(&sums, None),
        delta: (!rows.is_empty()).then(|| delta_words(&sums, is_known)),
        unread: change.nothing().or_else(|| change.unread()).map(shown),
        unjudged: unjudged.to_vec(),
        gaps: change.gaps.clone(),
        promises: Vec::new(),
        again: again(&Invocation {
            scope: vec!["--terraform-plan".to_owned(), name.to_owned()],
            ..Invocation::default()
        }),
    }
}

/// What the figures of a plan rest on and leave out, in own words only.
pub(super) fn notes(change: &PlannedChange) -> Vec<String> {
    let oldest =
        change.oldest_seen_on().map_or(String::new(), |day| format!(", oldest from {day},"));
    let mut notes = vec![format!(
        "{} hours per month at list prices{oldest} for Linux on shared hardware unless the \
         plan specifies otherwise; volumes, addresses, reserved instances and savings plans \
         are not included",
        change.hours_per_month.normalize()
    )];
    if change.unpriced > 0 {
        notes.push(format!(
            "{} not fully priced: unknown costs are not included in any total",
            counted(change.unpriced, "row is", "rows are")
        ));
    }
    notes
}

/// How many of which type, such as `2 → 4 spot × p5.48xlarge (to 8)`: what stays
/// stands once, and a single instance is not counted.
pub(super) fn runs(before: Option<&PlannedSide>, after: Option<&PlannedSide>) -> String {
    let parts = |side: &PlannedSide| [counts(side), types(side), most(side)];
    let [counts, types, most] = match (before.map(parts), after.map(parts)) {
        (Some(before), Some(after)) => [0, 1, 2].map(|at| {
            let (was, is) = (&before[at], &after[at]);
            if was == is || at == 2 { is.clone() } else { format!("{was} → {is}") }
        }),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return String::new(),
    };
    if counts == "1" {
        return format!("{types}{most}");
    }
    format!("{counts} × {types}{most}")
}

fn types(side: &PlannedSide) -> String {
    let instances = &side.instances;
    let mut types: Vec<&str> = instances.types.iter().map(String::as_str).collect();
    if instances.more_types.is_some() {
        types.push(UNKNOWN_TYPE);
    }
    types.join(" or ")
}

fn counts(side: &PlannedSide) -> String {
    let Ok(planned) = &side.instances.payment else {
        return side.count.map_or("?".to_owned(), |count| count.to_string());
    };
    let parts =
        [(planned.on_demand, ""), (planned.spot, " spot"), (planned.capacity_block, " block")];
    let counts: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, kind)| format!("{number}{kind}"))
        .collect();
    match counts.as_slice() {
        [] => "0".to_owned(),
        counts => counts.join(" + "),
    }
}

/// How many a group may grow to.
fn most(side: &PlannedSide) -> String {
    match side.instances.most {
        Some(most) if side.count.is_none_or(|count| most > count) => format!(" (to {most})"),
        _ => String::new(),
    }
}
