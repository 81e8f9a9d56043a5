//! Shares of CPU time from two samples of `/proc/stat`.

use std::collections::BTreeMap;

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
