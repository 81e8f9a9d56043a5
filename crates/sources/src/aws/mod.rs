//! AWS, read-only: no mutating call exists here, and a test compares every
//! operation with the policy that `gpucost setup iam` prints.

mod access;
mod account;
mod answers;
mod batch;
mod cloudwatch;
mod commitments;
mod ecs;
mod error;
mod inventory;
mod metadata;
mod meter;
mod metric_plan;
mod metrics;
mod opinions;
mod organization;
mod patience;
mod policy;
mod prices;
mod probe;
mod role;
mod sagemaker;
mod scaling;
mod service;
mod session;
mod signed;

#[cfg(feature = "s3")]
pub(super) use access::Access;
pub(super) use access::credentials;
pub use account::{connect, region_names};
pub(super) use aws_credential_types::Credentials;
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
pub use session::{AwsOptions, AwsService, Notice, RegionClients, Session};
