//! Words that contain no name and so may be shared: those of AWS and of this
//! program. Everything else is masked.

use crate::catalog::{has_form_of_type, leading_region};
use crate::domain::{Component, POINT_REJECTIONS};
use crate::sources::aws::ACTIONS;

/// Instead of a text that is not shown.
pub(super) const MASKED: &str = "(masked)";

/// Words of one kind, with commas between them.
pub(super) struct Words(&'static str);

impl Words {
    pub(super) fn contain(&self, word: &str) -> bool {
        self.0.split(", ").any(|own| own == word)
    }
}

/// Where the name of a region begins.
const REGION_AREAS: Words = Words("af, ap, ca, cn, eu, eusc, il, me, mx, sa, us");

/// What may stand behind the area of a region.
const REGION_PARTITIONS: Words = Words("de, gov, iso, isob, isoe, isof");

/// Kinds of Kubernetes, or of projects that are widely used, that make pods.
pub(super) const OWNER_KINDS: Words = Words(
    "CronJob, DaemonSet, Deployment, InferenceService, Job, JobSet, LeaderWorkerSet, MPIJob, \
     Node, Notebook, PyTorchJob, RayCluster, ReplicaSet, ResourceClaim, Service, StatefulSet, \
     TFJob, Workflow, task family",
);

/// What accelerators are asked for by.
const DEVICE_RESOURCES: Words = Words(
    "GPU, amd.com/gpu, aws.amazon.com/neuron, aws.amazon.com/neuroncore, \
     aws.amazon.com/neurondevice, google.com/tpu, gpu.amd.com, gpu.intel.com, gpu.intel.com/i915, \
     gpu.intel.com/xe, gpu.nvidia.com, habana.ai/gaudi, nvidia.com/gpu",
);

/// Keys of tags that everybody uses, in lower case.
const COMMON_KEYS: Words = Words(
    "amazonecsmanaged, app, application, aws:autoscaling:groupname, \
     aws:cloudformation:logical-id, aws:cloudformation:stack-id, aws:cloudformation:stack-name, \
     aws:ec2launchtemplate:id, aws:ec2launchtemplate:version, aws:ec2spot:fleet-request-id, \
     aws:eks:cluster-name, component, cost-center, cost_center, costcenter, created-by, \
     createdby, department, eks:cluster-name, eks:nodegroup-name, env, environment, gpucost:gpus, \
     gpucost:ignore, gpucost:kind, gpucost:precision, gpucost:replicas, gpucost:restartable, \
     gpucost:timezone, gpucost:until, gpucost:vram, gpucost:workload, interruptible, job-type, \
     managed-by, managedby, name, owner, project, restartable, role, service, spot-eligible, \
     stage, team, tier, workload-kind, workload-type, workload_type, workloadtype",
);

/// Codes of why an instance changed state.
const STATE_REASONS: Words = Words(
    "Client.InstanceInitiatedShutdown, Client.InternalError, Client.InvalidSnapshot.NotFound, \
     Client.UserInitiatedHibernate, Client.UserInitiatedShutdown, Client.VolumeLimitExceeded, \
     Server.InsufficientInstanceCapacity, Server.InternalError, Server.ScheduledStop, \
     Server.SpotInstanceShutdown, Server.SpotInstanceTermination",
);

/// What AWS calls processes, states of warm pools, and ways to choose among spot markets.
pub(super) const FLEET_WORDS: Words = Words(
    "AZRebalance, AddToLoadBalancer, AlarmNotification, HealthCheck, Hibernated, InstanceRefresh, \
     Launch, ReplaceUnhealthy, Running, ScheduledActions, Stopped, Terminate, capacity-optimized, \
     capacity-optimized-prioritized, lowest-price, price-capacity-optimized",
);

/// What AWS calls its recommendations.
pub(super) const OPINIONS: Words =
    Words("Delete, MigrateToGraviton, Rightsize, ScaleIn, Stop, Upgrade");

/// Whether it is a region's name as AWS gives them, such as `us-gov-west-1`.
pub(super) fn is_region(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let middle = parts.get(1..parts.len().saturating_sub(2));
    leading_region(name) == Some(name)
        && parts.first().is_some_and(|area| REGION_AREAS.contain(area))
        && middle.is_some_and(|middle| middle.iter().all(|part| REGION_PARTITIONS.contain(part)))
}

/// Whether it is the name of an availability or local zone.
pub(super) fn is_zone(name: &str) -> bool {
    let letterless = name.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let is_letter = name.len() == letterless.len() + 1;
    // A local zone has a city of three letters and a number: us-east-1-bos-1a.
    let is_of_city = |rest: &str| {
        let parts: Vec<&str> = rest.split('-').collect();
        matches!(parts.as_slice(), ["", city, number]
            if city.len() == 3 && number.parse::<u8>().is_ok())
    };
    let is_local = || {
        leading_region(letterless).is_some_and(|region| {
            is_region(region) && letterless.strip_prefix(region).is_some_and(is_of_city)
        })
    };
    is_letter && (is_region(letterless) || is_local())
}

/// Whether it is a family's name as AWS gives them, such as `p4d` or `u7i`.
pub(super) fn is_family(name: &str) -> bool {
    const LONGEST: usize = 12;
    let letters = name.bytes().take_while(u8::is_ascii_lowercase).count();
    name.len() <= LONGEST
        && (1..=4).contains(&letters)
        && has_form_of_type(&format!("{name}.large"))
}

/// Whether it is an instance type's name as AWS gives them, such as `g5.xlarge` or
/// `ml.g5.xlarge-hosting`.
pub(super) fn is_type(name: &str) -> bool {
    let of_sagemaker = || name.strip_prefix("ml.").unwrap_or(name);
    let name = Component::of_type(name).map_or_else(of_sagemaker, |(inside, _)| inside);
    name.split_once('.').map(|(family, _)| family).is_some_and(is_family) && has_form_of_type(name)
}

/// Whether it is an id that AWS gave to something of a kind, such as `i-` and
/// hexadecimal digits: it says nothing about whose it is.
pub(super) fn is_given_id(prefix: &str, id: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|digits| {
        (8..=17).contains(&digits.len())
            && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether it is what accelerators are asked for by.
pub(super) fn is_device_resource(name: &str) -> bool {
    let plain = name.strip_suffix(".shared").unwrap_or(name);
    DEVICE_RESOURCES.contain(plain)
        || plain.strip_prefix("nvidia.com/mig-").is_some_and(is_mig_profile)
}

/// Whether it is a MIG profile as NVIDIA names them, such as `1g.10gb` or `1g.5gb.me`.
pub(super) fn is_mig_profile(name: &str) -> bool {
    const ENDS: &[&str] = &["", "+me", ".me", "-me", "+me.all", ".me.all", "+gfx", ".gfx"];
    let is_number = |text: &str| text.parse::<u16>().is_ok();
    name.split_once("g.").is_some_and(|(slices, rest)| {
        rest.split_once("gb").is_some_and(|(gigabytes, end)| {
            is_number(slices) && is_number(gigabytes) && ENDS.contains(&end)
        })
    })
}

/// Whether it is a count with why so many points were dropped.
pub(super) fn is_rejection(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(count, reason)| {
        count.parse::<u64>().is_ok() && POINT_REJECTIONS.contains(&reason)
    })
}

/// Whether it is a time span as reports show it, such as `2m 05s`.
pub(super) fn is_time_span(text: &str) -> bool {
    let is_of_span = |c: char| c.is_ascii_digit() || " .hms".contains(c);
    text.chars().all(is_of_span)
}

/// Whether it says which list or interface a price was read from.
pub(super) fn is_price_source(source: &str) -> bool {
    let (action, rest) = source.split_once(", ").unwrap_or((source, ""));
    ACTIONS.contains(&action) && ["", "time-weighted mean"].contains(&rest)
}

/// Whether it is a tag's key that everybody uses, whatever its value is.
pub(super) fn is_common_key(key: &str) -> bool {
    COMMON_KEYS.contain(&key.to_ascii_lowercase())
}

/// Why an instance changed state, without whoever it names.
pub(super) fn state_transition(reason: &str) -> String {
    const BY_USER: &str = "User initiated";
    let first = reason.split([':', ' ']).next().unwrap_or_default();
    let mut kept = if reason.starts_with(BY_USER) {
        BY_USER.to_owned()
    } else if STATE_REASONS.contain(first) {
        first.to_owned()
    } else {
        MASKED.to_owned()
    };
    if let Some(time) = time_of(reason) {
        kept.push_str(&format!(" ({time} GMT)"));
    }
    kept
}

/// The time in parentheses at the end, such as `2026-10-30 23:55:00`.
fn time_of(reason: &str) -> Option<&str> {
    let (_, time) = reason.trim_end().strip_suffix(" GMT)")?.rsplit_once('(')?;
    jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", time).ok()?;
    Some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_accelerators_are_asked_for_by_contains_no_name() {
        for name in [
            "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb",
            "nvidia.com/mig-3g.20gb.shared", "nvidia.com/mig-1g.10gb.me", "gpu.nvidia.com",
        ] {
            assert!(is_device_resource(name), "{name}");
        }
        for name in [
            "falcon.io/gpu", "nvidia.com/falcon", "nvidia.com/mig-falcon",
            "nvidia.com/mig-1g.5gb.falcon", "nvidia.com/mig-1g.", "",
        ] {
            assert!(!is_device_resource(name), "{name}");
        }
        assert!(OWNER_KINDS.contain("Deployment") && !OWNER_KINDS.contain("FalconJob"));
    }

    #[test]
    fn places_and_types_of_aws_are_known_by_their_form() {
        for region in
            ["us-east-1", "us-gov-west-1", "ap-southeast-12", "eusc-de-east-1", "eu-isoe-west-1"]
        {
            assert!(is_region(region), "{region}");
        }
        for name in ["acme-east-1", "us-acme-east-1", "us-east", "us-east-1a", "moon"] {
            assert!(!is_region(name), "{name}");
        }
        for zone in ["us-east-1a", "us-east-1-bos-1a", "us-west-2-lax-1b"] {
            assert!(is_zone(zone), "{zone}");
        }
        for name in ["us-east-1", "us-east-1-falcon-1a", "us-east-1ab", "rack-7"] {
            assert!(!is_zone(name), "{name}");
        }
        for name in ["p4d.24xlarge", "u-6tb1.metal", "g6f.large", "ml.p5.48xlarge"] {
            assert!(is_type(name), "{name}");
        }
        for name in ["falcon7.xlarge", "p4d.24xlarge-acme", "dgx", "p4dacmeproject.large"] {
            assert!(!is_type(name), "{name}");
        }
    }

    #[test]
    fn only_ids_in_the_form_of_aws_stay() {
        assert!(is_given_id("i-", "i-0204391a6fd59956f"));
        for id in ["i-acme", "i-1", "vol-0204391a6fd59956f", "i-0204391A6FD59956F"] {
            assert!(!is_given_id("i-", id), "{id}");
        }
    }

    #[test]
    fn a_state_keeps_its_code_and_time() {
        for (reason, kept) in [
            ("User initiated by mallory", "User initiated"),
            (
                "User initiated (2026-10-30 23:55:00 GMT)",
                "User initiated (2026-10-30 23:55:00 GMT)",
            ),
            ("Server.SpotInstanceTermination: by mallory", "Server.SpotInstanceTermination"),
            ("Client.Mallory", MASKED),
            ("mallory did it (yesterday GMT)", MASKED),
        ] {
            assert_eq!(state_transition(reason), kept);
        }
    }
}
