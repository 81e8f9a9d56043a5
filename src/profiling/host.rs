//! The host over a run, in constant memory.

use super::HostProfile;
use crate::domain::HostReading;
use crate::usage::{Scale, Sketch, Tally};

/// Sums of figures by their names in readings and in the profile: their type, empty, and what the
/// profile takes of it.
macro_rules! sums {
    ($($figure:ident: $sums:ty = $empty:expr, $figures:ident;)*) => {
        #[derive(Debug, Clone)]
        pub(super) struct HostSoFar {
            cores: Option<u32>,
            memory_total_mib: Option<f64>,
            $($figure: $sums,)*
        }

        impl HostSoFar {
            pub(super) fn new() -> Self {
                Self { cores: None, memory_total_mib: None, $($figure: $empty,)* }
            }

            pub(super) fn add(&mut self, reading: &HostReading) {
                self.cores = reading.cores.or(self.cores);
                self.memory_total_mib = reading.memory_total_mib.or(self.memory_total_mib);
                $(self.$figure.add(reading.$figure);)*
            }

            /// The figures so far.
            pub(super) fn profile(&self) -> HostProfile {
                let (cores, memory_total_mib) = (self.cores, self.memory_total_mib);
                HostProfile { cores, memory_total_mib, $($figure: self.$figure.$figures(),)* }
            }
        }
    };
}
sums! {
    cpu_percent: Sketch = Sketch::new(Scale::Percent), figures;
    busiest_core_percent: Sketch = Sketch::new(Scale::Percent), figures;
    memory_used_mib: Sketch = Sketch::new(Scale::Mebibytes), figures;
    io_wait_percent: Tally = Tally::default(), range;
    cpu_pressure_percent: Tally = Tally::default(), range;
    io_pressure_percent: Tally = Tally::default(), range;
    memory_pressure_percent: Tally = Tally::default(), range;
    network_received_bytes_per_second: Tally = Tally::default(), range;
    network_sent_bytes_per_second: Tally = Tally::default(), range;
    disk_read_bytes_per_second: Tally = Tally::default(), range;
    disk_written_bytes_per_second: Tally = Tally::default(), range;
}

impl HostSoFar {
    pub(super) fn size_bytes(&self) -> usize {
        let sketches = [&self.cpu_percent, &self.busiest_core_percent, &self.memory_used_mib];
        size_of::<Self>() + sketches.iter().map(|sketch| sketch.size_bytes()).sum::<usize>()
    }
}
