//! A profiled run as far as another one is compared with it: what its JSON keeps.

use super::HourlyRate;

/// A run that was summarized before. Words are kept as its summary calls them.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// The version of the program that made it; absent when it does not say.
    pub gpucost_version: Option<String>,
    pub hostname: Option<String>,
    pub instance_type: Option<String>,
    pub region: Option<String>,
    /// Models of its GPUs as their driver names them, in its order; slices left out. A model is
    /// absent when the driver did not name it.
    pub gpus: Vec<Option<String>>,
    /// Exit code of its command; absent where none ran to its end.
    pub exit_code: Option<i32>,
    pub elapsed_seconds: f64,
    /// Price of the host; absent when it was unpriced.
    pub hourly: Option<HourlyRate>,
    /// Whether its utilization was measured well enough to be judged.
    pub is_judged: bool,
    pub utilization_mean_percent: Option<f64>,
    pub vram_peak_gib: Option<f64>,
    pub energy_kwh: Option<f64>,
    pub mfu_percent: Option<f64>,
    /// Units of work that it counted with their numbers, in its order.
    pub units: Vec<(String, f64)>,
}
