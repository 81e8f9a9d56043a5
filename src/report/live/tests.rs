use super::{LiveGpu, LiveView, draw, status_line};
use crate::domain::{
    Activity, Classification, Currency, GpuIdentity, GpuProcess, GpuReading, GpuSample,
    HostReading, HourlyRate, MigSlot, RunFacts, Sample, ThrottleReasons, Verdict,
};
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use unicode_width::UnicodeWidthStr;

const SIZES: [(u16, u16); 3] = [(120, 40), (80, 24), (40, 10)];

fn identity(index: u16, name: &str) -> GpuIdentity {
    GpuIdentity {
        index,
        mig: None,
        uuid: None,
        name: Some(name.to_owned()),
        vram_total_mib: Some(23_028.0),
        power_limit_w: Some(300.0),
        power_default_limit_w: None,
        pcie_max_bytes_per_second: None,
        is_mig_enabled: Some(false),
    }
}

fn facts(gpus: Vec<GpuIdentity>) -> RunFacts {
    RunFacts {
        started: Timestamp::UNIX_EPOCH,
        interval_seconds: Some(1.0),
        hostname: Some("ip-10-0-0-1.ec2.internal".to_owned()),
        instance_id: None,
        instance_type: Some("g5.12xlarge".to_owned()),
        region: None,
        driver_version: None,
        is_command: true,
        gpus,
    }
}

fn reading(utilization: f64) -> GpuReading {
    GpuReading {
        utilization_percent: Some(utilization),
        vram_used_mib: Some(13_517.0),
        vram_total_mib: Some(23_028.0),
        power_w: Some(60.0 + 2.0 * utilization),
        temperature_c: Some(61.6),
        throttle: Some(ThrottleReasons(ThrottleReasons::SW_POWER_CAP)),
        processes: Some(vec![GpuProcess {
            pid: 7,
            name: Some("python3".to_owned()),
            vram_mib: Some(13_000),
            sm_percent: Some(38),
            is_of_command: true,
        }]),
        ..GpuReading::default()
    }
}

fn read(reading: GpuReading) -> GpuSample {
    GpuSample::Read(Box::new(reading))
}

const HOST: HostReading = HostReading {
    cores: Some(48),
    cpu_percent: Some(96.2),
    busiest_core_percent: Some(100.0),
    io_wait_percent: Some(1.6),
    cpu_pressure_percent: None,
    io_pressure_percent: None,
    memory_pressure_percent: None,
    memory_used_mib: Some(31_744.0),
    memory_total_mib: Some(191_488.0),
    network_received_bytes_per_second: Some(1_240_000_000.0),
    network_sent_bytes_per_second: Some(3_210.0),
    disk_read_bytes_per_second: Some(0.0),
    disk_written_bytes_per_second: Some(52_400_000.0),
};

fn verdict(classification: Classification, reason: &str) -> Verdict {
    Verdict {
        classification,
        state: None,
        confidence: None,
        reason: reason.to_owned(),
        idle_power_percent: None,
        busy_cpu_percent: None,
    }
}

/// A view after samples of GPUs, one a second; the sample's number gives the samples.
fn view(gpus: Vec<GpuIdentity>, rounds: u32, samples: impl Fn(u32) -> Vec<GpuSample>) -> LiveView {
    let mut view = LiveView::new(&facts(gpus), false);
    for round in 1..=rounds {
        view.sample(&Sample {
            at_seconds: f64::from(round),
            time: Timestamp::UNIX_EPOCH,
            gpus: samples(round),
            host: HOST,
        });
    }
    view.hourly_price = HourlyRate::new("5.672".parse().expect("a price"), Currency::Usd);
    view.mean_percent = Some(41.2);
    view.missed_samples = 1;
    view.duration_seconds = Some(1_800.0);
    view.command = Some("python3 train.py".to_owned());
    view.verdict =
        Some(verdict(Classification::Underutilized, "1 of 4 A10G used, 41% mean, 13.2 GiB peak"));
    view.diagnosis = Some(
        "input-starved: the CPU is at 96% while the GPUs wait; try more data loader workers"
            .to_owned(),
    );
    for gpu in &mut view.gpus {
        gpu.mean_percent = Some(41.2);
    }
    view
}

/// A wave from 0 to 100 and back in 20 samples.
fn wave(round: u32) -> f64 {
    let phase = round % 20;
    f64::from(phase.min(20 - phase)) * 10.0
}

fn one_gpu() -> LiveView {
    view(vec![identity(0, "NVIDIA A10G")], 724, |round| vec![read(reading(wave(round)))])
}

/// Eight, the sixth of which is lost halfway and the last of which tells nothing.
fn eight_gpus() -> LiveView {
    let gpus = (0..8).map(|index| identity(index, "NVIDIA A10G")).collect();
    let mut view = view(gpus, 100, |round| {
        (0..8)
            .map(|index| match index {
                5 if round > 50 => GpuSample::lost("the GPU has fallen off the bus"),
                7 => read(GpuReading::default()),
                index => read(reading(wave(round + index))),
            })
            .collect()
    });
    view.gpus[7].mean_percent = None;
    view.alerts = [
        "GPU 5: XID 79", "GPU 0: 91% of its power limit", "GPU 1: 84 °C is above 83 °C",
        "GPU 2: memory 86% full for 10 min", "GPU 3: mean of 38% over 30 min",
        "GPU 4: SM occupancy of 31%",
    ]
    .map(str::to_owned)
    .to_vec();
    view.notes = vec!["samples are no longer written: no space left on device".to_owned()];
    view
}

/// A divided GPU of three instances, and a whole one.
fn mig() -> LiveView {
    let slice = |index: u16| GpuIdentity {
        mig: Some(MigSlot {
            index,
            gpu_instance: Some(u32::from(index) + 7),
            compute_instance: Some(0),
            profile: Some("1g.10gb".to_owned()),
        }),
        vram_total_mib: Some(9_856.0),
        power_limit_w: None,
        ..identity(0, "NVIDIA A100-SXM4-80GB")
    };
    let divided =
        GpuIdentity { is_mig_enabled: Some(true), ..identity(0, "NVIDIA A100-SXM4-80GB") };
    let whole = identity(1, "NVIDIA A100-SXM4-80GB");
    let gpus = vec![divided, slice(0), slice(1), slice(2), whole];
    let in_slice =
        |used: f64| read(GpuReading { vram_used_mib: Some(used), ..GpuReading::default() });
    let mut view = view(gpus, 30, |round| {
        let divided = GpuReading { utilization_percent: None, ..reading(50.0) };
        vec![
            read(divided),
            in_slice(8_192.0),
            in_slice(512.0),
            in_slice(0.0),
            read(reading(wave(round))),
        ]
    });
    for gpu in &mut view.gpus[..4] {
        gpu.mean_percent = None;
    }
    view
}

/// The screen as text, without what pads its lines, and how many GPUs are hidden.
fn screen(view: &LiveView, (width, height): (u16, u16), scroll: usize) -> (String, usize) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    let mut hidden = 0;
    terminal.draw(|frame| hidden = draw(frame, view, scroll)).expect("drawn");
    let buffer = terminal.backend().buffer();
    if !view.color {
        let is_plain = |color| color == Color::Reset;
        let cells = &buffer.content;
        assert!(cells.iter().all(|cell| is_plain(cell.fg) && is_plain(cell.bg)));
    }
    let lines: Vec<String> = buffer
        .content
        .chunks(usize::from(width.max(1)))
        .map(|row| {
            let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
            text.trim_end().to_owned()
        })
        .collect();
    (lines.join("\n"), hidden)
}

fn snapshots(name: &str, view: &LiveView) {
    for size in SIZES {
        let (text, _) = screen(view, size, 0);
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), text);
    }
}

#[test]
fn one_gpu_is_shown_at_length() {
    snapshots("one_gpu", &one_gpu());
}

#[test]
fn eight_gpus_are_rows_with_the_lost_one_named() {
    snapshots("eight_gpus", &eight_gpus());
}

#[test]
fn slices_are_rows_below_their_gpu() {
    snapshots("mig", &mig());
}

#[test]
fn slices_show_what_their_multiprocessors_do() {
    let mut view = mig();
    view.gpus.truncate(2);
    let counted = GpuReading {
        activity: Some(Activity { sm_percent: Some(80.5), ..Activity::default() }),
        ..GpuReading::default()
    };
    view.gpus[1].sample(&read(counted));
    view.gpus[1].sm_mean_percent = Some(71.0);
    let (long, _) = screen(&view, (120, 40), 0);
    assert!(long.contains("80% now, 71% mean"), "{long}");
    assert!(long.contains("SM activity"), "{long}");
    assert!(long.contains("see MIG instances"), "{long}");
    let (rows, _) = screen(&view, (58, 20), 0);
    let row = rows.lines().find(|line| line.contains("0.0 1g.10gb SM"));
    let row = row.expect("a row");
    assert!(row.contains("80%") && row.contains("71%"), "{rows}");
    // The name gives way to the signal.
    let (narrow, _) = screen(&view, (40, 10), 0);
    assert!(narrow.contains("… SM"), "{narrow}");
}

#[test]
fn before_the_first_sample_nothing_is_zero() {
    let view = LiveView::new(&facts(vec![identity(0, "NVIDIA T4")]), true);
    let (text, _) = screen(&view, (80, 24), 0);
    assert!(text.contains("— now, — mean"), "{text}");
    assert!(text.contains("no verdict yet"), "{text}");
    assert!(!text.contains("0%"), "{text}");
}

#[test]
fn what_does_not_fit_is_counted_and_scrolled_to() {
    let view = eight_gpus();
    let (text, hidden) = screen(&view, (40, 10), 0);
    let shown = text.matches("A10G  ").count();
    assert!(shown >= 2, "{text}");
    assert_eq!(shown + hidden, 8, "{text}");
    assert!(text.contains(&format!("… and {hidden} more below")), "{text}");
    let (text, _) = screen(&view, (40, 10), 1);
    assert!(text.contains(&format!("1 more above, {} below", hidden - 1)), "{text}");
    let (end, _) = screen(&view, (40, 10), 1_000);
    assert!(end.contains(&format!("… and {hidden} more above")), "{end}");
    assert!(end.contains("7 A10G"), "{end}");
    let (_, hidden) = screen(&view, (120, 40), 0);
    assert_eq!(hidden, 0);
}

#[test]
fn no_size_is_too_small() {
    for view in [one_gpu(), eight_gpus(), mig(), LiveView::default()] {
        for width in [0, 1, 2, 5, 13, 30, 59, 61, 200] {
            for height in [0, 1, 2, 3, 5, 17, 18, 60] {
                screen(&view, (width, height), 3);
            }
        }
    }
}

#[test]
fn names_cannot_drive_the_terminal() {
    let hostile = "a\u{1b}[2J\u{202e}\r\nb";
    let mut view = one_gpu();
    view.hostname = Some(hostile.to_owned());
    view.command = Some(hostile.to_owned());
    view.diagnosis = Some(hostile.to_owned());
    view.alerts = vec![hostile.to_owned()];
    view.notes = vec![hostile.to_owned()];
    view.gpus[0].name = Some(hostile.to_owned());
    view.gpus[0].program = Some(hostile.to_owned());
    let processes = view.gpus[0].reading.processes.iter_mut().flatten();
    for process in processes {
        process.name = Some(hostile.to_owned());
    }
    view.output_file = Some(hostile.to_owned());
    view.output = vec![hostile.to_owned(), "\u{1b}]0;title\u{7}".to_owned()];
    let mut lost = view.clone();
    lost.gpus[0].lost = Some(hostile.to_owned());
    for view in [view, lost] {
        for size in SIZES {
            let (text, _) = screen(&view, size, 0);
            let is_control = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(is_control), "{text:?}");
        }
        let status = status_line(&view, 200);
        assert!(!status.contains(|c: char| c.is_control() || c == '\u{202e}'));
    }
}

#[test]
fn colour_only_repeats_words() {
    let mut colored = eight_gpus();
    colored.color = true;
    for size in SIZES {
        let (plain, _) = screen(&eight_gpus(), size, 0);
        let (text, _) = screen(&colored, size, 0);
        assert_eq!(text, plain);
    }
    for word in ["LOST", "ALERT", "UNDERUTILIZED so far", "power cap"] {
        let (text, _) = screen(&eight_gpus(), (120, 40), 0);
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn a_sample_keeps_the_peak_and_forgets_what_is_no_longer_reported() {
    let mut gpu = LiveGpu::new(&identity(0, "NVIDIA A10G"));
    gpu.sample(&read(reading(80.0)));
    gpu.sample(&read(GpuReading {
        vram_used_mib: Some(10.0),
        xids: vec![31, 79],
        ..GpuReading::default()
    }));
    assert_eq!(gpu.vram_peak_mib, Some(13_517.0));
    assert_eq!(gpu.reading.vram_used_mib, Some(10.0));
    assert_eq!(gpu.vram_total_mib, Some(23_028.0));
    assert_eq!((gpu.reading.utilization_percent, gpu.reading.power_w), (None, None));
    assert_eq!(gpu.xid_count, 2);
    gpu.sample(&GpuSample::lost("gone"));
    assert_eq!(gpu.reading.vram_used_mib, None);
    assert_eq!(gpu.lost.as_deref(), Some("gone"));
    gpu.sample(&read(reading(1.0)));
    assert_eq!(gpu.lost, None);
}

#[test]
fn the_status_line_drops_what_matters_least() {
    let mut view = eight_gpus();
    view.elapsed_seconds = 724.0;
    let whole = "12m 04s  8 x A10G  41% mean  13.2 of 22.5 GiB peak  UNDERUTILIZED so far  6 \
                 alerts  1 lost";
    assert_eq!(status_line(&view, 120), whole);
    assert_eq!(
        status_line(&view, whole.width() - 1),
        "12m 04s  41% mean  13.2 of 22.5 GiB peak  UNDERUTILIZED so far  6 alerts  1 lost"
    );
    assert_eq!(status_line(&view, 60), "12m 04s  41% mean  UNDERUTILIZED so far  6 alerts  1 lost");
    assert_eq!(status_line(&view, 42), "12m 04s  41% mean  UNDERUTILIZED so far");
    assert_eq!(status_line(&view, 7), "12m 04s");
    assert_eq!(status_line(&view, 4), "12m…");
    for width in 1..130 {
        assert!(status_line(&view, width).width() <= width);
    }
}

#[test]
fn the_status_line_says_when_it_is_too_early() {
    let view = LiveView::new(&facts(Vec::new()), false);
    assert_eq!(status_line(&view, 80), "0s  no verdict yet");
    let mut view = mig();
    view.verdict = Some(verdict(Classification::InsufficientData, ""));
    assert_eq!(
        status_line(&view, 200),
        "30s  2 x A100  41% mean  8.0 of 9.6 GiB peak  no verdict yet"
    );
}

#[test]
fn money_so_far_and_processes_are_shown_below_the_gpus() {
    let mut view = one_gpu();
    let process = |pid: u32, name: &str, vram_mib, sm_percent, is_of_command| GpuProcess {
        pid,
        name: Some(name.to_owned()),
        vram_mib,
        sm_percent,
        is_of_command,
    };
    view.gpus[0].reading.processes = Some(vec![
        process(9, "Xorg", None, None, false),
        process(7, "python3", Some(512), Some(38), true),
        process(8, "other", Some(2_048), Some(4), false),
    ]);
    let (text, _) = screen(&view, (100, 40), 0);
    // 724 s at 5.672 an hour: 5.672 × 724 / 3,600 = 1.1407.
    assert!(text.contains("$5.6720/h  $1.14 so far"), "{text}");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.contains("PID"))
        .map(|line| line.split_whitespace().collect())
        .take(4)
        .collect();
    assert_eq!(
        rows,
        [
            vec!["PID", "GPU", "GiB", "SM", "process"],
            vec!["7", "0", "0.5", "38%", "python3"],
            vec!["8", "0", "2.0", "4%", "other"],
            vec!["9", "0", "—", "—", "Xorg"],
        ]
    );
    let many = (0..6).map(|pid| process(pid, "a", None, None, false));
    view.gpus[0].reading.processes = Some(many.collect());
    let (text, _) = screen(&view, (100, 40), 0);
    assert!(text.contains("… and 2 more processes"), "{text}");
}

#[test]
fn what_the_command_wrote_last_outlasts_the_processes() {
    let mut view = eight_gpus();
    view.alerts.clear();
    view.output_file = Some("gpucost-command.log".to_owned());
    view.output = vec!["step 1".to_owned(), "step 2".to_owned()];
    let (text, hidden) = screen(&view, (100, 40), 0);
    assert!(text.contains("output, in gpucost-command.log\nstep 1\nstep 2"), "{text}");
    assert!(text.contains("q leave the view  Ctrl-C interrupt the command"), "{text}");
    assert!(text.contains("PID") && hidden == 0, "{text}");
    // On few lines all GPUs stay, then the output.
    for height in 22..40 {
        let (text, hidden) = screen(&view, (100, height), 0);
        assert_eq!(hidden, 0, "{text}");
        assert!(!text.contains("PID") || text.contains("step 2"), "{text}");
    }
}
