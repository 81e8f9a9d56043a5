//! Which workload of an earlier audit is which of a later one. An id holds type
//! and purchase option of a group, so that it changes with what a plan changes.

use crate::domain::{PastWorkload, Provider};
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of indices, old and new, ascending by the old one; each at most once.
///
/// The same id pairs first. Of the others those with the most instances in
/// common do, and then groups of one name in one account and region that were
/// left over alone on both sides: an Auto Scaling group replaces its instances.
pub(super) fn pair(old: &[PastWorkload], new: &[PastWorkload]) -> Vec<(usize, usize)> {
    let mut pairing = Pairing { pairs: BTreeMap::new(), taken: BTreeSet::new() };
    pairing.by_id(old, new);
    pairing.by_instances(old, new);
    pairing.by_name(old, new);
    pairing.pairs.into_iter().collect()
}

struct Pairing {
    pairs: BTreeMap<usize, usize>,
    taken: BTreeSet<usize>,
}

impl Pairing {
    fn add(&mut self, old: usize, new: usize) {
        if !self.pairs.contains_key(&old) && !self.taken.contains(&new) {
            self.pairs.insert(old, new);
            self.taken.insert(new);
        }
    }

    fn by_id(&mut self, old: &[PastWorkload], new: &[PastWorkload]) {
        let places: BTreeMap<&str, usize> =
            new.iter().enumerate().map(|(index, workload)| (workload.id.as_str(), index)).collect();
        for (index, workload) in old.iter().enumerate() {
            if let Some(place) = places.get(workload.id.as_str()) {
                self.add(index, *place);
            }
        }
    }

    fn by_instances(&mut self, old: &[PastWorkload], new: &[PastWorkload]) {
        let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, workload) in new.iter().enumerate() {
            for instance in &workload.instances {
                holders.insert(instance, index);
            }
        }
        let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (index, workload) in old.iter().enumerate() {
            for instance in &workload.instances {
                if let Some(holder) = holders.get(instance.as_str()) {
                    *shared.entry((index, *holder)).or_default() += 1;
                }
            }
        }
        let mut shared: Vec<_> = shared.into_iter().collect();
        // Where as many are shared, what runs is what a workload became.
        shared.sort_by_key(|((left, right), count)| {
            (std::cmp::Reverse(*count), old[*left].running && !new[*right].running, *left, *right)
        });
        for ((left, right), _) in shared {
            self.add(left, right);
        }
    }

    fn by_name(&mut self, old: &[PastWorkload], new: &[PastWorkload]) {
        let left = alone(old, |index| self.pairs.contains_key(&index));
        let right = alone(new, |index| self.taken.contains(&index));
        for (identity, index) in left {
            if let Some(other) = right.get(&identity) {
                self.add(index, *other);
            }
        }
    }
}

/// Provider, account, region, and the part of an id that names a group.
type Identity<'a> = (Provider, &'a str, &'a str, &'a str);

/// The groups that are not paired yet, unless two of them have the same name.
fn alone(
    workloads: &[PastWorkload],
    is_paired: impl Fn(usize) -> bool,
) -> BTreeMap<Identity<'_>, usize> {
    let mut by_identity: BTreeMap<Identity<'_>, Option<usize>> = BTreeMap::new();
    for (index, workload) in workloads.iter().enumerate() {
        if is_paired(index) {
            continue;
        }
        // An instance alone is itself and no other.
        if let Some((provider, group)) = group(&workload.id) {
            by_identity
                .entry((provider, &workload.account, &workload.region, group))
                .and_modify(|known| *known = None)
                .or_insert(Some(index));
        }
    }
    by_identity.into_iter().filter_map(|(identity, index)| Some((identity, index?))).collect()
}

/// The group in `account/region/type/option/asg:NAME`, in which the name may
/// hold slashes too, with the provider that stands before it unless it is AWS.
fn group(id: &str) -> Option<(Provider, &str)> {
    let first = id.split_once('/')?;
    let (provider, rest) = match Provider::from_name(first.0) {
        Some(provider) => (provider, first.1),
        None => (Provider::Aws, id),
    };
    let group = rest.splitn(5, '/').nth(4)?;
    let group = group.strip_suffix("/stopped").unwrap_or(group);
    (group.starts_with("asg:") || group.starts_with("tag:")).then_some((provider, group))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(id: &str, instances: &[&str]) -> PastWorkload {
        PastWorkload {
            id: id.to_owned(),
            name: String::new(),
            account: "1".to_owned(),
            region: "r".to_owned(),
            kind: String::new(),
            instances: instances.iter().map(|instance| (*instance).to_owned()).collect(),
            instance_type: String::new(),
            running: !id.ends_with("/stopped"),
            purchase_option: String::new(),
            tags: BTreeMap::new(),
            tagged_instances: BTreeMap::new(),
            tagged_members: Vec::new(),
            monthly_cost: None,
            planned_monthly_cost: None,
            lost_work: None,
            snapshots: None,
            classification: String::new(),
            signal: None,
            mean_percent: None,
        }
    }

    #[test]
    fn the_same_id_comes_before_everything_else() {
        let old = [workload("i-1", &["i-1"]), workload("i-2", &["i-2"])];
        let new = [workload("i-2", &["i-2"]), workload("i-3", &["i-1"])];
        assert_eq!(pair(&old, &new), [(0, 1), (1, 0)]);
    }

    #[test]
    fn a_group_that_changed_its_type_is_known_by_its_instances() {
        let old = [workload("1/r/p4d/on-demand/tag:chat", &["i-1", "i-2"])];
        let new = [
            workload("1/r/g6e/on-demand/tag:chat/stopped", &["i-1"]),
            workload("1/r/g6e/spot/tag:chat", &["i-2"]),
        ];
        assert_eq!(pair(&old, &new), [(0, 1)]);
    }

    #[test]
    fn a_group_with_other_instances_is_known_by_its_name() {
        let old = [workload("1/r/p4d/on-demand/asg:a/b", &["i-1"])];
        let new = [workload("1/r/g6e/on-demand/asg:a/b", &["i-7"])];
        assert_eq!(pair(&old, &new), [(0, 0)]);
    }

    #[test]
    fn two_groups_of_one_name_are_not_guessed_at() {
        let old = [workload("1/r/p4d/on-demand/asg:a", &["i-1"])];
        let new = [
            workload("1/r/g6e/on-demand/asg:a", &["i-7"]),
            workload("1/r/g6/on-demand/asg:a", &["i-8"]),
        ];
        assert_eq!(pair(&old, &new), []);
        let lone = [workload("i-1", &["i-1"])];
        assert_eq!(pair(&lone, &[workload("i-9", &["i-9"])]), []);
    }
}
