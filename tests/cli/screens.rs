//! Screens of a fleet of two hundred workloads at 80 and at 160 columns: nothing is wider or
//! divided.
#![cfg(unix)]

use crate::cli::fleet_tables::fleet;
use crate::cli::process::program;
use gpucost::analysis::audit_to_choose;
use gpucost::domain::{
    Classification, Currency, GpuIdentity, GpuReading, GpuSample, HostReading, HourlyRate, Policy,
    Risk, RunFacts, Sample, Verdict,
};
use gpucost::report::{Effect, Key, LiveView, Model, View, draw_live_view, draw_model};
use gpucost::sources::files::{Keep, read_estate};
use jiff::Timestamp;
use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

const WIDTHS: [&str; 2] = ["80", "160"];
/// Seconds of the run that the live view shows.
const SECONDS: u32 = 60;

/// The fleet of the tables, where every eighth workload may be interrupted.
fn estate() -> Value {
    let mut estate = fleet();
    let instances = estate["instances"].as_array_mut().expect("a list");
    for instance in instances.iter_mut().skip(7).step_by(8) {
        instance["tags"]["gpucost:kind"] = json!("batch");
        instance["tags"]["gpucost:restartable"] = json!("true");
    }
    estate
}

/// A folder with the fleet.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("fleet.json");
    fs::write(path, estate().to_string()).expect("a writable folder");
    folder
}

/// What a command prints at a width; it fits.
fn printed(folder: &Path, columns: &str, arguments: &[&str]) -> String {
    let output = program(folder)
        .args(arguments)
        .env("COLUMNS", columns)
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let most: usize = columns.parse().expect("a width");
    for line in text.lines().filter(|line| !line.starts_with("  gpucost ")) {
        let context = format!("{arguments:?} at {columns}: {line}");
        assert!(line.width() <= most, "{context}");
        let cut = line.trim_start().trim_start_matches('…');
        assert!(!cut.contains('…'), "{context}");
        assert!(line.split_whitespace().all(is_whole), "{context}");
    }
    text
}

/// Whether a word is not a piece of a name of the fleet, such as `team-3-service-017` or `team-3`.
fn is_whole(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let Some(rest) = word.strip_prefix("team-") else { return true };
    let whole = rest.len() == "3-service-017".len() && rest[1..].starts_with("-service-");
    whole || rest.len() == 1
}

#[test]
fn screens_of_the_fleet_fit() {
    let folder = folder();
    let chosen = "--team team-3 --type g5.* --min-savings 100 --sort savings --limit 3";
    let chosen: Vec<&str> =
        ["audit", "--from", "fleet.json"].into_iter().chain(chosen.split(' ')).collect();
    let typed: [&[&str]; 19] = [
        &chosen,
        &["audit", "--from", "fleet.json", "--limit", "3"],
        &["audit", "--from", "fleet.json", "--group-by", "tag:team", "--limit", "4"],
        &["rightsize", "--from", "fleet.json", "--limit", "4"],
        &["rightsize", "--from", "fleet.json", "--workload", "team-0-service-007"],
        &["spot", "--from", "fleet.json"],
        &["reserved", "--from", "fleet.json"],
        &["reserved", "--type", "g5.2xlarge", "--count", "50"],
        &["pricing", "--limit", "4"],
        &["explain", "--from", "fleet.json", "team-0-service-007"],
        &["audit", "--from", "fleet.json", "--group-by", "tag:team,class"],
        &["kpi", "--from", "fleet.json"],
        &["fix", "--from", "fleet.json"],
        &["metrics", "--from", "fleet.json"],
        &["explain", "--from", "fleet.json", "plan:team-0-service-007"],
        &["spot", "--type", "g5.2xlarge"],
        &["reserved", "--type", "p4d.24xlarge"],
        &["pricing", "p4d.24xlarge"],
        &["pricing", "p5.48xlarge", "--region", "all"],
    ];
    for columns in WIDTHS {
        for arguments in typed {
            printed(folder.path(), columns, arguments);
        }
    }
}

#[test]
fn prices_say_which_columns_they_leave_out_and_keep_what_they_are_sorted_by() {
    let folder = folder();
    let header = |columns: &str, sort: &str| -> (String, String) {
        let arguments = ["pricing", "--limit", "3", "--sort", sort];
        let text = printed(folder.path(), columns, &arguments);
        let header = text.lines().find(|line| line.starts_with("TYPE "));
        let header = header.expect("a header").to_owned();
        (header, text)
    };
    for (sort, title) in [
        ("price", "HOUR"),
        ("spot", "SPOT"),
        ("gpu-hour", "GPU-H"),
        ("vram", "GIB-H"),
        ("tflops", "TFLOPS-H"),
    ] {
        let (narrow, text) = header("80", sort);
        assert!(narrow.contains(title), "{text}");
        let (_, skipped) = text.split_once("hidden at 80 columns: ").expect("a list");
        let (skipped, _) = skipped.split_once(';').expect("a hint");
        let (wide, text) = header("160", sort);
        assert!(!text.contains("hidden at "), "{text}");
        let mut rest: Vec<&str> = wide.split_whitespace().collect();
        let titles: Vec<&str> = narrow.split_whitespace().collect();
        rest.retain(|column| !titles.contains(column));
        assert_eq!(rest, skipped.split(", ").collect::<Vec<_>>(), "{sort}");
    }
}

/// What a terminal of a size shows, without the blanks that end its lines.
fn drawn((columns, rows): (u16, u16), draw: impl FnOnce(&mut Frame<'_>)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a screen");
    terminal.draw(draw).expect("it draws");
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in 0..rows {
        let mut line = String::new();
        let mut column = 0;
        while column < columns {
            let symbol = buffer[(column, row)].symbol();
            line.push_str(symbol);
            column += u16::try_from(symbol.width()).expect("a cell").max(1);
        }
        assert!(line.trim_end().width() <= usize::from(columns), "{line}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    format!("{}\n", text.trim_end_matches('\n'))
}

/// A host of eight GPUs, each of which is as busy as the one before it was two seconds ago.
fn host() -> LiveView {
    let identity = |index: u16| GpuIdentity {
        index,
        mig: None,
        uuid: None,
        name: Some("NVIDIA A10G".to_owned()),
        vram_total_mib: Some(23_028.0),
        power_limit_w: Some(300.0),
        power_default_limit_w: None,
        pcie_max_bytes_per_second: None,
        is_mig_enabled: Some(false),
    };
    let facts = RunFacts {
        started: Timestamp::UNIX_EPOCH,
        interval_seconds: Some(1.0),
        hostname: Some("ip-10-0-0-7.ec2.internal".to_owned()),
        instance_id: None,
        instance_type: Some("g5.48xlarge".to_owned()),
        region: None,
        driver_version: None,
        is_command: true,
        gpus: (0..8).map(identity).collect(),
    };
    let reading = |second: u32, index: u32| {
        let utilization = f64::from((second + 20 - index * 2) % 20) * 5.0;
        GpuSample::Read(Box::new(GpuReading {
            utilization_percent: Some(utilization),
            vram_used_mib: Some(13_517.0),
            power_w: Some(60.0 + 2.0 * utilization),
            temperature_c: Some(61.0),
            ..GpuReading::default()
        }))
    };
    let mut view = LiveView::new(&facts, false);
    for second in 1..=SECONDS {
        view.sample(&Sample {
            at_seconds: f64::from(second),
            time: Timestamp::UNIX_EPOCH,
            gpus: (0..8).map(|index| reading(second, index)).collect(),
            host: HostReading {
                cores: Some(192),
                cpu_percent: Some(96.2),
                busiest_core_percent: Some(100.0),
                memory_used_mib: Some(31_744.0),
                memory_total_mib: Some(786_432.0),
                ..HostReading::default()
            },
        });
    }
    view.hourly_price = HourlyRate::new("16.288".parse().expect("a price"), Currency::Usd);
    view.duration_seconds = Some(1_800.0);
    view.command = Some("python3 train.py".to_owned());
    // Each round of twenty seconds has the shares from 0% to 95%.
    view.mean_percent = Some(47.5);
    for gpu in &mut view.gpus {
        gpu.mean_percent = Some(47.5);
    }
    view.verdict = Some(Verdict {
        classification: Classification::Underutilized,
        state: None,
        confidence: None,
        idle_power_percent: None,
        busy_cpu_percent: None,
        reason: "8 of 8 A10G used, 48% mean, 13.2 GiB peak".to_owned(),
    });
    view.diagnosis = Some(
        "input-starved: the CPU is at 96% while the GPUs wait; try more data loader workers"
            .to_owned(),
    );
    view
}

#[test]
fn screens_of_the_terminal_fit_both_widths() {
    let folder = folder();
    let estate = read_estate(&folder.path().join("fleet.json"), Keep::Usage).expect("the fleet");
    let audited = audit_to_choose(&estate, &Policy::default(), Risk::Medium);
    let mut model = Model::new(audited, &estate, &[], View::default(), (false, false));
    let sizes = [(80, 14), (160, 14)];
    let mut screens = Vec::new();
    let opened: [&[Key]; 3] = [&[], &[Key::Down, Key::Enter], &[Key::Esc, Key::Tab]];
    for keys in opened {
        for key in keys {
            assert_eq!(model.update(*key), Effect::Nothing, "{key:?}");
        }
        screens.extend(sizes.map(|size| drawn(size, |frame| draw_model(frame, &model))));
    }
    for screen in &screens {
        assert!(screen.contains("200 instances"), "{screen}");
    }
    let view = host();
    for size in [(80, 18), (160, 18)] {
        let screen = drawn(size, |frame| {
            draw_live_view(frame, &view, 0);
        });
        assert!(screen.contains("input-starved"), "{screen}");
    }
}
