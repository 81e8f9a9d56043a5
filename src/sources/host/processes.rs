//! Who is whose child, and what it is called.

use super::HostSource;
use super::proc_files::text;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;

/// Bytes of a command line that are read: its first argument is what counts, and
/// the whole may be megabytes.
const COMMAND_LINE_BYTES: u64 = 4096;

/// Most parents that are asked for, because a list that changes while it is read
/// could seem to go round.
const MOST_GENERATIONS: usize = 1000;

impl HostSource {
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
