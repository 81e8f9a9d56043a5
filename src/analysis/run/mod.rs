//! A profiled run: what it cost, and whether its GPUs are those of a type.

mod compare;
mod cost;
mod seen_gpus;
mod work;

pub use self::compare::{
    RunDiff, RunFigure, RunFigureKind, RunValue, RunVerdict, USUAL_NOISE_PERCENT,
};
pub use self::cost::{PricedHost, RunCost, instance_cost};
pub use self::seen_gpus::{contradictions, unnamed_gpus};
pub use self::work::{Mfu, RunWork, STEPS, StepFacts, UnitWork};
