//! Who used a device, and how much.

use super::ResourceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// How a pod used one device that it held, from metrics that name pods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a use object")]
pub struct DeviceUse {
    pub machine: ResourceId,
    /// Index of the device on its machine.
    pub gpu: u32,
    pub namespace: String,
    pub pod: String,
    /// Samples of GPU utilization in the window that name this pod.
    pub n_samples: u64,
    /// Time between two samples.
    #[schemars(range(min = 1))]
    pub sample_seconds: u32,
    #[schemars(range(min = 0, max = 100))]
    pub mean_percent: f64,
    /// The largest sample; not below the mean.
    #[schemars(range(min = 0, max = 100))]
    pub max_percent: f64,
}

impl DeviceUse {
    /// Hours that its samples stand for.
    pub fn hours(&self) -> f64 {
        self.n_samples as f64 * f64::from(self.sample_seconds) / 3_600.0
    }

    /// Puts uses in order of machine, device and pod. Of two of the same the one with more
    /// samples stays.
    pub fn sort(uses: &mut Vec<Self>) {
        uses.sort_by(|left, right| {
            let samples = Reverse(left.n_samples).cmp(&Reverse(right.n_samples));
            left.key()
                .cmp(&right.key())
                .then(samples)
                .then(left.sample_seconds.cmp(&right.sample_seconds))
                .then(left.max_percent.total_cmp(&right.max_percent))
                .then(left.mean_percent.total_cmp(&right.mean_percent))
        });
        uses.dedup_by(|later, kept| later.key() == kept.key());
    }

    fn key(&self) -> (&ResourceId, u32, &str, &str) {
        (&self.machine, self.gpu, &self.namespace, &self.pod)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_of_the_same_the_one_with_more_samples_stays() {
        let device_use = |machine: &str, gpu, pod: &str, n_samples| DeviceUse {
            machine: ResourceId::named(machine),
            gpu,
            namespace: "search".to_owned(),
            pod: pod.to_owned(),
            n_samples,
            sample_seconds: 60,
            mean_percent: 0.0,
            max_percent: 0.0,
        };
        let mut uses = vec![
            device_use("i-2", 0, "a", 5),
            device_use("i-1", 1, "a", 3),
            device_use("i-1", 1, "a", 90),
            device_use("i-1", 0, "b", 1),
        ];
        DeviceUse::sort(&mut uses);
        let left: Vec<_> =
            uses.iter().map(|kept| (kept.machine.as_str(), kept.gpu, kept.n_samples)).collect();
        assert_eq!(left, [("i-1", 0, 1), ("i-1", 1, 90), ("i-2", 0, 5)]);
        // 90 samples of a minute.
        assert_eq!(uses[1].hours(), 1.5);
    }
}
