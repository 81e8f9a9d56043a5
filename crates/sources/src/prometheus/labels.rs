//! Labels by the names that exporters and scrape configurations give them, and which pod and
//! machine a series is of by them.
//!
//! A wrong machine is worse than none: where a label says that a series is of a machine
//! that is not audited, no weaker label is asked, because private addresses and the names
//! that are made of them repeat in other networks.

use super::answer::Labels;
use crate::domain::{Directory, HostMatch, Instance, JoinedBy, Provider};
use crate::provider_id::Place;
use std::collections::{BTreeMap, BTreeSet};

/// A label as (name, value).
pub(super) type Label<'l> = (&'l str, &'l str);

/// The labels with one of some names, in any case of letters and in the order of the
/// names, as (name, value). An empty value is none: that is what it means to a server.
pub(super) fn find_all<'l>(labels: &'l Labels, names: &[&str]) -> impl Iterator<Item = Label<'l>> {
    let of_name = |name: &&str| {
        labels
            .iter()
            .find(|(own, value)| own.eq_ignore_ascii_case(name) && !value.is_empty())
            .map(|(own, value)| (own.as_str(), value.as_str()))
    };
    let pairs: Vec<_> = names.iter().filter_map(of_name).collect();
    pairs.into_iter()
}

/// The first of them.
pub(super) fn find<'l>(labels: &'l Labels, names: &[&str]) -> Option<Label<'l>> {
    find_all(labels, names).next()
}

/// Whether a pod was scraped, or a series is of one.
pub(super) fn is_of_kubernetes(labels: &Labels) -> bool {
    const NAMES: [&str; 6] = [
        "pod", "namespace", "exported_pod", "exported_namespace", "pod_name",
        "@resource.k8s.pod.name",
    ];
    find(labels, &NAMES).is_some()
}

/// The namespace and the name of the pod that a series is of. Without `honorLabels`, the
/// server puts the exporter's own pod into `namespace` and `pod`, and prefixes what the
/// exporter says.
const POD_LABELS: [(&str, &str); 3] =
    [("exported_namespace", "exported_pod"), ("pod_namespace", "pod_name"), ("namespace", "pod")];
/// The labels among them that may name the exporter's own pod.
const TARGET: usize = 2;
/// Parts of the names that exporters have, as containers and as pods.
const EXPORTERS: [&str; 3] = ["exporter", "dcgm", "neuron-monitor"];

/// The labels that name the pods of a host. Of several the least one counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PodLabels {
    place: usize,
    pub(super) namespace: String,
    pub(super) pod: String,
}

/// Whose a series is, where it names a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PodOf {
    /// That of one that holds the GPU, by these labels.
    Holder(PodLabels),
    /// That of the exporter, by its name: no pod holds the GPU.
    Exporter(String),
}

/// Whose a series is. A pod without its namespace may be any of several.
pub(super) fn pod_of(labels: &Labels) -> Option<PodOf> {
    let mut pods = POD_LABELS.iter().enumerate().filter_map(|(place, (namespace, pod))| {
        let (namespace, _) = find(labels, &[*namespace])?;
        let (pod, name) = find(labels, &[*pod])?;
        Some((PodLabels { place, namespace: namespace.to_owned(), pod: pod.to_owned() }, name))
    });
    let (of, name) = pods.next()?;
    let container = find(labels, &["container"]).map_or(name, |(_, container)| container);
    let is_own = of.place == TARGET && EXPORTERS.iter().any(|own| container.contains(own));
    Some(if is_own { PodOf::Exporter(name.to_owned()) } else { PodOf::Holder(of) })
}

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
        let by_node: &dyn Fn(&str) -> HostMatch<'a> = &|name| self.by_node(cluster, name);
        let by_host: &dyn Fn(&str) -> HostMatch<'a> =
            &|name| self.directory.by_host_of_any_region(name);
        for (joined_by, matched) in [(JoinedBy::ProviderId, by_node), (JoinedBy::Hostname, by_host)]
        {
            for (label, name) in names() {
                match matched(name) {
                    HostMatch::One(instance) => return Some(home(instance, joined_by, label)),
                    HostMatch::Several => return None,
                    HostMatch::None => {}
                }
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
mod tests {
    use super::*;
    use crate::domain::ResourceId;
    use crate::prometheus::lab::{labels, machine};

    #[test]
    fn the_pod_of_a_series_is_the_one_that_holds_the_gpu() {
        let holder = |text: &str| match pod_of(&labels(text)) {
            Some(PodOf::Holder(of)) => Some((of.namespace, of.pod)),
            _ => None,
        };
        let both = |namespace: &str, pod: &str| Some((namespace.to_owned(), pod.to_owned()));
        let own = r#"namespace="gpu",pod="dcgm-exporter-1",container="exporter""#;
        let renamed = format!(r#"{own},exported_namespace="ml",exported_pod="train-1""#);
        assert_eq!(holder(&renamed), both("exported_namespace", "exported_pod"));
        let honored = r#"namespace="ml",pod="onnx-exporter-1",container="main""#;
        assert_eq!(holder(honored), both("namespace", "pod"));
        let old = r#"pod_namespace="ml",pod_name="train-1""#;
        assert_eq!(holder(old), both("pod_namespace", "pod_name"));
        let exporter = Some(PodOf::Exporter("dcgm-exporter-1".to_owned()));
        assert_eq!(pod_of(&labels(own)), exporter);
        let unnamed = r#"namespace="gpu",pod="dcgm-exporter-1""#;
        assert_eq!(pod_of(&labels(unnamed)), exporter);
        assert_eq!(pod_of(&labels(r#"pod="train-1""#)), None);
    }

    #[test]
    fn names_are_found_in_any_case_and_empty_values_are_none() {
        let labels: Labels = [("Hostname", "a"), ("node", ""), ("UUID", "GPU-1")]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(find(&labels, &["node", "hostname"]), Some(("Hostname", "a")));
        assert_eq!(find(&labels, &["uuid"]), Some(("UUID", "GPU-1")));
        assert_eq!(find(&labels, &["gpu"]), None);
        assert!(!is_of_kubernetes(&labels));
    }

    fn machines() -> Vec<Instance> {
        let other = |provider, account, native: &str, dns: &str| Instance {
            id: ResourceId::new(provider, account, "us-east1", native),
            ..machine("", "g5.xlarge", dns)
        };
        vec![
            machine("i-1", "g5.xlarge", "ip-10-0-0-1.ec2.internal"),
            machine("i-2", "g5.xlarge", "ip-10-0-0-2.ec2.internal"),
            machine("i-3", "g5.xlarge", "ip-10-0-0-3.ec2.internal"),
            machine("i-4", "g5.xlarge", "ip-10-0-0-3.ec2.internal"),
            other(Provider::Gcp, "proj", "vm-1", "vm-1.c.proj.internal"),
            other(Provider::Azure, "sub", "vm-2", "vm-2"),
            other(
                Provider::SageMaker,
                "111122223333",
                "cluster/hp/i-5",
                "ip-10-0-0-5.ec2.internal",
            ),
        ]
    }

    fn nodes() -> Vec<Labels> {
        [
            r#"node="worker-a",provider_id="aws:///us-east-1a/i-2",internal_ip="10.0.0.2""#,
            r#"node="gone",provider_id="aws:///us-east-1a/i-9",internal_ip="10.0.0.9""#,
            r#"cluster="b",node="worker-a",provider_id="aws:///us-east-1a/i-1""#,
            // The pod of kube-state-metrics itself runs on another node.
            r#"node="other",exported_node="worker-g",provider_id="gce://proj/us-east1-b/vm-1""#,
            r#"node="worker-h",provider_id="gce://elsewhere/us-east1-b/vm-1""#,
            r#"node="worker-e",provider_id="gce://proj/europe-west4-a/vm-1""#,
            r#"node="worker-z",provider_id="azure:///subscriptions/sub/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm-2""#,
            // A node that was replaced by another of its name.
            r#"node="again",provider_id="aws:///us-east-1a/i-1""#,
            r#"node="again",provider_id="aws:///us-east-1a/i-2""#,
            r#"node="new",provider_id="aws:///us-east-1a/i-8""#,
            r#"node="new",provider_id="aws:///us-east-1a/i-2""#,
            r#"node="own",provider_id="""#,
            r#"node="hyperpod-i-5",provider_id="aws:///use1-az4/sagemaker/cluster/hyperpod-abc123-i-5""#,
        ]
        .map(labels)
        .into()
    }

    /// The machine of a series, how it was found, and by which label.
    fn found(text: &str) -> Option<(String, JoinedBy, String)> {
        let (machines, nodes) = (machines(), nodes());
        let home = Hosts::of(&machines, &nodes).find(&labels(text))?;
        let id = home.instance.id.native().to_owned();
        Some((id, home.joined_by, home.label))
    }

    fn is(id: &str, joined_by: JoinedBy, label: &str) -> Option<(String, JoinedBy, String)> {
        Some((id.to_owned(), joined_by, label.to_owned()))
    }

    #[test]
    fn the_strongest_label_names_the_machine() {
        for (text, expected) in [
            (
                r#"instance_id="i-1",hostname="ip-10-0-0-2""#,
                is("i-1", JoinedBy::InstanceId, "instance_id"),
            ),
            (
                r#"node="worker-a",hostname="dcgm-exporter-6ldbb",instance="10.0.0.1:9400""#,
                is("i-2", JoinedBy::ProviderId, "node"),
            ),
            (
                r#"Hostname="WORKER-A",pod="dcgm-exporter-6ldbb""#,
                is("i-2", JoinedBy::ProviderId, "Hostname"),
            ),
            (
                r#"Hostname="ip-10-0-0-1",instance="10.0.0.2:9400""#,
                is("i-1", JoinedBy::Hostname, "Hostname"),
            ),
            (r#"instance="10.0.0.1:9835""#, is("i-1", JoinedBy::Address, "instance")),
            (
                r#"Hostname="hyperpod-i-5",pod="dcgm-exporter-6ldbb""#,
                is("cluster/hp/i-5", JoinedBy::ProviderId, "Hostname"),
            ),
            // A container's own name says nothing; the host is what was scraped.
            (
                r#"hostname="3f2a1b9c0d4e",instance="ip-10-0-0-1:9400""#,
                is("i-1", JoinedBy::Address, "instance"),
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn nodes_are_told_apart_by_cluster_and_provider() {
        for (text, expected) in [
            (r#"cluster="b",node="worker-a""#, is("i-1", JoinedBy::ProviderId, "node")),
            // AMD's exporter writes a cluster that kube-state-metrics does not have.
            (
                r#"cluster_name="mine",hostname="worker-a""#,
                is("i-2", JoinedBy::ProviderId, "hostname"),
            ),
            (r#"node="worker-g""#, is("vm-1", JoinedBy::ProviderId, "node")),
            (r#"node="worker-h""#, None),
            // The same name in another region.
            (r#"node="worker-e""#, None),
            (r#"node="worker-z""#, is("vm-2", JoinedBy::ProviderId, "node")),
            (r#"node="new""#, is("i-2", JoinedBy::ProviderId, "node")),
            (
                r#"instance="10.0.0.2:9835",pod="exporter-1""#,
                is("i-2", JoinedBy::ProviderId, "instance"),
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_series_of_another_machine_is_of_none_that_has_its_address() {
        for text in [
            r#"instance_id="i-gone",hostname="ip-10-0-0-2""#,
            r#"Hostname="gone",instance="10.0.0.1:9400""#,
            r#"node="again",instance="10.0.0.1:9400""#,
            r#"hostname="ip-10-0-0-3.ec2.internal""#,
            r#"hostname="ip-10-0-0-1.eu-west-1.compute.internal""#,
            r#"instance="10.0.0.3:9400""#,
            // The address is that of a pod.
            r#"instance="10.0.0.1:9835",pod="exporter-1",namespace="monitoring""#,
            r#"node="own""#,
            r#"gpu="0""#,
            "",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_lose_their_port() {
        for (address, host) in [
            ("10.0.1.2:9400", "10.0.1.2"),
            ("[::1]:9400", "::1"),
            ("node-1:9400", "node-1"),
            ("node-1", "node-1"),
            ("a:b", "a:b"),
        ] {
            assert_eq!(without_port(address), host);
        }
    }
}
