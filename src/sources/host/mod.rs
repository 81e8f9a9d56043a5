//! What the host of the GPUs does, read from a `/proc` folder. What cannot be
//! read is absent and never an error, so on a system without `/proc` everything
//! is.
//!
//! Inside a container the CPUs and the memory that count are those it may use
//! (cgroup version 2): see [`HostSource::read`].

mod cpu;
mod limits;
mod proc_files;
mod processes;
#[cfg(test)]
mod tests;
mod traffic;

use crate::domain::{HostReading, MIB};
use cpu::Cores;
use limits::Limits;
use proc_files::{meminfo_kib, text};
use std::path::{Path, PathBuf};
use std::time::Duration;
use traffic::Traffic;

/// A host, by its `/proc` folder.
#[derive(Debug)]
pub struct HostSource {
    proc: PathBuf,
    limits: Limits,
    last: Option<MeterReading>,
}

/// Counters as they stood at one time.
#[derive(Debug, Default)]
struct MeterReading {
    at: Duration,
    cores: Cores,
    /// CPU time of the cgroup whose limit holds.
    cgroup_cpu_microseconds: Option<u64>,
    cpu_stalled_microseconds: Option<u64>,
    io_stalled_microseconds: Option<u64>,
    memory_stalled_microseconds: Option<u64>,
    network: Traffic,
    disks: Traffic,
}

impl HostSource {
    /// The host whose processes and counters are below `proc`, which is `/proc`.
    pub fn new(proc: &Path) -> Self {
        Self { proc: proc.to_owned(), limits: Limits::read(proc), last: None }
    }

    /// Samples the host. `at` is the time since the start on a clock that no
    /// one can set; what is a rate or a share covers the time since the sample
    /// before, so the first sample has none of these.
    ///
    /// Only CPUs that this process may run on count. Where a cgroup allows less
    /// CPU time than they have, `cores` is that limit, rounded up, and
    /// `cpu_percent` the share of it that the cgroup used; the busiest CPU and
    /// the wait for disks are absent then, because others may be the cause. Where
    /// a cgroup allows less memory than there is, memory is the cgroup's, without
    /// the file cache that could be dropped at once.
    pub fn read(&mut self, at: Duration) -> HostReading {
        let now = self.sample(at);
        let (memory_used_mib, memory_total_mib) = self.memory();
        let mut reading = HostReading {
            cores: self.core_count(&now.cores),
            memory_used_mib,
            memory_total_mib,
            ..HostReading::default()
        };
        if let Some(before) = &self.last {
            self.since(before, &now, &mut reading);
        }
        self.last = Some(now);
        reading
    }

    /// The name of the host; absent when it cannot be read.
    pub fn hostname(&self) -> Option<String> {
        let name = text(&self.proc.join("sys/kernel/hostname"))?;
        let name = name.trim();
        (!name.is_empty() && name != "(none)").then(|| name.to_owned())
    }

    fn sample(&self, at: Duration) -> MeterReading {
        let stall = |resource: &str| {
            let path = self.limits.pressure(resource, &self.proc);
            stalled_microseconds(&text(&path)?)
        };
        let stat = text(&self.proc.join("stat")).unwrap_or_default();
        MeterReading {
            at,
            cores: cpu::cores(&stat, self.limits.cpus.as_deref()),
            cgroup_cpu_microseconds: self
                .limits
                .cpu
                .as_ref()
                .and_then(limits::CpuLimit::used_microseconds),
            cpu_stalled_microseconds: stall("cpu"),
            io_stalled_microseconds: stall("io"),
            memory_stalled_microseconds: stall("memory"),
            network: traffic::network(&self.proc),
            disks: traffic::disks(&self.proc),
        }
    }

    /// Everything that is a difference of two samples.
    fn since(&self, before: &MeterReading, now: &MeterReading, reading: &mut HostReading) {
        let shares = cpu::shares(&before.cores, &now.cores);
        if self.limits.cpu.is_none() {
            reading.cpu_percent = shares.mean_percent;
            reading.busiest_core_percent = shares.busiest_percent;
            reading.io_wait_percent = shares.io_wait_percent;
        }
        let elapsed = now.at.saturating_sub(before.at);
        if elapsed.is_zero() {
            return;
        }
        let percent = |before: Option<u64>, now: Option<u64>| {
            let stalled = now?.checked_sub(before?)? as f64;
            Some((stalled / (elapsed.as_secs_f64() * 1e6) * 100.0).min(100.0))
        };
        reading.cpu_pressure_percent =
            percent(before.cpu_stalled_microseconds, now.cpu_stalled_microseconds);
        reading.io_pressure_percent =
            percent(before.io_stalled_microseconds, now.io_stalled_microseconds);
        reading.memory_pressure_percent =
            percent(before.memory_stalled_microseconds, now.memory_stalled_microseconds);
        if let Some(limit) = &self.limits.cpu {
            reading.cpu_percent = limit
                .used_percent(before.cgroup_cpu_microseconds, now.cgroup_cpu_microseconds, elapsed);
        }
        let network = traffic::rates(&before.network, &now.network, elapsed);
        reading.network_received_bytes_per_second = network.map(|rates| rates.inward);
        reading.network_sent_bytes_per_second = network.map(|rates| rates.outward);
        let disks = traffic::rates(&before.disks, &now.disks, elapsed);
        reading.disk_read_bytes_per_second = disks.map(|rates| rates.inward);
        reading.disk_written_bytes_per_second = disks.map(|rates| rates.outward);
    }

    fn core_count(&self, cores: &Cores) -> Option<u32> {
        if let Some(limit) = &self.limits.cpu {
            return Some(limit.whole_cores());
        }
        u32::try_from(cores.len()).ok().filter(|count| *count > 0)
    }

    /// Memory in use and in all, in MiB.
    fn memory(&self) -> (Option<f64>, Option<f64>) {
        if let Some(limit) = &self.limits.memory {
            let used = limit.used_bytes().map(|bytes| bytes as f64 / MIB);
            return (used, Some(limit.bytes as f64 / MIB));
        }
        let info = text(&self.proc.join("meminfo")).unwrap_or_default();
        let total = meminfo_kib(&info, "MemTotal");
        let used = total
            .zip(meminfo_kib(&info, "MemAvailable"))
            .and_then(|(total, available)| total.checked_sub(available));
        let mib = |kib: u64| kib as f64 / 1024.0;
        (used.map(mib), total.map(mib))
    }
}

/// Time that some task stalled, of a file below `/proc/pressure`.
fn stalled_microseconds(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse().ok()
}
