//! What-ifs of the playbook: each answers a question that an estate alone does not hold,
//! from figures by hand, a profile or measured usage. Pure arithmetic: what a figure rests
//! on is in its input, and every candidate that is refused has its reason. Nothing here is
//! part of the plan of an audit.

mod batching;
pub mod capacity;
mod curve;
mod fit;
mod model;
mod paying;
mod rent_or_buy;
mod roofline;
mod select;
mod share;

pub use batching::{BatchChoice, Batching, BatchingAsk, BatchingError, Machine, batching};
pub use curve::{CurveError, CurvePoint, ThroughputCurve};
pub use fit::{
    Candidate, Card, Computes, Fit, FitAsk, FitRefusal, FitTerms, Load, Nearest, NothingFits,
    Refused, fit,
};
pub use model::{Dtype, Model, ModelAsk, ModelError, PUBLISHED, Published};
pub use paying::Paying;
pub use rent_or_buy::{
    BadOwn, Input, Own, Part, PricedRental, RentOrBuy, Rental, Sensitivity, TURN_PERCENT,
    rent_or_buy,
};
pub use roofline::{EFFICIENCY, LINKED_EFFICIENCY, Pace, Peak, Work};
pub use select::{
    Budget, OfferedType, ReasonCount, Refusal, RefusedType, SelectedType, Selection, Wanted,
    select, vcpus_for,
};
pub use share::{
    CardMode, Fragments, Isolation, Lot, MOST_TENANTS, Method, MethodOutcome, NoMethod, PackedCard,
    Packing, ShareError, SharePlan, ShareQuestion, ShareTenant, SharedOn, plan_sharing,
};
