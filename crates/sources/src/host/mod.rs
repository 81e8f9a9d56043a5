//! What the host of the GPUs does, read from a `/proc` folder. What cannot be
//! read is absent and never an error, so on a system without `/proc` everything
//! is.
//!
//! Inside a container the CPUs and the memory that count are those it may use
//! (cgroup version 2): see [`HostSource::read`].

mod counters;
mod limits;
#[cfg(test)]
mod tests;

use crate::domain::{HostReading, MIB};
use counters::{Cores, Traffic, cores, disks, meminfo_kib, network, rates, shares, text};
use limits::{CpuLimit, Limits};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a command line that are read: its first argument is what counts, and
/// the whole may be megabytes.
const COMMAND_LINE_BYTES: u64 = 4096;

/// Most parents that are asked for, because a list that changes while it is read
/// could seem to go round.
const MOST_GENERATIONS: usize = 1000;

/// What tasks stall for.
const STALLING: [&str; 3] = ["cpu", "io", "memory"];

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
    /// By the resource that tasks stalled for, in order of [`STALLING`].
    stalled_microseconds: [Option<u64>; STALLING.len()],
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
            cores: cores(&stat, self.limits.cpus.as_deref()),
            cgroup_cpu_microseconds: self.limits.cpu.as_ref().and_then(CpuLimit::used_microseconds),
            stalled_microseconds: STALLING.map(stall),
            network: network(&self.proc),
            disks: disks(&self.proc),
        }
    }

    /// Everything that is a difference of two samples.
    fn since(&self, before: &MeterReading, now: &MeterReading, reading: &mut HostReading) {
        let shares = shares(&before.cores, &now.cores);
        if self.limits.cpu.is_none() {
            reading.cpu_percent = shares.mean_percent;
            reading.busiest_core_percent = shares.busiest_percent;
            reading.io_wait_percent = shares.io_wait_percent;
        }
        let elapsed = now.at.saturating_sub(before.at);
        if elapsed.is_zero() {
            return;
        }
        let percent = |place: usize| {
            let (before, now) = (before.stalled_microseconds, now.stalled_microseconds);
            let stalled = now[place]?.checked_sub(before[place]?)? as f64;
            Some((stalled / (elapsed.as_secs_f64() * 1e6) * 100.0).min(100.0))
        };
        reading.cpu_pressure_percent = percent(0);
        reading.io_pressure_percent = percent(1);
        reading.memory_pressure_percent = percent(2);
        if let Some(limit) = &self.limits.cpu {
            reading.cpu_percent = limit
                .used_percent(before.cgroup_cpu_microseconds, now.cgroup_cpu_microseconds, elapsed);
        }
        let network = rates(&before.network, &now.network, elapsed);
        reading.network_received_bytes_per_second = network.map(|rates| rates.inward);
        reading.network_sent_bytes_per_second = network.map(|rates| rates.outward);
        let disks = rates(&before.disks, &now.disks, elapsed);
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

    /// A process and all that it started, directly or not, as far as it still
    /// runs; empty when the process itself is gone. What left the tree (a daemon)
    /// is not in it. Reads every process of the host: to ask about a few, see
    /// [`HostSource::is_descendant`].
    pub fn descendants(&self, pid: u32) -> BTreeSet<u32> {
        let Ok(entries) = fs::read_dir(&self.proc) else { return BTreeSet::new() };
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut is_there = false;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(child) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            is_there |= child == pid;
            if let Some(parent) = self.parent(child) {
                children.entry(parent).or_default().push(child);
            }
        }
        let mut pids = BTreeSet::new();
        let mut waiting = Vec::from_iter(is_there.then_some(pid));
        while let Some(next) = waiting.pop() {
            if pids.insert(next) {
                waiting.extend(children.remove(&next).unwrap_or_default());
            }
        }
        pids
    }

    /// Whether a process is `ancestor` or was started by it, directly or not.
    pub fn is_descendant(&self, pid: u32, ancestor: u32) -> bool {
        let mut at = pid;
        for _ in 0..MOST_GENERATIONS {
            if at == ancestor {
                return true;
            }
            match self.parent(at) {
                Some(parent) if parent != 0 => at = parent,
                _ => return false,
            }
        }
        false
    }

    /// The name of a process's program as it was started, such as `python3`, or
    /// what the kernel calls it; absent when it is gone. It is whatever the
    /// process chose, so it must not reach a terminal as it is.
    pub fn process_name(&self, pid: u32) -> Option<String> {
        self.first_argument(pid).or_else(|| {
            let name = text(&self.proc.join(pid.to_string()).join("comm"))?;
            let name = name.strip_suffix('\n').unwrap_or(&name);
            (!name.is_empty()).then(|| name.to_owned())
        })
    }

    /// Name of the file that the first argument names. A title that a process
    /// gave itself has spaces and names no file.
    fn first_argument(&self, pid: u32) -> Option<String> {
        let path = self.proc.join(pid.to_string()).join("cmdline");
        let mut line = Vec::new();
        File::open(path).ok()?.take(COMMAND_LINE_BYTES).read_to_end(&mut line).ok()?;
        let first = line.split(|byte| *byte == 0).next()?;
        let first = String::from_utf8_lossy(first);
        let name = match first.rsplit_once('/') {
            Some(_) if first.contains(' ') && !first.starts_with('/') => return None,
            Some((_, name)) => name,
            None => &first,
        };
        (!name.trim().is_empty()).then(|| name.to_owned())
    }

    /// The process that started one; absent when that is gone. The name before it
    /// may hold spaces and parentheses.
    fn parent(&self, pid: u32) -> Option<u32> {
        let stat = text(&self.proc.join(pid.to_string()).join("stat"))?;
        let (_, after_name) = stat.rsplit_once(')')?;
        after_name.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

/// Time that some task stalled, of a file below `/proc/pressure`.
fn stalled_microseconds(pressure: &str) -> Option<u64> {
    let some = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse().ok()
}
