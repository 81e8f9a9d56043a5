//! Ids of the rules that a policy states by itself; those of findings are the
//! rules of [`crate::rules`].

/// A scope costs more than it may.
pub const BUDGET: &str = "policy/budget";
/// A month is forecast to cost more than it may, or has.
pub const BUDGET_FORECAST: &str = "policy/budget-forecast";
/// More is wasted than may be.
pub const WASTE: &str = "policy/waste";
/// GPUs are used less than they must be.
pub const UTILIZATION: &str = "policy/utilization";
pub const REQUIRED_TAGS: &str = "policy/required-tags";
/// An instance type may not be used.
pub const TYPES: &str = "policy/types";
/// A region may not be used.
pub const REGIONS: &str = "policy/regions";
/// A price is too old.
pub const PRICE_AGE: &str = "policy/price-age";
/// Too little is measured.
pub const COVERAGE: &str = "policy/coverage";
pub const EXPIRED_SUPPRESSION: &str = "policy/expired-suppression";
pub const UNMATCHED_SUPPRESSION: &str = "policy/unmatched-suppression";
/// A budget is about something that is not there.
pub const EMPTY_SCOPE: &str = "policy/empty-scope";
/// A denied name is of nothing that is known.
pub const UNLISTED_NAME: &str = "policy/unlisted-name";
/// A tag takes a workload out of advice, and so out of some rules.
pub const IGNORED_WORKLOAD: &str = "policy/ignored-workload";

/// Those that a suppression may name.
pub const SUPPRESSIBLE: [&str; 9] = [
    BUDGET, BUDGET_FORECAST, WASTE, UTILIZATION, REQUIRED_TAGS, TYPES, REGIONS, PRICE_AGE, COVERAGE,
];
