//! What one GPU serves, and how that is known.

use super::CapacityError;

/// What one GPU does with one replica of the service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// Requests that it works on at the same time, at least 1.
    pub batch: u32,
    /// Mean time that a request takes on it at that batch, in seconds.
    pub service_seconds: f64,
}

impl Throughput {
    /// From requests a second of a GPU.
    pub fn of_rate(per_second: f64, batch: u32) -> Self {
        Self { batch, service_seconds: f64::from(batch) / per_second }
    }

    /// Requests a second.
    pub fn per_second(self) -> f64 {
        f64::from(self.batch) / self.service_seconds
    }
}

/// GPUs that were seen serving.
#[derive(Debug, Clone, PartialEq)]
pub struct Utilized {
    /// The file of samples, or the workload.
    pub name: String,
    /// GPUs that ran, on average.
    pub gpus: f64,
    /// Mean utilization of them, 0–100.
    pub mean_percent: f64,
    pub samples: u64,
}

impl Utilized {
    /// What a GPU serves when it is busy all of the time, by the utilization law: requests a
    /// second over busy GPUs (P. J. Denning and J. P. Buzen, *The Operational Analysis of
    /// Queueing Network Models*, 1978). Work in larger batches may do more.
    ///
    /// # Errors
    /// When no GPU was busy.
    pub fn per_second(&self, served_per_second: f64) -> Result<f64, CapacityError> {
        let busy = self.busy_gpus();
        if busy > 0.0 {
            Ok(served_per_second / busy)
        } else {
            Err(CapacityError::NeverBusy(self.name.clone()))
        }
    }

    /// GPUs that were busy, on average.
    pub fn busy_gpus(&self) -> f64 {
        self.gpus * self.mean_percent / 100.0
    }
}

/// Where the throughput of a GPU is from.
#[derive(Debug, Clone, PartialEq)]
pub enum ThroughputBasis {
    /// Requests a second, as stated.
    Stated,
    /// A batch over its latency, as stated.
    Latency,
    /// Tokens of a request over tokens a second, as stated.
    Tokens { per_second: f64, prompt_per_second: Option<f64> },
    /// Service times that were recorded.
    Recorded,
    /// Requests that were served at a measured utilization.
    Utilization { measured: Utilized, served_per_second: f64 },
}
