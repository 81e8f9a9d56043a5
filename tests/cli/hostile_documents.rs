//! One law over all documents: names from outside stay text, in every command that reads an
//! estate and in every format. One estate has a hostile name in every field that takes text, the
//! other has a machine for each name.

use crate::cli::annotations::{markdown_is_words, names};
use crate::cli::estates::PERIODS;
use crate::cli::hostile::{commands, fleet, is_harmless};
use crate::cli::html::assert_alone;
use crate::cli::installed::installed;
use crate::cli::markers::{estate, marked, named};
use crate::cli::world::World;
use crate::golden::typed_for;
use crate::support::skip::skip;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::thread;

/// What the corpus has for other inputs alone; `OTHER` is an estate of one machine.
const MORE: [(&str, &str); 15] = [
    ("focus", "audit INPUT --by-day --format focus"),
    ("table", "audit INPUT --all --risk high"),
    ("wide", "audit INPUT --format wide --group-by tag:owner,tag:Name,type"),
    ("csv", "audit INPUT --format csv --group-by tag:owner,tag:Name"),
    ("markdown", "audit INPUT --format markdown --group-by namespace,owner,cluster"),
    ("html", "audit INPUT --format html --group-by pool,node,label:team"),
    ("csv", "audit INPUT --format csv --csv-table actions"),
    ("csv", "audit INPUT --format csv --csv-table purchases"),
    ("csv", "audit INPUT --format csv --csv-table findings"),
    ("csv", "audit INPUT --format csv --csv-table gaps"),
    ("csv", "audit INPUT --format csv --csv-table prices"),
    ("csv", "audit INPUT --format csv --csv-table reconciliation"),
    ("markdown", "fix INPUT --all --risk high --format markdown"),
    ("markdown", "diff OTHER ESTATE --format markdown"),
    ("html", "diff ESTATE OTHER --format html"),
];

/// An estate with a point for each hour.
fn by_the_hour(mut estate: Value) -> Value {
    estate["period_seconds"] = json!(3_600);
    for series in estate["metrics"].as_array_mut().expect("a list") {
        series["period_seconds"] = json!(3_600);
        series["values"][0][1] = json!(PERIODS / 12);
    }
    estate
}

/// Estates whose names are hostile, with the host that runs the program.
fn estates() -> [(Value, &'static str); 2] {
    let hostile: Vec<String> = names().into_iter().filter(|name| name.len() < 200).collect();
    let name = |(index, text): (usize, &String)| {
        let name = &hostile[index % hostile.len()];
        (text.clone(), format!("{name}{index}"))
    };
    let every: BTreeMap<String, String> = named().enumerate().map(name).collect();
    let [fields, machines] = [marked(&estate(), &every), fleet()].map(by_the_hour);
    [(fields, "GITHUB_ACTIONS"), (machines, "TF_BUILD")]
}

/// Checks one output by what reads it, and keeps what other programs check.
fn check(format: &str, stdout: Vec<u8>, typed: &str, kept: &mut [Vec<String>; 2], world: &World) {
    if format == "xlsx" {
        let path = world.path(&format!("{}.xlsx", kept[1].len()));
        fs::write(&path, stdout).expect("a file that can be written");
        return kept[1].push(path);
    }
    let text = String::from_utf8(stdout).expect("UTF-8");
    assert_eq!(text.chars().find(|c| !is_harmless(*c)), None, "{typed}");
    if format != "github" {
        assert_eq!(commands(&text), [""; 0], "{typed}");
    }
    match format {
        "json" | "sarif" | "slack" => {
            let document: Result<Value, _> = serde_json::from_str(&text);
            assert!(document.is_ok(), "{typed}: {text}");
            assert!(format != "slack" || !text.contains("<!channel>"), "{typed}");
        }
        "csv" | "focus" => {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            for record in reader.records() {
                for cell in &record.expect("a row as wide as its header") {
                    let armed = cell.trim_start().starts_with(['=', '+', '-', '@', '\t']);
                    let is_number = cell.parse::<f64>().is_ok();
                    assert!((!armed || is_number) && !cell.contains('\n'), "{typed}: {cell}");
                }
            }
        }
        "html" => drop(assert_alone(&text)),
        "markdown" => kept[0].push(text),
        "openmetrics" => {
            let is_line = |line: &str| line.starts_with('#') || line.starts_with("gpucost_");
            assert!(text.lines().all(is_line), "{typed}");
        }
        _ => {}
    }
}

/// Counts the formulas of workbooks that a name has a part in.
const FORMULAS: &str = "import sys, openpyxl\n\
    print(sum(cell.data_type == 'f' and not cell.value.startswith('=SUM')\n\
    for path in sys.argv[1:] for sheet in openpyxl.load_workbook(path)\n\
    for row in sheet.iter_rows() for cell in row))";

/// Runs everything on one estate: how many documents it printed, the Markdown among them, and
/// the paths of its workbooks.
fn documents(estate: &Value, host: &str, files: &World) -> (usize, [Vec<String>; 2]) {
    let mut kept = [Vec::new(), Vec::new()];
    let mut documents = 0;
    let mut world = World::new();
    world.set(host, "true");
    let path = world.estate("hostile.json", estate);
    let one = world.estate("one.json", &crate::cli::estates::one());
    let flags = format!("--from {path}");
    let audit = world.bytes(&["audit", "--from", &path, "--format", "json"]);
    let audit: Value = serde_json::from_slice(&audit.1).expect("JSON");
    let more = MORE.map(|(format, typed)| {
        let typed = typed.replace("INPUT", &flags).replace("OTHER", &one);
        (format.to_owned(), typed.replace("ESTATE", &path))
    });
    let typed: Vec<(String, String)> = typed_for(&flags).into_iter().chain(more).collect();
    let workloads = audit["workloads"].as_array().expect("a list").iter();
    let ids = workloads.step_by(9).filter_map(|workload| workload["id"].as_str());
    // A command line cannot carry a zero.
    let explained = ids.filter(|id| !id.contains('\0')).flat_map(|id| {
        let typed = |format| vec!["explain", "--format", format, "--from", &path, "--", id];
        ["table", "json", "markdown", "html"].map(|format| (format.to_owned(), typed(format)))
    });
    let lines = typed.iter().map(|(format, typed)| (format.clone(), typed.split(' ').collect()));
    let runs: Vec<(String, Vec<&str>)> = lines.chain(explained).collect();
    for (format, arguments) in runs {
        let (code, stdout, stderr) = world.bytes(&arguments);
        let typed = format!("{host} {}", arguments.join(" "));
        let stderr = String::from_utf8(stderr).expect("UTF-8");
        assert!([0, 2, 3, 4, 100].contains(&code), "{typed}: {stderr}");
        let is_document = ![2, 4].contains(&code);
        assert!(is_document || stdout.is_empty(), "{typed}: {stderr}");
        assert_eq!(stderr.chars().find(|c| !is_harmless(*c)), None, "{typed}");
        assert_eq!(commands(&stderr), [""; 0], "{typed}: {stderr}");
        if is_document {
            documents += 1;
            check(&format, stdout, &typed, &mut kept, files);
        }
    }
    (documents, kept)
}

#[test]
fn names_stay_text_in_every_document_and_format() {
    let estates = estates();
    let worlds = [World::new(), World::new()];
    let results = thread::scope(|scope| {
        let work = estates.iter().zip(&worlds);
        let workers: Vec<_> = work
            .map(|((estate, host), files)| scope.spawn(move || documents(estate, host, files)))
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("no run panics")).collect::<Vec<_>>()
    });
    let count: usize = results.iter().map(|(documents, _)| documents).sum();
    println!("{count} documents");
    assert!(count > 230, "{count}");
    let mut workbooks = Vec::new();
    for (_, [markdown, paths]) in results {
        markdown_is_words(&markdown);
        workbooks.extend(paths);
    }
    let Some(python) = installed("python") else {
        return skip("target/test-venv with openpyxl is missing");
    };
    let output = Command::new(python).args(["-c", FORMULAS]).args(workbooks).output();
    let output = output.expect("Python starts");
    let formulas = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(formulas.trim(), "0", "{stderr}");
}
