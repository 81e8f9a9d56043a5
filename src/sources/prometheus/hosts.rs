//! Which machine a series is of, by its labels.
//!
//! A wrong machine is worse than none: where a label says that a series is of a machine
//! that is not audited, no weaker label is asked, because private addresses and the names
//! that are made of them repeat in other networks.

use super::answer::Labels;
use super::labels::{find, find_all, is_of_kubernetes};
use crate::domain::{Directory, HostMatch, Instance, JoinedBy, Provider};
use crate::sources::provider_id::Place;
use std::collections::{BTreeMap, BTreeSet};

/// Of neuron-monitor, of scrape configurations for EC2, and of CloudWatch's own PromQL.
const INSTANCE_LABELS: [&str; 3] = ["instance_id", "instanceid", "@resource.host.id"];
const NODE_LABELS: [&str; 4] = ["node", "kubernetes_node", "node_name", "nodename"];
/// What exporters say themselves; the scrape configuration may have renamed it.
const HOST_LABELS: [&str; 3] = ["hostname", "exported_hostname", "host"];
/// What was scraped.
const ADDRESS_LABELS: [&str; 1] = ["instance"];
/// Which cluster a server of several has a series from.
const CLUSTER_LABELS: [&str; 5] =
    ["cluster", "k8s_cluster_name", "cluster_id", "cluster_name", "@resource.k8s.cluster.name"];

/// The machine of a series.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Home<'a> {
    pub(super) instance: &'a Instance,
    pub(super) joined_by: JoinedBy,
    /// The label that names it, by which its series are selected.
    pub(super) label: String,
}

/// Machines by what labels say of them.
#[derive(Debug)]
pub(super) struct Hosts<'a> {
    directory: Directory<'a>,
    /// Provider ids by cluster and by the name or address of a node, in small letters.
    nodes: BTreeMap<(Option<String>, String), BTreeSet<String>>,
}

/// The label of the cluster, with its value.
pub(super) fn cluster_of(labels: &Labels) -> Option<(&str, &str)> {
    find(labels, &CLUSTER_LABELS)
}

/// What a series calls its host, for people.
pub(super) fn host_name(labels: &Labels) -> &str {
    let names: [&[&str]; 4] = [&INSTANCE_LABELS, &NODE_LABELS, &HOST_LABELS, &ADDRESS_LABELS];
    names.into_iter().find_map(|names| find(labels, names)).map_or("(no host)", |(_, value)| value)
}

impl<'a> Hosts<'a> {
    /// Of instances and of the series of `kube_node_info`.
    pub(super) fn of(instances: impl IntoIterator<Item = &'a Instance>, nodes: &[Labels]) -> Self {
        let mut hosts = Self { directory: Directory::of(instances), nodes: BTreeMap::new() };
        for labels in nodes {
            let Some((_, provider_id)) = find(labels, &["provider_id"]) else { continue };
            let cluster = cluster_of(labels).map(|(_, value)| value.to_owned());
            // The pod of kube-state-metrics runs on a node too, and where it was scraped
            // with that as the label `node`, its own label was renamed.
            let name = find(labels, &["exported_node", "node"]);
            for (_, name) in [name, find(labels, &["internal_ip"])].into_iter().flatten() {
                let key = (cluster.clone(), name.to_ascii_lowercase());
                hosts.nodes.entry(key).or_default().insert(provider_id.to_owned());
            }
        }
        hosts
    }

    /// The one machine that labels name: by its id, by its node's provider id, by the
    /// name of its node or host, by its address.
    pub(super) fn find(&self, labels: &Labels) -> Option<Home<'a>> {
        let home = |instance, joined_by, label: &str| Home {
            instance,
            joined_by,
            label: label.to_owned(),
        };
        if let Some((label, id)) = find(labels, &INSTANCE_LABELS) {
            if let Some(instance) = self.directory.by_id(id) {
                return Some(home(instance, JoinedBy::InstanceId, label));
            }
            if id.starts_with("i-") {
                return None;
            }
        }
        let cluster = cluster_of(labels).map(|(_, value)| value);
        let names = || find_all(labels, &NODE_LABELS).chain(find_all(labels, &HOST_LABELS));
        for (label, name) in names() {
            match self.by_node(cluster, name) {
                HostMatch::One(instance) => {
                    return Some(home(instance, JoinedBy::ProviderId, label));
                }
                HostMatch::Several => return None,
                HostMatch::None => {}
            }
        }
        for (label, name) in names() {
            match self.directory.by_host_of_any_region(name) {
                HostMatch::One(instance) => {
                    return Some(home(instance, JoinedBy::Hostname, label));
                }
                HostMatch::Several => return None,
                HostMatch::None => {}
            }
        }
        let (label, address) = find(labels, &ADDRESS_LABELS)?;
        let (instance, joined_by) = self.by_address(labels, cluster, address)?;
        Some(home(instance, joined_by, label))
    }

    /// The machine of a node's name or address; `Several` also where the node is known
    /// and its machine is not audited.
    fn by_node(&self, cluster: Option<&str>, name: &str) -> HostMatch<'a> {
        let name = name.to_ascii_lowercase();
        let of =
            |cluster: Option<&str>| self.nodes.get(&(cluster.map(str::to_owned), name.clone()));
        // An exporter's own label of the cluster is none that kube-state-metrics has.
        let Some(ids) = of(cluster).or_else(|| of(None)) else { return HostMatch::None };
        let mut machines = ids.iter().filter_map(|id| self.by_provider_id(id));
        // Ids in other forms name machines that are known by their host names.
        let is_exact = |id: &String| id.starts_with("aws://") || id.starts_with("gce://");
        match (machines.next(), machines.next()) {
            (Some(instance), None) => HostMatch::One(instance),
            (None, _) if !ids.iter().any(is_exact) => HostMatch::None,
            _ => HostMatch::Several,
        }
    }

    /// The instance of an id such as `aws:///us-east-1a/i-0123`, `gce://PROJECT/ZONE/NAME`
    /// or `azure:///subscriptions/…/virtualMachines/NAME`.
    fn by_provider_id(&self, id: &str) -> Option<&'a Instance> {
        let place = Place::of(id)?;
        let known = self.directory.by_id(&place.native);
        // Who lists machines of Azure may do so without their resource groups. The members
        // of a scale set are numbered from zero in each.
        let short = place.native.split_once('/').map(|(_, name)| name);
        let short = short.filter(|name| !name.contains('/'));
        let instance = known.or_else(|| self.directory.by_id(short?))?;
        let is_there = match instance.id.place() {
            None => place.provider == Provider::Aws,
            Some((provider, account, region)) => {
                provider == place.provider
                    && (place.account.is_empty() || account.eq_ignore_ascii_case(&place.account))
                    && place.region.as_deref().is_none_or(|of_id| of_id == region)
            }
        };
        is_there.then_some(instance)
    }

    fn by_address(
        &self,
        labels: &Labels,
        cluster: Option<&str>,
        address: &str,
    ) -> Option<(&'a Instance, JoinedBy)> {
        let host = without_port(address);
        match self.by_node(cluster, host) {
            HostMatch::One(instance) => return Some((instance, JoinedBy::ProviderId)),
            HostMatch::Several => return None,
            HostMatch::None => {}
        }
        // The address is that of a pod, and in another network it may be a machine's.
        if is_of_kubernetes(labels) {
            return None;
        }
        let matched = match self.directory.by_address(host) {
            HostMatch::None => self.directory.by_host_of_any_region(host),
            found => found,
        };
        match matched {
            HostMatch::One(instance) => Some((instance, JoinedBy::Address)),
            HostMatch::Several | HostMatch::None => None,
        }
    }
}

/// The host of `10.0.1.2:9400`, `[::1]:9400` or `name:9400`.
fn without_port(address: &str) -> &str {
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => address,
    };
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
