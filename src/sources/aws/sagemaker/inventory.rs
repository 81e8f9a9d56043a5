//! Machines with accelerators of a region, by the names of what they are rented for.

use super::components::{OpenGroups, hosts};
use super::listed::{
    App, Cluster, ClusterNode, ClusterSummary, Endpoint, EndpointConfig, EndpointSummary,
    NotebookInstance, SAGEMAKER, Variant, instant, listed,
};
use super::plans::plans;
use super::tags::{apply, end_of, tags};
use crate::catalog::shape;
use crate::domain::{
    AcceleratorKind, CauseKind, Component, Gap, GapSubject, Gathered, Instance, InstanceShape,
    InstanceState, Lifecycle, Managed, OperatingSystem, Provider, ResourceId, Tenancy,
    TrainingPlan,
};
use crate::sources::aws::inventory::ACCELERATED_TYPES;
use crate::sources::aws::session::RegionClients;
use crate::sources::{Answer, Found, Inventory, SourceError};
use futures_util::{FutureExt, StreamExt, stream};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Endpoints that are described at once.
const AT_ONCE: usize = 4;

const IN_SERVICE: &str = "InService";

pub(super) struct Machines {
    clients: RegionClients,
    place: Place,
}

/// Where machines are.
#[derive(Debug, Clone)]
struct Place {
    account: String,
    region: String,
}

impl Inventory for Machines {
    fn resources(&self) -> Answer<'_, Result<Gathered<Found>, SourceError>> {
        self.found().boxed_local()
    }
}

/// The instances of an endpoint.
#[derive(Debug, Default)]
struct OfEndpoint {
    instances: Vec<Instance>,
    /// Groups of them without a model of their own.
    open: Vec<String>,
}

/// The nodes of clusters.
#[derive(Debug, Default)]
struct OfClusters {
    nodes: Vec<Instance>,
    /// What the ARN of each cluster ends with, by its name.
    ends: BTreeMap<String, String>,
}

/// What one machine is, beside where it is.
struct Machine<'a> {
    /// The provider's own id.
    native: String,
    /// As SageMaker names it, such as `ml.g5.xlarge`.
    named_type: &'a str,
    component: Component,
    group: Option<&'a str>,
    lifecycle: Lifecycle,
    host: Option<String>,
    launched: Timestamp,
    created: Option<Timestamp>,
}

impl Machines {
    pub fn new(clients: RegionClients, account: &str) -> Self {
        let place = Place {
            account: account.to_owned(),
            region: clients.region.clone(),
        };
        Self { clients, place }
    }

    /// # Errors
    /// When endpoints cannot be listed.
    async fn found(&self) -> Result<Gathered<Found>, SourceError> {
        let (endpoints, plans) = tokio::join!(self.of_endpoints(), self.plans());
        let (
            OfEndpoint {
                mut instances,
                open,
            },
            mut gaps,
        ) = endpoints?;
        let open = open_groups(open, &instances);
        let (hosts, notebooks, apps, clusters) = tokio::join!(
            hosts(&self.clients, &self.place.account, &open),
            self.notebooks(),
            self.apps(),
            self.cluster_nodes()
        );
        let mut ends = BTreeMap::new();
        let clusters = clusters.map(|found| {
            ends = found.ends;
            found.nodes
        });
        for answer in [notebooks, apps, clusters] {
            match answer {
                Ok(found) => instances.extend(found),
                Err(error) => gaps.push(self.gap(GapSubject::Region, &error)),
            }
        }
        if !instances.is_empty() {
            match tags(&self.clients).await {
                Ok(tags) => apply(&mut instances, &tags, &ends),
                Err(error) => gaps.push(self.gap(GapSubject::Tags, &error)),
            }
        }
        gaps.extend(hosts.gaps);
        gaps.extend(plans.gaps);
        let found = Found {
            shapes: shapes(&instances),
            instances,
            managed: Managed {
                hosts: hosts.value,
                plans: plans.value,
            },
            ..Found::default()
        };
        Ok(Gathered { value: found, gaps })
    }

    fn gap(&self, what: GapSubject, error: &SourceError) -> Gap {
        let cause = error.cause_of(CauseKind::CallFailed, "");
        Gap::of(what, &self.place.region, cause)
    }

    async fn plans(&self) -> Gathered<Vec<TrainingPlan>> {
        match plans(&self.clients, &self.place.account).await {
            Ok(found) => Gathered::whole(found),
            Err(error) => Gathered {
                value: Vec::new(),
                gaps: vec![self.gap(GapSubject::TrainingPlans, &error)],
            },
        }
    }

    /// The instances of every endpoint; one that cannot be described is a gap.
    ///
    /// # Errors
    /// When endpoints cannot be listed.
    async fn of_endpoints(&self) -> Result<(OfEndpoint, Vec<Gap>), SourceError> {
        let endpoints = self.endpoints().await?;
        let running = endpoints.iter().filter(|one| one.is_running());
        let answers: Vec<_> = stream::iter(running)
            .map(|one| async move { (one, self.instances_of(one).await) })
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut all = OfEndpoint::default();
        let mut gaps = Vec::new();
        for (endpoint, answer) in answers {
            match answer {
                Ok(found) => {
                    all.instances.extend(found.instances);
                    all.open.extend(found.open);
                }
                Err(error) => {
                    let native = format!("endpoint/{}", endpoint.endpoint_name);
                    let cause = error.cause_of(CauseKind::CallFailed, "it is omitted");
                    gaps.push(Gap::of(
                        GapSubject::Instance,
                        self.place.id(&native).as_str(),
                        cause,
                    ));
                }
            }
        }
        Ok((all, gaps))
    }

    async fn endpoints(&self) -> Result<Vec<EndpointSummary>, SourceError> {
        let RegionClients {
            session, region, ..
        } = &self.clients;
        listed(
            "sagemaker:ListEndpoints",
            "Endpoints",
            async |body: Value| {
                session
                    .ask(&SAGEMAKER, region, "ListEndpoints", &body)
                    .await
            },
        )
        .await
    }

    /// The instances of every variant of an endpoint.
    async fn instances_of(&self, one: &EndpointSummary) -> Result<OfEndpoint, SourceError> {
        let RegionClients {
            session, region, ..
        } = &self.clients;
        let body = json!({ "EndpointName": one.endpoint_name });
        let endpoint: Endpoint = session
            .ask(&SAGEMAKER, region, "DescribeEndpoint", &body)
            .await?;
        let Some(name) = &endpoint.endpoint_config_name else {
            return Ok(OfEndpoint::default());
        };
        let body = json!({ "EndpointConfigName": name });
        let config: EndpointConfig = session
            .ask(&SAGEMAKER, region, "DescribeEndpointConfig", &body)
            .await?;
        let open = config.variants().filter(|one| one.model_name.is_none());
        Ok(OfEndpoint {
            instances: self.place.of_variants(one, &endpoint, &config),
            open: open
                .map(|variant| group_of(&one.endpoint_name, &variant.variant_name))
                .collect(),
        })
    }

    async fn notebooks(&self) -> Result<Vec<Instance>, SourceError> {
        let RegionClients {
            session, region, ..
        } = &self.clients;
        let action = "sagemaker:ListNotebookInstances";
        let found: Vec<NotebookInstance> =
            listed(action, "NotebookInstances", async |body: Value| {
                session
                    .ask(&SAGEMAKER, region, "ListNotebookInstances", &body)
                    .await
            })
            .await?;
        let running = found
            .iter()
            .filter(|one| one.notebook_instance_status.as_deref() == Some(IN_SERVICE));
        let machines = running.filter_map(|one| {
            let created = instant(one.creation_time);
            self.place.instance(Machine {
                native: format!("notebook/{}", one.notebook_instance_name),
                named_type: one.instance_type.as_deref()?,
                component: Component::Notebook,
                group: None,
                lifecycle: Lifecycle::OnDemand,
                host: None,
                launched: instant(one.last_modified_time).or(created)?,
                created,
            })
        });
        Ok(machines.collect())
    }

    async fn apps(&self) -> Result<Vec<Instance>, SourceError> {
        let RegionClients {
            session, region, ..
        } = &self.clients;
        let found: Vec<App> = listed("sagemaker:ListApps", "Apps", async |body: Value| {
            session.ask(&SAGEMAKER, region, "ListApps", &body).await
        })
        .await?;
        let running = found
            .iter()
            .filter(|one| one.status.as_deref() == Some(IN_SERVICE));
        let machines = running.filter_map(|one| {
            let owner = one.space_name.as_ref().or(one.user_profile_name.as_ref());
            let owner = owner.map_or("", String::as_str);
            let kind = &one.app_type;
            let spec = one.resource_spec.as_ref()?;
            self.place.instance(Machine {
                native: format!("app/{}/{owner}/{kind}/{}", one.domain_id, one.app_name),
                named_type: spec.instance_type.as_deref()?,
                component: one.component()?,
                group: None,
                lifecycle: match spec.training_plan_arn {
                    Some(_) => Lifecycle::CapacityBlock,
                    None => Lifecycle::OnDemand,
                },
                host: None,
                launched: instant(one.creation_time)?,
                created: None,
            })
        });
        Ok(machines.collect())
    }

    /// The nodes of every HyperPod cluster.
    async fn cluster_nodes(&self) -> Result<OfClusters, SourceError> {
        let RegionClients {
            session, region, ..
        } = &self.clients;
        let action = "sagemaker:ListClusters";
        let clusters: Vec<ClusterSummary> =
            listed(action, "ClusterSummaries", async |body: Value| {
                session.ask(&SAGEMAKER, region, "ListClusters", &body).await
            })
            .await?;
        let mut found = OfClusters::default();
        for summary in clusters {
            let cluster_name = summary.cluster_name.as_str();
            let body = json!({ "ClusterName": cluster_name });
            let cluster: Cluster = session
                .ask(&SAGEMAKER, region, "DescribeCluster", &body)
                .await?;
            let action = "sagemaker:ListClusterNodes";
            let nodes: Vec<ClusterNode> =
                listed(action, "ClusterNodeSummaries", async |mut body: Value| {
                    body["ClusterName"] = cluster_name.into();
                    session
                        .ask(&SAGEMAKER, region, "ListClusterNodes", &body)
                        .await
                })
                .await?;
            let nodes = self.place.of_nodes(cluster_name, &cluster, nodes);
            found.nodes.extend(nodes);
            if let Some(end) = summary.cluster_arn.as_deref().and_then(end_of) {
                found.ends.insert(summary.cluster_name, end);
            }
        }
        Ok(found)
    }
}

impl Place {
    fn of_nodes(&self, name: &str, cluster: &Cluster, nodes: Vec<ClusterNode>) -> Vec<Instance> {
        let running = nodes.into_iter().filter(ClusterNode::is_running);
        let machines = running.filter_map(|node| {
            let group = format!("cluster/{name}/{}", node.instance_group_name);
            self.instance(Machine {
                native: format!("cluster/{name}/{}", node.instance_id),
                named_type: &node.instance_type,
                component: Component::Cluster,
                group: Some(&group),
                lifecycle: cluster.lifecycle_of(&node.instance_group_name),
                host: node.private_dns_hostname.filter(|name| !name.is_empty()),
                launched: instant(Some(node.launch_time))?,
                created: None,
            })
        });
        machines.collect()
    }

    fn of_variants(
        &self,
        one: &EndpointSummary,
        endpoint: &Endpoint,
        config: &EndpointConfig,
    ) -> Vec<Instance> {
        let created = instant(Some(one.creation_time));
        // What an endpoint measured under an earlier configuration may be of another type.
        let Some(launched) = created.max(instant(config.creation_time)) else {
            return Vec::new();
        };
        let variants = endpoint.production_variants.iter().flatten();
        let shadows = endpoint.shadow_production_variants.iter().flatten();
        let mut instances = Vec::new();
        for variant in variants.chain(shadows) {
            let group = group_of(&one.endpoint_name, &variant.variant_name);
            let reserved = variant.capacity_reservation_config.as_ref();
            let lifecycle = if reserved.is_some_and(|one| one.ml_reservation_arn.is_some()) {
                Lifecycle::CapacityBlock
            } else {
                Lifecycle::OnDemand
            };
            let mut index = 0;
            for (named_type, count) in counts(variant, config) {
                for _ in 0..count {
                    instances.extend(self.instance(Machine {
                        native: format!("{group}/{index}"),
                        named_type,
                        component: Component::Hosting,
                        group: Some(&group),
                        lifecycle,
                        host: None,
                        launched,
                        created: None,
                    }));
                    index += 1;
                }
            }
        }
        instances
    }

    fn id(&self, native: &str) -> ResourceId {
        ResourceId::new(Provider::SageMaker, &self.account, &self.region, native)
    }

    /// A running machine; absent for one without an accelerator.
    fn instance(&self, one: Machine<'_>) -> Option<Instance> {
        let inside = one.named_type.strip_prefix("ml.")?;
        is_accelerated(inside).then(|| Instance {
            id: self.id(&one.native),
            account: self.account.clone(),
            region: self.region.clone(),
            zone: None,
            instance_type: one.component.type_name(inside),
            state: InstanceState::Running,
            lifecycle: one.lifecycle,
            capacity_reservation_id: None,
            capacity_block_id: None,
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            launch_time: one.launched,
            attached_time: one.created,
            state_transition_reason: None,
            tags: BTreeMap::new(),
            // A variant scales as such a group does.
            auto_scaling_group: one.group.map(str::to_owned),
            private_dns_name: one.host,
            volumes: Vec::new(),
            addresses: Vec::new(),
        })
    }
}

/// What the instances of a variant are grouped by.
fn group_of(endpoint: &str, variant: &str) -> String {
    format!("endpoint/{endpoint}/{variant}")
}

/// Groups without a model of their own that have instances.
fn open_groups(names: Vec<String>, instances: &[Instance]) -> OpenGroups {
    let mut types: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for instance in instances {
        if let Some(group) = &instance.auto_scaling_group {
            let own = types.entry(group).or_default();
            own.insert(instance.instance_type.clone());
        }
    }
    let open = names.into_iter().filter_map(|name| {
        let own = types.remove(name.as_str())?;
        Some((name, own))
    });
    open.collect()
}

/// How many instances a variant has today, by type; none where it is serverless.
fn counts<'a>(variant: &'a Variant, config: &'a EndpointConfig) -> Vec<(&'a str, u16)> {
    if variant.current_serverless_config.is_some() {
        return Vec::new();
    }
    let pools = variant.instance_pools.as_deref().unwrap_or_default();
    if !pools.is_empty() {
        let pools = pools.iter();
        let counts = pools.map(|pool| {
            let count = pool.current_instance_count.unwrap_or_default();
            (pool.instance_type.as_str(), count)
        });
        return counts.collect();
    }
    let count = variant.current_instance_count.unwrap_or_default();
    let of_config = config.type_of(&variant.variant_name);
    of_config.map(|name| (name, count)).into_iter().collect()
}

/// Whether a type of EC2 has an accelerator: by the catalog, else by its name, as EC2's own
/// inventory finds them.
pub(super) fn is_accelerated(inside: &str) -> bool {
    match shape(inside) {
        Some(known) => known.accelerator != AcceleratorKind::Cpu,
        None => ACCELERATED_TYPES
            .iter()
            .any(|family| inside.starts_with(family.trim_end_matches('*'))),
    }
}

/// What each type offers: as the type of EC2 inside.
fn shapes(instances: &[Instance]) -> BTreeMap<String, InstanceShape> {
    let types = instances.iter().map(|one| &one.instance_type);
    let known = types.filter_map(|name| {
        let (inside, _) = Component::of_type(name)?;
        let shape = InstanceShape {
            instance_type: name.clone(),
            ..shape(inside)?.clone()
        };
        Some((name.clone(), shape))
    });
    known.collect()
}

#[cfg(test)]
#[path = "inventory_tests.rs"]
mod tests;
