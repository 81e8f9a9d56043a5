//! Words of planners: each fills an answer. Figures inside sentences, and the lines that several
//! planners print.

use crate::catalog::{family, shape};
use crate::domain::{Architecture, HourlyRate, separated};
use crate::planners::Today;
use crate::report::doc::{Doc, Given, Value, doc_schema};
use crate::report::shared::text::joined;
use std::collections::BTreeSet;

pub mod autoscale;
pub mod capacity;
pub mod kpi;
mod model;
pub mod place;
pub mod rent_or_buy;
pub mod select;
pub mod share;

schema! {
    /// The JSON schema of answers.
    answer_schema: "answer", [Doc::default()],
    "The form of the answers of planners, bills, key figures and histories. Every other key is a list of rows, whose keys the page of the command names. Amounts have cents, prices of small units up to six decimals; percentages are 0-100. Keys may be added within a schema version."
}

pub(super) const MIB_OF_GIB: f64 = 1024.0;

/// Gibibytes of bytes.
pub(super) fn gib(bytes: f64) -> f64 {
    bytes / (MIB_OF_GIB * MIB_OF_GIB * MIB_OF_GIB)
}

/// A figure of zero or more with separators and so many decimals.
pub(super) fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", separated(whole)),
        None => separated(&text),
    }
}

/// Decimals that show a number above zero: one, and for less than one as many as leave two
/// of its digits.
pub(super) fn decimals_of(value: f64) -> usize {
    if value >= 1.0 || value <= 0.0 {
        return 1;
    }
    // A cast of a number of zeros behind the point: at most 300.
    let zeros = (-value.log10()).ceil() as usize;
    zeros.max(1) + 1
}

/// What to know of a type that AWS launches no longer.
pub(super) fn not_launched(instance_type: &str) -> Option<String> {
    let (name, _) = instance_type.split_once('.')?;
    (family(name).and_then(|facts| facts.launchable) == Some(false)).then(|| {
        format!(
            "AWS launches no new {instance_type}: instances that run go on, and one that is \
             stopped may not start again."
        )
    })
}

/// What to know where some of these types have CPUs for which few images are built.
pub(super) fn on_arm<'a>(types: impl Iterator<Item = &'a str>) -> Option<String> {
    let is_arm = |name: &str| {
        shape(name).is_some_and(|shape| shape.architecture == Some(Architecture::Arm64))
    };
    let family = |name: &'a str| name.split_once('.').map_or(name, |(family, _)| family);
    let families: BTreeSet<&str> = types.filter(|name| is_arm(name)).map(family).collect();
    (!families.is_empty()).then(|| {
        let families = joined(families, ", ");
        format!("CPUs of {families} are arm64: images and libraries for x86_64 do not run there.")
    })
}

/// What serves today, which an answer has to beat.
pub(super) fn current(today: &Today) -> [Given; 3] {
    let (instances, name) = (today.instances.into(), &today.name);
    let hourly = Value::make_price(today.rate.map(HourlyRate::an_hour));
    [
        Given::new("current_type", "type today", Value::text(&today.instance_type), name),
        Given::new("current_instances", "instances today", Value::Count(instances), name),
        Given::new("current_hourly", "price of one today, per hour", hourly, "as it is paid"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_in_prose() {
        assert_eq!(decimal(1_234_567.891, 1), "1,234,567.9");
        assert_eq!(decimal(999.6, 0), "1,000");
        for (value, shown) in [
            (300.0, "300.0"),
            (1.0, "1.0"),
            (0.25, "0.25"),
            (0.1, "0.10"),
            (0.01, "0.010"),
            (0.000_001, "0.0000010"),
            (0.0, "0.0"),
        ] {
            assert_eq!(decimal(value, decimals_of(value)), shown);
        }
        assert!(not_launched("p3.8xlarge").is_some_and(|said| said.contains("no new p3.8xlarge")));
        assert_eq!(not_launched("g5.xlarge"), None);
    }
}
