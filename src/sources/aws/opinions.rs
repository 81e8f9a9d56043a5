//! What AWS's Cost Optimization Hub advises about instances.

use super::pages::Pages;
use super::partition::partition;
use super::session::Session;
use super::signed::{Protocol, Service};
use crate::domain::{
    AwsOpinion, CauseKind, Currency, Gap, GapSubject, Gathered, Money, ResourceId,
};
use crate::sources::{Answer, OpinionSource, SourceError};
use futures_util::FutureExt;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::{Number, json};

const HUB: Service = Service {
    signing_name: "cost-optimization-hub",
    host_prefix: "cost-optimization-hub",
    protocol: Protocol::Json10("CostOptimizationHubService"),
    id: "cost-optimization-hub",
};

const LIST: &str = "cost-optimization-hub:ListRecommendations";
/// The one region that answers, for all regions.
const REGION: &str = "us-east-1";
/// The largest page.
const RESULTS_ON_A_PAGE: usize = 1_000;
const INSTANCE: &str = "Ec2Instance";
/// The recommendation to leave everything as it is.
const NOTHING: &str = "NoAction";

/// Whether the partition of a region has the hub.
pub(super) fn has_hub(region: &str) -> bool {
    partition(region) == "aws"
}

/// The recommendations that an account sees: its own, or those of its whole organization.
pub(super) struct Hub {
    pub session: Session,
}

impl OpinionSource for Hub {
    fn opinions(&self) -> Answer<'_, Gathered<Vec<AwsOpinion>>> {
        async {
            match listed(&self.session).await {
                Ok(found) => Gathered::whole(found),
                Err(error) => {
                    let cause = error.cause_of(CauseKind::CallFailed, "");
                    Gathered {
                        value: Vec::new(),
                        gaps: vec![Gap::of(GapSubject::AwsOpinion, "account", cause)],
                    }
                }
            }
        }
        .boxed_local()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    resource_id: Option<String>,
    current_resource_type: Option<String>,
    recommended_resource_summary: Option<String>,
    action_type: Option<String>,
    estimated_monthly_savings: Option<Number>,
    currency_code: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    items: Vec<Item>,
    next_token: Option<String>,
}

async fn listed(session: &Session) -> Result<Vec<AwsOpinion>, SourceError> {
    let mut all = Vec::new();
    let mut pages = Pages::of(LIST);
    loop {
        let mut body = json!({
            "filter": { "resourceTypes": [INSTANCE] },
            "maxResults": RESULTS_ON_A_PAGE,
        });
        if let Some(token) = pages.token() {
            body["nextToken"] = token.into();
        }
        let page: Page = session
            .ask(&HUB, REGION, "ListRecommendations", &body)
            .await?;
        all.extend(page.items.into_iter().filter_map(opinion));
        if !pages.follow(page.next_token.as_deref())? {
            return Ok(all);
        }
    }
}

/// A recommendation about an instance; absent for one about something else.
fn opinion(item: Item) -> Option<AwsOpinion> {
    if item.current_resource_type.as_deref() != Some(INSTANCE) {
        return None;
    }
    let action = item.action_type.filter(|action| action != NOTHING)?;
    let to = item.recommended_resource_summary;
    Some(AwsOpinion {
        instance: ResourceId::named(item.resource_id.filter(|id| !id.is_empty())?),
        to: to.filter(|to| !to.is_empty() && *to != action),
        action,
        monthly_savings: amount(item.estimated_monthly_savings, item.currency_code),
    })
}

/// An amount from its digits.
fn amount(number: Option<Number>, currency: Option<String>) -> Option<Money> {
    let currency = Currency::from_code(currency.as_deref().unwrap_or("USD"))?;
    let text = number?.to_string();
    let exact = text.parse::<Decimal>().ok();
    let amount = exact.or_else(|| Decimal::from_scientific(&text).ok())?;
    AwsOpinion::estimate(amount, currency)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<AwsOpinion> {
        let page: Page = serde_json::from_str(text).expect("a page");
        page.items.into_iter().filter_map(opinion).collect()
    }

    #[test]
    fn recommendations_about_instances_are_kept() {
        let found = read(
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
                {"currentResourceType": "Ec2Instance", "actionType": "Stop"}
            ]}"#,
        );
        let rows: Vec<(String, String, Option<String>, Option<String>)> = found
            .into_iter()
            .map(|one| {
                let savings = one.monthly_savings.map(|money| money.amount().to_string());
                (one.instance.to_string(), one.action, one.to, savings)
            })
            .collect();
        let text = |text: &str| Some(text.to_owned());
        let expected = [
            ("i-1", "Rightsize", text("g5.xlarge"), text("412.00")),
            ("i-2", "Stop", None, text("0.00")),
            ("i-3", "Stop", None, None),
        ];
        let expected = expected
            .map(|(id, action, to, savings)| (id.to_owned(), action.to_owned(), to, savings));
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_page_may_be_empty() {
        assert!(read("{}").is_empty());
        assert!(serde_json::from_str::<Page>(r#"{"items": [], "nextToken": "t"}"#).is_ok());
    }
}
