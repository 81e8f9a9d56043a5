//! The endpoint of `--listen`: what a Prometheus reads from it, and what a stranger can do.

use crate::profile::command::{profile, run, text};
use crate::prometheus::scrape::{Scraping, only, parse, queries};
use crate::prometheus::servers::{Programs, free_port};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run that is ended when this is dropped.
struct Run {
    child: Child,
    /// Of its endpoint.
    address: String,
    /// What follows on stderr.
    stderr: BufReader<std::process::ChildStderr>,
}

impl Run {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let address = line
            .strip_prefix("metrics at http://")
            .and_then(|rest| rest.strip_suffix("/metrics while this runs\n"))
            .unwrap_or_else(|| panic!("{line}"))
            .to_owned();
        Self { child, address, stderr }
    }

    /// The page after some samples.
    fn page(&self, samples: f64) -> String {
        let began = Instant::now();
        loop {
            let (head, body) =
                ask(&self.address, "GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            let families = parse(&body);
            let taken = families.get("gpucost_run_samples");
            if taken.is_some_and(|taken| taken[0].1 >= samples) {
                return body;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{body}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A run of minutes on a trace, with an endpoint of its own.
fn listening(trace: &str) -> Command {
    let mut command = profile(trace);
    command.args(["--interval", "100ms", "--duration", "10m"]).args(["--listen", "127.0.0.1:0"]);
    command
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    let patience = Some(Duration::from_secs(30));
    stream.set_read_timeout(patience).expect("a time");
    stream
}

/// Head and body of an answer.
fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = connect(address);
    // One that is refused early may not be read to its end.
    let _ = stream.write_all(request.as_bytes());
    let answer = rest_of(&mut stream);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (format!("{head}\r\n"), body.to_owned())
}

/// What comes until the other side closes, or resets, the connection.
fn rest_of(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend(&buffer[..count]);
    }
    text(&bytes)
}

#[test]
fn the_page_says_what_the_trace_plays() {
    let mut command = listening("eight-gpus");
    command.args(["--type", "g5.48xlarge", "--region", "us-east-1"]);
    let mut running = Run::start(&mut command);
    let families = parse(&running.page(5.0));
    assert_eq!(families["gpucost_gpu_up"].len(), 8);
    assert!(families["gpucost_gpu_up"].iter().all(|(_, up)| *up == 1.0));
    for (labels, share) in &families["gpucost_gpu_utilization_ratio"] {
        assert_eq!(labels["model"], "A10G");
        // The trace plays 1% to 4% on GPU 0, and 10 points more on each that follows.
        let place: f64 = labels["gpu"].parse().expect("a number");
        let rest = share - 0.1 * place;
        assert!((0.0..0.045).contains(&rest), "{labels:?}: {share}");
    }
    // As the trace has it, in bytes.
    let sizes = &families["gpucost_gpu_memory_size_bytes"];
    assert!(sizes.iter().all(|(_, size)| *size == 24_146_608_128.0));
    // The list price of g5.48xlarge in us-east-1, and its part of an hour.
    assert_eq!(only(&families, "gpucost_run_cost_hourly"), 16.288);
    let seconds = only(&families, "gpucost_run_duration_seconds");
    let cost = only(&families, "gpucost_run_cost");
    assert!((cost - 16.288 * seconds / 3_600.0).abs() < 1e-5, "{cost}");
    let last = only(&families, "gpucost_run_last_sample_timestamp_seconds");
    let now = jiff::Timestamp::now().as_second() as f64;
    assert!((now - last).abs() < 60.0, "{last}");
    // It names no process and no host.
    let page = running.page(5.0);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    for word in ["python", "pid", host.trim()] {
        assert!(!page.contains(&format!("\"{word}")), "{word}: {page}");
    }

    let stopped =
        Command::new("kill").args(["-s", "INT", &running.child.id().to_string()]).status();
    assert!(stopped.expect("kill is there").success());
    let code = running.child.wait().expect("it ends").code();
    let mut said = String::new();
    running.stderr.read_to_string(&mut said).expect("the rest");
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("warning:"), "{said}");
    assert!(TcpStream::connect(&running.address).is_err(), "it listens on");
}

#[test]
fn a_lost_gpu_and_what_is_not_measured_have_no_figures() {
    let running = Run::start(&mut listening("lost-gpu"));
    let began = Instant::now();
    loop {
        let families = parse(&running.page(2.0));
        let up = &families["gpucost_gpu_up"];
        if up.iter().any(|(_, up)| *up == 0.0) {
            let lost = up.iter().find(|(_, up)| *up == 0.0).expect("one");
            let gpu = &lost.0["gpu"];
            let measured = families.get("gpucost_gpu_utilization_ratio");
            let mut measured = measured.into_iter().flatten();
            assert!(measured.all(|(labels, _)| labels["gpu"] != *gpu));
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{families:?}");
    }
    // Utilization of a card in MIG mode is not available, which is not zero.
    let running = Run::start(&mut listening("mig"));
    let families = parse(&running.page(2.0));
    let measured = families.get("gpucost_gpu_utilization_ratio");
    let whole = measured.into_iter().flatten();
    assert_eq!(whole.filter(|(labels, _)| labels["gpu"] == "0").count(), 0);
    assert_eq!(families["gpucost_gpu_up"].len(), 3);
}

#[test]
fn a_prometheus_scrapes_a_run() {
    let Some(programs) = Programs::find() else { return };
    let mut command = listening("eight-gpus");
    command.args(["--type", "g5.48xlarge", "--region", "us-east-1"]);
    let running = Run::start(&mut command);
    let page = parse(&running.page(3.0));
    let scraping = Scraping::start(&programs, &[(running.address.as_str(), "/metrics")]);
    for query in queries("Hosts that are profiled") {
        let rows = scraping.query(&query);
        let is_of_gpus = query.starts_with("gpucost_gpu_");
        assert_eq!(rows.len(), if is_of_gpus { 8 } else { 1 }, "{query}: {rows:?}");
    }
    let hourly = scraping.query("sum by (currency) (gpucost_run_cost_hourly)");
    assert_eq!((hourly[0].0["currency"].as_str(), hourly[0].1), ("USD", 16.288));
    // What does not change from one sample to the next.
    for name in ["gpucost_gpu_memory_size_bytes", "gpucost_gpu_power_limit_watts"] {
        let mut rows: Vec<(String, f64)> = scraping
            .query(name)
            .into_iter()
            .map(|(labels, value)| (labels["gpu"].clone(), value))
            .collect();
        rows.sort_by(|left, right| left.0.cmp(&right.0));
        let shown = page[name].iter();
        let shown: Vec<(String, f64)> =
            shown.map(|(labels, value)| (labels["gpu"].clone(), *value)).collect();
        assert_eq!(rows, shown, "{name}");
    }
}

#[test]
fn strangers_get_an_answer_or_nothing() {
    let running = Run::start(&mut listening("eight-gpus"));
    running.page(1.0);
    let kind = |accepted: &str| {
        let request =
            format!("GET /metrics?x=1 HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: {accepted}\r\n\r\n");
        let (head, _) = ask(&running.address, &request);
        let mut lines = head.lines();
        let line = lines.find_map(|line| line.strip_prefix("content-type: "));
        line.expect("a type").to_owned()
    };
    assert_eq!(kind("*/*"), "text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(
        kind("application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    let long = "x".repeat(100_000);
    for (request, status) in [
        ("HEAD /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".to_owned(), "200"),
        ("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".to_owned(), "404"),
        ("GET /metrics/../../etc/passwd HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".to_owned(), "404"),
        (
            "POST /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n\r\n".to_owned(),
            "405",
        ),
        ("DELETE /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".to_owned(), "405"),
        ("GET /metrics HTTP/1.1\r\nhost: rebound.example:9837\r\n\r\n".to_owned(), "421"),
        ("\u{1b}[2J\r\n\r\n".to_owned(), "400"),
        ("GET /metrics HTTP/9.9\r\n\r\n".to_owned(), "400"),
        (format!("GET /metrics HTTP/1.1\r\nx: {long}\r\n\r\n"), "431"),
    ] {
        let (head, body) = ask(&running.address, &request);
        // Who sends on after the answer may lose it to a reset.
        let is_lost = head == "\r\n" && request.len() > 8_192;
        let shown = request.get(..40).unwrap_or(&request);
        assert!(is_lost || head.starts_with(&format!("HTTP/1.1 {status} ")), "{shown}: {head}");
        assert!(body.len() < 100, "{shown}: {body}");
    }

    // Those who say nothing are hung up on, and meanwhile do not keep others out.
    let silent: Vec<TcpStream> = (0..8).map(|_| connect(&running.address)).collect();
    let mut half = connect(&running.address);
    half.write_all(b"GET /metrics HTTP/1.1\r\nx: ").expect("it reads");
    running.page(1.0);
    for mut stream in silent.into_iter().chain([half]) {
        let began = Instant::now();
        let said = rest_of(&mut stream);
        assert!(began.elapsed() < Duration::from_secs(25), "{said}");
        assert!(!said.contains(" 200 "), "{said}");
    }

    // Neither do more of them than there is room for.
    let idle: Vec<TcpStream> = (0..400).map(|_| connect(&running.address)).collect();
    let began = Instant::now();
    running.page(1.0);
    assert!(began.elapsed() < Duration::from_secs(4), "they are waited for");
    drop(idle);

    // More than there is room for are closed, and there is room again when they went.
    let crowd: Vec<TcpStream> = (0..200).map(|_| connect(&running.address)).collect();
    for stream in &crowd {
        let _ = stream.shutdown(Shutdown::Both);
    }
    drop(crowd);
    let began = Instant::now();
    while ask(&running.address, "GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").1.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(30), "all are turned away");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_address_that_is_taken_is_an_error_before_the_command_runs() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("an address").to_string();
    let mut command = profile("eight-gpus");
    command.args(["--listen", &address, "--", "sh", "-c", "echo ran"]);
    let output = run(&mut command);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
    let said = format!(
        "error: cannot listen on {address}\n  caused by: Address already in use (os error 98)\n\
         hint: choose a free port of this host, such as `--listen 127.0.0.1:0` for any\n"
    );
    assert_eq!(stderr, said);
}

#[test]
fn an_address_that_others_reach_is_warned_of() {
    let mut command = profile("eight-gpus");
    let address = format!("0.0.0.0:{}", free_port());
    command.args(["--interval", "100ms", "--duration", "300ms", "--listen", &address]);
    let output = run(&mut command);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let said = format!("warning: everybody who reaches {address} can read the metrics");
    assert!(stderr.contains(&said), "{stderr}");
}

#[test]
fn a_run_with_a_command_is_served_too_and_its_summary_is_metrics() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("run.prom");
    let mut command = profile("eight-gpus");
    command
        .args(["--interval", "100ms", "--listen", "127.0.0.1:0"])
        .args(["--type", "g5.48xlarge", "--region", "us-east-1"])
        .args(["--format", "openmetrics", "--output"])
        .arg(&path)
        .args(["--", "sh", "-c", "sleep 2; exit 3"]);
    let mut running = Run::start(&mut command);
    running.page(2.0);
    assert_eq!(running.child.wait().expect("it ends").code(), Some(3));
    let families = parse(&std::fs::read_to_string(path).expect("the summary"));
    assert_eq!(only(&families, "gpucost_run_exit_code"), 3.0);
    assert_eq!(families["gpucost_run_gpu_utilization_mean_ratio"].len(), 8);
    assert_eq!(only(&families, "gpucost_run_cost_hourly"), 16.288);
    assert!(only(&families, "gpucost_run_duration_seconds") >= 2.0);
}

#[test]
fn a_log_as_metrics_has_the_figures_of_its_json() {
    let summary = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpucost"));
        command
            .args(["profile", "--read", "fixtures/logs/one-of-four.csv"])
            .args(["--type", "g5.12xlarge", "--region", "us-east-1", "--format", format])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("GPUCOST_CACHE_DIR", "/nowhere")
            .env("AWS_EC2_METADATA_DISABLED", "true");
        let output = run(&mut command);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let families = parse(&summary("openmetrics"));
    let json: serde_json::Value = serde_json::from_str(&summary("json")).expect("a document");
    let near = |shown: f64, expected: &serde_json::Value, scale: f64| {
        let expected = expected.as_f64().expect("a number") * scale;
        // JSON has four decimals.
        let apart = (shown - expected).abs();
        assert!(apart <= 1e-4 * scale + 1e-6, "{shown}, {expected}");
    };
    near(only(&families, "gpucost_run_cost"), &json["cost"]["run_cost"], 1.0);
    near(only(&families, "gpucost_run_duration_seconds"), &json["elapsed_seconds"], 1.0);
    let mean = only(&families, "gpucost_run_utilization_mean_ratio");
    near(mean, &json["gpu_utilization_mean_pct"], 0.01);
    let gpus = json["gpus"].as_array().expect("a list");
    for (place, gpu) in gpus.iter().enumerate() {
        let of = |name: &str| families[name][place].1;
        let mean = of("gpucost_run_gpu_utilization_mean_ratio");
        near(mean, &gpu["gpu_utilization_mean_pct"], 0.01);
        let p95 = of("gpucost_run_gpu_utilization_p95_ratio");
        near(p95, &gpu["gpu_utilization_p95_pct"], 0.01);
        // GiB.
        let peak = of("gpucost_run_gpu_memory_peak_bytes");
        near(peak, &gpu["vram_peak_gb"], 1_073_741_824.0);
    }
}
