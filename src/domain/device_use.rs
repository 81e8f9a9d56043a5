use super::ResourceId;

/// How a pod used one device that it held, as metrics that name pods tell.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceUse {
    pub machine: ResourceId,
    /// Index of the device on its machine.
    pub gpu: u32,
    pub namespace: String,
    pub pod: String,
    /// Samples of GPU utilization in the window that name this pod.
    pub n_samples: u64,
    /// Time between two samples.
    pub sample_seconds: u32,
    /// 0–100.
    pub mean_percent: f64,
    /// The largest sample, 0–100.
    pub max_percent: f64,
}
