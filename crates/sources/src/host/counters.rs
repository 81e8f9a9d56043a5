//! The files below `/proc` as text, and the counters in them: shares of CPU time, and bytes over
//! the network and to and from disks, each counted once: what passes a bridge, a bond or a mapped
//! disk passes the device below it too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What one CPU spent its time on, in ticks since it came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    /// Ran something. Time of virtual machines is in it already.
    work: u64,
    /// Had nothing to do.
    idle: u64,
    /// Had nothing to do but wait for a disk.
    io_wait: u64,
}

/// CPUs by number.
pub(super) type Cores = BTreeMap<u32, Ticks>;

/// Shares of the time between two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Shares {
    /// Work, over all CPUs.
    pub(super) mean_percent: Option<f64>,
    /// Work of the CPU that worked most.
    pub(super) busiest_percent: Option<f64>,
    /// Waiting for a disk, over all CPUs.
    pub(super) io_wait_percent: Option<f64>,
}

/// The CPUs of `/proc/stat`: all, or those that are allowed.
pub(super) fn cores(stat: &str, allowed: Option<&[(u32, u32)]>) -> Cores {
    let lines = stat.lines().filter_map(|line| {
        let mut fields = line.strip_prefix("cpu")?.split_ascii_whitespace();
        // The line of all CPUs together has no number.
        let number: u32 = fields.next().filter(|_| !line.starts_with("cpu "))?.parse().ok()?;
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, idle, rest @ ..] = ticks.as_slice() else { return None };
        let later = |index: usize| rest.get(index).copied().unwrap_or(0);
        let (io_wait, interrupts, soft_interrupts, steal) =
            (later(0), later(1), later(2), later(3));
        let work = [*nice, *system, interrupts, soft_interrupts, steal]
            .iter()
            .fold(*user, |sum, ticks| sum.saturating_add(*ticks));
        let ticks = Ticks { work, idle: *idle, io_wait };
        Some((number, ticks))
    });
    lines
        .filter(|(number, _)| {
            allowed.is_none_or(|ranges| {
                ranges.iter().any(|(first, last)| (first..=last).contains(&number))
            })
        })
        .collect()
}

/// The shares between two samples, over the CPUs that both have. A CPU whose work
/// steps back was down in between and does not count; idle time and the wait for
/// disks may step back a little on a CPU that is well, which counts as none.
pub(super) fn shares(before: &Cores, now: &Cores) -> Shares {
    let (mut work, mut io_wait, mut total) = (0, 0, 0);
    let mut busiest: Option<f64> = None;
    for (number, later) in now {
        let Some(earlier) = before.get(number) else { continue };
        let Some(worked) = later.work.checked_sub(earlier.work) else { continue };
        let waited = later.io_wait.saturating_sub(earlier.io_wait);
        let passed = worked + waited + later.idle.saturating_sub(earlier.idle);
        if passed == 0 {
            continue;
        }
        work += worked;
        io_wait += waited;
        total += passed;
        let share = worked as f64 / passed as f64 * 100.0;
        busiest = Some(busiest.map_or(share, |most| most.max(share)));
    }
    let percent = |part: u64| (total > 0).then(|| part as f64 / total as f64 * 100.0);
    Shares {
        mean_percent: percent(work),
        busiest_percent: busiest,
        io_wait_percent: percent(io_wait),
    }
}

/// `/proc/diskstats` counts in sectors of this many bytes, whatever the disk's.
const SECTOR_BYTES: u64 = 512;

/// Disks that only stand for others, for memory or for a removable medium.
const NOT_DISKS: [&str; 8] = ["loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"];

/// Bytes since the device came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counters {
    inward: u64,
    outward: u64,
}

/// Devices by name.
pub(super) type Traffic = BTreeMap<String, Counters>;

/// Bytes per second, over all devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rates {
    /// Received or read.
    pub(super) inward: f64,
    /// Sent or written.
    pub(super) outward: f64,
}

/// Network interfaces: those with a device of their own where any has, else (in
/// a container) all but the loopback.
pub(super) fn network(proc: &Path) -> Traffic {
    let listing = text(&proc.join("net/dev")).unwrap_or_default();
    let interfaces: Traffic = listing
        .lines()
        .filter_map(|line| {
            let (name, counters) = line.rsplit_once(':')?;
            let mut fields = counters.split_ascii_whitespace();
            let inward = fields.next()?.parse().ok()?;
            let outward = fields.nth(7)?.parse().ok()?;
            let name = name.trim();
            (name != "lo").then(|| (name.to_owned(), Counters { inward, outward }))
        })
        .collect();
    let classes = proc.join("self/root/sys/class/net");
    let real: Traffic = interfaces
        .iter()
        .filter(|(name, _)| classes.join(name).join("device").exists())
        .map(|(name, counters)| (name.clone(), *counters))
        .collect();
    if real.is_empty() { interfaces } else { real }
}

/// Whole disks.
pub(super) fn disks(proc: &Path) -> Traffic {
    let listing = text(&proc.join("diskstats")).unwrap_or_default();
    let devices: Traffic = listing
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(2);
            let name = fields.next()?;
            let inward: u64 = fields.nth(2)?.parse().ok()?;
            let outward: u64 = fields.nth(3)?.parse().ok()?;
            let counters = Counters {
                inward: inward.saturating_mul(SECTOR_BYTES),
                outward: outward.saturating_mul(SECTOR_BYTES),
            };
            let is_disk = !NOT_DISKS.iter().any(|prefix| name.starts_with(prefix));
            is_disk.then(|| (name.to_owned(), counters))
        })
        .collect();
    devices
        .iter()
        .filter(|(name, _)| !devices.keys().any(|disk| is_partition_of(name, disk)))
        .map(|(name, counters)| (name.clone(), *counters))
        .collect()
}

/// Whether a name is that of a partition: `sda1` of `sda`, `nvme0n1p1` of
/// `nvme0n1`.
fn is_partition_of(name: &str, disk: &str) -> bool {
    let Some(rest) = name.strip_prefix(disk) else { return false };
    let number = if disk.ends_with(|c: char| c.is_ascii_digit()) {
        rest.strip_prefix('p').unwrap_or("")
    } else {
        rest
    };
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Rates over the devices that both samples have and whose counters did not step
/// back; none when there is no such device.
pub(super) fn rates(before: &Traffic, now: &Traffic, elapsed: Duration) -> Option<Rates> {
    let mut counted = 0;
    let (mut inward, mut outward) = (0_u64, 0_u64);
    for (name, later) in now {
        let Some(earlier) = before.get(name) else { continue };
        let read = later.inward.checked_sub(earlier.inward);
        let written = later.outward.checked_sub(earlier.outward);
        if let Some((read, written)) = read.zip(written) {
            counted += 1;
            inward = inward.saturating_add(read);
            outward = outward.saturating_add(written);
        }
    }
    let seconds = elapsed.as_secs_f64();
    (counted > 0 && seconds > 0.0)
        .then(|| Rates { inward: inward as f64 / seconds, outward: outward as f64 / seconds })
}

/// What a file holds; absent when it cannot be read.
pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// One figure of `/proc/meminfo`, in KiB.
pub(super) fn meminfo_kib(info: &str, name: &str) -> Option<u64> {
    let line = info.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then_some(value)
    })?;
    line.split_whitespace().next()?.parse().ok()
}
