//! Catches GPUs of a SageMaker endpoint that no inference component reserves.
//!
//! Must not be fooled by an endpoint whose model has the whole instance, by one that has
//! just started or that starts or ends copies, or by a component whose share of a GPU is not
//! known.

use super::{Need, RuleMeta, Subject};
use crate::domain::{
    Comparator, ComponentHost, Confidence, Evidence, Finding, InferenceComponent, Money,
    Recommendation, Severity,
};
use jiff::SignedDuration;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

pub(super) const META: RuleMeta = RuleMeta {
    id: "unreserved-gpus",
    title: "GPUs of an endpoint that no inference component reserves",
    severity: Severity::Warning,
    needs: &[Need::Price],
};

/// Copies may be on their way to instances that run for less than so many hours.
const NEW_HOURS: i64 = 1;
/// Components that are named.
const MOST_NAMED: usize = 5;

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    subject.workload.key.running && subject.workload.component_host.is_some()
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let group = subject.group;
    let host = group.component_host.as_deref()?;
    let age = subject.as_of.duration_since(group.first_seen());
    let is_new = age < SignedDuration::from_hours(NEW_HOURS);
    // On which of the instances copies are is not known: a part of them says nothing.
    let is_whole = subject.workload.instances.len() == group.instances.len();
    let physical = group.gpu_count().filter(|gpus| !gpus.is_zero())?;
    let reserved = host.reserved_gpus(&group.key.instance_type)?;
    let unreserved = physical - reserved;
    if is_new || !is_whole || !host.is_settled() || unreserved <= Decimal::ZERO {
        return None;
    }
    let cost = group.monthly_cost()?;
    let share = cost.amount().checked_mul(unreserved)? / physical;
    let share = Money::new(share, cost.currency()).rounded();
    let decisive = fact(
        "GPUs that no inference component reserves",
        unreserved,
        (Comparator::GreaterThan, Decimal::ZERO),
    );
    let further = vec![
        fact("GPUs of the instances", physical, (Comparator::GreaterThan, reserved)),
        fact("reserved GPUs", reserved, (Comparator::LessThan, physical)),
    ];
    Some(Finding {
        // One instant of the endpoint.
        confidence: Confidence::Derived,
        title: format!(
            "no inference component reserves {} of the {} of {}: {} {:.2} per month",
            unreserved.normalize(),
            gpus(physical),
            subject.fleet(),
            share.currency(),
            share.amount()
        ),
        // The instances cost the same until there are fewer of them.
        monthly_savings: None,
        recommendation: recommendation(subject, host, (physical, reserved)),
        ..subject.finding(&META, decisive, further)
    })
}

fn recommendation(
    subject: &Subject<'_>,
    host: &ComponentHost,
    (physical, reserved): (Decimal, Decimal),
) -> Recommendation {
    let instance_type = subject.group.key.instance_type.as_str();
    let count = Decimal::from(subject.group.instances.len());
    let needed = (reserved * count / physical).ceil();
    let mut steps = Vec::new();
    let mut named: Vec<String> =
        host.components.iter().filter_map(|component| held(component, instance_type)).collect();
    if !named.is_empty() {
        let others = named.len().saturating_sub(MOST_NAMED);
        named.truncate(MOST_NAMED);
        if others > 0 {
            named.push(format!("{others} more"));
        }
        steps.push(format!("reserved are {}", named.join(", ")));
    }
    steps.push(if needed.is_zero() {
        "no copy of a component is on these instances: delete the endpoint, or lower the least \
         number of instances of its managed scaling to zero"
            .to_owned()
    } else if needed < count {
        format!(
            "by their GPUs, the copies need at least {needed} of the {count} instances: lower the \
             number of instances, or the least number of its managed scaling"
        )
    } else {
        "place more components or copies on the instances, or move them to a type with fewer GPUs"
            .to_owned()
    });
    Recommendation {
        action: if needed < count {
            "lower the number of instances, or place more copies on them"
        } else {
            "place more copies on the instances"
        }
        .to_owned(),
        to: String::new(),
        steps,
        caveats: vec![
            "components also reserve vCPUs and memory, which may fill an instance before its GPUs"
                .to_owned(),
            "this is one instant: copies of other hours are not seen".to_owned(),
        ],
    }
}

/// What a component holds on instances of a type, such as `llama (2 GPUs)`; absent
/// where nothing.
fn held(component: &InferenceComponent, instance_type: &str) -> Option<String> {
    let reserved = component.reserved_gpus(Some(instance_type))?;
    (!reserved.is_zero()).then(|| format!("{} ({})", component.name, gpus(reserved)))
}

fn gpus(count: Decimal) -> String {
    let count = count.normalize();
    if count == Decimal::ONE { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}

fn fact(
    name: &'static str,
    observed: Decimal,
    (comparator, threshold): (Comparator, Decimal),
) -> Evidence {
    Evidence::fact(
        name,
        "inference components of SageMaker",
        observed.to_f64().unwrap_or_default(),
        (comparator, threshold.to_f64().unwrap_or_default()),
        "GPUs",
    )
}
