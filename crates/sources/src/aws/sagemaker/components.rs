//! Inference components: what each copy reserves, and of which endpoint. The service says on
//! how many instances of a type copies are, and not on which.

use super::listed::SAGEMAKER;
use super::machine::{group_of, too_many};
use crate::aws::answers::answers;
use crate::aws::session::RegionClients;
use crate::domain::{
    Component, ComponentHost, Copies, Gap, GapSubject, Gathered, InferenceComponent,
};
use crate::{Outcome, SourceError};
use futures_util::{StreamExt, stream};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Components that are described at once.
const AT_ONCE: usize = 4;

/// Components of a region that are described: each takes a call.
const MOST_DESCRIBED: usize = 1_000;

/// GPUs of an instance, at most: more are no answer.
const MOST_GPUS: f64 = 1_000.0;

/// Groups of instances that have no model of their own, by name, each with its types.
pub(super) type OpenGroups = BTreeMap<String, BTreeSet<String>>;

answers! { "PascalCase":
    struct Summary {
        inference_component_name: String,
        endpoint_name: String,
        variant_name: String,
    }

    struct Described {
        specification: Option<Specification>,
        /// One for each type, in place of a single one.
        specifications: Option<Vec<Specification>>,
        runtime_config: Option<RuntimeConfig>,
    }

    struct Specification {
        instance_type: Option<String>,
        compute_resource_requirements: Option<Requirements>,
        /// It shares what its base reserves.
        base_inference_component_name: Option<String>,
    }

    struct Requirements {
        number_of_accelerator_devices_required: Option<f64>,
        /// A MIG profile: the number counts instances of it, which are parts of GPUs.
        accelerator_partition_type: Option<Value>,
    }

    struct RuntimeConfig {
        desired_copy_count: Option<u32>,
        current_copy_count: Option<u32>,
        placement_status: Option<Vec<Placement>>,
    }

    struct Placement {
        instance_type: String,
        current_copy_count: u32,
    }
}

impl Summary {
    fn group(&self) -> String {
        group_of(&self.endpoint_name, &self.variant_name)
    }

    /// Names are unique in an account and a region.
    fn key(&self) -> (&str, &str, &str) {
        (&self.inference_component_name, &self.endpoint_name, &self.variant_name)
    }
}

/// What components reserve of groups. A group of which one cannot be read is left out: what
/// is free of it is not known.
pub(super) async fn hosts(
    clients: &RegionClients,
    account: &str,
    groups: &OpenGroups,
) -> Gathered<Vec<ComponentHost>> {
    if groups.is_empty() {
        return Gathered::default();
    }
    let gap = |error: &SourceError| {
        error.gap(GapSubject::InferenceComponents, &clients.region, "they are omitted")
    };
    let listed = clients
        .ask_list(&SAGEMAKER, "ListInferenceComponents", "InferenceComponents", json!({}))
        .await;
    let mut summaries: Vec<Summary> = match listed {
        Ok(summaries) => summaries,
        Err(error) => return Gathered { value: Vec::new(), gaps: vec![gap(&error)] },
    };
    summaries.retain(|summary| groups.contains_key(&summary.group()));
    let summaries = once(summaries);
    let answers: Vec<_> = stream::iter(summaries.iter().take(MOST_DESCRIBED))
        .map(|summary| async move { (summary, described(clients, summary).await) })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let none = |group| (group, Vec::new());
    let mut by_group: BTreeMap<&String, Vec<InferenceComponent>> =
        groups.keys().map(none).collect();
    let mut unread: BTreeSet<String> =
        summaries.iter().skip(MOST_DESCRIBED).map(Summary::group).collect();
    let mut gaps = Vec::new();
    for (summary, answer) in answers {
        let Some((group, types)) = groups.get_key_value(&summary.group()) else { continue };
        match answer {
            Ok(described) => {
                let name = summary.inference_component_name.clone();
                by_group.entry(group).or_default().push(described.component(name, types));
            }
            Err(error) => {
                unread.insert(group.clone());
                gaps.push(gap(&error));
            }
        }
    }
    // One for the region: an endpoint may have hundreds.
    gaps.truncate(1);
    if summaries.len() > MOST_DESCRIBED {
        let cause = too_many(MOST_DESCRIBED);
        gaps.push(Gap::of(GapSubject::InferenceComponents, &clients.region, cause));
    }
    let read = by_group.into_iter().filter(|(group, _)| !unread.contains(*group));
    let hosts = read.map(|(group, components)| ComponentHost {
        account: account.to_owned(),
        region: clients.region.clone(),
        group: group.clone(),
        components,
    });
    Gathered { value: hosts.collect(), gaps }
}

/// One component of each name, in order of name: one that is created while pages are read
/// moves others to the next page, and would reserve its GPUs twice.
fn once(mut summaries: Vec<Summary>) -> Vec<Summary> {
    summaries.sort_by(|left, right| left.key().cmp(&right.key()));
    summaries
        .dedup_by(|later, first| later.inference_component_name == first.inference_component_name);
    summaries
}

async fn described(clients: &RegionClients, summary: &Summary) -> Outcome<Described> {
    let body = json!({ "InferenceComponentName": summary.inference_component_name });
    clients.ask(&SAGEMAKER, "DescribeInferenceComponent", &body).await
}

impl Described {
    /// The component, on a group with instances of some types.
    fn component(self, name: String, types: &BTreeSet<String>) -> InferenceComponent {
        let runtime = self.runtime_config.as_ref();
        let placed = runtime.and_then(|runtime| runtime.placement_status.as_deref());
        let copies = match placed.filter(|placed| !placed.is_empty()) {
            Some(placed) => placed
                .iter()
                .map(|placement| Copies {
                    instance_type: Some(hosting(&placement.instance_type)),
                    count: placement.current_copy_count,
                    gpus_each: self.gpus_on(&placement.instance_type),
                })
                .collect(),
            None => self.unplaced(types),
        };
        InferenceComponent {
            name,
            desired_copies: runtime.and_then(|runtime| runtime.desired_copy_count),
            copies,
        }
    }

    /// Its copies, where the service does not say on which type they are: known where there
    /// is one.
    fn unplaced(&self, types: &BTreeSet<String>) -> Vec<Copies> {
        let runtime = self.runtime_config.as_ref();
        let count = runtime.and_then(|runtime| runtime.current_copy_count);
        let mut types = types.iter();
        let only = types.next().filter(|_| types.next().is_none());
        let inside = only.and_then(|name| Component::of_type(name));
        let inside = inside.map(|(inside, _)| format!("ml.{inside}"));
        vec![Copies {
            instance_type: None,
            // An unknown number of copies reserves an unknown number of GPUs.
            count: count.unwrap_or(1),
            gpus_each: count.and(inside.and_then(|name| self.gpus_on(&name))),
        }]
    }

    /// GPUs that a copy reserves on a type, in SageMaker's name; absent where that is not
    /// known.
    fn gpus_on(&self, name: &str) -> Option<Decimal> {
        let own =
            |specification: &&Specification| specification.instance_type.as_deref() == Some(name);
        let mut several = self.specifications.iter().flatten();
        let one = several.find(own).or(self.specification.as_ref())?;
        if one.base_inference_component_name.is_some() {
            return Some(Decimal::ZERO);
        }
        let required = one.compute_resource_requirements.as_ref()?;
        if required.accelerator_partition_type.is_some() {
            return None;
        }
        match required.number_of_accelerator_devices_required {
            Some(number) => Decimal::from_f64(number)
                .filter(|_| (0.0..=MOST_GPUS).contains(&number))
                .map(|number| number.normalize()),
            // On CPUs alone.
            None => Some(Decimal::ZERO),
        }
    }
}

/// A type as the price list names it.
fn hosting(name: &str) -> String {
    Component::Hosting.type_name(name.strip_prefix("ml.").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: Value, types: &[&str]) -> InferenceComponent {
        let described: Described = serde_json::from_value(answer).expect("as botocore has it");
        let types = types.iter().map(|name| (*name).to_owned()).collect();
        described.component("llama".to_owned(), &types)
    }

    fn needs(gpus: f64) -> Value {
        json!({ "NumberOfAcceleratorDevicesRequired": gpus, "MinMemoryRequiredInMb": 1024 })
    }

    fn reserved(component: &InferenceComponent, name: &str) -> Option<String> {
        let gpus = component.reserved_gpus(Some(name))?;
        Some(gpus.to_string())
    }

    #[test]
    fn copies_reserve_the_gpus_of_their_specification() {
        let one = read(
            json!({
                "InferenceComponentName": "llama",
                "EndpointName": "chat",
                "VariantName": "main",
                "Specification": {
                    "ModelName": "llama", "ComputeResourceRequirements": needs(2.0),
                },
                "RuntimeConfig": { "DesiredCopyCount": 3, "CurrentCopyCount": 2 },
            }),
            &["ml.g5.12xlarge-hosting"],
        );
        assert_eq!((one.desired_copies, one.current_copies()), (Some(3), 2));
        assert_eq!(reserved(&one, "ml.g5.12xlarge-hosting").as_deref(), Some("4"));
    }

    #[test]
    fn each_type_has_a_specification_and_a_number_of_copies() {
        let (large, small) = ("ml.g5.12xlarge-hosting", "ml.g6.12xlarge-hosting");
        let both = [large, small];
        let of = |name: &str, gpus: f64| json!({ "InstanceType": name, "ComputeResourceRequirements": needs(gpus) });
        let mut answer = json!({
            "Specifications": [of("ml.g5.12xlarge", 4.0), of("ml.g6.12xlarge", 1.0)],
            "RuntimeConfig": {
                "DesiredCopyCount": 4, "CurrentCopyCount": 4,
                "PlacementStatus": [
                    { "InstanceType": "ml.g5.12xlarge", "CurrentCopyCount": 1 },
                    { "InstanceType": "ml.g6.12xlarge", "CurrentCopyCount": 3 },
                ],
            },
        });
        let one = read(answer.clone(), &both);
        assert_eq!(reserved(&one, large).as_deref(), Some("4"));
        assert_eq!(reserved(&one, small).as_deref(), Some("3"));
        // Of two types nothing says on which the copies are.
        answer["RuntimeConfig"]["PlacementStatus"] = json!([]);
        assert_eq!(reserved(&read(answer, &both), small), None);
    }

    #[test]
    fn adapters_and_models_on_cpus_reserve_none_and_parts_are_not_known() {
        let on = |specification: Value| {
            let answer = json!({
                "Specification": specification,
                "RuntimeConfig": { "DesiredCopyCount": 1, "CurrentCopyCount": 1 },
            });
            reserved(&read(answer, &["ml.g5.xlarge-hosting"]), "ml.g5.xlarge-hosting")
        };
        let adapter = json!({ "BaseInferenceComponentName": "base" });
        assert_eq!(on(adapter).as_deref(), Some("0"));
        let cpu = json!({ "ComputeResourceRequirements": { "MinMemoryRequiredInMb": 512 } });
        assert_eq!(on(cpu).as_deref(), Some("0"));
        let mut part = needs(1.0);
        part["AcceleratorPartitionType"] = "mig-1g.5gb".into();
        assert_eq!(on(json!({ "ComputeResourceRequirements": part })), None);
        assert_eq!(on(json!({ "ComputeResourceRequirements": needs(-1.0) })), None);
        assert_eq!(on(json!({ "ComputeResourceRequirements": needs(1e300) })), None);
        assert_eq!(on(json!({})), None);
    }

    #[test]
    fn a_component_on_two_pages_reserves_its_gpus_once() {
        let summary = |name: &str| Summary {
            inference_component_name: name.to_owned(),
            endpoint_name: "chat".to_owned(),
            variant_name: "main".to_owned(),
        };
        let summaries = once(["llama", "guard", "llama"].map(summary).into());
        let names: Vec<&str> = summaries.iter().map(|kept| kept.key().0).collect();
        assert_eq!(names, ["guard", "llama"]);
    }
}
