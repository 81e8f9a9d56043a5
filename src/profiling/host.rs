//! The host over a run, in constant memory.

use crate::domain::HostReading;
use crate::usage::{Figures, Range, Scale, Sketch, Tally};

/// Figures of a host by their names in readings: those with percentiles, each with its scale, and
/// those of which mean and range are enough.
macro_rules! host_figures {
    (
        sketches { $($(#[$sketch_doc:meta])* $sketch:ident($scale:ident);)* }
        tallies { $($(#[$tally_doc:meta])* $tally:ident;)* }
    ) => {
        /// The host over the run. Absent is what it did not report.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct HostProfile {
            /// Logical CPUs.
            pub cores: Option<u32>,
            pub memory_total_mib: Option<f64>,
            $($(#[$sketch_doc])* pub $sketch: Option<Figures>,)*
            $($(#[$tally_doc])* pub $tally: Option<Range>,)*
        }

        #[derive(Debug, Clone)]
        pub(super) struct HostSoFar {
            cores: Option<u32>,
            memory_total_mib: Option<f64>,
            $($sketch: Sketch,)*
            $($tally: Tally,)*
        }

        impl HostSoFar {
            pub(super) fn new() -> Self {
                Self {
                    cores: None,
                    memory_total_mib: None,
                    $($sketch: Sketch::new(Scale::$scale),)*
                    $($tally: Tally::default(),)*
                }
            }

            pub(super) fn add(&mut self, reading: &HostReading) {
                self.cores = reading.cores.or(self.cores);
                self.memory_total_mib = reading.memory_total_mib.or(self.memory_total_mib);
                $(self.$sketch.add(reading.$sketch);)*
                $(self.$tally.add(reading.$tally);)*
            }

            /// The figures so far.
            pub(super) fn profile(&self) -> HostProfile {
                HostProfile {
                    cores: self.cores,
                    memory_total_mib: self.memory_total_mib,
                    $($sketch: self.$sketch.figures(),)*
                    $($tally: self.$tally.range(),)*
                }
            }

            pub(super) fn size_bytes(&self) -> usize {
                size_of::<Self>() $(+ self.$sketch.size_bytes())*
            }
        }
    };
}

host_figures! {
    sketches {
        /// Mean over all CPUs of the time that they worked.
        cpu_percent(Percent);
        /// The busiest CPU of each sample.
        busiest_core_percent(Percent);
        /// Memory in use; `max` is the peak.
        memory_used_mib(Mebibytes);
    }
    tallies {
        /// Time that a CPU waited for a disk.
        io_wait_percent;
        /// Time that some task waited for a CPU.
        cpu_pressure_percent;
        /// Time that some task waited for a disk.
        io_pressure_percent;
        /// Time that some task waited for memory.
        memory_pressure_percent;
        network_received_bytes_per_second;
        network_sent_bytes_per_second;
        disk_read_bytes_per_second;
        disk_written_bytes_per_second;
    }
}
