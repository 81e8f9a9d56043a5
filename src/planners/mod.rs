//! What-ifs of the playbook: each answers a question that an estate alone does not hold,
//! from figures by hand, a profile or measured usage. Pure arithmetic: what a figure rests
//! on is in its input, and every candidate that is refused has its reason. Nothing here is
//! part of the plan of an audit.

pub mod autoscale;
pub mod batching;
pub mod capacity;
pub mod curve;
pub mod model;
pub mod paying;
pub mod rent_or_buy;
pub mod roofline;
pub mod schedule;
pub mod select;
pub mod serving;
pub mod share;
