//! One machine from an answer. What runs and cannot be read is a gap: it would be paid for
//! without being seen.

use super::listed::{
    App, Cluster, ClusterNode, Endpoint, EndpointConfig, EndpointSummary, NotebookInstance,
    Variant, instant,
};
use crate::aws::inventory;
use crate::catalog::shape;
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, Component, Gap, GapSubject, Gathered, Instance, Lifecycle,
    Provider, ResourceId,
};
use jiff::Timestamp;

const IN_SERVICE: &str = "InService";

/// The type of an app that has no machine of its own.
const OF_SYSTEM: &str = "system";

/// Apps that have none where the list states no type.
const WITHOUT_MACHINE: [&str; 4] = ["Canvas", "DetailedProfiler", "JupyterServer", "TensorBoard"];

/// Instances of an endpoint that are read. AWS allows hundreds.
pub(super) const MOST_OF_ENDPOINT: usize = 10_000;

/// Where machines are, and when.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub account: String,
    pub region: String,
    /// The instant that is audited.
    pub as_of: Timestamp,
}

/// A machine; `None` for one that does not run or has no accelerator.
type Read = Result<Option<Instance>, Cause>;

impl Place {
    pub fn of_notebooks(&self, all: &[NotebookInstance]) -> Gathered<Vec<Instance>> {
        self.each(all.iter().map(|notebook| {
            let native = format!("notebook/{}", notebook.notebook_instance_name);
            (self.notebook(&native, notebook), native)
        }))
    }

    pub fn of_apps(&self, all: &[App]) -> Gathered<Vec<Instance>> {
        self.each(all.iter().map(|app| {
            let owner = app.space_name.as_ref().or(app.user_profile_name.as_ref());
            let owner = owner.map_or("", String::as_str);
            let (domain, kind, name) = (&app.domain_id, &app.app_type, &app.app_name);
            let native = format!("app/{domain}/{owner}/{kind}/{name}");
            (self.app(&native, app), native)
        }))
    }

    /// Nodes of a cluster.
    pub fn of_nodes(
        &self,
        name: &str,
        cluster: &Cluster,
        nodes: &[ClusterNode],
    ) -> Gathered<Vec<Instance>> {
        self.each(nodes.iter().map(|node| {
            let native = format!("cluster/{name}/{}", node.instance_id);
            (self.node(&native, (name, cluster), node), native)
        }))
    }

    /// Instances of every variant of an endpoint. One without an accelerator is left out.
    pub fn of_variants(
        &self,
        one: &EndpointSummary,
        endpoint: &Endpoint,
        config: &EndpointConfig,
    ) -> Gathered<Vec<Instance>> {
        let mut gathered = Gathered::<Vec<Instance>>::default();
        let name = &one.endpoint_name;
        let created = instant(Some(one.creation_time)).max(instant(config.creation_time));
        // A configuration is older than its deployment. What was measured before the last
        // change may be of another type.
        let changed = instant(endpoint.last_modified_time).map(|time| time.min(self.as_of));
        let Some(launched) = created.max(changed) else {
            gathered.gaps.push(self.gap(&format!("endpoint/{name}"), unreadable("launch time")));
            return gathered;
        };
        if endpoint.variants().next().is_none() {
            gathered.gaps.push(self.gap(&format!("endpoint/{name}"), unreadable("variants")));
        }
        for variant in endpoint.variants() {
            let group = group_of(name, &variant.variant_name);
            let names = (group.as_str(), variant);
            if let Err(cause) = self.variant(names, config, launched, &mut gathered.value) {
                gathered.gaps.push(self.gap(&group, cause));
            }
        }
        gathered
    }

    pub fn id(&self, native: &str) -> ResourceId {
        ResourceId::new(Provider::SageMaker, &self.account, &self.region, native)
    }

    /// The gap of a machine, or of several under one name.
    pub fn gap(&self, native: &str, cause: Cause) -> Gap {
        Gap::of(GapSubject::Instance, self.id(native).as_str(), cause)
    }

    /// What is read of machines, each with its native id.
    fn each(&self, readings: impl Iterator<Item = (Read, String)>) -> Gathered<Vec<Instance>> {
        let mut gathered = Gathered::<Vec<Instance>>::default();
        for (reading, native) in readings {
            match reading {
                Ok(instance) => gathered.value.extend(instance),
                Err(cause) => gathered.gaps.push(self.gap(&native, cause)),
            }
        }
        gathered
    }

    fn notebook(&self, native: &str, notebook: &NotebookInstance) -> Read {
        if stated(notebook.notebook_instance_status.as_deref(), "state")? != IN_SERVICE {
            return Ok(None);
        }
        let Some(inside) = accelerated(stated(notebook.instance_type.as_deref(), "type")?)? else {
            return Ok(None);
        };
        let created = instant(notebook.creation_time);
        let launched = instant(notebook.last_modified_time).or(created);
        let name = Component::Notebook.type_name(inside);
        let machine = self.instance(native, name, stated(launched, "launch time")?);
        Ok(Some(Instance { attached_time: created, ..machine }))
    }

    fn app(&self, native: &str, app: &App) -> Read {
        if stated(app.status.as_deref(), "state")? != IN_SERVICE {
            return Ok(None);
        }
        let spec = app.resource_spec.as_ref();
        let named_type = match spec.and_then(|spec| spec.instance_type.as_deref()) {
            Some(OF_SYSTEM) => return Ok(None),
            None if WITHOUT_MACHINE.contains(&app.app_type.as_str()) => return Ok(None),
            other => stated(other, "type")?,
        };
        let Some(inside) = accelerated(named_type)? else { return Ok(None) };
        let unknown = || Cause::of(CauseKind::AppTypeUnknown, [&app.app_type]);
        let is_planned = spec.is_some_and(|spec| spec.training_plan_arn.is_some());
        let lifecycle = if is_planned { Lifecycle::CapacityBlock } else { Lifecycle::OnDemand };
        let name = app.component().ok_or_else(unknown)?.type_name(inside);
        let launched = stated(instant(app.creation_time), "launch time")?;
        Ok(Some(Instance { lifecycle, ..self.instance(native, name, launched) }))
    }

    fn node(&self, native: &str, (owner, cluster): (&str, &Cluster), node: &ClusterNode) -> Read {
        if !stated(node.is_running(), "state")? {
            return Ok(None);
        }
        let Some(inside) = accelerated(&node.instance_type)? else { return Ok(None) };
        let group = format!("cluster/{owner}/{}", node.instance_group_name);
        let host = node.private_dns_hostname.clone();
        let name = Component::Cluster.type_name(inside);
        let launched = stated(instant(Some(node.launch_time)), "launch time")?;
        Ok(Some(Instance {
            auto_scaling_group: Some(group),
            lifecycle: cluster.lifecycle_of(&node.instance_group_name),
            private_dns_name: host.filter(|name| !name.is_empty()),
            ..self.instance(native, name, launched)
        }))
    }

    /// Adds the instances of a variant to those of its endpoint.
    ///
    /// # Errors
    /// When some of them cannot be read, or there are too many.
    fn variant(
        &self,
        (group, variant): (&str, &Variant),
        config: &EndpointConfig,
        launched: Timestamp,
        instances: &mut Vec<Instance>,
    ) -> Result<(), Cause> {
        let reserved = variant.capacity_reservation_config.as_ref();
        let is_planned =
            reserved.is_some_and(|reservation| reservation.ml_reservation_arn.is_some());
        let lifecycle = if is_planned { Lifecycle::CapacityBlock } else { Lifecycle::OnDemand };
        let mut index: u32 = 0;
        for (named_type, count) in types(variant, config) {
            if count == Some(0) {
                continue;
            }
            let inside = accelerated(stated(named_type, "type")?)?;
            let Some(inside) = inside else {
                index = index.saturating_add(count.map_or(0, u32::from));
                continue;
            };
            for _ in 0..stated(count, "number of instances")? {
                if instances.len() >= MOST_OF_ENDPOINT {
                    return Err(too_many(MOST_OF_ENDPOINT));
                }
                let name = Component::Hosting.type_name(inside);
                instances.push(Instance {
                    // A variant scales as such a group does.
                    auto_scaling_group: Some(group.to_owned()),
                    lifecycle,
                    ..self.instance(&format!("{group}/{index}"), name, launched)
                });
                index = index.saturating_add(1);
            }
        }
        Ok(())
    }

    /// A running machine by its native id, on demand.
    fn instance(&self, native: &str, instance_type: String, launch_time: Timestamp) -> Instance {
        let place = (self.account.as_str(), self.region.as_str());
        Instance::running(self.id(native), place, instance_type, launch_time)
    }
}

/// What the instances of a variant are grouped by.
pub(super) fn group_of(endpoint: &str, variant: &str) -> String {
    format!("endpoint/{endpoint}/{variant}")
}

pub(super) fn unreadable(field: &str) -> Cause {
    Cause::of(CauseKind::MachineNotReadable, [field])
}

/// The cause of the gap of what is beyond so many.
pub(super) fn too_many(most: usize) -> Cause {
    Cause::of(CauseKind::TooManyListed, [&most.to_string()])
}

/// What a field says.
///
/// # Errors
/// When the answer does not have it.
fn stated<T>(field: Option<T>, name: &'static str) -> Result<T, Cause> {
    field.ok_or_else(|| unreadable(name))
}

/// The type of EC2 inside a type of SageMaker; `None` for one without an accelerator.
///
/// # Errors
/// When it is not a type of SageMaker.
fn accelerated(named_type: &str) -> Result<Option<&str>, Cause> {
    let inside = stated(named_type.strip_prefix("ml."), "type")?;
    Ok(Some(inside).filter(|inside| is_accelerated(inside)))
}

/// The types of a variant, each with how many instances it has today; none where it is
/// serverless.
fn types<'a>(
    variant: &'a Variant,
    config: &'a EndpointConfig,
) -> Vec<(Option<&'a str>, Option<u16>)> {
    if variant.current_serverless_config.is_some() {
        return Vec::new();
    }
    let pools = variant.instance_pools.as_deref().unwrap_or_default();
    if pools.is_empty() {
        return vec![(config.type_of(&variant.variant_name), variant.current_instance_count)];
    }
    let pools = pools.iter();
    pools.map(|pool| (Some(pool.instance_type.as_str()), pool.current_instance_count)).collect()
}

/// Whether a type of EC2 has an accelerator: by the catalog, else by its name, as EC2's own
/// inventory finds them.
pub(super) fn is_accelerated(inside: &str) -> bool {
    match shape(inside) {
        Some(known) => known.accelerator != AcceleratorKind::Cpu,
        None => inventory::is_accelerated(inside),
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
