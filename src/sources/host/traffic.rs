//! Bytes over the network and to and from disks, each counted once: what passes
//! a bridge, a bond or a mapped disk passes the device below it too.

use super::proc_files::text;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

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
