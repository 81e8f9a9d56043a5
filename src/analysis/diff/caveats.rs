//! What makes two audits hard to compare.

use crate::domain::{PastAudit, Unread, counted};
use std::collections::BTreeSet;

/// What makes two audits hard to compare, in words.
pub(super) fn caveats(old: &PastAudit, new: &PastAudit) -> Vec<String> {
    let mut caveats = Vec::new();
    let (then, now) = (old.totals.currency, new.totals.currency);
    if then != now {
        caveats.push(format!(
            "sums are in {then} before and in {now} now: no difference can be computed"
        ));
    }
    caveats.extend(differences_of_scope(old, new));
    let unpriced = [old, new].map(|audit| audit.totals.unpriced_instances);
    if unpriced != [0, 0] {
        caveats.push(format!(
            "instances without a price, excluded from the sums: {} before, {} now",
            unpriced[0], unpriced[1]
        ));
    }
    caveats
}

/// What two audits do not have in common besides what they found, in words:
/// accounts, regions, windows, their order and the programs that made them.
pub(in crate::analysis) fn differences_of_scope(old: &PastAudit, new: &PastAudit) -> Vec<String> {
    let mut caveats = Vec::new();
    for (what, before, after) in
        [("accounts", &old.accounts, &new.accounts), ("regions", &old.regions, &new.regions)]
    {
        let before: BTreeSet<&String> = before.iter().collect();
        let after: BTreeSet<&String> = after.iter().collect();
        let only = |left: &BTreeSet<&String>, right: &BTreeSet<&String>| {
            let names: Vec<&str> = left.difference(right).map(|name| name.as_str()).collect();
            names.join(", ")
        };
        for (when, names) in [("before", only(&before, &after)), ("now", only(&after, &before))] {
            if !names.is_empty() {
                caveats.push(format!("{what} in scope only {when}: {names}"));
            }
        }
    }
    for (when, audit) in [("before", old), ("now", new)] {
        let unread: Vec<&str> =
            audit.gaps.iter().filter_map(|gap| gap.unread()).map(Unread::name).collect();
        if !unread.is_empty() {
            caveats.push(format!("could not be read {when}: {}", unread.join(", ")));
        }
    }
    let left_out = [old, new].map(|audit| audit.left_out_workloads);
    if left_out != [0, 0] {
        caveats.push(format!(
            "only data read by both audits is compared, which excludes {} before and {} now",
            workloads(left_out[0]),
            workloads(left_out[1])
        ));
    }
    let (before, after) = (old.window.seconds(), new.window.seconds());
    if before != after {
        caveats.push(format!(
            "the audit windows are {} and {} long",
            length(before),
            length(after)
        ));
    }
    if new.as_of < old.as_of {
        caveats.push("the second audit covers an earlier time than the first".to_owned());
    }
    if let (Some(then), Some(now)) = (&old.gpucost_version, &new.gpucost_version)
        && then != now
    {
        caveats.push(format!(
            "gpucost {then} created the first audit and {now} the second: rules may differ"
        ));
    }
    caveats
}

fn workloads(number: u64) -> String {
    counted(number, "workload", "workloads")
}

/// A length of time in days, or in hours where these are not whole.
fn length(seconds: i64) -> String {
    if seconds % 86_400 == 0 {
        format!("{} d", seconds / 86_400)
    } else {
        format!("{:.1} h", seconds as f64 / 3_600.0)
    }
}
