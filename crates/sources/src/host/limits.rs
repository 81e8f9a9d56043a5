//! What this process may use of its host: the CPUs it may run on, and the limits
//! of its cgroups (version 2), as they stood when the run began.

use super::counters::{cores, meminfo_kib, text};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Limits that hold; absent where all of the host may be used.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// CPUs that it may run on, as ranges.
    pub(super) cpus: Option<Vec<(u32, u32)>>,
    /// The tightest limit of CPU time, when it is below what the CPUs have.
    pub(super) cpu: Option<CpuLimit>,
    /// The tightest limit of memory, when it is below what the host has.
    pub(super) memory: Option<MemoryLimit>,
}

/// A cgroup that may use so much CPU time.
#[derive(Debug)]
pub(super) struct CpuLimit {
    folder: PathBuf,
    cores: f64,
}

/// A cgroup that may use so much memory.
#[derive(Debug)]
pub(super) struct MemoryLimit {
    folder: PathBuf,
    pub(super) bytes: u64,
}

impl Limits {
    /// The limits of this process, whose own entry is `self` below `proc`.
    pub(super) fn read(proc: &Path) -> Self {
        let cpus = text(&proc.join("self/status")).and_then(|status| allowed_cpus(&status));
        let stat = text(&proc.join("stat")).unwrap_or_default();
        let cores = cores(&stat, cpus.as_deref()).len() as f64;
        let memory_kib =
            text(&proc.join("meminfo")).and_then(|info| meminfo_kib(&info, "MemTotal"));
        let memory_bytes = memory_kib.map(|kib| kib.saturating_mul(1024));
        let mut limits = Self { cpus, ..Self::default() };
        for folder in cgroup_folders(proc) {
            let quota = text(&folder.join("cpu.max")).and_then(|max| quota_cores(&max));
            let tightest = limits.cpu.as_ref().map_or(cores, |limit| limit.cores);
            if let Some(cores) = quota.filter(|quota| *quota < tightest) {
                limits.cpu = Some(CpuLimit { folder: folder.clone(), cores });
            }
            let max = text(&folder.join("memory.max")).and_then(|max| max.trim().parse().ok());
            let tightest = limits.memory.as_ref().map(|limit| limit.bytes);
            let tightest = tightest.or(memory_bytes);
            if let Some(bytes) = max.filter(|max| tightest.is_none_or(|least| *max < least)) {
                limits.memory = Some(MemoryLimit { folder, bytes });
            }
        }
        limits
    }

    /// The file that tells how long tasks stalled for `cpu`, `io` or `memory`:
    /// that of the cgroup where a limit of it holds, else that of the host.
    pub(super) fn pressure(&self, resource: &str, proc: &Path) -> PathBuf {
        let cgroup = match resource {
            "cpu" => self.cpu.as_ref().map(|limit| &limit.folder),
            "memory" => self.memory.as_ref().map(|limit| &limit.folder),
            _ => None,
        };
        match cgroup {
            Some(folder) => folder.join(format!("{resource}.pressure")),
            None => proc.join("pressure").join(resource),
        }
    }
}

impl CpuLimit {
    /// CPU time that the cgroup has used.
    pub(super) fn used_microseconds(&self) -> Option<u64> {
        figure(&text(&self.folder.join("cpu.stat"))?, "usage_usec")
    }

    /// The share of what it may use that it used.
    pub(super) fn used_percent(
        &self,
        before: Option<u64>,
        now: Option<u64>,
        elapsed: Duration,
    ) -> Option<f64> {
        let used = now?.checked_sub(before?)? as f64;
        let allowed = elapsed.as_secs_f64() * 1e6 * self.cores;
        (allowed > 0.0).then(|| (used / allowed * 100.0).min(100.0))
    }

    /// The limit in CPUs, rounded up.
    pub(super) fn whole_cores(&self) -> u32 {
        self.cores.ceil() as u32
    }
}

impl MemoryLimit {
    /// Memory of the cgroup without file cache that could be dropped at once.
    pub(super) fn used_bytes(&self) -> Option<u64> {
        let current = text(&self.folder.join("memory.current"))?;
        let current: u64 = current.trim().parse().ok()?;
        let stat = text(&self.folder.join("memory.stat")).unwrap_or_default();
        Some(current.saturating_sub(figure(&stat, "inactive_file").unwrap_or(0)))
    }
}

/// The folders of a process's cgroup and of all above it. They are searched for
/// below the process's own root.
fn cgroup_folders(proc: &Path) -> Vec<PathBuf> {
    let top = proc.join("self/root/sys/fs/cgroup");
    let cgroups = text(&proc.join("self/cgroup")).unwrap_or_default();
    let Some(path) = cgroups.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Vec::new();
    };
    // A cgroup outside of what this process sees begins with `..`.
    if path.split('/').any(|part| part == "..") {
        return vec![top];
    }
    let own = top.join(path);
    own.ancestors().take_while(|folder| folder.starts_with(&top)).map(Path::to_owned).collect()
}

/// Ranges of CPUs, such as `0-3,8`, of `/proc/self/status`.
fn allowed_cpus(status: &str) -> Option<Vec<(u32, u32)>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.trim()
        .split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        })
        .collect()
}

/// CPUs of a `cpu.max`, such as `250000 100000` for two and a half; none for
/// `max`.
fn quota_cores(max: &str) -> Option<f64> {
    let mut fields = max.split_whitespace();
    let quota: f64 = fields.next()?.parse().ok()?;
    let period: f64 = fields.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// A figure of a file with one name and one figure a line.
fn figure(stat: &str, name: &str) -> Option<u64> {
    stat.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}
