//! Exit codes and messages, each for the reason it exists. With a machine
//! format stdout is empty or one document, also on failure.

use crate::cli::estates::{empty, one};
use crate::cli::world::{Outcome, World};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;

/// Every line of a message: `error:`, then `caused by:`, then `hint:`; further
/// lines of each are indented under it.
fn assert_form(outcome: &Outcome, name: &str) {
    let stderr = &outcome.stderr;
    assert!(stderr.starts_with("error: "), "{name}: {stderr}");
    assert!(stderr.ends_with('\n'), "{name}: {stderr}");
    let rank = |line: &str| match line {
        line if line.starts_with("error: ") => Some(0),
        line if line.starts_with("  caused by: ") => Some(1),
        line if line.starts_with("hint: ") => Some(2),
        _ => None,
    };
    let ranks: Vec<Option<i32>> =
        stderr.lines().filter(|line| !line.starts_with("    ")).map(rank).collect();
    assert!(ranks.iter().all(Option::is_some), "{name}: {stderr}");
    assert!(ranks.is_sorted(), "{name}: {stderr}");
}

fn assert_pure(outcome: &Outcome, name: &str) {
    let stdout = &outcome.stdout;
    let is_document = serde_json::from_str::<Value>(stdout).is_ok();
    assert!(stdout.is_empty() || is_document, "{name}: {stdout}");
}

/// Audits a file; it must be refused as the user's input, for a reason that
/// is named.
fn assert_refused(world: &World, path: &str, reason: &str) {
    for command in ["audit", "inventory", "metrics"] {
        assert_refused_by(command, world, path, reason);
    }
}

fn assert_refused_by(command: &str, world: &World, path: &str, reason: &str) {
    let outcome = world.run(&[command, "--from", path, "--format", "json"]);
    let name = format!("{command}, {reason}");
    assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
    assert_eq!(outcome.stdout, "", "{name}");
    assert_form(&outcome, &name);
    assert!(outcome.stderr.contains(reason), "{name}: {}", outcome.stderr);
    assert!(outcome.stderr.contains("\nhint: "), "{name}: {}", outcome.stderr);
}

fn assert_estate_refused(estate: &Value, reason: &str) {
    let world = World::new();
    let path = world.estate("estate.json", estate);
    assert_refused(&world, &path, reason);
}

#[test]
fn flags_that_do_not_exist_or_contradict_are_the_users_slip() {
    let world = World::new();
    let path = world.estate("estate.json", &one());
    for arguments in [
        &["audit", "--no-such-flag"][..],
        &["no-such-command"],
        &["audit", "--from", &path, "--demo"],
        &["audit", "--demo", "--format", "xml"],
        &["audit", "--demo", "--risk", "none"],
        &["audit", "--demo", "--as-of", "2026-11-01T00:00:00Z"],
        &["audit", "--demo", "--lookback", "7d"],
        &["audit", "--as-of", "yesterday"],
        &["audit", "--max-api-cost", "much"],
        &["audit", "--max-api-cost=-1"],
        &["audit", "--endpoint-url", "nonsense"],
        &["audit", "--demo", "--endpoint-url", "https://"],
        &["check", "--demo", "init"],
        &["setup", "completions", "csh"],
        &["audit", "--from"],
    ] {
        let outcome = world.run(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        assert!(outcome.stderr.starts_with("error: "), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn values_that_a_flag_does_not_take_are_named_with_it() {
    let world = World::new();
    for (argument, flag, expected) in [
        ("--max-api-cost=-1", "--max-api-cost", "zero or more"),
        ("--endpoint-url=nonsense", "--endpoint-url", "a URL such as"),
        ("--endpoint-url=http://", "--endpoint-url", "a URL such as"),
    ] {
        let outcome = world.run(&["audit", argument]);
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        let first = outcome.stderr.lines().next().expect("a line");
        assert!(first.contains(flag) && first.contains(expected), "{first}");
    }
}

#[test]
fn values_that_make_no_sense_are_named() {
    let world = World::new();
    for (arguments, reason) in [
        (&["audit", "--demo", "--tag", "team"][..], "`--tag team` is not in the form KEY=VALUE"),
        (&["audit", "--demo", "--tag", "=x"], "`--tag =x`"),
        (&["audit", "--demo", "--exclude-tag", "team"], "`--exclude-tag team`"),
        (&["audit", "--lookback", "fortnight"], "`fortnight` is not a duration"),
        (&["audit", "--tag", "team"], "hint: pass a key and a value, such as `--tag team=search`"),
        (&["audit", "--lookback", "0d"], "`0d`"),
        (&["audit", "--lookback", "456d"], "cannot exceed 455d"),
        (&["audit", "--region", "us east"], "`us east` is not a region name"),
        (&["audit", "--region", "us-east-1,,eu-west-1"], "`` is not a region name"),
    ] {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--format", "json"]);
        let outcome = world.run(&arguments);
        let name = format!("{arguments:?}");
        assert_eq!(outcome.code, 2, "{name}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{name}");
        assert_form(&outcome, &name);
        assert!(outcome.stderr.contains(reason), "{name}: {}", outcome.stderr);
    }
}

#[test]
fn files_that_are_not_there_or_no_files_are_named() {
    let world = World::new();
    assert_refused(&world, &world.path("nowhere.json"), "nowhere.json");
    assert_refused(&world, &world.path(""), "cannot read the estate");
}

#[test]
fn files_that_are_no_estate_are_refused() {
    let world = World::new();
    let noise: Vec<u8> =
        (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut gzip_noise = vec![0x1f, 0x8b];
    gzip_noise.extend(&noise);
    for (name, content) in [
        ("empty", &b""[..]),
        ("words", b"this is no JSON"),
        ("list", b"[]"),
        ("number", b"1"),
        ("text", b"\"estate\""),
        ("object", b"{}"),
        ("no-version", b"{\"as_of\": \"2026-11-01T00:00:00Z\"}"),
        ("no-time", b"{\"estate_version\": \"1\"}"),
        ("noise", &noise),
        ("zeros", &[0; 64]),
        ("gzip-noise", &gzip_noise),
        ("latin-1", b"{\"estate_version\": \"\xe9\"}"),
    ] {
        let path = world.file(name, content);
        assert_refused(&world, &path, "is not a complete estate");
    }
    let mut twice = one().to_string();
    twice.push_str("{}");
    let path = world.file("twice", twice);
    assert_refused(&world, &path, "is not a complete estate");
}

#[test]
fn half_an_estate_is_refused_wherever_it_ends() {
    let world = World::new();
    let saved = world.path("whole.json");
    let outcome = world.run(&["inventory", "--demo", "--save", &saved]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let whole = std::fs::read(&saved).expect("it was saved");
    for (numerator, denominator) in [(1, 1000), (1, 2), (9, 10)] {
        let half = &whole[..whole.len() * numerator / denominator];
        let path = world.file("half.json", half);
        assert_refused_by("audit", &world, &path, "is not a complete estate");
    }
    // Without its closing bracket, and the line feed after it.
    let path = world.file("half.json", &whole[..whole.len() - 2]);
    assert_refused_by("audit", &world, &path, "is not a complete estate");

    let small = one().to_string();
    for end in 0..small.len() {
        let parsed = gpucost::sources::files::parse_estate(&small.as_bytes()[..end]);
        assert!(parsed.is_err(), "the first {end} bytes pass");
    }
}

#[test]
fn half_a_compressed_estate_is_refused() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(one().to_string().as_bytes()).expect("memory");
    let whole = encoder.finish().expect("memory");
    let world = World::new();
    let path = world.file("whole.json.gz", &whole);
    assert_eq!(world.run(&["audit", "--from", &path]).code, 0);
    for end in [3, 12, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let path = world.file("half.json.gz", &whole[..end]);
        assert_refused(&world, &path, "is not a complete estate");
    }
    let mut estate = one();
    estate["instances"][0]["volumes"] = json!([{"id": 7}]);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let text = serde_json::to_vec_pretty(&estate).expect("JSON");
    encoder.write_all(&text).expect("memory");
    let path = world.file("wrong.json.gz", encoder.finish().expect("memory"));
    assert_refused(&world, &path, "wrong.json.gz at `instances[0].volumes[0].id`");
    let mut damaged = whole.clone();
    let checksum = damaged.len() - 6;
    damaged[checksum] ^= 0xff;
    let path = world.file("damaged.json.gz", &damaged);
    assert_refused(&world, &path, "is not a complete estate");
}

#[test]
fn an_estate_of_a_newer_version_is_never_guessed_at() {
    let mut estate = one();
    estate["estate_version"] = json!("2");
    assert_estate_refused(&estate, "has estate version 2; this program reads version 1");
}

#[test]
fn slips_in_an_estate_are_named() {
    /// A change to an estate, and what its refusal must say.
    type InvalidValue = (fn(&mut Value), &'static str);
    let price = json!({
        "region": "us-east-1", "instance_type": "g5.xlarge", "operating_system": "linux",
        "tenancy": "shared", "option": "on-demand", "currency": "USD", "hourly": "1.006",
        "origin": "user", "effective_date": "2026-07-20", "source": "a contract",
    });
    let invalid_values: &[InvalidValue] = &[
        (
            |e| {
                let twin = e["instances"][0].clone();
                e["instances"].as_array_mut().expect("a list").push(twin);
            },
            "duplicate instance i-one",
        ),
        (|e| e["metrics"][0]["instance"] = json!("i-two"), "belongs to i-two, which is not among"),
        (|e| e["surprise"] = json!(1), "unknown key `surprise`"),
        (|e| e["instances"][0]["surprise"] = json!(1), "unknown field `surprise`"),
        (|e| e["metrics"][0]["surprise"] = json!(1), "unknown field `surprise`"),
        (|e| e["period_seconds"] = json!(0), "`period_seconds` must be at least 1"),
        (|e| e["period_seconds"] = json!(-300), "-300"),
        (
            |e| e["metrics"][1]["period_seconds"] = json!(60),
            "has a period of 60 s; the estate has 300 s",
        ),
        (|e| e["metrics"][3]["period_seconds"] = json!(0), "has a period of 0 s"),
        (|e| e["metrics"][0]["start"] = json!(null), "needs either `start` or `timestamps`"),
        (|e| e["metrics"][0]["start"] = json!("noon"), "`noon` is not an RFC 3339 time"),
        (
            |e| e["metrics"][0]["values"] = json!([[1, 0]]),
            "a repetition count must be between 1 and 1000000",
        ),
        (
            |e| e["metrics"][0]["values"] = json!([[1, 1000001]]),
            "a repetition count must be between",
        ),
        (|e| e["metrics"][0]["values"] = json!(["much"]), "much"),
        (|e| e["metrics"][0]["metric"] = json!("heat"), "`heat` is not a known metric"),
        (|e| e["metrics"][0]["statistic"] = json!("mode"), "`mode` is not a known statistic"),
        (|e| e["metrics"][1]["gpu"] = json!(70_000), "70000"),
        (|e| e["as_of"] = json!("soon"), "`soon` is not an RFC 3339 time"),
        (|e| e["source"] = json!("dream"), "`dream` is not a known source"),
        (|e| e["instances"][0]["state"] = json!("gone"), "`gone` is not a known state"),
        (|e| e["instances"][0]["lifecycle"] = json!("odd"), "`odd` is not a known lifecycle"),
        (|e| e["instances"][0]["tenancy"] = json!("odd"), "`odd` is not a known tenancy"),
        (|e| e["instances"][0]["launch_time"] = json!(7), "7"),
        (
            |e| e["instances"] = json!({}),
            "at `instances`\n  caused by: invalid type: map, expected a list",
        ),
        (
            |e| e["instances"][0]["addresses"] = json!(["eipalloc-1"]),
            "at `instances[0].addresses[0]`\n  caused by: invalid type: string \"eipalloc-1\", \
             expected an address such as {\"id\": \"eipalloc-1\"}",
        ),
        (
            |e| e["instances"][0]["account"] = json!(111122223333_u64),
            "at `instances[0].account`\n  caused by: invalid type: integer `111122223333`, \
             expected a string",
        ),
        (
            |e| e["instances"][0]["tags"] = json!([1]),
            "at `instances[0].tags`\n  caused by: invalid type: sequence, expected a map",
        ),
        (
            |e| e["instances"][0]["tags"]["Name"] = json!({}),
            "at `instances[0].tags.Name`\n  caused by: invalid type: map, expected a string",
        ),
        (
            |e| {
                e["instances"][0].as_object_mut().expect("an object").remove("launch_time");
            },
            "at `instances[0]`\n  caused by: missing field `launch_time`",
        ),
        (
            |e| e["metrics"][2]["gpu"] = json!("first"),
            "at `metrics[2].gpu`\n  caused by: invalid type: string \"first\", expected u16",
        ),
        (
            |e| e["prices"][0]["hourly"] = json!(1.006),
            "at `prices[0].hourly`\n  caused by: invalid type: floating point `1.006`, expected a \
             string",
        ),
        (
            |e| {
                e["window_start"] = json!("2026-11-01T00:00:00Z");
                e["window_end"] = json!("2026-10-01T00:00:00Z");
                e["metrics"] = json!([]);
            },
            "`window_start` must be before `window_end`",
        ),
        (|e| e["prices"][0]["hourly"] = json!("-1.006"), "is not between 0 and 1000000: -1.006"),
        (|e| e["prices"][0]["hourly"] = json!("0"), "is not between 0 and 1000000: 0"),
        (
            |e| e["prices"][0]["hourly"] = json!("free"),
            "at `prices[0].hourly`\n  caused by: `free` is not a decimal number",
        ),
        (|e| e["prices"][0]["currency"] = json!("DEM"), "`DEM` is not a known currency"),
        (|e| e["prices"][0]["option"] = json!("gift"), "`gift` is not a known price option"),
        (|e| e["prices"][0]["effective_date"] = json!("2026-13-01"), "`2026-13-01` is not a date"),
    ];
    for (invalid, reason) in invalid_values {
        let mut estate = one();
        estate["prices"] = json!([price]);
        invalid(&mut estate);
        assert_estate_refused(&estate, reason);
        assert_estate_refused(&estate, "invalid estate ");
    }
}

#[test]
fn every_slip_in_a_settings_file_is_shown_with_its_line() {
    let world = World::new();
    let path =
        world.file("gpucost.toml", "regoin = \"x\"\n\n[policy]\nmin_hours = \"many\"\nfoo = 1\n");
    let outcome = world.run(&["audit", "--demo", "--format", "json"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert_form(&outcome, "settings");
    for (line, problem) in
        [(1, "unknown key `regoin`"), (4, "expected a number"), (5, "unknown key `foo`")]
    {
        let expected = format!("{path}:{line}: {problem}");
        assert!(outcome.stderr.contains(&expected), "{expected}\n{}", outcome.stderr);
    }
    let broken = world.file("broken.toml", "risk = \"low\"\nregion = \n");
    let outcome = world.run(&["audit", "--demo", "--config", &broken, "--format", "json"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains(&format!("{broken}:2: ")), "{}", outcome.stderr);
    let missing = world.path("missing.toml");
    let outcome = world.run(&["audit", "--demo", "--config", &missing, "--format", "json"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert_form(&outcome, "a missing settings file");
}

#[test]
fn documents_that_cannot_be_written_are_1_and_found_before_the_work() {
    let world = World::new();
    let occupied = world.file("occupied", "a file");
    for target in
        [world.path("missing/report.json"), world.path(""), format!("{occupied}/report.json")]
    {
        for flag in ["--output", "--save"] {
            let arguments = ["audit", "--demo", "--format", "json", flag, &target];
            let outcome = world.run(&arguments);
            assert_eq!(outcome.code, 1, "{arguments:?}: {}", outcome.stderr);
            assert_form(&outcome, flag);
            assert_eq!(outcome.stdout, "", "{arguments:?}");
            assert!(outcome.stderr.contains("cannot write"), "{}", outcome.stderr);
        }
    }
    assert_eq!(world.listing(), ["occupied"], "nothing half-written is left");
}

#[test]
fn a_folder_that_takes_no_file_is_found_before_the_work() {
    let world = World::new();
    // A folder that exists, and where nobody may make a file, not even root.
    for flag in ["--output", "--save"] {
        let arguments = ["audit", "--from", "nowhere.json", flag, "/proc/report.json"];
        let outcome = world.run(&arguments);
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
        assert!(
            outcome.stderr.starts_with("error: cannot write /proc/report.json\n"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn trying_a_file_leaves_the_old_one_and_no_debris() {
    let world = World::new();
    let target = world.file("report.json", "an older report");
    let outcome = world.run(&["audit", "--from", "nowhere.json", "--output", &target]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert_eq!(std::fs::read_to_string(&target).expect("it is there"), "an older report");
    assert_eq!(world.listing(), ["report.json"]);
}

#[test]
fn no_file_takes_the_place_of_another() {
    let world = World::new();
    let from = world.estate("estate.json", &one());
    let new = world.path("new.json");
    let again = world.path("./new.json");
    let link = world.path("link.json");
    std::os::unix::fs::symlink(&from, &link).expect("a link");
    for (arguments, flags) in [
        (&["--from", &from, "--save", &new, "--output", &again][..], "`--save` and `--output`"),
        (&["--from", &from, "--save", &from], "`--from` and `--save`"),
        (&["--from", &from, "--output", &from], "`--from` and `--output`"),
        (&["--from", &link, "--output", &from], "`--from` and `--output`"),
    ] {
        for command in ["audit", "inventory", "metrics"] {
            let outcome = world.run(&[&[command], arguments].concat());
            assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
            assert_form(&outcome, flags);
            assert!(outcome.stderr.contains(flags), "{}", outcome.stderr);
        }
    }
    assert_eq!(std::fs::read_to_string(&from).expect("it is there"), one().to_string());
    assert_eq!(world.listing(), ["estate.json", "link.json"]);
    let nowhere = ["audit", "--demo", "--save", "/dev/null", "--output", "/dev/null"];
    assert_eq!(world.run(&nowhere).code, 0, "a device keeps nothing");
}

#[test]
fn output_goes_to_the_file_alone() {
    let world = World::new();
    let target = world.file("report.json", "an older report");
    let outcome = world.run(&["audit", "--demo", "--format", "json", "--output", &target]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, ""));
    let written = std::fs::read_to_string(&target).expect("it was written");
    assert_eq!(written, crate::cli::contract::DEMO.stdout);
    assert_eq!(world.listing(), ["report.json"]);
}

#[test]
fn a_document_with_gaps_is_3_under_strict_and_still_printed() {
    let world = World::new();
    let outcome = world.run(&["audit", "--demo", "--strict", "--format", "json"]);
    assert_eq!(outcome.code, 3);
    assert_eq!(outcome.stdout, crate::cli::contract::DEMO.stdout);
    assert!(outcome.stderr.contains("error: incomplete: 1 gap under `--strict`\n"));
    let complete = world.run(&["inventory", "--demo", "--strict", "--quiet"]);
    assert_eq!((complete.code, complete.stderr.as_str()), (0, ""));
}

#[test]
fn nothing_in_the_scope_is_4_unless_that_is_allowed() {
    let world = World::new();
    let none = world.estate("empty.json", &empty());
    let some = world.estate("one.json", &one());
    for scope in [
        &["--from", &none][..],
        &["--from", &some, "--tag", "no=such"],
        &["--from", &some, "--tag", "Name=on"],
        &["--from", &some, "--region", "eu-west-1"],
        &["--from", &some, "--exclude-tag", "Name=one", "--tag", "Name=one"],
    ] {
        for command in ["audit", "inventory", "metrics"] {
            for strict in [&[][..], &["--strict"]] {
                let arguments = [&[command, "--format", "json"], scope, strict].concat();
                let outcome = world.run(&arguments);
                assert_eq!(outcome.code, 4, "{arguments:?}: {}", outcome.stderr);
                assert_pure(&outcome, command);
                assert!(outcome.stderr.contains("\nhint: "), "{}", outcome.stderr);
                let allowed = world.run(&[&arguments[..], &["--allow-empty"]].concat());
                assert_eq!(allowed.code, 0, "{arguments:?}: {}", allowed.stderr);
                assert_pure(&allowed, command);
            }
        }
    }
}

#[test]
fn a_gap_outranks_an_empty_scope() {
    let mut estate = empty();
    estate["gaps"] = json!([{
        "what": "region", "where": "us-east-1",
        "reason": "ec2:DescribeInstances: UnauthorizedOperation", "hint": "allow it",
    }]);
    let world = World::new();
    let path = world.estate("denied.json", &estate);
    assert_eq!(world.run(&["audit", "--from", &path]).code, 4);
    assert_eq!(world.run(&["audit", "--from", &path, "--strict"]).code, 3);
    assert_eq!(world.run(&["audit", "--from", &path, "--strict", "--allow-empty"]).code, 3);
    assert_eq!(world.run(&["audit", "--from", &path, "--allow-empty"]).code, 0);
}

#[test]
fn quiet_leaves_stderr_to_errors() {
    let world = World::new();
    let path = world.estate("one.json", &one());
    for command in [&["audit"][..], &["inventory"], &["metrics"], &["setup", "metrics"]] {
        let run = |more: &[&str]| world.run(&[command, &["--from", &path], more].concat());
        assert_eq!(run(&["--quiet"]).stderr, "", "{command:?}");
        assert_eq!(run(&["-q"]).stdout, run(&[]).stdout, "{command:?}");
        assert!(!run(&[]).stderr.is_empty(), "{command:?}");
    }
    let demo = &crate::cli::contract::DEMO.stderr;
    assert_eq!(demo, "audited 22 of 23 instances; 1 gap\n");
}

#[test]
fn settings_and_prices_are_never_overwritten() {
    let world = World::new();
    let rates = "region,instance_type,currency,hourly,effective_date\n\
                 us-east-1,g5.xlarge,USD,0.5,2026-10-01\n";
    let prices = world.file("rates.csv", rates);
    let text = "[prices]\nfile = \"rates.csv\"\n";
    let config = world.file("own.toml", text);
    for command in [
        &["audit", "--demo"][..],
        &["inventory", "--demo"],
        &["pricing", "--region", "us-east-1"],
        &["rightsize", "--demo"],
        &["spot", "--type", "g5.xlarge"],
    ] {
        for (target, flag) in [(&config, "--config"), (&prices, "prices.file")] {
            let arguments = [command, &["--config", &config, "--output", target]].concat();
            let outcome = world.run(&arguments);
            assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
            let flags = format!("`{flag}` and `--output` use the same file");
            assert!(outcome.stderr.contains(&flags), "{arguments:?}: {}", outcome.stderr);
        }
    }
    let save = ["audit", "--demo", "--config", &config, "--save", &prices];
    assert_eq!(world.run(&save).code, 2);
    let read = |path: &str| std::fs::read_to_string(path).expect("it is there");
    assert_eq!((read(&config), read(&prices)), (text.to_owned(), rates.to_owned()));
}

#[test]
fn what_is_written_is_its_owners_alone_and_follows_no_link() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let mode = |path: &str| {
        let there = std::fs::metadata(path).expect("it is there");
        there.permissions().mode() & 0o777
    };
    let (report, estate) = (world.path("report.json"), world.path("estate.json"));
    let write = ["audit", "--demo", "--output", &report, "--save", &estate];
    assert_eq!(world.run(&write).code, 0);
    assert_eq!((mode(&report), mode(&estate)), (0o600, 0o600));
    let shared = std::fs::Permissions::from_mode(0o664);
    std::fs::set_permissions(&report, shared).expect("ours");
    assert_eq!(world.run(&write).code, 0);
    assert_eq!((mode(&report), mode(&estate)), (0o664, 0o600));
    let before = std::fs::read(&report).expect("it is there");
    let link = world.path("link.json");
    std::os::unix::fs::symlink("report.json", &link).expect("a link");
    for flag in ["--output", "--save"] {
        let outcome = world.run(&["inventory", "--demo", flag, &link]);
        assert_eq!(outcome.code, 1, "{}", outcome.stderr);
        assert_form(&outcome, "symbolic link");
        assert!(outcome.stderr.contains("specify its target"), "{}", outcome.stderr);
    }
    assert_eq!(std::fs::read(&report).expect("it is there"), before);
    assert!(std::fs::read_link(&link).is_ok());
}
