//! What SageMaker answers, as far as it is read.

use crate::aws::answers::{PASCAL_CASE, Paging, answers};
use crate::aws::service::{Protocol, Service};
use crate::domain::{Component, Lifecycle};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

pub(in crate::aws) const SAGEMAKER: Service = Service {
    signing_name: "sagemaker",
    sdk_id: "SageMaker",
    host: "api.sagemaker.{region}",
    protocol: Protocol::Json("SageMaker"),
    id: "sagemaker",
    paging: Paging { most: 100_000, ..PASCAL_CASE },
};

answers! { "PascalCase":
    pub(super) struct EndpointSummary {
        pub endpoint_name: String,
        pub endpoint_status: String,
        pub creation_time: f64,
    }

    pub(super) struct Endpoint {
        pub endpoint_config_name: Option<String>,
        /// When its configuration, its size or its weights last changed.
        pub last_modified_time: Option<f64>,
        pub production_variants: Option<Vec<Variant>>,
        /// Copies whose answers are discarded; billed like the others.
        pub shadow_production_variants: Option<Vec<Variant>>,
    }

    pub(super) struct Variant {
        pub variant_name: String,
        pub current_instance_count: Option<u16>,
        /// Of several types, in place of the one of the configuration.
        pub instance_pools: Option<Vec<Pool>>,
        /// Without an instance, and without a GPU.
        pub current_serverless_config: Option<Value>,
        pub capacity_reservation_config: Option<CapacityReservationConfig>,
    }

    pub(super) struct Pool {
        pub instance_type: String,
        pub current_instance_count: Option<u16>,
    }

    pub(super) struct CapacityReservationConfig {
        /// Of a training plan, which is paid for ahead.
        pub ml_reservation_arn: Option<String>,
    }

    /// What an endpoint was set up with. It never changes: an update takes another one.
    pub(super) struct EndpointConfig {
        pub creation_time: Option<f64>,
        pub production_variants: Option<Vec<ConfigVariant>>,
        pub shadow_production_variants: Option<Vec<ConfigVariant>>,
    }

    pub(super) struct ConfigVariant {
        pub variant_name: String,
        pub instance_type: Option<String>,
        /// Absent where inference components are placed on its instances.
        pub model_name: Option<String>,
    }

    pub(super) struct NotebookInstance {
        pub notebook_instance_name: String,
        pub notebook_instance_status: Option<String>,
        pub instance_type: Option<String>,
        pub creation_time: Option<f64>,
        /// Its last start, while it runs.
        pub last_modified_time: Option<f64>,
    }

    pub(super) struct App {
        pub app_name: String,
        pub app_type: String,
        pub status: Option<String>,
        pub domain_id: String,
        pub user_profile_name: Option<String>,
        pub space_name: Option<String>,
        pub creation_time: Option<f64>,
        pub resource_spec: Option<ResourceSpec>,
    }

    pub(super) struct ResourceSpec {
        pub instance_type: Option<String>,
        /// Paid for ahead.
        pub training_plan_arn: Option<String>,
    }

    pub(super) struct ClusterSummary {
        pub cluster_name: String,
        /// It ends with an id in place of the name.
        pub cluster_arn: String,
    }

    pub(super) struct Cluster {
        pub instance_groups: Option<Vec<InstanceGroup>>,
    }

    pub(super) struct InstanceGroup {
        pub instance_group_name: String,
        /// Paid for ahead.
        pub training_plan_arn: Option<String>,
        pub capacity_requirements: Option<CapacityRequirements>,
    }

    pub(super) struct CapacityRequirements {
        pub spot: Option<Value>,
    }

    pub(super) struct ClusterNode {
        pub instance_group_name: String,
        pub instance_id: String,
        pub instance_type: String,
        pub launch_time: f64,
        pub instance_status: Option<NodeStatus>,
        pub private_dns_hostname: Option<String>,
    }

    pub(super) struct NodeStatus {
        pub status: String,
    }
}

impl EndpointSummary {
    /// Whether its instances are there, and billed.
    pub fn is_running(&self) -> bool {
        matches!(
            self.endpoint_status.as_str(),
            "InService" | "Updating" | "SystemUpdating" | "RollingBack" | "UpdateRollbackFailed"
        )
    }
}

impl Endpoint {
    pub fn variants(&self) -> impl Iterator<Item = &Variant> {
        self.production_variants.iter().chain(&self.shadow_production_variants).flatten()
    }
}

impl EndpointConfig {
    pub fn type_of(&self, variant: &str) -> Option<&str> {
        let mut variants = self.variants();
        variants.find(|listed| listed.variant_name == variant)?.instance_type.as_deref()
    }

    pub fn variants(&self) -> impl Iterator<Item = &ConfigVariant> {
        self.production_variants.iter().chain(&self.shadow_production_variants).flatten()
    }
}

impl App {
    /// What its machine is rented as; absent for an app that has no price of its own.
    pub fn component(&self) -> Option<Component> {
        match self.app_type.as_str() {
            "JupyterLab" => Some(Component::JupyterLab),
            "CodeEditor" => Some(Component::CodeEditor),
            "KernelGateway" => Some(Component::KernelGateway),
            _ => None,
        }
    }
}

impl Cluster {
    /// How the instances of a group are paid for.
    pub fn lifecycle_of(&self, group: &str) -> Lifecycle {
        let mut groups = self.instance_groups.iter().flatten();
        let Some(group) = groups.find(|listed| listed.instance_group_name == group) else {
            return Lifecycle::OnDemand;
        };
        let capacity = group.capacity_requirements.as_ref();
        if group.training_plan_arn.is_some() {
            Lifecycle::CapacityBlock
        } else if capacity.is_some_and(|capacity| capacity.spot.is_some()) {
            Lifecycle::Spot
        } else {
            Lifecycle::OnDemand
        }
    }
}

impl ClusterNode {
    /// Whether it is there, and billed; absent where that is not stated.
    pub fn is_running(&self) -> Option<bool> {
        Some(matches!(self.instance_status.as_ref()?.status.as_str(), "Running" | "SystemUpdating"))
    }
}

/// An instant in seconds since the epoch, as this protocol writes it.
pub(super) fn instant(seconds: Option<f64>) -> Option<Timestamp> {
    Timestamp::from_second(seconds? as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use crate::aws::answers;
    use crate::domain::FailureKind;
    use serde::de::DeserializeOwned;
    use serde_json::json;
    use std::cell::RefCell;

    async fn listed<T: DeserializeOwned>(
        action: &'static str,
        key: &str,
        ask: impl AsyncFn(Value) -> Outcome<Value>,
    ) -> Outcome<Vec<T>> {
        answers::listed((action, key), &SAGEMAKER.paging, json!({}), ask).await
    }

    #[tokio::test]
    async fn every_page_of_a_list_is_read() {
        let asked = RefCell::new(Vec::new());
        let endpoints: Vec<EndpointSummary> =
            listed("sagemaker:ListEndpoints", "Endpoints", async |body: Value| {
                let is_first = body.get("NextToken").is_none();
                asked.borrow_mut().push(body);
                let name = if is_first { "chat" } else { "rank" };
                let mut page = json!({ "Endpoints": [{
                "EndpointName": name,
                "EndpointArn": "arn:aws:sagemaker:us-east-1:111122223333:endpoint/x",
                "CreationTime": 1_790_000_000.125,
                "LastModifiedTime": 1_790_000_100.5,
                "EndpointStatus": if is_first { "InService" } else { "Creating" },
            }] });
                if is_first {
                    page["NextToken"] = "second".into();
                }
                Ok(page)
            })
            .await
            .expect("both pages can be read");
        let figures: Vec<(&str, bool, Option<i64>)> = endpoints
            .iter()
            .map(|endpoint| {
                let created = instant(Some(endpoint.creation_time)).map(Timestamp::as_second);
                (endpoint.endpoint_name.as_str(), endpoint.is_running(), created)
            })
            .collect();
        let created = Some(1_790_000_000);
        assert_eq!(figures, [("chat", true, created), ("rank", false, created)]);
        let bodies =
            [json!({ "MaxResults": 100 }), json!({ "MaxResults": 100, "NextToken": "second" })];
        assert_eq!(*asked.borrow(), bodies);
    }

    #[tokio::test]
    async fn a_list_of_something_else_or_none_is_an_error_and_an_empty_one_is_not() {
        let read = async |page: Value| {
            listed::<App>("sagemaker:ListApps", "Apps", async |_: Value| Ok(page.clone())).await
        };
        assert_eq!(read(json!({ "Apps": [] })).await, Ok(Vec::new()));
        for page in [
            json!({ "Apps": [{ "AppName": 7 }] }),
            json!({ "Apps": null }),
            json!({ "Apps": {} }),
            json!({}),
            json!([]),
            json!("Apps"),
        ] {
            let error = read(page.clone()).await;
            let error = error.expect_err("no list of apps");
            assert_eq!(error.action, Some("sagemaker:ListApps"), "{page}");
            assert_eq!(error.kind, FailureKind::Unsupported, "{page}");
        }
    }

    #[tokio::test]
    async fn a_list_without_end_is_given_up() {
        let row = json!({
            "EndpointName": "chat", "EndpointStatus": "Failed", "CreationTime": 1_790_000_000,
        });
        let asked = RefCell::new(0);
        let answer =
            listed::<EndpointSummary>("sagemaker:ListEndpoints", "Endpoints", async |_: Value| {
                *asked.borrow_mut() += 1;
                let token = asked.borrow().to_string();
                Ok(json!({ "Endpoints": vec![row.clone(); 20_000], "NextToken": token }))
            })
            .await;
        let error = answer.expect_err("more than a region has");
        assert!(error.to_string().contains("more results"), "{error}");
        // Five pages of 20,000 are 100,000; the sixth is too much.
        assert_eq!(*asked.borrow(), 6);
    }

    #[test]
    fn the_type_of_a_shadow_is_in_the_configuration_too() {
        let config: EndpointConfig = serde_json::from_value(json!({
            "EndpointConfigName": "chat-2",
            "CreationTime": 1_790_000_000,
            "ProductionVariants": [
                { "VariantName": "main", "InstanceType": "ml.g5.xlarge", "InitialInstanceCount": 1 },
                { "VariantName": "small", "ServerlessConfig": { "MemorySizeInMB": 2048 } },
            ],
            "ShadowProductionVariants": [
                { "VariantName": "next", "InstanceType": "ml.g6.xlarge", "InitialInstanceCount": 1 },
            ],
        }))
        .expect("as botocore describes it");
        let types = ["main", "small", "next", "other"].map(|name| config.type_of(name));
        assert_eq!(types, [Some("ml.g5.xlarge"), None, Some("ml.g6.xlarge"), None]);
    }
}
