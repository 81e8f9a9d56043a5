//! Whether each action of the policies is allowed: the smallest call of each. EC2 is asked to
//! say whether it would answer, without answering (`DryRun`). Actions about a thing by its name
//! ask for one that does not exist: a service that does not find it has allowed the question.

use super::access::DEFAULT_REGION;
use super::batch::BATCH;
use super::commitments::{SAVINGS_PLANS, has_savings_plans};
use super::ecs::ECS;
use super::metrics::{EC2_NAMESPACE, cloudwatch_name};
use super::opinions::{HUB, REGION as HUB_REGION, has_hub};
use super::organization::{ORGANIZATIONS, organizations_region};
use super::prices::{PRICING, endpoint_of};
use super::sagemaker::{SAGEMAKER, TAGGING};
use super::scaling::AUTO_SCALING;
use super::service::{EC2, Fields, Service, field};
use super::session::{AwsService, RegionClients, Session};
use crate::domain::{FailureKind, Metric};
use crate::{Outcome, SourceError};
use aws_sdk_cloudwatch::types::{Metric as CloudWatchMetric, MetricDataQuery, MetricStat};
use aws_smithy_types::DateTime;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// One question, with every try of it: whoever waits sits in front of it.
const WITHIN: Duration = Duration::from_secs(15);
/// A name that nothing has.
const UNKNOWN: &str = "gpucost-doctor-asks-whether-it-may";
/// The period of the one value that CloudWatch is asked for.
const HOUR_SECONDS: i32 = 3_600;

/// Codes of services that allowed a question and have no answer to it.
const BEYOND_PERMISSION: &[&str] = &[
    "ClientException", "ClusterNotFoundException", "DryRunOperation", "InvalidParameterException",
    "InvalidParameterValue", "ResourceNotFound", "ResourceNotFoundException", "ValidationError",
    "ValidationException",
];

/// Whether an action is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    Allowed,
    /// The partition of the region has no such service.
    NotOffered,
    /// It is denied, or there was no answer.
    Failed(SourceError),
}

/// What an action is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededBy {
    /// Every audit of an account.
    EveryAudit,
    /// Audits that read a service.
    Service(AwsService),
    /// Audits with `--aws-opinion`.
    Opinion,
}

impl NeededBy {
    /// What calls an action.
    pub fn of(action: &str) -> Self {
        match action.split_once(':') {
            Some(("ec2", "DescribeRegions")) => Self::EveryAudit,
            Some(("ec2" | "autoscaling", _)) => Self::Service(AwsService::Ec2),
            Some(("ecs", _)) => Self::Service(AwsService::Ecs),
            Some(("batch", _)) => Self::Service(AwsService::Batch),
            Some(("sagemaker" | "tag", _)) => Self::Service(AwsService::SageMaker),
            Some(("cost-optimization-hub", _)) => Self::Opinion,
            _ => Self::EveryAudit,
        }
    }
}

/// Asks whether an action of the policies is allowed in a region at an instant.
pub async fn permission(
    session: &Session,
    region: &str,
    action: &'static str,
    at: Timestamp,
) -> Permission {
    match tokio::time::timeout(WITHIN, asked(session, region, action, at)).await {
        Err(_) => Permission::Failed(late(action)),
        Ok(None) => Permission::NotOffered,
        Ok(Some(Err(error))) if !BEYOND_PERMISSION.contains(&error.code.as_str()) => {
            Permission::Failed(error)
        }
        Ok(Some(_)) => Permission::Allowed,
    }
}

/// A question that takes too long.
fn late(action: &'static str) -> SourceError {
    let words = format!("no response within {} s", WITHIN.as_secs());
    SourceError::own(action, FailureKind::Unreachable, &words, String::new())
}

/// What asking comes to; `None` where the partition has no such service.
async fn asked(
    session: &Session,
    region: &str,
    action: &'static str,
    at: Timestamp,
) -> Option<Outcome<()>> {
    let (service, operation) = action.split_once(':')?;
    match service {
        "sts" => Some(session.account().await.map(drop)),
        "ec2" => Some(of_form(&EC2, operation, field("DryRun", "true"), session, region).await),
        "cloudwatch" => Some(of_cloudwatch(&session.in_region(region), operation, at).await),
        "pricing" if endpoint_of(region).is_none() => None,
        "savingsplans" if !has_savings_plans(region) => None,
        "cost-optimization-hub" if !has_hub(region) => None,
        "autoscaling" => {
            let most = field("MaxRecords", "1");
            Some(of_form(&AUTO_SCALING, operation, most, session, region).await)
        }
        _ => {
            let (service, region, body) = question(region, service, operation);
            let answer = session.in_region(region).ask::<Value>(service, operation, &body).await;
            Some(answer.map(drop))
        }
    }
}

async fn of_form(
    service: &Service,
    operation: &str,
    fields: Fields,
    session: &Session,
    region: &str,
) -> Outcome<()> {
    session.in_region(region).ask_form::<()>(service, operation, &fields, |_| Ok(())).await
}

async fn of_cloudwatch(clients: &RegionClients, operation: &str, at: Timestamp) -> Outcome<()> {
    if operation == "ListMetrics" {
        return gpu_series(clients, EC2_NAMESPACE).await.map(drop);
    }
    // One metric that is none's: AWS bills a hundred-thousandth of a dollar for it.
    let cpu = CloudWatchMetric::builder()
        .namespace(EC2_NAMESPACE)
        .metric_name(cloudwatch_name(Metric::CpuUtilization))
        .build();
    let statistic = MetricStat::builder().metric(cpu).period(HOUR_SECONDS).stat("Average").build();
    let query = MetricDataQuery::builder().id("q0").metric_stat(statistic).build();
    clients.session.meter.metrics_asked(1);
    let request = clients
        .cloudwatch
        .get_metric_data()
        .metric_data_queries(query)
        .start_time(DateTime::from_secs(at.as_second() - i64::from(HOUR_SECONDS)))
        .end_time(DateTime::from_secs(at.as_second()));
    clients.patient("cloudwatch:GetMetricData", || request.clone().send()).await.map(drop)
}

/// The smallest question about an operation of a service without a client, and the region
/// that answers it. One that is not known is refused before it is sent.
fn question<'a>(
    region: &'a str,
    service: &str,
    operation: &str,
) -> (&'static Service, &'a str, Value) {
    match (service, operation) {
        ("pricing", _) => {
            let body = json!({
                "ServiceCode": "AmazonEC2", "FormatVersion": "aws_v1", "MaxResults": 1,
            });
            (&PRICING, endpoint_of(region).unwrap_or(DEFAULT_REGION), body)
        }
        ("savingsplans", "DescribeSavingsPlans") => {
            (&SAVINGS_PLANS, DEFAULT_REGION, json!({ "states": ["active"], "maxResults": 1 }))
        }
        ("savingsplans", _) => {
            (&SAVINGS_PLANS, DEFAULT_REGION, json!({ "products": ["EC2"], "maxResults": 1 }))
        }
        ("batch", _) => (&BATCH, region, json!({ "maxResults": 1 })),
        ("ecs", "ListClusters") => (&ECS, region, json!({ "maxResults": 1 })),
        ("ecs", "DescribeContainerInstances") => {
            (&ECS, region, json!({ "cluster": UNKNOWN, "containerInstances": [UNKNOWN] }))
        }
        ("ecs", "DescribeTasks") => {
            (&ECS, region, json!({ "cluster": UNKNOWN, "tasks": [UNKNOWN] }))
        }
        ("ecs", _) => (&ECS, region, json!({ "cluster": UNKNOWN, "maxResults": 1 })),
        ("tag", _) => {
            let body = json!({ "ResourcesPerPage": 1, "ResourceTypeFilters": ["sagemaker"] });
            (&TAGGING, region, body)
        }
        ("cost-optimization-hub", _) => (&HUB, HUB_REGION, json!({ "maxResults": 1 })),
        ("organizations", _) => {
            (&ORGANIZATIONS, organizations_region(region), json!({ "MaxResults": 1 }))
        }
        (_, "Search") => {
            (&SAGEMAKER, region, json!({ "Resource": "TrainingJob", "MaxResults": 1 }))
        }
        (_, "ListClusterNodes") => {
            (&SAGEMAKER, region, json!({ "ClusterName": UNKNOWN, "MaxResults": 1 }))
        }
        (_, describe) => {
            // `DescribeEndpoint` takes an `EndpointName`.
            let body = match describe.strip_prefix("Describe") {
                Some(thing) => json!({ format!("{thing}Name"): UNKNOWN }),
                None => json!({ "MaxResults": 1 }),
            };
            (&SAGEMAKER, region, body)
        }
    }
}

/// How many series of GPU utilization CloudWatch lists first in a namespace, and whether
/// there are more.
///
/// # Errors
/// When CloudWatch refuses or does not answer in time.
pub async fn gpu_series(clients: &RegionClients, namespace: &str) -> Outcome<(usize, bool)> {
    const LIST: &str = "cloudwatch:ListMetrics";
    let request = clients
        .cloudwatch
        .list_metrics()
        .namespace(namespace)
        .metric_name(cloudwatch_name(Metric::GpuUtilization));
    let answer = clients.patient(LIST, || request.clone().send());
    let page = tokio::time::timeout(WITHIN, answer).await.unwrap_or_else(|_| Err(late(LIST)))?;
    Ok((page.metrics().len(), page.next_token().is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::ACTIONS;

    #[test]
    fn names_of_things_are_what_the_services_call_them() {
        // As the service models of botocore have them.
        for (operation, field) in [
            ("DescribeCluster", "ClusterName"),
            ("DescribeEndpoint", "EndpointName"),
            ("DescribeEndpointConfig", "EndpointConfigName"),
            ("DescribeInferenceComponent", "InferenceComponentName"),
            ("DescribeTrainingJob", "TrainingJobName"),
        ] {
            let (service, region, body) = question("eu-west-1", "sagemaker", operation);
            assert_eq!((service.id, region), ("sagemaker", "eu-west-1"));
            assert_eq!(body, json!({ field: UNKNOWN }));
        }
    }

    #[test]
    fn each_question_goes_to_the_service_of_its_action() {
        let own = ["sts", "ec2", "cloudwatch", "autoscaling"];
        let actions = ACTIONS.iter().filter_map(|action| action.split_once(':'));
        let mut asked = 0;
        for (service, operation) in actions.filter(|(service, _)| !own.contains(service)) {
            assert_eq!(question("eu-west-1", service, operation).0.id, service);
            asked += 1;
        }
        assert!(asked > 15, "{asked}");
    }

    #[test]
    fn an_action_is_needed_by_what_reads_its_service() {
        for (action, by) in [
            ("sts:GetCallerIdentity", NeededBy::EveryAudit),
            ("ec2:DescribeRegions", NeededBy::EveryAudit),
            ("ec2:DescribeVolumes", NeededBy::Service(AwsService::Ec2)),
            ("tag:GetResources", NeededBy::Service(AwsService::SageMaker)),
            ("cost-optimization-hub:ListRecommendations", NeededBy::Opinion),
        ] {
            assert_eq!(NeededBy::of(action), by, "{action}");
        }
    }
}
