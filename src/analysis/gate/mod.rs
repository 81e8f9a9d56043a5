//! The audit as a gate: what of it a policy does not allow, and what could not
//! be judged for lack of data. Nothing passes for lack of data.

mod glob;
mod policy;
mod report;

pub use glob::Glob;
pub use policy::{
    Allowance, Budget, CoverageFloor, Forbidden, GatePolicy, PriceAgeLimit, Refusal, RequiredTag,
    Scope, StaleSuppression, Suppression, UtilizationFloor, WasteLimit,
};
pub use report::{
    BaselineUse, Check, CheckOutcome, GateOutcome, GateReport, Lack, Place, Suppressed, Violation,
};
