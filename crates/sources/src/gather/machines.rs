//! A machine that several places show is one instance, and is paid for once.

use super::prices::add_known_prices;
use crate::Found;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Gathered, Instance, PriceBook, Provider, ResourceId,
    TrainingPlan,
};
use crate::usage::Estate;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Whose machines a place shows, absent for a cluster, and its name.
pub(super) type Region<'a> = (Option<Provider>, &'a str);

/// Leaves one of everything that a place lists on several pages, as when something is added
/// to the list meanwhile. Where two differ, it is the newer one whatever the order of the
/// pages, and a gap.
pub(super) fn once(found: &mut Found, region: &str) -> Vec<Gap> {
    let newest = |instance: &Instance| (instance.launch_time, instance.state.is_running());
    let instances = distinct(&mut found.instances, |instance| instance.id.clone(), newest);
    let latest = |plan: &TrainingPlan| (plan.end, plan.in_use);
    let plans = distinct(&mut found.managed.plans, |plan| plan.id.clone(), latest);
    let twice =
        |what: GapSubject, place: &str| Gap::of(what, place, Cause::of(CauseKind::ListedTwice, []));
    let instances = instances.iter();
    let mut gaps: Vec<Gap> = instances.map(|id| twice(GapSubject::Instance, id.as_str())).collect();
    if !plans.is_empty() {
        gaps.push(twice(GapSubject::TrainingPlans, region));
    }
    gaps
}

/// Leaves one of everything with the same key, in the order of the list: the one with the
/// highest rank, and of several of the same rank the one whose fields are last in order. Gives
/// the keys of those that differ.
fn distinct<T: Debug + PartialEq, K: Ord + Clone, R: Ord>(
    values: &mut Vec<T>,
    key: impl Fn(&T) -> K,
    rank: impl Fn(&T) -> R,
) -> BTreeSet<K> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut kept: Vec<T> = Vec::with_capacity(values.len());
    let mut differing = BTreeSet::new();
    for value in std::mem::take(values) {
        match places.entry(key(&value)) {
            Entry::Vacant(free) => {
                free.insert(kept.len());
                kept.push(value);
            }
            Entry::Occupied(taken) => {
                let Some(other) = kept.get_mut(*taken.get()).filter(|other| **other != value)
                else {
                    continue;
                };
                differing.insert(taken.key().clone());
                let order = |value: &T| (rank(value), format!("{value:?}"));
                if order(&value) > order(other) {
                    *other = value;
                }
            }
        }
    }
    *values = kept;
    differing
}

/// Leaves one instance of every machine: the one that its provider shows, with what its
/// cluster knows of it beside. A node whose machine the provider does not show, although
/// its region was read, is a gap.
pub(super) fn join(places: &mut [(Region<'_>, &mut Found)]) -> Vec<Gap> {
    let is_cluster = |(provider, _): &Region<'_>| provider.is_none();
    let own = places.iter().filter(|(region, _)| !is_cluster(region));
    let regions =
        own.clone().filter_map(|((provider, name), _)| Some(((*provider)?, (*name).to_owned())));
    let regions: BTreeSet<(Provider, String)> = regions.collect();
    let types = own.clone().flat_map(|(_, found)| found.shapes.keys());
    let types: BTreeSet<String> = types.cloned().collect();
    let shown = own.flat_map(|(_, found)| &found.instances);
    let shown: BTreeSet<ResourceId> = shown.map(|instance| instance.id.clone()).collect();
    let hyperpod = shown.iter().filter_map(|id| Some((id.hyperpod_node()?, id)));
    let hyperpod: BTreeMap<&str, &ResourceId> = hyperpod.collect();

    let mut gaps = Vec::new();
    let mut labels: BTreeMap<ResourceId, BTreeMap<String, String>> = BTreeMap::new();
    for (_, found) in places.iter_mut().filter(|(region, _)| is_cluster(region)) {
        name_nodes(found, &hyperpod);
        // What the provider says of a type is more than what labels do.
        found.shapes.retain(|name, _| !types.contains(name));
        found.instances.retain(|instance| {
            if shown.contains(&instance.id) {
                labels.insert(instance.id.clone(), instance.tags.clone());
                return false;
            }
            // Own hardware may stand in a region of the same name.
            let is_read = regions.contains(&(instance.id.provider(), instance.region.clone()));
            if is_read {
                let cause = Cause::of(CauseKind::NodeNotShown, [&instance.region]);
                gaps.push(Gap::of(GapSubject::Instance, instance.id.as_str(), cause));
            }
            !is_read
        });
    }
    for (_, found) in places.iter_mut().filter(|(region, _)| !is_cluster(region)) {
        for instance in &mut found.instances {
            for (key, value) in labels.remove(&instance.id).into_iter().flatten() {
                instance.tags.entry(key).or_insert(value);
            }
        }
    }
    gaps
}

/// Gives nodes of HyperPod, of which a cluster does not know all of the id, the one that
/// SageMaker shows.
fn name_nodes(cluster: &mut Found, shown: &BTreeMap<&str, &ResourceId>) {
    let own = cluster.instances.iter_mut().map(|instance| &mut instance.id);
    let clusters = &mut cluster.clusters;
    let of_nodes = clusters.nodes.iter_mut().map(|node| &mut node.machine);
    let of_claims = clusters.claims.iter_mut().filter_map(|claim| claim.machine.as_mut());
    let of_uses = clusters.uses.iter_mut().map(|used| &mut used.machine);
    for id in own.chain(of_nodes).chain(of_claims).chain(of_uses) {
        let known = id.hyperpod_node().and_then(|node| shown.get(node));
        if let Some(known) = known.map(|known| (*known).clone()) {
            *id = known;
        }
    }
}

/// Adds a cluster to an estate of AWS that has none of Kubernetes, as if both had been read
/// together: a machine that both have is one instance, and one that only the cluster has is
/// priced by the bundled catalog, or is a gap where the estate has its region.
pub fn add_cluster(estate: &mut Estate, cluster: Gathered<Found>) {
    let Gathered { value: mut nodes, gaps } = cluster;
    let mut own = Found {
        instances: std::mem::take(&mut estate.instances),
        shapes: std::mem::take(&mut estate.shapes),
        ..Found::default()
    };
    let mut regions: Vec<(&str, Found)> =
        estate.regions.iter().map(|name| (name.as_str(), Found::default())).collect();
    let mut places: Vec<(Region<'_>, &mut Found)> =
        regions.iter_mut().map(|(name, found)| ((Some(Provider::Aws), *name), found)).collect();
    places.push(((Some(Provider::Aws), ""), &mut own));
    places.push(((None, ""), &mut nodes));
    let missing = join(&mut places);

    let only = &nodes.instances;
    add_known_prices(&mut estate.prices, &PriceBook::default(), only);
    let names = only.iter().map(|instance| &instance.account);
    estate.accounts = with(&estate.accounts, names.filter(|id| !id.is_empty()));
    estate.regions = with(&estate.regions, only.iter().map(|instance| &instance.region));
    estate.instances = own.instances;
    estate.instances.extend(nodes.instances);
    estate.instances.sort_by(|left, right| left.id.cmp(&right.id));
    estate.shapes = own.shapes;
    estate.shapes.extend(nodes.shapes);
    estate.clusters.add(nodes.clusters);
    estate.clusters.sort();
    estate.gaps.extend(gaps);
    estate.gaps.extend(missing);
    estate.gaps.sort();
    estate.gaps.dedup();
}

/// Names with some more, ascending.
fn with<'a>(names: &'a [String], more: impl Iterator<Item = &'a String>) -> Vec<String> {
    names.iter().chain(more).collect::<BTreeSet<&String>>().into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Hidden;
    use crate::domain::{
        AcceleratorKind, Clusters, Instance, InstanceShape, InstanceState, Lifecycle, Node,
        NodeAmount, OperatingSystem, Scheduler, Tenancy,
    };
    use jiff::Timestamp;

    fn instance(id: &str, region: &str, lifecycle: Lifecycle, tags: &[(&str, &str)]) -> Instance {
        let tags = tags.iter();
        Instance {
            id: ResourceId::named(id),
            account: String::new(),
            region: region.to_owned(),
            zone: None,
            instance_type: "p9.large".to_owned(),
            state: InstanceState::Running,
            lifecycle,
            capacity_reservation_id: None,
            capacity_block_id: None,
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            launch_time: Timestamp::UNIX_EPOCH,
            attached_time: None,
            state_transition_reason: None,
            tags: tags.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            auto_scaling_group: None,
            private_dns_name: None,
            volumes: Vec::new(),
            addresses: Vec::new(),
        }
    }

    fn shape(vcpu: u32) -> (String, InstanceShape) {
        let shape = InstanceShape {
            instance_type: "p9.large".to_owned(),
            accelerator: AcceleratorKind::Gpu,
            gpu: None,
            vcpu,
            memory_mib: 1,
            architecture: None,
            local_storage_gb: None,
            efa: None,
        };
        ("p9.large".to_owned(), shape)
    }

    #[test]
    fn a_node_of_hyperpod_is_the_machine_that_sagemaker_shows() {
        let in_cluster = "sagemaker/111122223333/us-east-1/cluster/hp/i-5";
        let labels = [("team", "ml")];
        let of = |id: &str| instance(id, "us-east-1", Lifecycle::OnDemand, &[]);
        let mut sagemaker = Found { instances: vec![of(in_cluster)], ..Found::default() };
        let mut eks = cluster(vec![
            instance("sagemaker//us-east-1/i-5", "us-east-1", Lifecycle::OnDemand, &labels),
            // Of a cluster that is not listed.
            of("sagemaker//us-east-1/i-6"),
        ]);
        let gaps = join(&mut [
            ((Some(Provider::SageMaker), "us-east-1"), &mut sagemaker),
            ((None, ""), &mut eks),
        ]);
        assert!(eks.instances.is_empty());
        assert_eq!(sagemaker.instances[0].tags["team"], "ml");
        let nodes = eks.clusters.nodes.iter();
        let machines: Vec<&str> = nodes.map(|node| node.machine.as_str()).collect();
        assert_eq!(machines, [in_cluster, "sagemaker//us-east-1/i-6"]);
        let [gap] = gaps.as_slice() else {
            panic!("{gaps:?}");
        };
        assert_eq!(gap.place, "sagemaker//us-east-1/i-6");
    }

    #[test]
    fn what_is_on_two_pages_counts_once_and_of_two_that_differ_the_newer_one() {
        let first = instance("i-1", "us-east-1", Lifecycle::OnDemand, &[("a", "1")]);
        let same = instance("i-2", "us-east-1", Lifecycle::OnDemand, &[]);
        let restarted = Instance {
            launch_time: Timestamp::from_second(60).expect("in range"),
            ..first.clone()
        };
        let mut tagged = first.clone();
        tagged.tags.insert("a".to_owned(), "2".to_owned());
        let mut pages =
            vec![first.clone(), same.clone(), tagged, restarted.clone(), same.clone(), first];
        for _ in 0..2 {
            let mut listing = Found { instances: pages.clone(), ..Found::default() };
            let gaps = once(&mut listing, "us-east-1");
            listing.instances.sort_by(|left, right| left.id.cmp(&right.id));
            assert_eq!(listing.instances, [restarted.clone(), same.clone()]);
            let [gap] = gaps.as_slice() else {
                panic!("{gaps:?}");
            };
            assert_eq!(gap.place, "i-1");
            assert!(gap.hides() == Hidden::Instances);
            pages.reverse();
        }
    }

    #[test]
    fn of_copies_of_one_age_the_same_one_stays_in_any_order() {
        let tagged = |value: &str| instance("i-1", "r", Lifecycle::Spot, &[("a", value)]);
        let kept = |pages: [Instance; 2]| {
            let mut listing = Found { instances: pages.into(), ..Found::default() };
            assert_eq!(once(&mut listing, "r").len(), 1);
            listing.instances
        };
        let one = kept([tagged("1"), tagged("2")]);
        assert_eq!(one.len(), 1);
        assert_eq!(kept([tagged("2"), tagged("1")]), one);
    }

    fn node(machine: &str) -> Node {
        Node {
            name: machine.to_owned(),
            scheduler: Scheduler::Kubernetes,
            provider_id: None,
            cluster: None,
            machine: ResourceId::named(machine),
            physical: None,
            devices: BTreeMap::new(),
            price_class: None,
            pool: None,
            pool_maker: None,
            cpu_millicores: NodeAmount::default(),
            memory_mib: NodeAmount::default(),
            pods: None,
            cpu_only_pods: None,
            is_ready: None,
            is_cordoned: false,
        }
    }

    fn cluster(machines: Vec<Instance>) -> Found {
        let nodes = machines.iter().map(|machine| node(machine.id.as_str())).collect();
        Found {
            clusters: Clusters { nodes, ..Clusters::default() },
            instances: machines,
            shapes: BTreeMap::from([shape(2)]),
            ..Found::default()
        }
    }

    #[test]
    fn what_its_provider_says_of_a_machine_wins_and_labels_are_added() {
        let tags = [("Name", "trainer"), ("team", "search")];
        let mut ec2 = Found {
            instances: vec![
                instance("i-1", "us-east-1", Lifecycle::Spot, &tags),
                instance("i-9", "us-east-1", Lifecycle::OnDemand, &[]),
            ],
            shapes: BTreeMap::from([shape(96)]),
            ..Found::default()
        };
        let labels = [("Name", "ip-10-0-1-10"), ("team", "ml"), ("stage", "test")];
        let mut east = cluster(vec![
            instance("i-1", "us-east-1", Lifecycle::OnDemand, &labels),
            // Of another account, or terminated since.
            instance("i-2", "us-east-1", Lifecycle::OnDemand, &[]),
        ]);
        // This region was not read.
        let west = instance("i-3", "us-west-2", Lifecycle::OnDemand, &[]);
        let mut west = cluster(vec![west]);
        let gaps = join(&mut [
            ((Some(Provider::Aws), "us-east-1"), &mut ec2),
            ((None, "us-east-1"), &mut east),
            ((None, "us-west-2"), &mut west),
        ]);

        let ids = |found: &Found| -> Vec<String> {
            let instances = found.instances.iter();
            instances.map(|instance| instance.id.to_string()).collect()
        };
        assert_eq!(ids(&ec2), ["i-1", "i-9"]);
        assert_eq!((ids(&east).len(), ids(&west)), (0, vec!["i-3".to_owned()]));
        let joined = &ec2.instances[0];
        assert_eq!(joined.lifecycle, Lifecycle::Spot);
        let tags = [("Name", "trainer"), ("stage", "test"), ("team", "search")];
        let told: Vec<(&str, &str)> =
            joined.tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(told, tags);
        assert_eq!((ec2.shapes.len(), east.shapes.len()), (1, 0));
        // Who holds what of it stays.
        assert_eq!(east.clusters.nodes.len(), 2);
        let [gap] = gaps.as_slice() else {
            panic!("{gaps:?}");
        };
        assert_eq!(gap.place, "i-2");
        assert!(gap.hides() == Hidden::Instances);
    }
}
