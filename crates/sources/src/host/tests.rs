//! A made-up `/proc` whose figures are worked out by hand beside each test.

use super::HostSource;
use crate::domain::HostReading;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const SECOND: Duration = Duration::from_secs(1);

/// A folder with files.
fn host(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().expect("a scratch folder");
    write(folder.path(), files);
    folder
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

/// Two samples one second apart, with files written in between.
fn after(folder: &TempDir, changed: &[(&str, &str)]) -> HostReading {
    let mut source = HostSource::new(folder.path());
    source.read(Duration::ZERO);
    write(folder.path(), changed);
    source.read(SECOND)
}

fn assert_near(figure: Option<f64>, expected: f64) {
    let figure = figure.expect("a figure");
    assert!((figure - expected).abs() < 1e-9, "{figure} for {expected}");
}

#[test]
fn nothing_to_read_is_nothing_and_no_error() {
    let empty = host(&[]);
    let mut source = HostSource::new(&empty.path().join("missing"));
    assert_eq!(source.read(Duration::ZERO), HostReading::default());
    assert_eq!(source.read(SECOND), HostReading::default());
    assert_eq!(source.hostname(), None);
    assert_eq!(source.process_name(1), None);
    assert!(source.descendants(1).is_empty());
}

#[test]
fn noise_in_place_of_figures_is_nothing() {
    let noise = "some total=x\ncpu0 a b c d\ncpu1 1\nMemTotal\nMemTotal: lots\n: : :\n7 0 sda 1\n";
    let files = ["stat", "meminfo", "net/dev", "diskstats", "pressure/cpu"];
    let folder = host(&files.map(|file| (file, noise)));
    assert_eq!(after(&folder, &[]), HostReading::default());
}

#[test]
fn a_first_sample_has_no_shares_and_no_rates() {
    let folder = host(&[
        ("stat", "cpu  9 9 9 9\ncpu0 10 0 5 85 0 0 0 0 0 0\ncpu1 1 1 1 1\nintr 5\n"),
        ("meminfo", "MemTotal: 2048 kB\nMemFree: 1 kB\nMemAvailable: 512 kB\n"),
        ("pressure/cpu", "some avg10=0.00 total=5\nfull avg10=0.00 total=0\n"),
        ("net/dev", "  eth0: 1 0 0 0 0 0 0 0 2 0\n"),
        ("diskstats", " 259 0 nvme0n1 1 0 8 0 1 0 16 0 0 0 0\n"),
    ]);
    let reading = HostSource::new(folder.path()).read(SECOND);
    let expected = HostReading {
        cores: Some(2),
        memory_used_mib: Some(1.5),
        memory_total_mib: Some(2.0),
        ..HostReading::default()
    };
    assert_eq!(reading, expected);
}

/// cpu0 in 100 ticks: user 40 (of which guest 30), nice 5, system 10, interrupts
/// 2 and 3, stolen 10, idle 20, waiting 10: it worked 70. cpu1: 0 of 100.
#[test]
fn work_is_all_but_idle_and_waiting_and_guests_count_once() {
    let folder = host(&[("stat", "cpu0 100 0 0 0 0 0 0 0 50 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n")]);
    let reading = after(
        &folder,
        &[("stat", "cpu0 140 5 10 20 10 2 3 10 80 0\ncpu1 0 0 0 100 0 0 0 0 0 0\n")],
    );
    assert_eq!(reading.cores, Some(2));
    assert_near(reading.cpu_percent, 35.0);
    assert_near(reading.busiest_core_percent, 70.0);
    assert_near(reading.io_wait_percent, 5.0);
}

/// cpu0 works 50 of 100; cpu1 comes up; cpu2 was down and begins again; cpu3 goes;
/// cpu4 works 30 of 100 although its idle time steps back by 2.
#[test]
fn cpus_that_come_go_or_step_back_leave_the_others_right() {
    let folder =
        host(&[("stat", "cpu0 0 0 0 0\ncpu2 900 0 0 900 0\ncpu3 1 1 1 1\ncpu4 0 0 0 70 70\n")]);
    let reading = after(
        &folder,
        &[("stat", "cpu0 50 0 0 50\ncpu1 999 0 0 0\ncpu2 3 0 0 4 0\ncpu4 30 0 0 68 140\n")],
    );
    assert_eq!(reading.cores, Some(4));
    assert_near(reading.cpu_percent, 40.0);
    assert_near(reading.busiest_core_percent, 50.0);
    assert_near(reading.io_wait_percent, 35.0);
}

#[test]
fn a_sample_too_soon_for_the_clock_of_the_kernel_has_no_share() {
    let folder = host(&[("stat", "cpu0 1 2 3 4\n")]);
    let reading = after(&folder, &[]);
    assert_eq!(reading.cores, Some(1));
    assert_eq!(reading.cpu_percent, None);
    assert_eq!(reading.busiest_core_percent, None);
}

/// 250 ms of stalling in a second is 25%; counters that step back are absent; a
/// kernel without the memory file leaves that absent.
#[test]
fn pressure_is_the_time_that_some_task_stalled() {
    let line = |total: u64| format!("some avg10=99.00 avg60=0.00 total={total}\nfull total=7\n");
    let folder = host(&[("pressure/cpu", &line(1_000)), ("pressure/io", &line(1_000))]);
    let reading = after(&folder, &[("pressure/cpu", &line(251_000)), ("pressure/io", &line(999))]);
    assert_near(reading.cpu_pressure_percent, 25.0);
    assert_eq!(reading.io_pressure_percent, None);
    assert_eq!(reading.memory_pressure_percent, None);
}

/// eth0 received 3 000 and sent 500; eth1 was reset; the bridge and the
/// interface of the container carry the same bytes again.
#[test]
fn bytes_of_a_bridge_are_not_counted_again() {
    let header = "Inter-| Receive | Transmit\n face |bytes packets|bytes packets\n";
    let device = |name: &str, received: u64, sent: u64| {
        format!("{name:>6}:{received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n")
    };
    let listing = |eth0: (u64, u64), eth1: u64| {
        [
            header.to_owned(),
            device("lo", eth0.0 * 9, eth0.0 * 9),
            device("eth0", eth0.0, eth0.1),
            device("eth1", eth1, eth1),
            device("docker0", eth0.0, eth0.1),
            device("veth1a2b", eth0.0, eth0.1),
        ]
        .concat()
    };
    let devices = ["eth0", "eth1"].map(|name| format!("self/root/sys/class/net/{name}/device/x"));
    let folder =
        host(&[("net/dev", &listing((1_000, 100), 5_000)), (&devices[0], ""), (&devices[1], "")]);
    let reading = after(&folder, &[("net/dev", &listing((4_000, 600), 10))]);
    assert_near(reading.network_received_bytes_per_second, 3_000.0);
    assert_near(reading.network_sent_bytes_per_second, 500.0);

    let container = host(&[("net/dev", &device("eth0", 0, 0))]);
    let reading = after(&container, &[("net/dev", &device("eth0", 7, 9))]);
    assert_near(reading.network_received_bytes_per_second, 7.0);
    assert_near(reading.network_sent_bytes_per_second, 9.0);
}

/// nvme0n1 read 8 sectors and wrote 4, xvda1 (whose disk is not listed) read 2:
/// 10 × 512 and 4 × 512. Partitions, mapped disks, loops and memory are doubles.
#[test]
fn bytes_of_partitions_and_mapped_disks_are_not_counted_again() {
    let listing = |read: u64, written: u64, other: u64| {
        let names = [
            ("nvme0n1", read, written),
            ("nvme0n1p1", read, written),
            ("nvme0n10", 5, 5),
            ("dm-0", read, written),
            ("md127", read, written),
            ("loop3", read, written),
            ("zram0", read, written),
            ("xvda1", other, 0),
        ];
        names
            .iter()
            .map(|(name, read, written)| {
                format!(" 259 0 {name} 1 0 {read} 0 1 0 {written} 0 0 0 0 0 0 0 0\n")
            })
            .collect::<String>()
    };
    let folder = host(&[("diskstats", &listing(100, 100, 100))]);
    let reading = after(&folder, &[("diskstats", &listing(108, 104, 102))]);
    assert_near(reading.disk_read_bytes_per_second, 5_120.0);
    assert_near(reading.disk_written_bytes_per_second, 2_048.0);
}

#[test]
fn rates_are_per_second_whatever_the_interval() {
    let line = |bytes: u64| format!("eth0: {bytes} 0 0 0 0 0 0 0 {bytes} 0\n");
    let folder = host(&[("net/dev", &line(0))]);
    let mut source = HostSource::new(folder.path());
    source.read(SECOND);
    write(folder.path(), &[("net/dev", &line(600))]);
    let reading = source.read(Duration::from_millis(1_250));
    assert_near(reading.network_received_bytes_per_second, 2_400.0);
    let again = source.read(Duration::from_millis(1_250));
    assert_eq!(again.network_received_bytes_per_second, None);
}

const EIGHT_CPUS: &str = "cpu0 0 0 0 0\ncpu1 0 0 0 0\ncpu2 0 0 0 0\ncpu3 0 0 0 0\ncpu4 0 0 0 0\ncpu5 0 0 0 0\ncpu6 0 0 0 0\ncpu7 0 0 0 0\n";

/// The pod may use 2.5 CPUs, its parent 3: 2 s of CPU time in 1 s are 80% of
/// 2.5. Of its 1 GiB it holds 600 MiB, 88 of which are file cache to drop.
#[test]
fn in_a_container_its_limits_count() {
    let pod = "self/root/sys/fs/cgroup/kubepods/pod1";
    let file = |name: &str| format!("{pod}/{name}");
    let folder = host(&[
        ("stat", EIGHT_CPUS),
        ("meminfo", "MemTotal: 8388608 kB\nMemAvailable: 8388608 kB\n"),
        ("self/cgroup", "0::/kubepods/pod1\n"),
        ("pressure/cpu", "some total=0\n"),
        (&file("cpu.max"), "250000 100000\n"),
        (&file("cpu.stat"), "usage_usec 5000000\nuser_usec 1\n"),
        (&file("cpu.pressure"), "some avg10=0.00 total=100\n"),
        (&file("memory.max"), "1073741824\n"),
        (&file("memory.current"), "629145600\n"),
        (&file("memory.stat"), "anon 1\ninactive_file 92274688\n"),
        ("self/root/sys/fs/cgroup/kubepods/cpu.max", "300000 100000\n"),
        ("self/root/sys/fs/cgroup/kubepods/memory.max", "max\n"),
    ]);
    let busy = EIGHT_CPUS.replace(" 0 0 0 0", " 100 0 0 0");
    let reading = after(
        &folder,
        &[
            ("stat", &busy),
            (&file("cpu.stat"), "usage_usec 7000000\n"),
            (&file("cpu.pressure"), "some avg10=0.00 total=500100\n"),
        ],
    );
    assert_eq!(reading.cores, Some(3));
    assert_near(reading.cpu_percent, 80.0);
    assert_eq!(reading.busiest_core_percent, None);
    assert_eq!(reading.io_wait_percent, None);
    assert_near(reading.cpu_pressure_percent, 50.0);
    assert_near(reading.memory_used_mib, 512.0);
    assert_near(reading.memory_total_mib, 1_024.0);
}

#[test]
fn limits_above_what_the_host_has_do_not_count() {
    let folder = host(&[
        ("stat", "cpu0 0 0 0 0\ncpu1 0 0 0 0\n"),
        ("meminfo", "MemTotal: 1024 kB\nMemAvailable: 256 kB\n"),
        ("self/cgroup", "1:cpu:/\n0::/\n"),
        ("self/root/sys/fs/cgroup/cpu.max", "400000 100000\n"),
        ("self/root/sys/fs/cgroup/memory.max", "9223372036854771712\n"),
    ]);
    let reading = after(&folder, &[("stat", "cpu0 1 0 0 1\ncpu1 0 0 0 2\n")]);
    assert_eq!(reading.cores, Some(2));
    assert_near(reading.cpu_percent, 25.0);
    assert_near(reading.memory_used_mib, 0.75);
}

#[test]
fn only_cpus_that_it_may_run_on_count() {
    let folder = host(&[
        ("stat", EIGHT_CPUS),
        ("self/status", "Name:\tgpucost\nCpus_allowed_list:\t0-1,6\n"),
    ]);
    let changed = EIGHT_CPUS
        .replace("cpu6 0 0 0 0", "cpu6 90 0 0 10")
        .replace("cpu5 0 0 0 0", "cpu5 100 0 0 0")
        .replace("cpu0 0 0 0 0", "cpu0 10 0 0 90");
    let reading = after(&folder, &[("stat", &changed)]);
    assert_eq!(reading.cores, Some(3));
    assert_near(reading.cpu_percent, 50.0);
    assert_near(reading.busiest_core_percent, 90.0);
}

#[test]
fn the_name_of_the_host_is_read() {
    let folder = host(&[("sys/kernel/hostname", "ip-10-0-0-1.ec2.internal\n")]);
    let source = HostSource::new(folder.path());
    assert_eq!(source.hostname().as_deref(), Some("ip-10-0-0-1.ec2.internal"));
    write(folder.path(), &[("sys/kernel/hostname", "(none)\n")]);
    assert_eq!(source.hostname(), None);
}

/// 10 started 11 and 12, 12 started 13; 99 is another's, and 13 calls itself as
/// if its parent were 1.
#[test]
fn a_tree_of_processes_survives_names_made_to_mislead() {
    let folder = host(&[
        ("10/stat", "10 (sh) S 1 10 10 0"),
        ("11/stat", "11 (a b) S 10 10 10 0"),
        ("12/stat", "12 (python) S 10 10 10 0"),
        ("13/stat", "13 (x) S 1 (y) R 12 10 10 0"),
        ("99/stat", "99 (other) S 1 99 99 0"),
        ("1/stat", "1 (init) S 0 1 1 0"),
        ("meminfo", ""),
        ("12345678901/stat", "no process"),
    ]);
    let source = HostSource::new(folder.path());
    assert_eq!(source.descendants(10), BTreeSet::from([10, 11, 12, 13]));
    assert_eq!(source.descendants(99), BTreeSet::from([99]));
    assert!(source.descendants(7).is_empty());
    for (pid, is_of_it) in [(13, true), (10, true), (99, false), (1, false), (7, false)] {
        assert_eq!(source.is_descendant(pid, 10), is_of_it, "{pid}");
    }
    write(folder.path(), &[("10/stat", "10 (sh) S 13 10 10 0")]);
    assert_eq!(source.descendants(10), BTreeSet::from([10, 11, 12, 13]));
    assert!(!source.is_descendant(11, 99));
}

#[test]
fn a_process_is_called_by_its_program() {
    let folder = host(&[
        ("1/cmdline", "/opt/conda/bin/python3\0train.py\0"),
        ("1/comm", "pt_main_thread\n"),
        ("2/cmdline", ""),
        ("2/comm", "kworker/0:1\n"),
        ("3/cmdline", "nginx: worker process\0"),
        ("4/cmdline", "worker on a/b\0"),
        ("4/comm", "python3\n"),
        ("5/cmdline", "evil\u{1b}[2J\0"),
        ("6/cmdline", &"a".repeat(100_000)),
        ("7/stat", "7 () Z 1"),
    ]);
    let source = HostSource::new(folder.path());
    let name = |pid| source.process_name(pid);
    assert_eq!(name(1).as_deref(), Some("python3"));
    assert_eq!(name(2).as_deref(), Some("kworker/0:1"));
    assert_eq!(name(3).as_deref(), Some("nginx: worker process"));
    assert_eq!(name(4).as_deref(), Some("python3"));
    assert_eq!(name(5).as_deref(), Some("evil\u{1b}[2J"));
    assert_eq!(name(6).map(|name| name.len()), Some(4_096));
    assert_eq!(name(7), None);
}

/// This very process, where there is a `/proc`.
#[test]
fn the_real_folder_is_understood() {
    let proc = Path::new("/proc");
    if !proc.join("stat").exists() {
        println!("SKIPPED: there is no /proc here");
        return;
    }
    let mut source = HostSource::new(proc);
    let reading = source.read(Duration::ZERO);
    let most = std::thread::available_parallelism().expect("known").get();
    assert!(reading.cores.is_some_and(|cores| cores as usize >= most));
    let used = reading.memory_used_mib.zip(reading.memory_total_mib);
    assert!(used.is_some_and(|(used, total)| used > 0.0 && used <= total));
    let own = std::process::id();
    assert!(source.descendants(own).contains(&own));
    assert!(source.is_descendant(own, own));
    assert!(source.process_name(own).is_some());
}
