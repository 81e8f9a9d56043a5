//! More GPUs than a server is asked for on the grid: hours come first, the grid where a
//! verdict depends on it, and the verdicts are those of the grid alone. The server is made
//! here, and works every figure out from the samples one by one.

use crate::rules::builder::Machine;
use futures_util::FutureExt;
use gpucost::analysis::{Audit, audit, needs_fine_grid};
use gpucost::domain::{
    ApiUsage, EstateSource, Gathered, Instance, Policy, PriceBook, Provider, ResourceId, Risk,
};
use gpucost::gather::{GatherOptions, gather};
use gpucost::sources::prometheus::{Auth, ClientOptions, MetricMap, Server, connect};
use gpucost::sources::{Account, Connection, Found, Inventory};
use gpucost::usage::Estate;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// 2026-11-01T00:00:00Z.
const END: i64 = 1_793_491_200;
const DAYS: i64 = 8;
const START: i64 = END - DAYS * 86_400;
/// A sample a minute, 13 seconds into it.
const STEP: i64 = 60;
const UTILIZATION: &str = "DCGM_FI_DEV_GPU_UTIL";
const MEMORY: &str = "DCGM_FI_DEV_FB_USED";
/// Machines without a series, with eight GPUs each: 6,000 and the five that are measured.
const UNMEASURED: usize = 750;

/// The machines that are measured, by what their GPU does, and which ranges each is read by
/// where hours come first.
const MEASURED: [(&str, &[(&str, &str)]); 5] = [
    ("never", &[(MEMORY, "1h"), (UTILIZATION, "1h")]),
    // What is busy is right-sized too.
    ("busy", &[(MEMORY, "1h"), (UTILIZATION, "1h"), (UTILIZATION, "5m")]),
    ("middle", &[(MEMORY, "1h"), (UTILIZATION, "1h"), (UTILIZATION, "5m")]),
    ("bursts", &[(MEMORY, "1h"), (UTILIZATION, "1h"), (UTILIZATION, "5m")]),
    // Its hours are not whole.
    ("hole", &[(MEMORY, "1h"), (MEMORY, "5m"), (UTILIZATION, "1h"), (UTILIZATION, "5m")]),
];

/// Percent that a GPU was used at a second; `None` without a sample.
fn percent(name: &str, second: i64) -> Option<f64> {
    let minute = (second - START).div_euclid(60);
    match name {
        "never" => Some(0.0),
        "busy" => Some(75.0),
        "middle" => Some(30.0 + (minute % 21) as f64),
        "bursts" => Some(if (20..25).contains(&(minute % 60)) { 96.0 } else { 0.0 }),
        "hole" => (!(1_000..1_007).contains(&minute)).then_some(75.0),
        _ => panic!("{name} is not measured"),
    }
}

fn value(metric: &str, name: &str, second: i64) -> Option<f64> {
    let percent = percent(name, second)?;
    Some(match metric {
        UTILIZATION => percent,
        // MiB, of 24 GiB.
        _ if name == "never" => 0.0,
        _ => 4_000.0 + 100.0 * percent,
    })
}

fn host_of(place: usize) -> String {
    format!("ip-10-0-0-{}", place + 1)
}

fn name_of(host: &str) -> &'static str {
    let places = 0..MEASURED.len();
    let place = places.into_iter().find(|place| host_of(*place) == host);
    MEASURED[place.expect("a host of these")].0
}

/// Metric, range and host of what was asked.
type AskedSeries = BTreeSet<(String, String, String)>;

/// Serves as long as the tests run: its URL, and what it is asked.
fn serve() -> (String, Arc<Mutex<AskedSeries>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
    let address = listener.local_addr().expect("it is bound");
    let asked = Arc::new(Mutex::default());
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            // Clients hang up when they please.
            std::thread::spawn(move || answer(stream, &seen).ok());
        }
    });
    (format!("http://{address}"), asked)
}

/// Answers one request of a connection.
fn answer(mut stream: TcpStream, asked: &Mutex<AskedSeries>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        // A connection that was opened and not needed.
        return Ok(());
    }
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, text)) = header.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = text.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let form: BTreeMap<String, String> = form_urlencoded::parse(&body).into_owned().collect();
    let data = if line.contains("/api/v1/series ") {
        series(&form["match[]"])
    } else {
        assert!(line.contains("/api/v1/query_range "), "{line}");
        matrix(&form, asked)
    };
    let body = json!({"status": "success", "data": data}).to_string();
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(head.as_bytes())
}

fn labels(host: &str) -> Value {
    json!({"hostname": host, "gpu": "0"})
}

fn series(metric: &str) -> Value {
    let is_known = [UTILIZATION, MEMORY].contains(&metric);
    let hosts = (0..MEASURED.len()).filter(|_| is_known).map(host_of);
    hosts.map(|host| labels(&host)).collect()
}

/// What stands between two texts.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let (_, rest) = text.split_once(before).expect("a query of this form");
    let (inside, _) = rest.split_once(after).expect("a query of this form");
    inside
}

/// A mean, a maximum or a count of the samples in each range.
fn matrix(form: &BTreeMap<String, String>, asked: &Mutex<AskedSeries>) -> Value {
    let query = form["query"].as_str();
    let range = between(query, "[", "]");
    let seconds = match range {
        "5m" => 300,
        "1h" => 3_600,
        _ => panic!("{query}"),
    };
    let metric = if query.contains(MEMORY) { MEMORY } else { UTILIZATION };
    // A range is evaluated a millisecond before it ends.
    let instant = |name: &str| form[name].parse::<f64>().expect("seconds").ceil() as i64;
    let ends = || (instant("start")..=instant("end")).step_by(seconds as usize);
    let rows = between(query, "hostname=~\"", "\"").split('|').map(|host| {
        let key = (metric.to_owned(), range.to_owned(), host.to_owned());
        let mut seen = asked.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(key);
        drop(seen);
        let name = name_of(host);
        let figure = |end: i64| {
            let sampled = (end - seconds..end).filter(|second| (second - START) % STEP == 13);
            let values = sampled.filter_map(|second| value(metric, name, second));
            let values: Vec<f64> = values.collect();
            let count = values.len() as f64;
            let figure = if query.contains("max_over_time") {
                values.iter().copied().fold(0.0, f64::max)
            } else if query.contains("sum_over_time") {
                values.iter().sum::<f64>() / count
            } else {
                count
            };
            (!values.is_empty()).then(|| json!([end as f64 - 0.001, figure.to_string()]))
        };
        let values: Vec<Value> = ends().filter_map(figure).collect();
        json!({"metric": labels(host), "values": values})
    });
    let rows: Vec<Value> = rows.collect();
    json!({"resultType": "matrix", "result": rows})
}

fn machine(id: &str, instance_type: &str, host: Option<String>) -> Instance {
    let workload = host.as_ref().map(|_| id.to_owned());
    let tags = workload.map(|name| ("gpucost:workload".to_owned(), name));
    Instance {
        launch_time: at(START - 30 * 86_400),
        tags: tags.into_iter().collect(),
        private_dns_name: host.map(|host| format!("{host}.ec2.internal")),
        ..Machine::new(id, instance_type).instance
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

fn racks(instances: Vec<Instance>) -> Inventory {
    let found = Found { instances, ..Found::default() };
    Box::new(move || std::future::ready(Ok(Gathered::whole(found.clone()))).boxed_local())
}

/// The estate of the measured machines beside others, and what the server was asked.
fn gathered(unmeasured: usize) -> (Estate, AskedSeries) {
    let (url, asked) = serve();
    let measured = MEASURED.iter().enumerate();
    let measured = measured
        .map(|(place, (name, _))| machine(&format!("i-{name}"), "g5.xlarge", Some(host_of(place))));
    let others = (0..unmeasured).map(|place| machine(&format!("i-{place}"), "p4d.24xlarge", None));
    let account = Account {
        id: "111122223333".to_owned(),
        source: EstateSource::Aws,
        connections: vec![Connection {
            provider: Some(Provider::Aws),
            region: "us-east-1".to_owned(),
            inventory: racks(measured.chain(others).collect()),
            metrics: Vec::new(),
            jobs: None,
            prices: None,
            commitments: None,
        }],
        commitments: None,
        opinions: None,
        meter: Box::new(ApiUsage::default),
    };
    let server = Server { url, auth: Auth::None, headers: Vec::new() };
    let server = connect(server, ClientOptions::default(), MetricMap::builtin()).expect("a URL");
    let options = GatherOptions {
        as_of: at(END),
        lookback: SignedDuration::from_hours(24 * DAYS),
        metrics: true,
        hours_first: false,
        history: None,
        rollups: None,
        offline: true,
        max_api_cost_usd: None,
        cache: PriceBook::default(),
    };
    let refine = |estate: Estate, partial: &BTreeSet<ResourceId>| {
        let fine = needs_fine_grid(&estate, &Policy::default(), partial);
        (fine, estate.usage)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let estate = runtime.expect("a runtime").block_on(gather(
        &[account],
        &[server],
        &options,
        None,
        Some(&refine),
        &|_| {},
    ));
    let asked = std::mem::take(&mut *asked.lock().unwrap_or_else(PoisonError::into_inner));
    (estate.expect("it was read"), asked)
}

/// What an audit decides about the measured machines, by workload and by finding.
fn decisions(audit: &Audit) -> Vec<String> {
    let is_measured =
        |id: &ResourceId| MEASURED.iter().any(|(name, _)| id.as_str() == format!("i-{name}"));
    let workloads = audit.workloads.iter();
    let workloads =
        workloads.filter(|workload| workload.workload.instances.iter().any(is_measured));
    let mut ids = BTreeSet::new();
    let mut lines = Vec::new();
    for workload in workloads {
        let verdict = &workload.verdict;
        let actions: Vec<String> = workload
            .actions
            .iter()
            .map(|action| {
                let (kind, target) = (action.kind(), action.target());
                format!("{kind:?} {target:?} {:?}", action.monthly_savings())
            })
            .collect();
        lines.push(format!(
            "{}: {:?} {:?} {:?} {actions:?}",
            workload.workload.id(),
            verdict.classification,
            verdict.state,
            verdict.confidence,
        ));
        ids.insert(workload.workload.id());
    }
    assert_eq!(ids.len(), MEASURED.len(), "{ids:?}");
    let findings = audit.findings.iter();
    let findings = findings.filter(|finding| ids.contains(finding.workload()));
    lines.extend(findings.map(|finding| {
        let savings = finding.monthly_savings;
        format!("{} {} {savings:?}", finding.id(), finding.workload())
    }));
    lines.sort();
    lines
}

#[test]
fn hours_first_lead_to_the_verdicts_of_the_grid() {
    let (by_grid, asked) = gathered(0);
    assert!(asked.iter().all(|(_, range, _)| range == "5m"), "{asked:?}");
    let (by_hours, asked) = gathered(UNMEASURED);
    for (place, (name, expected)) in MEASURED.iter().enumerate() {
        let host = host_of(place);
        let own = asked.iter().filter(|(_, _, asked)| *asked == host);
        let own: Vec<(&str, &str)> =
            own.map(|(metric, range, _)| (metric.as_str(), range.as_str())).collect();
        assert_eq!(own, *expected, "{name}");
    }
    let policy = Policy::default();
    let audits = [&by_grid, &by_hours].map(|estate| audit(estate, &policy, Risk::Low));
    let [of_grid, of_hours] = audits.each_ref().map(decisions);
    assert_eq!(of_hours, of_grid);

    for (name, _) in MEASURED {
        let seconds = (START..END).filter(|second| (second - START) % STEP == 13);
        let samples: Vec<f64> = seconds.filter_map(|second| percent(name, second)).collect();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        for audit in &audits {
            let id = format!("i-{name}");
            let mut workloads = audit.workloads.iter();
            let workload = workloads.find(|workload| {
                let mut ids = workload.workload.instances.iter();
                ids.any(|own| own.as_str() == id)
            });
            let used = workload.and_then(|workload| workload.workload.utilization.as_ref());
            let measured = used.expect("it was measured").distribution.mean;
            assert!((measured - mean).abs() < 0.01, "{name}: {measured}, not {mean}");
        }
    }
}
