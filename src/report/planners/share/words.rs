//! What several parts of the answer say.

use crate::planners::share::{Method, Origin, Today};

/// A way to share, for people.
pub(super) fn method_words(method: Method) -> &'static str {
    match method {
        Method::Mig => "MIG",
        Method::ByClass => "the sharing of each class",
        Method::Mps => "MPS",
        Method::TimeSlicing => "time-slicing",
    }
}

/// Where a type or a region is from.
pub(super) fn origin_words(origin: Origin, flag: &'static str) -> &'static str {
    match origin {
        Origin::Flag => flag,
        Origin::MostTenants => "most tenants",
        Origin::Home => "home region",
    }
}

/// Instances of today, such as `5 × p4d.24xlarge`.
pub(super) fn fleet_words(today: &Today) -> String {
    let types = today.instances.iter();
    let words: Vec<String> = types
        .map(|(name, (count, _))| format!("{count} × {name}"))
        .collect();
    words.join(" + ")
}
