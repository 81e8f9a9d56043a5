//! A machine that several places show is one instance, and is paid for once.

use crate::domain::{Cause, CauseKind, Gap, GapSubject, Provider, ResourceId};
use crate::sources::Found;
use std::collections::{BTreeMap, BTreeSet};

/// Whose machines a place shows, absent for a cluster, and its name.
pub(super) type Region<'a> = (Option<Provider>, &'a str);

/// Leaves one instance of every machine: the one that its provider shows, with what its
/// cluster knows of it beside. A node whose machine the provider does not show, although
/// its region was read, is a gap.
pub(super) fn join(places: &mut [(Region<'_>, &mut Found)]) -> Vec<Gap> {
    let is_cluster = |(provider, _): &Region<'_>| provider.is_none();
    let own = places.iter().filter(|(one, _)| !is_cluster(one));
    let regions = own
        .clone()
        .filter_map(|((provider, name), _)| Some(((*provider)?, (*name).to_owned())));
    let regions: BTreeSet<(Provider, String)> = regions.collect();
    let types = own.clone().flat_map(|(_, found)| found.shapes.keys());
    let types: BTreeSet<String> = types.cloned().collect();
    let shown = own.flat_map(|(_, found)| &found.instances);
    let shown: BTreeSet<ResourceId> = shown.map(|one| one.id.clone()).collect();

    let mut gaps = Vec::new();
    let mut labels: BTreeMap<ResourceId, BTreeMap<String, String>> = BTreeMap::new();
    for (_, found) in places.iter_mut().filter(|(one, _)| is_cluster(one)) {
        // What the provider says of a type is more than what labels do.
        found.shapes.retain(|name, _| !types.contains(name));
        found.instances.retain(|one| {
            if shown.contains(&one.id) {
                labels.insert(one.id.clone(), one.tags.clone());
                return false;
            }
            // Own hardware may stand in a region of the same name.
            let is_read = regions.contains(&(one.id.provider(), one.region.clone()));
            if is_read {
                let cause = Cause::of(CauseKind::NodeNotShown, [&one.region]);
                gaps.push(Gap::of(GapSubject::Instance, one.id.as_str(), cause));
            }
            !is_read
        });
    }
    for (_, found) in places.iter_mut().filter(|(one, _)| !is_cluster(one)) {
        for instance in &mut found.instances {
            for (key, value) in labels.remove(&instance.id).into_iter().flatten() {
                instance.tags.entry(key).or_insert(value);
            }
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
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
            tags: tags
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
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
        let nodes = machines.iter().map(|one| node(one.id.as_str())).collect();
        Found {
            clusters: Clusters {
                nodes,
                ..Clusters::default()
            },
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
            let all = found.instances.iter();
            all.map(|one| one.id.to_string()).collect()
        };
        assert_eq!(ids(&ec2), ["i-1", "i-9"]);
        assert_eq!((ids(&east).len(), ids(&west)), (0, vec!["i-3".to_owned()]));
        let joined = &ec2.instances[0];
        assert_eq!(joined.lifecycle, Lifecycle::Spot);
        let tags = [("Name", "trainer"), ("stage", "test"), ("team", "search")];
        let told: Vec<(&str, &str)> = joined
            .tags
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(told, tags);
        assert_eq!((ec2.shapes.len(), east.shapes.len()), (1, 0));
        // Who holds what of it stays.
        assert_eq!(east.clusters.nodes.len(), 2);
        let [gap] = gaps.as_slice() else {
            panic!("{gaps:?}");
        };
        assert_eq!(gap.place, "i-2");
        assert!(gap.hides_instances());
    }
}
