//! What AWS's Cost Optimization Hub advises about instances and Auto Scaling groups.

use super::answers::{CAMEL_CASE, Paging, answers};
use super::service::{Protocol, Service};
use super::session::Session;
use crate::domain::{
    AdvisedResource, AwsAdvice, AwsOpinion, Currency, GapSubject, Gathered, Money, ResourceId,
    partition,
};
use crate::error::or_gap;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::{Number, json};

pub(super) const HUB: Service = Service {
    signing_name: "cost-optimization-hub",
    sdk_id: "Cost Optimization Hub",
    host: "cost-optimization-hub.{region}",
    protocol: Protocol::Json10("CostOptimizationHubService"),
    id: "cost-optimization-hub",
    paging: Paging { size: 1_000, may_omit_list: true, ..CAMEL_CASE },
};

/// The one region that answers, for all regions.
pub(super) const REGION: &str = "us-east-1";
const INSTANCE: &str = "Ec2Instance";
const GROUP: &str = "Ec2AutoScalingGroup";
/// What stands before the name in the ARN of a group.
const BEFORE_NAME: &str = "autoScalingGroupName/";
/// The recommendation to leave everything as it is.
const NOTHING: &str = "NoAction";

/// Whether the partition of a region has the hub.
pub(super) fn has_hub(region: &str) -> bool {
    partition(region) == "aws"
}

answers! { "camelCase":
    struct Item {
        account_id: Option<String>,
        region: Option<String>,
        resource_id: Option<String>,
        resource_arn: Option<String>,
        current_resource_type: Option<String>,
        recommended_resource_summary: Option<String>,
        action_type: Option<String>,
        estimated_monthly_savings: Option<Number>,
        currency_code: Option<String>,
    }
}

/// The recommendations that an account sees: its own, or those of its whole organization.
pub(super) async fn opinions(session: Session) -> Gathered<Vec<AwsAdvice>> {
    let body = json!({ "filter": { "resourceTypes": [INSTANCE, GROUP] } });
    let clients = session.in_region(REGION);
    let items = clients.ask_list(&HUB, "ListRecommendations", "items", body).await;
    let advised = items.map(|items| items.into_iter().filter_map(advice).collect());
    or_gap(advised, GapSubject::AwsOpinion, "account", "")
}

/// A recommendation about an instance or a group; absent for one about something else.
fn advice(item: Item) -> Option<AwsAdvice> {
    let about = resource(&item)?;
    let action = item.action_type.filter(|action| action != NOTHING)?;
    let to = item.recommended_resource_summary;
    Some(AwsAdvice {
        about,
        to: to.filter(|to| !to.is_empty() && *to != action),
        action,
        monthly_savings: amount(item.estimated_monthly_savings, item.currency_code),
    })
}

fn resource(item: &Item) -> Option<AdvisedResource> {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let id = said(&item.resource_id);
    match item.current_resource_type.as_deref()? {
        INSTANCE => Some(AdvisedResource::Instance(ResourceId::named(id?))),
        GROUP => {
            // A resource ID of a group may be its name or its ARN.
            let arn = said(&item.resource_arn).or_else(|| id.clone());
            let named = arn.as_deref().and_then(|arn| arn.split_once(BEFORE_NAME));
            Some(AdvisedResource::AutoScalingGroup {
                account: said(&item.account_id)?,
                region: said(&item.region)?,
                name: named.map(|(_, name)| name.to_owned()).or(id)?,
            })
        }
        _ => None,
    }
}

/// An amount from its digits.
fn amount(number: Option<Number>, currency: Option<String>) -> Option<Money> {
    let currency = Currency::from_name(currency.as_deref().unwrap_or("USD"))?;
    let text = number?.to_string();
    let amount = text.parse::<Decimal>().ok().or_else(|| Decimal::from_scientific(&text).ok())?;
    AwsOpinion::estimate(amount, currency)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::answers::{Part, part};

    fn page(text: &str) -> Part<Item> {
        let page = serde_json::from_str(text).expect("JSON");
        part(("cost-optimization-hub:ListRecommendations", "items"), &HUB.paging, page)
            .expect("a page")
    }

    fn read(text: &str) -> Vec<AwsAdvice> {
        page(text).0.into_iter().filter_map(advice).collect()
    }

    fn about(resource: &AdvisedResource) -> String {
        match resource {
            AdvisedResource::Instance(id) => id.to_string(),
            AdvisedResource::AutoScalingGroup { account, region, name } => {
                format!("{account} {region} {name}")
            }
        }
    }

    #[test]
    fn recommendations_about_instances_and_groups_are_kept() {
        let recommendations = read(
            r#"{"items": [
                {"resourceId": "i-1", "currentResourceType": "Ec2Instance",
                 "actionType": "Rightsize", "recommendedResourceSummary": "g5.xlarge",
                 "estimatedMonthlySavings": 411.996, "currencyCode": "USD",
                 "source": "ComputeOptimizer", "accountId": "1"},
                {"resourceId": "i-2", "currentResourceType": "Ec2Instance",
                 "actionType": "Stop", "recommendedResourceSummary": "",
                 "estimatedMonthlySavings": 1e-7},
                {"resourceId": "i-3", "currentResourceType": "Ec2Instance",
                 "actionType": "Stop", "estimatedMonthlySavings": 1, "currencyCode": "XYZ"},
                {"resourceId": "vol-1", "currentResourceType": "EbsVolume",
                 "actionType": "Delete", "estimatedMonthlySavings": 1},
                {"resourceId": "i-4", "currentResourceType": "Ec2Instance",
                 "actionType": "NoAction"},
                {"currentResourceType": "Ec2Instance", "actionType": "Stop"},
                {"resourceId": "trainers", "currentResourceType": "Ec2AutoScalingGroup",
                 "accountId": "1", "region": "us-east-1", "actionType": "Rightsize",
                 "recommendedResourceSummary": "g6.xlarge", "estimatedMonthlySavings": 300.25},
                {"resourceId": "3f0c", "currentResourceType": "Ec2AutoScalingGroup",
                 "resourceArn": "arn:aws:autoscaling:us-east-1:1:autoScalingGroup:3f0c:autoScalingGroupName/a/b",
                 "accountId": "1", "region": "us-east-1", "actionType": "ScaleIn"},
                {"resourceId": "nowhere", "currentResourceType": "Ec2AutoScalingGroup",
                 "actionType": "Rightsize"}
            ]}"#,
        );
        let rows: Vec<(String, String, Option<String>, Option<String>)> = recommendations
            .into_iter()
            .map(|recommendation| {
                let savings =
                    recommendation.monthly_savings.map(|money| money.amount().to_string());
                (about(&recommendation.about), recommendation.action, recommendation.to, savings)
            })
            .collect();
        let text = |text: &str| Some(text.to_owned());
        let expected = [
            ("i-1", "Rightsize", text("g5.xlarge"), text("412.00")),
            ("i-2", "Stop", None, text("0.00")),
            ("i-3", "Stop", None, None),
            ("1 us-east-1 trainers", "Rightsize", text("g6.xlarge"), text("300.25")),
            ("1 us-east-1 a/b", "ScaleIn", None, None),
        ];
        let expected = expected
            .map(|(id, action, to, savings)| (id.to_owned(), action.to_owned(), to, savings));
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_page_may_be_empty() {
        assert!(read("{}").is_empty());
        assert_eq!(page(r#"{"items": [], "nextToken": "t"}"#), (Vec::new(), Some("t".to_owned())));
    }
}
