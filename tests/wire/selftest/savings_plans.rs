use aws_sdk_savingsplans::error::ProvideErrorMetadata;
use aws_sdk_savingsplans::types::{
    SavingsPlanOfferingRateFilterElement, SavingsPlanRateFilterAttribute, SavingsPlanType,
};

use crate::wire::clients::Clients;
use crate::wire::loopback::{Loopback, PlanRate};

use SavingsPlanRateFilterAttribute::{InstanceType, ProductDescription, Region, Tenancy};

const RATE: PlanRate<'_> = PlanRate {
    plan: "EC2Instance",
    years: 1,
    payment: "No Upfront",
    instance_type: "g5.xlarge",
    region: "us-east-1",
    hourly: "0.634",
};

/// Two types in two regions under two plans, each with three neighbours.
fn endpoint() -> (Loopback, Clients) {
    let loopback = Loopback::start(None);
    for plan in ["EC2Instance", "Compute"] {
        for region in ["us-east-1", "eu-west-1"] {
            for instance_type in ["g5.xlarge", "p4d.24xlarge"] {
                loopback.put_plan_rate(PlanRate { plan, region, instance_type, ..RATE });
            }
        }
    }
    let clients = Clients::new(&loopback.url(), "us-east-1");
    (loopback, clients)
}

/// Usage type and rate of everything that passes, and in how many pages.
async fn rates(
    clients: &Clients,
    plans: &[SavingsPlanType],
    filters: &[(SavingsPlanRateFilterAttribute, &str)],
) -> (Vec<(String, String)>, usize) {
    let filters = filters.iter().map(|(name, value)| {
        SavingsPlanOfferingRateFilterElement::builder().name(name.clone()).values(*value).build()
    });
    let request = clients
        .savings_plans
        .describe_savings_plans_offering_rates()
        .set_savings_plan_types(Some(plans.to_vec()))
        .set_filters(Some(filters.collect()));
    let (mut listed, mut pages, mut token) = (Vec::new(), 0, None);
    loop {
        let page = request.clone().set_next_token(token).send().await;
        let page = page.expect("the filters are valid");
        pages += 1;
        listed.extend(page.search_results().iter().map(|rate| {
            let text = |text: Option<&str>| text.expect("a text").to_owned();
            (text(rate.usage_type()), text(rate.rate()))
        }));
        token = page.next_token().map(str::to_owned);
        if token.is_none() {
            return (listed, pages);
        }
    }
}

const ALL: [(SavingsPlanRateFilterAttribute, &str); 4] = [
    (Region, "eu-west-1"),
    (InstanceType, "g5.xlarge"),
    (ProductDescription, "Linux/UNIX"),
    (Tenancy, "shared"),
];

#[tokio::test]
async fn all_filters_leave_a_rate_and_the_one_of_unused_capacity() {
    let (_loopback, clients) = endpoint();
    let (listed, _) = rates(&clients, &[SavingsPlanType::Compute], &ALL).await;
    let expected = [("EU-BoxUsage:g5.xlarge", "0.634"), ("EU-UnusedBox:g5.xlarge", "1.634")];
    assert_eq!(listed, expected.map(|(usage, rate)| (usage.to_owned(), rate.to_owned())));
}

#[tokio::test]
async fn each_filter_left_out_lets_others_in() {
    let (_loopback, clients) = endpoint();
    let compute = [SavingsPlanType::Compute];
    // Twice as many regions and types; Windows beside; dedicated beside.
    for (skipped, expected) in [(0, 4), (1, 4), (2, 3), (3, 3)] {
        let mut filters = ALL.to_vec();
        filters.remove(skipped);
        let (listed, _) = rates(&clients, &compute, &filters).await;
        assert_eq!(listed.len(), expected, "without {:?}", ALL[skipped]);
    }
    let (both, _) = rates(&clients, &[], &ALL).await;
    assert_eq!(both.len(), 4, "under either plan");
    let (everything, _) = rates(&clients, &[], &[]).await;
    assert_eq!(everything.len(), 32);
}

#[tokio::test]
async fn pages_hold_as_many_as_the_test_says() {
    let (loopback, clients) = endpoint();
    let (whole, pages) = rates(&clients, &[], &[]).await;
    assert_eq!(pages, 1);
    loopback.limit_pages(15);
    let (paged, pages) = rates(&clients, &[], &[]).await;
    assert_eq!(pages, 3);
    assert_eq!(paged, whole);
    assert_eq!(loopback.calls("savingsplans", "DescribeSavingsPlansOfferingRates"), 4);
}

#[tokio::test]
async fn other_regions_have_no_endpoint() {
    let (loopback, _) = endpoint();
    let clients = Clients::new(&loopback.url(), "eu-west-1");
    let request = clients.savings_plans.describe_savings_plans_offering_rates();
    let error = request.send().await.expect_err("signed for another region");
    assert_eq!(error.code(), Some("SignatureDoesNotMatch"));
}
