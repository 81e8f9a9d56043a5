//! Instances grouped into workloads: what each does, costs and uses, and which of its
//! members behave alike.

mod grouping;
mod kinds;
mod lifetime;
mod parts;
mod prices;
mod profiled;
mod usage_gaps;

pub use self::grouping::instance_shape;
pub use self::kinds::{is_vocabulary, kind_of_name};

pub(super) use self::grouping::{Grouped, group};
pub(super) use self::kinds::KIND_TAG;
pub(super) use self::lifetime::has_ended;
pub(super) use self::prices::{PaidHours, block_hours, block_price, idle_storage_costs};
