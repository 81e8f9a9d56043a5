//! The rules as their pages describe them: each over the three situations made
//! for it and over those of all the others, the borders of the classification,
//! what holds for every audit, and percentiles against measured data.

mod advice;
mod borders;
pub mod builder;
mod chargeback;
mod clusters;
mod committed;
mod device_alerts;
mod everywhere;
mod fixtures;
mod fleet_cost;
mod fleets;
mod gates;
mod gates_drawn;
mod honest;
mod levers;
mod owned;
mod plan;
mod planned_use;
mod profiled;
mod properties;
mod prose;
mod providers;
mod recorded;
mod registry;
mod resolution;
mod rightsizing;
mod runs;
mod same_fleet;
mod second_opinion;
mod showback;
mod situations;
mod sizes;
mod stalled;
mod stopped;
mod traps;
mod use_signs;
