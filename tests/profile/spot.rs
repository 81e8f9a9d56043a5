//! `--spot-guard` against a metadata service on this host.

use crate::profile::command::{profile, run, text};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

const ACTION: &str = "spot/instance-action";

/// What the service says of an item.
enum Reply {
    Text(String),
    /// 404: nothing is announced.
    Missing,
    /// The connection is closed without an answer.
    Gone,
}

/// A metadata service; it answers only who has its token, as IMDSv2 does.
struct Service {
    address: String,
    /// Items that were asked for, in order.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// On a spot instance of type g5.48xlarge; `notices` answers for the notice.
    fn of(notices: impl Fn(&str) -> Reply + Send + 'static) -> Self {
        Self::bought("spot", notices)
    }

    fn bought(life_cycle: &'static str, notices: impl Fn(&str) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut request = Vec::new();
                let mut byte = [0];
                while !request.ends_with(b"\r\n\r\n")
                    && stream.read(&mut byte).is_ok_and(|n| n == 1)
                {
                    request.push(byte[0]);
                }
                let request = String::from_utf8_lossy(&request).to_lowercase();
                let path = request.split(' ').nth(1).unwrap_or_default();
                let item = path.strip_prefix("/latest/meta-data/").unwrap_or_default();
                let (status, body) = if request.starts_with("put /latest/api/token") {
                    ("200 OK", "secret-token".to_owned())
                } else if !request.contains("x-aws-ec2-metadata-token: secret-token") {
                    ("401 Unauthorized", String::new())
                } else {
                    log.lock().expect("no panic").push(item.to_owned());
                    let reply = match item {
                        "instance-id" => Reply::Text("i-0123456789abcdef0".to_owned()),
                        "instance-type" => Reply::Text("g5.48xlarge".to_owned()),
                        "placement/region" => Reply::Text("us-east-1".to_owned()),
                        "instance-life-cycle" => Reply::Text(life_cycle.to_owned()),
                        item => notices(item),
                    };
                    match reply {
                        Reply::Text(body) => ("200 OK", body),
                        Reply::Missing => ("404 Not Found", String::new()),
                        Reply::Gone => continue,
                    }
                };
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nx-aws-ec2-metadata-token-ttl-seconds: 21600\r\n\
                     content-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Self { address, asked }
    }

    fn was_asked(&self, item: &str) -> usize {
        let asked = self.asked.lock().expect("no panic");
        asked.iter().filter(|asked| *asked == item).count()
    }

    /// A run under the guard of a shell's commands, with its summary beside them.
    fn guard(&self, folder: &Path, flags: &[&str], script: &str) -> Command {
        let mut command = profile("eight-gpus");
        command
            .env("AWS_EC2_METADATA_DISABLED", "false")
            .env("AWS_EC2_METADATA_SERVICE_ENDPOINT", &self.address)
            .current_dir(folder)
            .args(["--interval", "100ms", "--spot-guard", "--format", "json"])
            .args(["--output", "summary.json"])
            .args(flags)
            .args(["--", "sh", "-c", script]);
        command
    }
}

fn action(name: &str, time: Timestamp) -> Reply {
    Reply::Text(format!(r#"{{"action": "{name}", "time": "{time}"}}"#))
}

/// So many seconds from now, as EC2 writes times.
fn seconds_ahead(seconds: i64) -> Timestamp {
    let ahead = Timestamp::now() + SignedDuration::from_secs(seconds);
    Timestamp::from_second(ahead.as_second()).expect("in range")
}

fn summary(folder: &Path) -> Value {
    let document = fs::read(folder.join("summary.json")).expect("a summary");
    serde_json::from_slice(&document).expect("a document")
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn ends_with(code: i32, output: &Output) {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
}

#[test]
fn an_interruption_warns_the_command_in_time() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    // The notice comes a second after the first question, two minutes ahead.
    let first = OnceLock::new();
    let time = OnceLock::new();
    let service = Service::of(move |item| {
        let began: &Instant = first.get_or_init(Instant::now);
        if item != ACTION || began.elapsed() < Duration::from_secs(1) {
            return Reply::Missing;
        }
        action("terminate", *time.get_or_init(|| seconds_ahead(120)))
    });
    let flags = ["--samples", "run.jsonl"];
    let script = "trap 'sleep 1; exit 9' TERM; \
                  while :; do sleep 0.05; done";
    let output = run(&mut service.guard(folder.path(), &flags, script));
    ends_with(9, &output);
    let stderr = text(&output.stderr);
    for said in [
        "spot guard: EC2 will terminate this instance at 20",
        "spot guard: warned the command (SIGTERM); waiting 1",
    ] {
        assert!(stderr.contains(said), "{stderr}");
    }
    assert!(!stderr.contains("secret-token"));

    let live = summary(folder.path());
    assert_eq!(live["exit_code"], 9);
    let spot = &live["spot"];
    let notice = &spot["interruption"];
    assert_eq!(notice["action"], "terminate");
    assert_eq!(notice["warned_by"], "SIGTERM");
    // Asked at once and 5 s later.
    let noticed = seconds(&notice["noticed_seconds"]);
    assert!((4.5..60.0).contains(&noticed), "{notice}");
    let left = seconds(&notice["action_seconds"]) - noticed;
    assert!((60.0..=120.0).contains(&left), "{notice}");
    // 10 s of margin.
    let margin = seconds(&notice["action_seconds"]) - seconds(&notice["deadline_seconds"]);
    assert!((margin - 10.0).abs() < 1e-3, "{notice}");
    // The file of samples says the same.
    let mut read = Command::new(env!("CARGO_BIN_EXE_gpucost"));
    read.args(["profile", "--format", "json", "--no-imds", "--read"])
        .arg(folder.path().join("run.jsonl"))
        .env("GPUCOST_CACHE_DIR", "/nowhere");
    let again: Value = serde_json::from_slice(&run(&mut read).stdout).expect("a document");
    assert_eq!(again["spot"], *spot);
    assert_eq!(again["cost"]["purchase_option"], "spot");
}

/// Hibernation keeps the memory of the command: by default nothing ends it.
#[test]
fn a_command_that_will_be_hibernated_is_not_ended() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let service = || {
        Service::of(|item| match item {
            ACTION => action("hibernate", seconds_ahead(0)),
            _ => Reply::Missing,
        })
    };
    let output = run(&mut service().guard(folder.path(), &[], "sleep 3; exit 4"));
    ends_with(4, &output);
    let stderr = text(&output.stderr);
    for said in [
        "spot guard: EC2 will hibernate this instance at 20",
        "spot guard: the command is not warned: hibernation keeps its memory",
    ] {
        assert!(stderr.contains(said), "{stderr}");
    }
    let document = summary(folder.path());
    let spot = &document["spot"];
    assert_eq!(spot["interruption"]["action"], "hibernate");
    assert!(spot["interruption"]["warned_by"].is_null(), "{spot}");
    assert_eq!(spot["notices_read"], true);

    // What the user asks for is done.
    let flags = ["--on-interrupt", "TERM"];
    let endless = "while :; do sleep 0.05; done";
    let output = run(&mut service().guard(folder.path(), &flags, endless));
    ends_with(143, &output);
    let document = summary(folder.path());
    let spot = &document["spot"];
    assert_eq!(spot["interruption"]["warned_by"], "SIGTERM");
}

#[test]
fn a_driver_that_takes_long_delays_no_warning() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let ready = folder.path().join("ready");
    let time = OnceLock::new();
    let service = Service::of(move |item| {
        let began = Instant::now();
        // The first question waits for the command; one that fails is repeated 5 s later.
        while !ready.exists() && began.elapsed() < Duration::from_millis(800) {
            thread::sleep(Duration::from_millis(10));
        }
        if item != ACTION || !ready.exists() {
            return Reply::Missing;
        }
        action("terminate", *time.get_or_init(|| seconds_ahead(120)))
    });
    // Each sample takes 8 s: the first lasts when the notice comes.
    let script = "trap 'exit 9' TERM; : > ready; \
                  while :; do sleep 0.05; done";
    let mut command = service.guard(folder.path(), &[], script);
    let output = run(command.env("GPUCOST_NVML_SLOW", "8"));
    ends_with(9, &output);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("spot guard: warned the command (SIGTERM)"), "{stderr}");
    let document = summary(folder.path());
    // Its end is noticed after the sample, although the next one was due long ago.
    let elapsed = seconds(&document["elapsed_seconds"]);
    assert!(elapsed >= 8.0, "{elapsed}");
    let spot = &document["spot"];
    let noticed = seconds(&spot["interruption"]["noticed_seconds"]);
    assert!(noticed < 7.5, "{spot}");
}

#[test]
fn unreadable_notices_and_a_service_that_dies_change_nothing_for_the_command() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let service = Service::of(|_| Reply::Text("<html>sign in</html>".to_owned()));
    let output = run(&mut service.guard(folder.path(), &[], "sleep 1; exit 3"));
    ends_with(3, &output);
    let stderr = text(&output.stderr);
    let expected = "error: spot notices cannot be read: /latest/meta-data/spot/instance-action \
                    answers with an unreadable notice\nhint: `--spot-guard` needs";
    assert!(stderr.contains(expected), "{stderr}");
    let document = summary(folder.path());
    assert!(document["spot"]["interruption"].is_null());
    assert_eq!(document["spot"]["notices_read"], false);
    let gaps = document["gaps"].to_string();
    assert!(gaps.contains("1 of 1 queries failed"), "{gaps}");

    let answered = Mutex::new(0);
    let service = Service::of(move |_| {
        let mut answered = answered.lock().expect("no panic");
        *answered += 1;
        match *answered {
            0..=1 => Reply::Missing,
            _ => Reply::Gone,
        }
    });
    let output = run(&mut service.guard(folder.path(), &[], "sleep 7; exit 4"));
    ends_with(4, &output);
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("spot notices cannot be read").count(), 1);
    let gaps = summary(folder.path())["gaps"].to_string();
    assert!(gaps.contains("1 of 2 queries failed"), "{gaps}");
}

#[test]
fn without_a_service_the_command_runs_and_a_hint_says_what_is_needed() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let nowhere = Service { address: "http://127.0.0.1:9".to_owned(), asked: Arc::default() };
    // Errors are written although the rest is to be quiet.
    let output = run(&mut nowhere.guard(folder.path(), &["-q"], "sleep 2; exit 5"));
    ends_with(5, &output);
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("error: spot notices cannot be read: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 2, "{stderr}");

    let switched_off = || {
        let mut command = nowhere.guard(folder.path(), &[], "exit 6");
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        command
    };
    let output = run(&mut switched_off());
    ends_with(6, &output);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("not read: AWS_EC2_METADATA_DISABLED is set"), "{stderr}");
}

#[test]
fn an_instance_that_is_not_spot_is_not_asked_for_notices() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let service = Service::bought("on-demand", |_| Reply::Missing);
    let output = run(&mut service.guard(folder.path(), &[], "exit 7"));
    ends_with(7, &output);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("spot notices are not read: this is not a spot instance"), "{stderr}");
    assert_eq!(service.was_asked(ACTION), 0);
    assert!(service.was_asked("instance-life-cycle") > 0);
    assert_eq!(summary(folder.path())["spot"]["notices_read"], false);
}

#[test]
fn a_command_that_does_not_end_has_its_summary_before_the_interruption() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let ready = folder.path().join("ready");
    let time = OnceLock::new();
    let service = Service::of(move |item| {
        if item != ACTION || !ready.exists() {
            return Reply::Missing;
        }
        action("terminate", *time.get_or_init(|| seconds_ahead(4)))
    });
    let script = "trap '' TERM; : > ready; i=0; \
                  while ! test -e summary.json && test $i -lt 600; do i=$((i+1)); sleep 0.1; done; \
                  exit 8";
    let flags = ["--interrupt-margin", "2s"];
    let output = run(&mut service.guard(folder.path(), &flags, script));
    ends_with(8, &output);
    let document = summary(folder.path());
    // It still ran: its exit code was not known then.
    assert!(document["exit_code"].is_null());
    let spot = &document["spot"];
    let (elapsed, interruption) = (&document["elapsed_seconds"], &spot["interruption"]);
    let deadline = seconds(&interruption["deadline_seconds"]);
    assert!((deadline..deadline + 20.0).contains(&seconds(elapsed)), "{spot}");
}

#[test]
fn flags_that_cannot_work_are_refused_before_the_command_starts() {
    for (flags, said) in [
        (vec!["--spot-guard"], "required arguments"),
        (vec!["--on-interrupt", "TERM", "--", "true"], "--spot-guard"),
        (vec!["--spot-guard", "--no-imds", "--", "true"], "cannot be used with"),
        (
            vec!["--spot-guard", "--on-interrupt", "KILL", "--", "true"],
            "expected a signal of SIGTERM, SIGUSR1",
        ),
        (
            vec!["--spot-guard", "--interrupt-margin", "3m", "--", "true"],
            "expected a duration from 1s to 110s",
        ),
    ] {
        let output = run(profile("eight-gpus").args(&flags));
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {stderr}");
        assert!(stderr.contains(said), "{flags:?}: {stderr}");
    }
}
