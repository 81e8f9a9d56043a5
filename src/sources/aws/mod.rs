//! AWS, read-only: no mutating call exists here, and a test compares every
//! operation with the policy that `gpucost iam-policy` prints.

mod commitments;
mod error;
mod inventory;
mod limit;
mod metadata;
mod meter;
mod metrics;
mod pages;
mod patience;
mod policy;
mod prices;
mod products;
mod savings_plans;
mod secrets;
mod session;
mod shapes;

pub use commitments::{has_savings_plans, region_commitments, savings_plans};
pub use error::{AwsError, CauseLine, is_known_code};
pub use inventory::{RegionInventory, idle_storage_resources, inventory};
pub use metadata::{InstancePlace, instance_place};
pub use meter::metric_cost_usd;
pub(crate) use metrics::EC2_NAMESPACE;
pub use metrics::{DiscoveredMetric, MetricQuery, MetricValues, cloudwatch_name, discover, fetch};
pub use patience::Notice;
pub use policy::{ACTIONS, iam_policy};
pub use prices::{WantedPrices, on_demand_prices, spot_prices, storage_prices};
pub use savings_plans::savings_plan_rates;
pub use session::{AwsOptions, Identity, RegionClients, Session};
pub use shapes::shapes;
