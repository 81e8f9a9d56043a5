//! AWS, read-only: no mutating call exists here, and a test compares every
//! operation with the policy that `gpucost setup iam` prints.

#[cfg(feature = "s3")]
mod access;
mod account;
mod assumed;
mod batch;
mod cloudwatch;
mod commitments;
mod ecs;
mod error;
mod inventory;
mod limit;
mod metadata;
mod meter;
mod metric_plan;
mod metrics;
mod opinions;
mod organization;
mod pages;
mod partition;
mod patience;
mod policy;
mod prices;
mod probe;
mod query;
mod role;
mod sagemaker;
mod scaling;
mod session;
mod shapes;
mod signed;
mod stretches;

#[cfg(feature = "s3")]
pub(super) use access::Access;
pub use account::{connect, region_names};
pub(super) use aws_sdk_ec2::config::Credentials;
pub use commitments::savings_plan_rates;
pub use error::is_known_code;
pub use metadata::{InstancePlace, SpotNotices, instance_place};
pub use metrics::cloudwatch_name;
pub use organization::{Organization, connect_organization};
pub use policy::{
    ACTIONS, BILL_ACTIONS, HISTORY_ACTIONS, ORG_ACTIONS, Trusted, bill_policy, history_policy,
    iam_policy, organization_policy,
};
pub use prices::{on_demand_prices, spot_prices};
pub use probe::{NeededBy, Permission, gpu_series, permission};
pub use role::{DEFAULT_ROLE, Role};
pub(super) use session::credentials;
pub use session::{AwsOptions, AwsService, Notice, RegionClients, Session};
