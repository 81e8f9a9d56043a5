//! The least-privilege policies: exactly the calls that this program makes.

use super::role::Role;
use serde::Serialize;
use serde_json::{Value, json};

/// Every action that the program may call in an account, in order.
pub const ACTIONS: &[&str] = &[
    "autoscaling:DescribeAutoScalingGroups", "batch:DescribeComputeEnvironments",
    "batch:DescribeJobQueues", "cloudwatch:GetMetricData", "cloudwatch:ListMetrics",
    "cost-optimization-hub:ListRecommendations", "ec2:DescribeAddresses",
    "ec2:DescribeCapacityReservations", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances",
    "ec2:DescribeRegions", "ec2:DescribeReservedInstances", "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeVolumes", "ecs:DescribeContainerInstances", "ecs:DescribeTasks",
    "ecs:ListClusters", "ecs:ListContainerInstances", "ecs:ListTasks", "pricing:GetProducts",
    "sagemaker:DescribeCluster", "sagemaker:DescribeEndpoint", "sagemaker:DescribeEndpointConfig",
    "sagemaker:DescribeInferenceComponent", "sagemaker:DescribeTrainingJob", "sagemaker:ListApps",
    "sagemaker:ListClusterNodes", "sagemaker:ListClusters", "sagemaker:ListEndpoints",
    "sagemaker:ListInferenceComponents", "sagemaker:ListNotebookInstances",
    "sagemaker:ListTrainingJobs", "sagemaker:ListTrainingPlans", "sagemaker:Search",
    "savingsplans:DescribeSavingsPlans", "savingsplans:DescribeSavingsPlansOfferingRates",
    "sts:GetCallerIdentity", "tag:GetResources",
];

/// Those beside them of a caller who reads an organization, in order.
pub const ORG_ACTIONS: &[&str] = &["organizations:ListAccounts", "sts:AssumeRole"];

/// An action of a service, if one of the policies allows it.
pub(super) fn known_action(service: &str, operation: &str) -> Option<&'static str> {
    let mut actions = ACTIONS.iter().chain(ORG_ACTIONS).copied();
    actions.find(|action| action.split_once(':') == Some((service, operation)))
}

fn read_only() -> Value {
    document([allow("GpucostReadOnly", ACTIONS, "*")])
}

fn document(statements: impl Serialize) -> Value {
    json!({ "Version": "2012-10-17", "Statement": statements })
}

/// A statement that allows actions on resources.
fn allow(sid: &str, actions: impl Serialize, resources: impl Serialize) -> Value {
    json!({ "Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources })
}

/// The policy as JSON, ready to paste.
pub fn iam_policy() -> String {
    format!("{:#}\n", read_only())
}

/// What a history in a bucket takes beside it, in order. Nothing else is written, and nothing
/// but what gpucost wrote there.
pub const HISTORY_ACTIONS: &[&str] = &["s3:GetObject", "s3:ListBucket", "s3:PutObject"];

/// The policy of a history in a bucket, below a prefix that is empty or ends with `/`, as JSON.
pub fn history_policy(bucket: &str, prefix: &str) -> String {
    let below = format!("{prefix}v1/*");
    let actions = ["s3:GetObject", "s3:PutObject"];
    let resource = format!("arn:aws:s3:::{bucket}/{below}");
    let objects = allow("GpucostHistoryRecord", actions, resource);
    bucket_policy(bucket, ("GpucostHistoryList", &below), objects)
}

/// A policy for the names in a bucket that begin in a way, and for objects, as JSON.
fn bucket_policy(bucket: &str, (sid, below): (&str, &str), objects: Value) -> String {
    let mut listing = allow(sid, "s3:ListBucket", format!("arn:aws:s3:::{bucket}"));
    listing["Condition"] = json!({ "StringLike": { "s3:prefix": below } });
    format!("{:#}\n", document([listing, objects]))
}

/// What reading a bill in a bucket takes beside it, in order.
pub const BILL_ACTIONS: &[&str] = &["s3:GetObject", "s3:ListBucket"];

/// The policy of a bill in a bucket, for the object of a key or below a prefix, which is empty
/// or ends with `/`, as JSON.
pub fn bill_policy(bucket: &str, prefix: &str) -> String {
    // Which one it is depends on who exports; both take the same.
    let key = prefix.trim_end_matches('/');
    let below = format!("{prefix}*");
    let objects = [key, &below].map(|name| format!("arn:aws:s3:::{bucket}/{name}"));
    let objects = if key.is_empty() { &objects[1..] } else { &objects[..] };
    let objects = allow("GpucostBillRead", "s3:GetObject", objects);
    bucket_policy(bucket, ("GpucostBillList", &below), objects)
}

/// Who assumes a role: an account, or one principal of it by its ARN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    partition: String,
    arn: String,
}

impl Trusted {
    /// An account of twelve digits, or the ARN of a role or a user.
    pub fn named(text: &str) -> Option<Self> {
        if is_account_id(text) {
            return Some(Self {
                partition: "aws".to_owned(),
                arn: format!("arn:aws:iam::{text}:root"),
            });
        }
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", partition, "iam", "", account, principal] = parts.as_slice() else {
            return None;
        };
        let is_plain = text.chars().all(|c| c.is_ascii_graphic() && c != '*');
        (is_plain && is_account_id(account) && !partition.is_empty() && !principal.is_empty())
            .then(|| Self { partition: (*partition).to_owned(), arn: text.to_owned() })
    }
}

/// Whether it is twelve digits.
pub(super) fn is_account_id(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What reading an organization takes, as JSON: the role of each account with its trust,
/// the policy of the caller, and a CloudFormation template that makes the role.
pub fn organization_policy(trusted: &Trusted, role: &Role, external_id: Option<&str>) -> String {
    let mut trust = json!({
        "Sid": "GpucostCaller",
        "Effect": "Allow",
        "Principal": { "AWS": trusted.arn },
        "Action": "sts:AssumeRole"
    });
    if let Some(id) = external_id {
        trust["Condition"] = json!({ "StringEquals": { "sts:ExternalId": id } });
    }
    let trust = document([trust]);
    let caller = document([
        allow("GpucostAccounts", "organizations:ListAccounts", "*"),
        allow("GpucostRoles", "sts:AssumeRole", role.arn(&trusted.partition, "*")),
        allow("GpucostReadOnly", ACTIONS, "*"),
    ]);
    let (path, name) = role.path_and_name();
    let template = json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "The role through which gpucost reads this account",
        "Resources": {
            "GpucostRole": {
                "Type": "AWS::IAM::Role",
                "Properties": {
                    "RoleName": name,
                    "Path": path,
                    "MaxSessionDuration": 3600,
                    "AssumeRolePolicyDocument": trust,
                    "Policies": [{
                        "PolicyName": "gpucost-read-only",
                        "PolicyDocument": read_only()
                    }]
                }
            }
        }
    });
    let documents = json!({
        "caller_policy": caller,
        "member_policy": read_only(),
        "member_role": name,
        "member_trust_policy": trust,
        "stack_set_template": template
    });
    format!("{documents:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_actions_of_the_policies_are_known() {
        let list = known_action("organizations", "ListAccounts");
        assert_eq!(list, Some("organizations:ListAccounts"));
        assert_eq!(known_action("ec2", "TerminateInstances"), None);
        assert_eq!(known_action("organizations", "CloseAccount"), None);
    }

    #[test]
    fn principals_are_accounts_or_arns_without_wildcards() {
        let arn = |text| Trusted::named(text).map(|trusted| trusted.arn);
        assert_eq!(arn("111122223333").as_deref(), Some("arn:aws:iam::111122223333:root"));
        let role = "arn:aws-cn:iam::111122223333:role/audit/gpucost";
        assert_eq!(arn(role).as_deref(), Some(role));
        for bad in [
            "", "*", "11112222333", "arn:aws:iam::111122223333:role/*", "arn:aws:iam::*:root",
            "arn:aws:s3:::bucket",
        ] {
            assert_eq!(arn(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_trust_names_one_principal_and_the_external_id() {
        let trusted = Trusted::named("111122223333").expect("an account");
        let role = Role::named("audit/Reader").expect("a role");
        let text = organization_policy(&trusted, &role, Some("a-word"));
        let documents: Value = serde_json::from_str(&text).expect("JSON");
        let trust = &documents["member_trust_policy"]["Statement"][0];
        assert_eq!(trust["Principal"]["AWS"], "arn:aws:iam::111122223333:root");
        assert_eq!(trust["Condition"]["StringEquals"]["sts:ExternalId"], "a-word");
        let roles = &documents["caller_policy"]["Statement"][1];
        assert_eq!(roles["Resource"], "arn:aws:iam::*:role/audit/Reader");
        let made = &documents["stack_set_template"]["Resources"]["GpucostRole"]["Properties"];
        assert_eq!(made["AssumeRolePolicyDocument"], documents["member_trust_policy"]);
        assert_eq!(made["Policies"][0]["PolicyDocument"], documents["member_policy"]);
        assert_eq!((&made["RoleName"], &made["Path"]), (&json!("Reader"), &json!("/audit/")));
        let open = organization_policy(&trusted, &role, None);
        assert!(!open.contains("ExternalId"));
    }
}
