//! Files that planners read, as they should not be: each is refused with its line, whatever is
//! in it.

use crate::cli::hostile::is_harmless;
use crate::cli::world::{Outcome, World};
use std::fs::File;

/// Bytes of a file of demand, the line that is named, and what is said of it.
type Case<'a> = (&'a [u8], u64, &'a str);

/// Runs a command with the path of a file, and gives that path.
fn run(command: &[&str], content: &[u8], more: &[&str]) -> (Outcome, String) {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let path = world.file("rows.csv", content);
    let outcome = world.run(&[command, &[path.as_str()], more].concat());
    (outcome, path)
}

const DEMAND: [&str; 5] = ["autoscale", "--offline", "--type", "g6.xlarge", "--demand"];
const JOBS: [&str; 5] = ["place", "--offline", "--start", "2026-11-02T00:00:00Z", "--jobs"];
const TENANTS: [&str; 5] = ["share", "--offline", "--type", "g5.xlarge", "--tenants"];
const ARRIVALS: [&str; 5] = ["capacity", "--offline", "--latency", "1s", "--arrivals"];

/// Each case ends with its line, and with nothing else.
fn are_refused(command: &[&str], page: &str, cases: &[Case<'_>]) {
    for (content, line, message) in cases {
        let (outcome, path) = run(command, content, &[]);
        let shown = String::from_utf8_lossy(&content[..content.len().min(200)]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{shown:?}");
        let expected = format!(
            "error: {path}:{line}: {message}\nhint: see docs/planners/{page}.md for the columns\n"
        );
        assert_eq!(outcome.stderr, expected, "{shown:?}");
        assert_eq!(outcome.stderr.chars().find(|c| !is_harmless(*c)), None);
    }
}

#[test]
fn demand_that_is_no_demand_is_refused_with_its_line() {
    let not_gpus = |cell: &str| format!("`{cell}` is not a number of GPUs from 0 to 1000000");
    let not_a_time =
        |cell: &str| format!("`{cell}` is not a time such as 2026-11-01T00:00:00Z or Unix seconds");
    let not_after = |cell: &str| format!("the time `{cell}` is not after the one above it");
    let (nan, inf, negative, huge, empty) =
        (not_gpus("NaN"), not_gpus("inf"), not_gpus("-0.5"), not_gpus("1e7"), not_gpus(""));
    let (escape, formula, number, zero) = (
        not_a_time("\\u{1b}[2J\\u{202e}"),
        not_a_time("=1+1"),
        not_a_time("99999999999999999999"),
        not_a_time("1\\u{0}"),
    );
    let (backwards, repeated, zoned) =
        (not_after("4"), not_after("5"), not_after("2026-11-01T01:00:00+01:00"));
    let long = format!("time,gpus\n1,{}\n", "9".repeat(5_000_000));
    let cut = not_gpus(&format!("{}…", "9".repeat(80)));
    let columns = format!("{}\n", "x,".repeat(1_000_000));
    are_refused(
        &DEMAND,
        "autoscale",
        &[
            (b"", 1, "no column `time`"),
            (b"\xef\xbb\xbf", 1, "no column `time`"),
            (b"time\n1\n", 1, "no column `gpus`"),
            (columns.as_bytes(), 1, "no column `time`"),
            (b"time,gpus\n", 1, "it has no samples below its header"),
            (
                b"Time,GPUs,busy_gpus\n1,1,1\n", 1,
                "the columns `GPUs` and `busy_gpus` mean the same",
            ),
            (b"time,time,gpus\n1,1,1\n", 1, "the columns `time` and `time` mean the same"),
            // A byte order mark and the line ends of Windows.
            (b"\xef\xbb\xbftime,gpus\r\n5,1\r\n\r\n6,NaN\r\n", 4, &nan),
            (b"time,gpus\n5,inf\n", 2, &inf),
            (b"time,gpus\n5,-0.5\n", 2, &negative),
            (b"time,gpus\n5,1e7\n", 2, &huge),
            (b"time,gpus\n5,\n", 2, &empty),
            (long.as_bytes(), 2, &cut),
            (b"time,gpus\n1,1\n\n\xff,2\n", 4, "it is not UTF-8 text"),
            (b"\xff\xfet\0i\0m\0e\0", 1, "it is not UTF-8 text"),
            ("time,gpus\n\u{1b}[2J\u{202e},1\n".as_bytes(), 2, &escape),
            (b"time,gpus\n=1+1,1\n", 2, &formula),
            (b"time,gpus\n1\0,1\n", 2, &zero),
            (b"time,gpus\n99999999999999999999,1\n", 2, &number),
            (b"time,gpus\n5,1\n4,1\n", 3, &backwards),
            (b"time,gpus\n5,1\n5,1\n", 3, &repeated),
            // The same instant on another clock.
            (b"time,gpus\n2026-11-01T00:00:00Z,1\n2026-11-01T01:00:00+01:00,1\n", 3, &zoned),
            (b"time,gpus\n1,2,3\n", 2, "3 cells instead of 2"),
            // What is quoted goes on to the end.
            (b"time,gpus\n1,1\n\"2,2\n3,3\n", 3, "1 cells instead of 2"),
        ],
    );
}

#[test]
fn demand_of_too_short_or_too_long_a_time_is_refused() {
    for (content, message) in [
        (&b"time,gpus\n5,1\n"[..], "it has one time only"),
        // Two years are 210,240 periods, and the last sample stands for an hour more.
        (b"time,gpus\n0,1\n63072000,1\n", "it has 210252 periods; at most 210240 are replayed"),
    ] {
        let (outcome, _) = run(&DEMAND, content, &[]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        let expected = format!(
            "error: {message}\nhint: rows.csv needs more than one time, and at most two years \
             between the first and the last\n"
        );
        assert_eq!(outcome.stderr, expected);
    }
}

#[test]
fn columns_that_nobody_asked_for_are_skipped() {
    let others = ",x".repeat(1_000_000);
    let content = format!("time,gpus{others}\n0,1{others}\n3600,1{others}\n");
    let (outcome, _) = run(&DEMAND, content.as_bytes(), &["--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let given = outcome.json()["given"].clone();
    let given = given.as_array().expect("a list");
    let hours = given.iter().find(|figure| figure["key"] == "demand_gpu_hours");
    // From the first sample to an hour after the second.
    assert_eq!(hours.expect("given")["value"], 2.0);
}

#[test]
fn jobs_that_are_no_jobs_are_refused_with_their_line() {
    let row = |row: &str| {
        format!("name,gpu,gpus,hours,release,deadline,restartable,data_region,data_gb\n{row}\n")
            .into_bytes()
    };
    let hours = |cell: &str| format!("`{cell}` is not hours above 0 and at most 87600");
    let gpus = |cell: &str| format!("`{cell}` is not a number of GPUs from 1 to 1000000");
    let time = |cell: &str, column: &str| {
        format!("`{cell}` in `{column}` is not a time such as 2026-11-01T08:00:00Z or 36h")
    };
    let rows = [
        (row(",A10G,1,1,,,,,"), 2, "`name` is empty".to_owned()),
        (row("a,,1,1,,,,,"), 2, "`gpu` is empty".to_owned()),
        (row("a,A10G,,1,,,,,"), 2, "`gpus` is empty".to_owned()),
        (row("a,A10G,1,,,,,,"), 2, "`hours` is empty".to_owned()),
        (row("a,A10G,0,1,,,,,"), 2, gpus("0")),
        (row("a,A10G,-1,1,,,,,"), 2, gpus("-1")),
        (row("a,A10G,1.5,1,,,,,"), 2, gpus("1.5")),
        (row("a,A10G,1000001,1,,,,,"), 2, gpus("1000001")),
        (row("a,A10G,99999999999,1,,,,,"), 2, gpus("99999999999")),
        (row("a,A10G,1,0,,,,,"), 2, hours("0")),
        (row("a,A10G,1,-1,,,,,"), 2, hours("-1")),
        (row("a,A10G,1,NaN,,,,,"), 2, hours("NaN")),
        (row("a,A10G,1,inf,,,,,"), 2, hours("inf")),
        (row("a,A10G,1,87601,,,,,"), 2, hours("87601")),
        (row("a,A10G,1,1e999,,,,,"), 2, hours("1e999")),
        (row("a,A10G,1,=1+1,,,,,"), 2, hours("=1+1")),
        (row("a,A10G,1,1,soon,,,,"), 2, time("soon", "release")),
        (row("a,A10G,1,1,,-5h,,,"), 2, time("-5h", "deadline")),
        (row("a,A10G,1,1,,NaN,,,"), 2, time("NaN", "deadline")),
        (row("a,A10G,1,1,,87601h,,,"), 2, time("87601h", "deadline")),
        (
            row("a,A10G,1,1,,,maybe,,"),
            2,
            "`maybe` in `restartable` is neither yes nor no".to_owned(),
        ),
        (row("a,A10G,1,1,,,,,-1"), 2, "`-1` is not GB from 0 to 1000000000".to_owned()),
        (row("a,A10G,1,1,,,,,inf"), 2, "`inf` is not GB from 0 to 1000000000".to_owned()),
        (
            row("a,A10G,1,1,,,,,\nb,A10G,1,1,,,,,\na,A10G,1,1,,,,,"),
            4,
            "the job `a` is a duplicate".to_owned(),
        ),
        (
            row("\u{1b}[2J,A10G,1,1,,,,,\n\u{1b}[2J,A10G,1,1,,,,,"),
            3,
            "the job `\\u{1b}[2J` is a duplicate".to_owned(),
        ),
        (
            row(&format!("{},A10G,1,1,,,,,", "x".repeat(1_001))),
            2,
            "`name` is longer than 1000 bytes".to_owned(),
        ),
        (row("a,A10G,1,1"), 2, "4 cells instead of 9".to_owned()),
    ];
    let rows: Vec<Case<'_>> = rows
        .iter()
        .map(|(content, line, message)| (content.as_slice(), *line, message.as_str()))
        .collect();
    are_refused(&JOBS, "place", &rows);
    let long = format!("name,gpu,gpus,hours,{}\n", "h".repeat(1_000_000));
    let known = "name, gpu, gpus, hours, release, deadline, restartable, data_region, data_gb";
    let cut = format!("unknown column `{}…`; known columns: {known}", "h".repeat(80));
    let columns = format!("name,gpu,gpus,hours{}\n", ",x".repeat(1_000_000));
    let misspelled = format!("unknown column `dedline`; known columns: {known}");
    let unknown = format!("unknown column `x`; known columns: {known}");
    are_refused(
        &JOBS,
        "place",
        &[
            (b"", 1, "missing column `name`"),
            (b"name,gpu,gpus\n", 1, "missing column `hours`"),
            (b"name,gpu,gpus,hours\r\n", 1, "it has no jobs below its header"),
            (b"name,gpu,gpus,hours,hours\na,A10G,1,1,2\n", 1, "column `hours` is a duplicate"),
            (b"name,gpu,gpus,hours,dedline\n", 1, &misspelled),
            (long.as_bytes(), 1, &cut),
            (columns.as_bytes(), 1, &unknown),
            (
                b"\xef\xbb\xbfname,gpu,gpus,hours\r\na,A10G,1,1\r\n\xe9,A10G,1,1\r\n",
                3,
                "it is not UTF-8 text",
            ),
        ],
    );
}

#[test]
fn ten_thousand_jobs_are_the_most() {
    let mut content = String::from("name,gpu,gpus,hours\n");
    for number in 0..=10_000 {
        content.push_str(&format!("job-{number},A10G,1,1\n"));
    }
    are_refused(&JOBS, "place", &[(content.as_bytes(), 10_002, "more than 10000 jobs")]);
}

#[test]
fn a_file_that_is_not_read_is_named() {
    let world = World::new();
    let huge = world.path("huge.csv");
    // A hole takes no room on the disk.
    let file = File::create(&huge).expect("writable");
    file.set_len(65 << 20).expect("room");
    let folder = world.path("");
    for (command, page, what) in [
        (&DEMAND[..], "autoscale", "cannot read "),
        (&JOBS, "place", "cannot read "),
        (&ARRIVALS, "capacity", "cannot read the arrivals in "),
    ] {
        let outcome = world.run(&[command, &[huge.as_str()]].concat());
        let expected = format!(
            "error: {what}{huge}\n  caused by: it is larger than 64 MiB\nhint: see \
             docs/planners/{page}.md for the columns\n"
        );
        assert_eq!((outcome.code, outcome.stderr), (2, expected));
        let outcome = world.run(&[command, &[folder.as_str()]].concat());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
        let start = format!("error: {what}");
        assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
    }
}

#[test]
fn arrivals_that_are_no_text_are_refused_with_their_line() {
    let long = format!("timestamp\n1\n{}\n", "z".repeat(1_000_000));
    let cut = format!(
        "`{}…` is not a time such as 2026-11-01T00:00:00Z or a number of seconds",
        "z".repeat(80)
    );
    are_refused(
        &ARRIVALS,
        "capacity",
        &[(b"timestamp\n1\n\xff\n", 3, "it is not UTF-8 text"), (long.as_bytes(), 3, &cut)],
    );
}

#[test]
fn an_answer_does_not_take_the_place_of_its_file() {
    let world = World::new();
    for command in [&DEMAND[..], &JOBS, &ARRIVALS, &TENANTS] {
        let flag = command.last().expect("a flag");
        let path = world.file("rows.csv", "name,vram\n");
        let outcome = world.run(&[command, &[path.as_str(), "--output", path.as_str()]].concat());
        let expected = format!(
            "error: `{flag}` and `--output` use the same file: {path}\nhint: use a different file \
             for each\n"
        );
        assert_eq!((outcome.code, outcome.stderr), (2, expected));
        let kept = std::fs::read_to_string(&path).expect("it is there");
        assert_eq!(kept, "name,vram\n");
    }
}
