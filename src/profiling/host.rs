//! The host over a run, in constant memory.

use super::HostProfile;
use crate::domain::HostReading;
use crate::usage::{Scale, Sketch, Tally};

#[derive(Debug, Clone)]
pub(super) struct HostSoFar {
    cores: Option<u32>,
    memory_total_mib: Option<f64>,
    cpu: Sketch,
    busiest_core: Sketch,
    memory: Sketch,
    io_wait: Tally,
    cpu_pressure: Tally,
    io_pressure: Tally,
    memory_pressure: Tally,
    network_received: Tally,
    network_sent: Tally,
    disk_read: Tally,
    disk_written: Tally,
}

impl HostSoFar {
    pub(super) fn new() -> Self {
        Self {
            cores: None,
            memory_total_mib: None,
            cpu: Sketch::new(Scale::Percent),
            busiest_core: Sketch::new(Scale::Percent),
            memory: Sketch::new(Scale::Mebibytes),
            io_wait: Tally::default(),
            cpu_pressure: Tally::default(),
            io_pressure: Tally::default(),
            memory_pressure: Tally::default(),
            network_received: Tally::default(),
            network_sent: Tally::default(),
            disk_read: Tally::default(),
            disk_written: Tally::default(),
        }
    }

    pub(super) fn add(&mut self, reading: &HostReading) {
        self.cores = reading.cores.or(self.cores);
        self.memory_total_mib = reading.memory_total_mib.or(self.memory_total_mib);
        self.cpu.add(reading.cpu_percent);
        self.busiest_core.add(reading.busiest_core_percent);
        self.memory.add(reading.memory_used_mib);
        self.io_wait.add(reading.io_wait_percent);
        self.cpu_pressure.add(reading.cpu_pressure_percent);
        self.io_pressure.add(reading.io_pressure_percent);
        self.memory_pressure.add(reading.memory_pressure_percent);
        self.network_received.add(reading.network_received_bytes_per_second);
        self.network_sent.add(reading.network_sent_bytes_per_second);
        self.disk_read.add(reading.disk_read_bytes_per_second);
        self.disk_written.add(reading.disk_written_bytes_per_second);
    }

    /// The figures so far.
    pub(super) fn profile(&self) -> HostProfile {
        HostProfile {
            cores: self.cores,
            cpu_percent: self.cpu.figures(),
            busiest_core_percent: self.busiest_core.figures(),
            io_wait_percent: self.io_wait.range(),
            cpu_pressure_percent: self.cpu_pressure.range(),
            io_pressure_percent: self.io_pressure.range(),
            memory_pressure_percent: self.memory_pressure.range(),
            memory_used_mib: self.memory.figures(),
            memory_total_mib: self.memory_total_mib,
            network_received_bytes_per_second: self.network_received.range(),
            network_sent_bytes_per_second: self.network_sent.range(),
            disk_read_bytes_per_second: self.disk_read.range(),
            disk_written_bytes_per_second: self.disk_written.range(),
        }
    }

    pub(super) fn size_bytes(&self) -> usize {
        let sketches = [&self.cpu, &self.busiest_core, &self.memory];
        size_of::<Self>() + sketches.iter().map(|sketch| sketch.size_bytes()).sum::<usize>()
    }
}
