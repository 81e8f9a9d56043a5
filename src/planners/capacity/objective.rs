//! What latency a service has to keep.

/// How long GPUs work on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceTimes {
    /// Exponentially distributed around their mean: many short ones and a few long ones.
    Exponential,
    /// All alike. Waits are taken from exponential service, which waits longer.
    Fixed,
}

/// How long a request may take from its arrival to its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    pub seconds: f64,
    /// Percent of the requests that may take no longer, above 0 and below 100.
    pub percentile: f64,
}

impl Objective {
    /// Share of the requests that may take longer, 0–1.
    pub fn late_share(self) -> f64 {
        1.0 - self.percentile / 100.0
    }

    /// What the percentile of the time on a GPU alone comes to, however many GPUs there
    /// are: no objective below it can be met.
    pub(super) fn floor_seconds(self, service_seconds: f64, times: ServiceTimes) -> f64 {
        match times {
            ServiceTimes::Exponential => -service_seconds * self.late_share().ln(),
            ServiceTimes::Fixed => service_seconds,
        }
    }
}
