//! Catches stopped instances whose volumes and addresses are still billed.
//!
//! Must not be fooled by an instance that stopped this week, which may be started
//! again any day, or by volumes without a known price or size: they are named and
//! the saving counts only what is priced, less what snapshots of it can cost.

use super::{RuleMeta, Subject};
use crate::domain::{
    Comparator, Confidence, Evidence, Finding, FindingKind, IdleStorageCosts, Recommendation,
    Severity, counted,
};
use crate::savings::{released, warm_pool_step};

pub(super) const META: RuleMeta = RuleMeta {
    id: "stopped-with-storage",
    title: "Stopped instances whose storage is still billed",
    severity: Severity::Warning,
    needs: &[],
};

pub(super) fn applies(subject: &Subject<'_>) -> bool {
    !subject.workload.key.running
}

pub(super) fn check(subject: &Subject<'_>) -> Option<Finding> {
    let idle_storage = &subject.workload.idle_storage;
    let resources = idle_storage.volumes + idle_storage.addresses;
    let lately = subject.workload.stopped_within(subject.policy.idle_grace(), subject.as_of);
    if resources == 0 || lately {
        return None;
    }
    let at_least_one = |name, observed: u64, unit| {
        let origin = "ec2:DescribeVolumes, ec2:DescribeAddresses";
        Evidence::fact(name, origin, observed as f64, (Comparator::AtLeast, 1.0), unit)
    };
    let decisive = at_least_one("volumes and addresses", resources, "resources");
    let size = if idle_storage.volumes_of_unknown_size > 0 {
        "total size of volumes with known size"
    } else {
        "total size of volumes"
    };
    let gib = idle_storage.volume_gib;
    let gib = (gib > 0).then(|| at_least_one(size, gib, "GiB"));
    let group = subject.workload.scaling_group.as_deref();
    let mut steps: Vec<String> = group.and_then(warm_pool_step).into_iter().collect();
    steps.extend(idle_storage.priced.iter().cloned());
    steps.extend(idle_storage.unpriced.iter().map(|what| format!("{what}: unpriced")));
    steps.push("create snapshots of required data, then delete the volumes".to_owned());
    steps.push("release unused addresses".to_owned());
    let release = released(idle_storage, &subject.workload.key.region);
    let saved = release.as_ref().map(|freed| freed.saved);
    if let Some(bound) = release.as_ref().and_then(|freed| freed.bound.as_ref()) {
        steps.push(format!("snapshots of all data: at most {bound}"));
    }
    Some(Finding {
        // The bill is a fact; that it is not started again is one only after a
        // known while.
        confidence: if subject.workload.members.iter().any(|member| member.stopped_at.is_none()) {
            Confidence::Derived
        } else {
            Confidence::Measured
        },
        kind: FindingKind::Waste,
        title: format!("stopped {} still has {}", subject.fleet(), kept(idle_storage)),
        monthly_savings: saved.filter(|saved| !saved.amount().is_zero()),
        recommendation: Recommendation {
            action: "release the storage".to_owned(),
            to: String::new(),
            steps,
            caveats: release.and_then(|freed| freed.caveat).into_iter().collect(),
        },
        ..subject.finding(&META, decisive, gib)
    })
}

/// What stands, such as `600 GiB and 1 volume of unknown size`.
fn kept(idle_storage: &IdleStorageCosts) -> String {
    let of = |number: u64, singular: &str, plural: &str| {
        (number > 0).then(|| counted(number, singular, plural))
    };
    let unknown = idle_storage.volumes_of_unknown_size;
    let mut parts: Vec<String> = of(idle_storage.volume_gib, "GiB", "GiB").into_iter().collect();
    parts.extend(of(unknown, "volume of unknown size", "volumes of unknown size"));
    if parts.is_empty() {
        parts.extend(of(idle_storage.addresses, "address", "addresses"));
    }
    parts.join(" and ")
}
