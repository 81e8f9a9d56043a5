//! The least-privilege policy: exactly the calls that this program makes.

use serde_json::json;

/// Every action that the program may call, in order.
pub const ACTIONS: &[&str] = &[
    "cloudwatch:GetMetricData",
    "cloudwatch:ListMetrics",
    "ec2:DescribeAddresses",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeRegions",
    "ec2:DescribeReservedInstances",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeVolumes",
    "pricing:GetProducts",
    "savingsplans:DescribeSavingsPlans",
    "savingsplans:DescribeSavingsPlansOfferingRates",
    "sts:GetCallerIdentity",
];

/// The policy as JSON, ready to paste.
pub fn iam_policy() -> String {
    let policy = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "GpucostReadOnly",
            "Effect": "Allow",
            "Action": ACTIONS,
            "Resource": "*"
        }]
    });
    format!("{policy:#}\n")
}
