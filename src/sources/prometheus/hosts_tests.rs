use super::*;
use crate::domain::ResourceId;
use crate::sources::prometheus::scenes::{labels, machine};

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
        other(Provider::SageMaker, "111122223333", "cluster/hp/i-5", "ip-10-0-0-5.ec2.internal"),
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
        (r#"cluster_name="mine",hostname="worker-a""#, is("i-2", JoinedBy::ProviderId, "hostname")),
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
