//! What AWS advises about an account with one g5.xlarge at 1.00 per hour.

use serde_json::{Value, json};

use super::account::Account;
use super::command::Gpucost;
use super::days::Days;
use crate::wire::fleet::{Launch, launch};
use crate::wire::loopback::{Fault, Price, Target, Times};

const CALL: (&str, &str) = ("cost-optimization-hub", "ListRecommendations");

/// The account with the id of its instance.
fn open() -> Option<(Account, String)> {
    let account = Account::open()?;
    let loopback = &account.loopback;
    let launched = launch(loopback, &[Launch::on_demand("us-east-1a", "g5.xlarge")]);
    loopback.put_price(Price::linux("g5.xlarge", "us-east-1", "1.00"));
    let id = launched[0].instance_id.clone();
    let of = |id: &str, kind: &str| {
        json!({
            "recommendationId": id, "accountId": account.number, "region": "us-east-1",
            "resourceId": id, "currentResourceType": kind, "actionType": "Rightsize",
            "recommendedResourceSummary": "g4dn.xlarge", "estimatedMonthlySavings": 346.02,
            "currencyCode": "USD", "source": "ComputeOptimizer",
        })
    };
    loopback.put_recommendation(of("vol-1", "EbsVolume"));
    loopback.put_recommendation(of("i-of-another-region", "Ec2Instance"));
    loopback.put_recommendation(of(&id, "Ec2Instance"));
    loopback.limit_pages(1);
    loopback.reset_calls();
    Some((account, id))
}

fn audit(account: &Account, arguments: &[&str]) -> Value {
    Gpucost::audit(Days::ahead())
        .of(account)
        .args(&["--region", "us-east-1"])
        .args(arguments)
        .run()
        .json(0)
}

#[test]
fn what_aws_advises_is_beside_the_plan_where_it_is_asked_for() {
    let Some((account, id)) = open() else { return };
    let own = audit(&account, &[]);
    assert_eq!(own["workloads"][0]["aws_opinion"], Value::Null);
    assert_eq!(account.loopback.calls(CALL.0, CALL.1), 0);
    let both = audit(&account, &["--aws-opinion"]);
    let workload = &both["workloads"][0];
    assert_eq!(workload["instances"], json!([id]));
    assert_eq!(workload["aws_opinion"], "Rightsize to g4dn.xlarge");
    assert_eq!(workload["aws_opinion_monthly_savings"], 346.02);
    assert_eq!(both["summary"], own["summary"]);
    // One instance on each page.
    assert_eq!(account.loopback.calls(CALL.0, CALL.1), 2);
}

#[test]
fn a_hub_that_refuses_is_a_gap() {
    let Some((account, _)) = open() else { return };
    let target = Target::operation(CALL.0, CALL.1);
    let loopback = &account.loopback;
    loopback.inject(target, Fault::AccessDenied, Times::Always);
    let document = audit(&account, &["--aws-opinion"]);
    assert_eq!(document["workloads"][0]["aws_opinion"], Value::Null);
    let gaps = document["gaps"].as_array().expect("a list").iter();
    let own: Vec<&Value> = gaps.filter(|gap| gap["what"] == "AWS recommendations").collect();
    let [gap] = own.as_slice() else {
        panic!("{own:?}");
    };
    let hint = gap["hint"].as_str().expect("text");
    assert!(hint.starts_with("allow cost-optimization-hub:ListRecommendations"), "{hint}");
}

#[test]
fn advice_about_a_group_is_one_opinion_about_its_members() {
    let Some(account) = Account::open() else { return };
    let loopback = &account.loopback;
    let tags = [("aws:autoscaling:groupName", "trainers")];
    let member = Launch { tags: &tags, ..Launch::on_demand("us-east-1a", "g5.xlarge") };
    launch(loopback, &[member.clone(), member]);
    loopback.put_price(Price::linux("g5.xlarge", "us-east-1", "1.00"));
    for (id, region) in [("a", "us-east-1"), ("b", "us-west-2")] {
        let arn = format!(
            "arn:aws:autoscaling:{region}:{}:autoScalingGroup:{id}:autoScalingGroupName/trainers",
            account.number
        );
        loopback.put_recommendation(json!({
            "recommendationId": id, "accountId": account.number, "region": region,
            "resourceId": id, "resourceArn": arn, "actionType": "Rightsize",
            "currentResourceType": "Ec2AutoScalingGroup", "currencyCode": "USD",
            "recommendedResourceSummary": "g4dn.xlarge", "estimatedMonthlySavings": 300.5,
        }));
    }
    let document = audit(&account, &["--aws-opinion"]);
    let workload = &document["workloads"][0];
    assert_eq!(workload["instances"].as_array().map(Vec::len), Some(2));
    assert_eq!(workload["aws_opinion"], "Rightsize to g4dn.xlarge");
    // Once, not for each member.
    assert_eq!(workload["aws_opinion_monthly_savings"], 300.5);
}
