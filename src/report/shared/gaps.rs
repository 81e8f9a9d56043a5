//! What was not seen, the same in every report.

use super::style::Screen;
use super::text::{counted, some_of};
use crate::domain::Gap;
use std::collections::BTreeMap;

/// Gaps shown before the rest is announced.
const SHOWN: usize = 8;
/// Places that a group of equal gaps names.
const NAMED: usize = 3;

/// The section GAPS with an empty line after it; nothing when there are none.
pub fn gap_section(gaps: &[Gap], screen: &mut Screen) {
    if gaps.is_empty() {
        return;
    }
    screen.title(&format!("GAPS  {}", counted(gaps.len(), "data gap", "data gaps")));
    let groups = alike(gaps, screen.style.lists_members());
    let (shown, hidden) = groups.split_at(screen.style.shown(groups.len(), SHOWN));
    for group in shown {
        let Some(first) = group.first() else { continue };
        screen.hanging("  ", 4, &format!("{} of {}: {}", first.what, places(group), first.reason));
        screen.hanging("    ", 4, &format!("hint: {}", first.hint));
    }
    screen.skipped(hidden.iter().map(Vec::len).sum::<usize>(), ("gap", "gaps"), None);
    screen.line("");
}

/// Gaps that differ in nothing but their place, in the order of the first of each; `apart`
/// leaves each on its own.
pub fn alike(gaps: &[Gap], apart: bool) -> Vec<Vec<&Gap>> {
    let key = |gap: &Gap| (gap.what.to_string(), gap.reason.clone(), gap.hint.clone());
    groups_of(gaps, |gap| (!apart).then(|| key(gap)))
}

/// Things with the same key as one group, in the order of the first of each; what has no key is
/// a group by itself.
pub fn groups_of<T: Copy, K: Ord>(
    things: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> Option<K>,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut places = BTreeMap::new();
    for thing in things {
        let next = groups.len();
        match groups.get_mut(key(thing).map_or(next, |key| *places.entry(key).or_insert(next))) {
            Some(group) => group.push(thing),
            None => groups.push(vec![thing]),
        }
    }
    groups
}

/// How often each key comes.
pub fn tally<K: Ord>(keys: impl IntoIterator<Item = K>) -> BTreeMap<K, u64> {
    let mut numbers = BTreeMap::new();
    for key in keys {
        *numbers.entry(key).or_insert(0) += 1;
    }
    numbers
}

/// Where some equal gaps are: the place of one, or how many places there are and some of them.
pub fn places(group: &[&Gap]) -> String {
    let names = || group.iter().map(|gap| gap.place.as_str());
    match group {
        [gap] => gap.place.clone(),
        _ => {
            let number = group.len() as u64;
            let places = if names().all(|place| place.starts_with("i-")) {
                counted(number, "instance", "instances")
            } else {
                counted(number, "place", "places")
            };
            format!("{places} ({})", some_of(names(), NAMED))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::GapSubject;
    use crate::report::shared::style::TableStyle;

    fn gap(place: &str, reason: &str) -> Gap {
        Gap::in_words(GapSubject::GpuUtilization, place, reason, "set up the agent")
    }

    fn shown(gaps: &[Gap], limit: Option<usize>) -> String {
        let style = TableStyle { width: 80, color: false, wide: false, limit, ascii: false };
        let mut screen = Screen { style, text: String::new() };
        gap_section(gaps, &mut screen);
        screen.text
    }

    #[test]
    fn equal_gaps_are_one_and_each_of_them_is_shown_on_request() {
        let mut gaps: Vec<Gap> =
            (1..=25).map(|number| gap(&format!("i-{number:02}"), "nothing was reported")).collect();
        gaps.push(gap("us-east-1", "access denied"));
        assert_eq!(
            shown(&gaps, None),
            "GAPS  26 data gaps\n  \
             GPU utilization of 25 instances (i-01, i-02, i-03 and 22 more): nothing was\n    \
             reported\n    \
             hint: set up the agent\n  \
             GPU utilization of us-east-1: access denied\n    \
             hint: set up the agent\n\n"
        );
        let all_gaps = shown(&gaps, Some(usize::MAX));
        assert_eq!(all_gaps.matches("hint: ").count(), 26);
        assert!(
            all_gaps.contains("\n  GPU utilization of i-25: nothing was reported\n"),
            "{all_gaps}"
        );
        let one_gap = shown(&gaps, Some(1));
        assert!(one_gap.contains("… and 1 more gap: "), "{one_gap}");
    }
}
