//! Machines with accelerators of a region, by the names of what they are rented for, with their
//! tags.

use super::components::{OpenGroups, hosts};
use super::listed::{
    App, Cluster, ClusterNode, ClusterSummary, Endpoint, EndpointConfig, EndpointSummary,
    NotebookInstance, SAGEMAKER,
};
use super::machine::{Place, group_of, too_many, unreadable};
use super::plans::plans;
use crate::aws::answers::{Paging, answers};
use crate::aws::error::UNREADABLE;
use crate::aws::service::{Protocol, Service};
use crate::aws::session::RegionClients;
use crate::catalog::shape;
use crate::domain::{
    CauseKind, Component, FailureKind, Gap, GapSubject, Gathered, Instance, InstanceShape, Managed,
};
use crate::error::or_gap;
use crate::{Found, Outcome, SourceError};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Tags of everything that SageMaker runs, in one list for a region: its own lists have none.
pub(in crate::aws) const TAGGING: Service = Service {
    signing_name: "tagging",
    sdk_id: "Resource Groups Tagging API",
    host: "tagging.{region}",
    protocol: Protocol::Json("ResourceGroupsTaggingAPI_20170126"),
    id: "tag",
    paging: Paging {
        size_key: "ResourcesPerPage",
        token_key: "PaginationToken",
        ..SAGEMAKER.paging
    },
};

/// What runs on instances. Jobs and models, of which there may be thousands, are not asked
/// for.
const TYPES: [&str; 4] =
    ["sagemaker:app", "sagemaker:cluster", "sagemaker:endpoint", "sagemaker:notebook-instance"];

/// Tags by the end of an ARN in lower case, such as `endpoint/chat`: ARNs write names so.
type TagsByArn = BTreeMap<String, BTreeMap<String, String>>;

/// Endpoints that are described at once.
const AT_ONCE: usize = 4;

/// Machines of a region that are held in memory.
const MOST_OF_REGION: usize = 100_000;

#[derive(Clone)]
pub(super) struct Machines {
    clients: RegionClients,
    place: Place,
}

/// The instances of endpoints, and the groups of them without a model of their own.
type OfEndpoints = (Gathered<Vec<Instance>>, Vec<String>);

/// The nodes of clusters, and what the ARN of each cluster ends with, by its name.
type OfClusters = (Gathered<Vec<Instance>>, BTreeMap<String, String>);

impl Machines {
    pub fn new(clients: RegionClients, account: &str, as_of: Timestamp) -> Self {
        let place = Place { account: account.to_owned(), region: clients.region.clone(), as_of };
        Self { clients, place }
    }

    /// # Errors
    /// When endpoints cannot be listed.
    pub async fn found(self) -> Outcome<Gathered<Found>> {
        let (endpoints, plans) =
            tokio::join!(self.of_endpoints(), plans(&self.clients, &self.place.account));
        let plans = or_gap(plans, GapSubject::TrainingPlans, &self.place.region, "");
        let (mut gathered, open) = endpoints?;
        let open = open_groups(open, &gathered.value);
        let (hosts, notebooks, apps, clusters) = tokio::join!(
            hosts(&self.clients, &self.place.account, &open),
            self.notebooks(),
            self.apps(),
            self.cluster_nodes()
        );
        let (clusters, ends) = match clusters {
            Ok((clusters, ends)) => (Ok(clusters), ends),
            Err(error) => (Err(error), BTreeMap::new()),
        };
        for answer in [notebooks, apps, clusters] {
            match answer {
                Ok(more) => self.add(&mut gathered, more),
                Err(error) => gathered.gaps.push(self.gap(GapSubject::Region, &error)),
            }
        }
        let Gathered { value: mut instances, mut gaps } = gathered;
        if !instances.is_empty() {
            match tags(&self.clients).await {
                Ok(tags) => apply(&mut instances, &tags, &ends),
                Err(error) => gaps.push(self.gap(GapSubject::Tags, &error)),
            }
        }
        gaps.extend(hosts.gaps);
        gaps.extend(plans.gaps);
        let inventory = Found {
            shapes: shapes(&instances),
            instances,
            managed: Managed { hosts: hosts.value, plans: plans.value },
            ..Found::default()
        };
        Ok(Gathered { value: inventory, gaps })
    }

    /// Adds machines to those of the region, as far as there is room.
    fn add(&self, gathered: &mut Gathered<Vec<Instance>>, more: Gathered<Vec<Instance>>) {
        let room = MOST_OF_REGION.saturating_sub(gathered.value.len());
        if more.value.len() > room {
            let gap = Gap::of(GapSubject::Region, &self.place.region, too_many(MOST_OF_REGION));
            if !gathered.gaps.contains(&gap) {
                gathered.gaps.push(gap);
            }
        }
        gathered.value.extend(more.value.into_iter().take(room));
        gathered.gaps.extend(more.gaps);
    }

    fn gap(&self, what: GapSubject, error: &SourceError) -> Gap {
        error.gap(what, &self.place.region, "")
    }

    /// The instances of every endpoint; one that cannot be described is a gap.
    ///
    /// # Errors
    /// When endpoints cannot be listed.
    async fn of_endpoints(&self) -> Outcome<OfEndpoints> {
        let (clients, key) = (&self.clients, "Endpoints");
        let listed = clients.ask_list(&SAGEMAKER, "ListEndpoints", key, json!({})).await?;
        let endpoints = once(listed);
        let mut answers = stream::iter(endpoints.iter().filter(|endpoint| endpoint.is_running()))
            .map(|endpoint| async move { (endpoint, self.instances_of(endpoint).await) })
            .buffered(AT_ONCE);
        let (mut gathered, mut open) = OfEndpoints::default();
        while let Some((endpoint, answer)) = answers.next().await {
            match answer {
                Ok((own, own_open)) => {
                    self.add(&mut gathered, own);
                    open.extend(own_open);
                }
                Err(error) => {
                    let native = format!("endpoint/{}", endpoint.endpoint_name);
                    let cause = error.cause_of(CauseKind::CallFailed, "it is omitted");
                    gathered.gaps.push(self.place.gap(&native, cause));
                }
            }
        }
        Ok((gathered, open))
    }

    /// The instances of every variant of an endpoint.
    async fn instances_of(&self, summary: &EndpointSummary) -> Outcome<OfEndpoints> {
        let body = json!({ "EndpointName": summary.endpoint_name });
        let endpoint: Endpoint = self.clients.ask(&SAGEMAKER, "DescribeEndpoint", &body).await?;
        let Some(name) = &endpoint.endpoint_config_name else {
            let native = format!("endpoint/{}", summary.endpoint_name);
            let gap = self.place.gap(&native, unreadable("endpoint configuration"));
            return Ok((Gathered { value: Vec::new(), gaps: vec![gap] }, Vec::new()));
        };
        let body = json!({ "EndpointConfigName": name });
        let config: EndpointConfig =
            self.clients.ask(&SAGEMAKER, "DescribeEndpointConfig", &body).await?;
        let open = config.variants().filter(|variant| variant.model_name.is_none());
        let open = open.map(|variant| group_of(&summary.endpoint_name, &variant.variant_name));
        Ok((self.place.of_variants(summary, &endpoint, &config), open.collect()))
    }

    async fn notebooks(&self) -> Outcome<Gathered<Vec<Instance>>> {
        let (clients, key) = (&self.clients, "NotebookInstances");
        let listed: Vec<NotebookInstance> =
            clients.ask_list(&SAGEMAKER, "ListNotebookInstances", key, json!({})).await?;
        Ok(self.place.of_notebooks(&listed))
    }

    async fn apps(&self) -> Outcome<Gathered<Vec<Instance>>> {
        let listed: Vec<App> =
            self.clients.ask_list(&SAGEMAKER, "ListApps", "Apps", json!({})).await?;
        Ok(self.place.of_apps(&listed))
    }

    /// The nodes of every HyperPod cluster.
    async fn cluster_nodes(&self) -> Outcome<OfClusters> {
        let clients = &self.clients;
        let key = "ClusterSummaries";
        let mut clusters: Vec<ClusterSummary> =
            clients.ask_list(&SAGEMAKER, "ListClusters", key, json!({})).await?;
        clusters.sort_by(|left, right| left.cluster_name.cmp(&right.cluster_name));
        clusters.dedup_by(|later, first| later.cluster_name == first.cluster_name);
        let (mut gathered, mut ends) = OfClusters::default();
        for summary in clusters {
            let cluster_name = summary.cluster_name.as_str();
            let body = json!({ "ClusterName": cluster_name });
            let cluster: Cluster = clients.ask(&SAGEMAKER, "DescribeCluster", &body).await?;
            let key = "ClusterNodeSummaries";
            let nodes: Vec<ClusterNode> =
                clients.ask_list(&SAGEMAKER, "ListClusterNodes", key, body).await?;
            self.add(&mut gathered, self.place.of_nodes(cluster_name, &cluster, &nodes));
            let end = end_of(&summary.cluster_arn).ok_or_else(|| {
                let what = "the ARN of a cluster".to_owned();
                let action = "sagemaker:ListClusters";
                SourceError::own(action, FailureKind::Unsupported, UNREADABLE, what)
            })?;
            ends.insert(summary.cluster_name, end);
        }
        Ok((gathered, ends))
    }
}

/// One endpoint of each name: one that is created while pages are read may be on two of them.
fn once(mut endpoints: Vec<EndpointSummary>) -> Vec<EndpointSummary> {
    endpoints.sort_by(|left, right| {
        let by_name = left.endpoint_name.cmp(&right.endpoint_name);
        let by_state = right.is_running().cmp(&left.is_running());
        by_name.then(by_state).then(right.creation_time.total_cmp(&left.creation_time))
    });
    endpoints.dedup_by(|later, first| later.endpoint_name == first.endpoint_name);
    endpoints
}

/// Groups without a model of their own that have instances.
fn open_groups(names: Vec<String>, instances: &[Instance]) -> OpenGroups {
    let mut types: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for instance in instances {
        if let Some(group) = &instance.auto_scaling_group {
            types.entry(group).or_default().insert(instance.instance_type.clone());
        }
    }
    names
        .into_iter()
        .filter_map(|name| types.remove(name.as_str()).map(|own| (name, own)))
        .collect()
}

/// What each type offers: as the type of EC2 inside.
fn shapes(instances: &[Instance]) -> BTreeMap<String, InstanceShape> {
    let known = instances.iter().map(|instance| &instance.instance_type).filter_map(|name| {
        let (inside, _) = Component::of_type(name)?;
        let shape = InstanceShape { instance_type: name.clone(), ..shape(inside)?.clone() };
        Some((name.clone(), shape))
    });
    known.collect()
}

answers! { "PascalCase":
    struct Mapping {
        #[serde(rename = "ResourceARN")]
        arn: String,
        tags: Option<Vec<Tag>>,
    }

    struct Tag {
        key: String,
        value: String,
    }
}

/// Tags of the machines of a region.
///
/// # Errors
/// When they cannot be listed.
async fn tags(clients: &RegionClients) -> Outcome<TagsByArn> {
    let wanted = json!({ "ResourceTypeFilters": TYPES });
    let key = "ResourceTagMappingList";
    let mappings: Vec<Mapping> = clients.ask_list(&TAGGING, "GetResources", key, wanted).await?;
    let by_arn = mappings.into_iter().filter_map(|Mapping { arn, tags }| {
        let tags = tags.into_iter().flatten().map(|tag| (tag.key, tag.value)).collect();
        Some((end_of(&arn)?, tags))
    });
    Ok(by_arn.collect())
}

/// What an ARN has after the account, in lower case.
fn end_of(arn: &str) -> Option<String> {
    Some(arn.splitn(6, ':').nth(5)?.to_lowercase())
}

/// Gives machines the tags of what they belong to. `clusters` has the end of the ARN of
/// each cluster by its name, because the former has an id.
fn apply(instances: &mut [Instance], tags: &TagsByArn, clusters: &BTreeMap<String, String>) {
    for instance in instances {
        let end = match instance.id.native().split('/').collect::<Vec<_>>().as_slice() {
            ["endpoint", name, ..] => format!("endpoint/{name}").to_lowercase(),
            ["notebook", name] => format!("notebook-instance/{name}").to_lowercase(),
            ["app", rest @ ..] => format!("app/{}", rest.join("/")).to_lowercase(),
            ["cluster", name, ..] => match clusters.get(*name) {
                Some(end) => end.clone(),
                None => continue,
            },
            _ => continue,
        };
        if let Some(own) = tags.get(&end) {
            instance.tags.clone_from(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_endpoint_on_two_pages_the_one_that_runs_counts_once() {
        let summary = |name: &str, status: &str, created: f64| EndpointSummary {
            endpoint_name: name.to_owned(),
            endpoint_status: status.to_owned(),
            creation_time: created,
        };
        let mut pages = vec![
            summary("rank", "Creating", 3.0),
            summary("chat", "InService", 1.0),
            summary("rank", "InService", 2.0),
            summary("chat", "InService", 5.0),
        ];
        for _ in 0..2 {
            let kept = once(pages.clone());
            let figures: Vec<(&str, bool, f64)> = kept
                .iter()
                .map(|endpoint| {
                    (endpoint.endpoint_name.as_str(), endpoint.is_running(), endpoint.creation_time)
                })
                .collect();
            assert_eq!(figures, [("chat", true, 5.0), ("rank", true, 2.0)]);
            pages.reverse();
        }
    }

    #[test]
    fn a_type_offers_what_the_type_of_ec2_inside_does() {
        let launched = Timestamp::UNIX_EPOCH;
        let machines = ["ml.g5.xlarge-hosting", "ml.g5.xlarge-hosting", "ml.p9.large-cluster"]
            .map(|name| Instance::sample("i-1", name, launched));
        let shapes = shapes(&machines);
        let shape = &shapes["ml.g5.xlarge-hosting"];
        assert_eq!(shape.instance_type, "ml.g5.xlarge-hosting");
        assert_eq!((shape.vcpu, shapes.len()), (4, 1));
    }
}
