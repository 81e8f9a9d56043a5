//! What gpucost writes for Prometheus: a strict reader of it, a real Prometheus that scrapes
//! it, and the queries of the dashboard.

use super::servers::{Metrics, Programs};
use crate::support::source::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest wait for a scrape, which is due every second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Labels without the name.
pub type Labels = BTreeMap<String, String>;

/// The samples of a document by name; panics where either parser of Prometheus could object.
pub fn parse(text: &str) -> BTreeMap<String, Vec<(Labels, f64)>> {
    let body = text.strip_suffix("# EOF\n").expect("its end");
    let mut families: BTreeMap<String, Vec<(Labels, f64)>> = BTreeMap::new();
    let mut name = "";
    let mut seen = BTreeSet::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let (keyword, rest) = comment.split_once(' ').expect("a keyword");
            let (about, said) = rest.split_once(' ').expect("a name and words");
            match keyword {
                "HELP" => {
                    assert!(!families.contains_key(about), "{about} comes twice");
                    assert!(!said.contains(['\\', '"']), "{line}");
                    families.insert(about.to_owned(), Vec::new());
                    name = about;
                }
                "TYPE" => assert_eq!((about, said), (name, "gauge"), "{line}"),
                "UNIT" => assert!(about == name && about.ends_with(&format!("_{said}")), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        assert!(seen.insert(line.to_owned()), "{line} comes twice");
        let (head, value) = line.rsplit_once(' ').expect("a value");
        let (own, labels) = match head.split_once('{') {
            Some((own, labels)) => (own, labels.strip_suffix('}').expect("a brace")),
            None => (head, ""),
        };
        assert_eq!(own, name, "{line} is in another family");
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(own.starts_with("gpucost_") && own.chars().all(is_word), "{own}");
        let value: f64 = value.parse().expect("a number");
        assert!(value.is_finite(), "{line}");
        let labels = labels_of(labels);
        let family = families.get_mut(own).expect("its head came before");
        assert!(family.iter().all(|(other, _)| *other != labels), "{line}");
        family.push((labels, value));
    }
    for (name, samples) in &families {
        assert!(!samples.is_empty(), "{name} has a head alone");
    }
    families
}

/// Labels as they are written, read character by character.
fn labels_of(text: &str) -> Labels {
    let mut labels = Labels::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, quoted) = rest.split_once("=\"").expect("a name and a value");
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            let (at, c) = characters.next().expect("the quote ends");
            match c {
                '"' => break at,
                '\\' => match characters.next().expect("what is escaped").1 {
                    'n' => value.push('\n'),
                    c @ ('\\' | '"') => value.push(c),
                    c => panic!("\\{c} in {text}"),
                },
                c => value.push(c),
            }
        };
        assert!(labels.insert(name.to_owned(), value).is_none(), "{text}");
        rest = quoted[end + 1..].trim_start_matches(',');
    }
    labels
}

/// The one sample of a family without others.
pub fn only(families: &BTreeMap<String, Vec<(Labels, f64)>>, name: &str) -> f64 {
    let samples = families.get(name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(samples.len(), 1, "{name}");
    samples[0].1
}

/// A Prometheus that scrapes targets and has the rules of the examples.
pub struct Scraping {
    metrics: Metrics,
    _settings: TempDir,
}

impl Scraping {
    /// Starts one and waits until each target, an address with a path, was scraped.
    pub fn start(programs: &Programs, targets: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let rules = root().join("examples/dashboards/rules.yml");
        let mut settings = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
             rule_files: ['{}']\n\
             scrape_configs:\n",
            rules.display()
        );
        for (number, (address, path)) in targets.iter().enumerate() {
            settings.push_str(&format!(
                "  - job_name: job-{number}\n    metrics_path: {path}\n    \
                 static_configs: [{{targets: ['{address}']}}]\n"
            ));
            // What the others say is counted and not kept, so that nothing adds up twice.
            if number > 0 {
                settings.push_str(
                    "    metric_relabel_configs: [{source_labels: [__name__], \
                     regex: 'gpucost_.*', action: drop}]\n",
                );
            }
        }
        let path = folder.path().join("prometheus.yml");
        fs::write(&path, settings).expect("our own folder");
        let scraping = Self { metrics: programs.scraping(&path), _settings: folder };
        let began = Instant::now();
        while scraping.query("sum(up)") != [(Labels::new(), targets.len() as f64)] {
            let said = scraping.get("/api/v1/targets");
            assert!(began.elapsed() < PATIENCE, "not scraped: {said}");
            std::thread::sleep(Duration::from_millis(100));
        }
        scraping
    }

    /// What a query gives now.
    pub fn query(&self, expr: &str) -> Vec<(Labels, f64)> {
        let query: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("query", expr).finish();
        let answer = self.get(&format!("/api/v1/query?{query}"));
        assert_eq!(answer["status"], "success", "{expr}: {answer}");
        let result = answer["data"]["result"].as_array().expect("a vector");
        let series = result.iter().map(|series| {
            let value = series["value"][1].as_str().expect("a value");
            let labels = series["metric"].as_object().expect("labels").iter();
            let labels = labels
                .map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned()));
            (labels.collect(), value.parse().expect("a number"))
        });
        series.collect()
    }

    /// An answer of its API.
    pub fn get(&self, target: &str) -> Value {
        let mut stream = TcpStream::connect(&self.metrics.address).expect("it listens");
        // Of this version, an answer is never in chunks.
        let head = format!("GET {target} HTTP/1.0\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

/// The dashboard of the examples.
pub fn dashboard() -> Value {
    let path = Path::new("examples/dashboards/grafana.json");
    let text = fs::read_to_string(root().join(path)).expect("the dashboard");
    serde_json::from_str(&text).expect("JSON")
}

/// The queries of its panels below the row with a title, to the next row.
pub fn queries(row: &str) -> BTreeSet<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let below = panels
        .skip_while(|panel| panel["title"] != row)
        .skip(1)
        .take_while(|panel| panel["type"] != "row");
    let targets = below.flat_map(|panel| panel["targets"].as_array().expect("targets").clone());
    let queries: BTreeSet<String> =
        targets.map(|target| target["expr"].as_str().expect("a query").to_owned()).collect();
    assert!(queries.len() > 5, "{row}: {queries:?}");
    queries
}
