//! The readers: what mutations begin with, how they are made, and what must hold of
//! what was read.

use crate::fuzz::oracles::{adds_up, run, shows_no_marker, survives_a_round_trip};
use crate::fuzz::{corpus, mutate};
use fastrand::Rng;
use gpucost::config::{read_policy, read_settings};
use gpucost::sources::files::{
    InvalidJson, Keep, ReadOptions, RequestCountsError, open_samples, read_arrivals,
    read_commitments, read_demand, read_estate, read_jobs, read_own_prices, read_price_cache,
    read_report, read_request_counts, read_terraform_plan, read_units,
};
use gpucost::sources::kubernetes::read_kubectl;
use std::fs;
use std::path::Path;

/// A reader under test.
pub struct Target {
    pub name: &'static str,
    /// What the file is called: some readers go by the ending.
    pub file: &'static str,
    /// Cases where no other number is asked for.
    pub short_pass: u64,
    pub corpus: fn() -> Vec<Vec<u8>>,
    pub mutate: fn(&[u8], &mut Rng) -> Vec<u8>,
    /// Reads a file and checks what must hold; whether it was read.
    pub read: fn(&Path) -> bool,
}

/// A text in an estate that names somebody.
const MARKER: &str = "Zq7Marker";

pub fn estate() -> Target {
    Target {
        name: "estate",
        file: "estate.json",
        short_pass: 60,
        corpus: corpus::estates,
        mutate: |start, random| {
            let text = mutate::document(start, random);
            // Names become markers, which no redacted report may show.
            let text = String::from_utf8_lossy(&text).into_owned();
            let (from, to) = ("\"Name\":\"", format!("\"Name\":\"{MARKER}"));
            text.replace(from, &to).into_bytes()
        },
        read: |path| {
            let Ok(estate) = read_estate(path, Keep::Points) else { return false };
            survives_a_round_trip(&estate);
            let name = path.to_str().expect("UTF-8");
            let arguments = ["audit", "--from", name, "--allow-empty", "--format", "json"];
            let (code, stdout, stderr) = run(&arguments);
            assert_eq!(code, 0, "{stderr}");
            adds_up(&serde_json::from_str(&stdout).expect("JSON"));
            shows_no_marker(path, MARKER);
            true
        },
    }
}

pub fn price_cache() -> Target {
    Target {
        name: "price cache",
        file: "prices.json",
        short_pass: 1_500,
        corpus: corpus::price_caches,
        mutate: mutate::document,
        read: |path| match read_price_cache(path) {
            Ok(Some(estate)) => {
                survives_a_round_trip(&estate);
                true
            }
            _ => false,
        },
    }
}

pub fn commitments() -> Target {
    Target {
        name: "commitments",
        file: "bought.json",
        short_pass: 1_500,
        corpus: corpus::commitments,
        mutate: mutate::document,
        read: |path| read_commitments(path).is_ok(),
    }
}

pub fn audit() -> Target {
    Target {
        name: "audit",
        file: "audit.json",
        short_pass: 300,
        corpus: corpus::audits,
        mutate: mutate::document,
        read: |path| {
            if read_report(path).is_err() {
                return false;
            }
            let name = path.to_str().expect("UTF-8");
            let (code, _, stderr) = run(&["diff", name, name]);
            assert!([0, 2].contains(&code), "{stderr}");
            true
        },
    }
}

pub fn terraform() -> Target {
    Target {
        name: "terraform",
        file: "plan.json",
        short_pass: 600,
        corpus: corpus::plans,
        mutate: mutate::document,
        read: |path| {
            let file = fs::File::open(path).expect("it is there");
            read_terraform_plan(file, "plan.json", Some("us-east-1")).is_ok()
        },
    }
}

pub fn kubectl() -> Target {
    Target {
        name: "kubectl",
        file: "cluster.json",
        short_pass: 300,
        corpus: corpus::clusters,
        mutate: mutate::document,
        read: |path| {
            if read_kubectl(&[path.to_owned()]).is_err() {
                return false;
            }
            let name = path.to_str().expect("UTF-8");
            let saved = path.with_extension("saved");
            let saved_as = saved.to_str().expect("UTF-8");
            let arguments = ["inventory", "--from-kubectl", name, "--save", saved_as];
            let (code, _, stderr) = run(&[&arguments[..], &["--allow-empty"]].concat());
            assert_eq!(code, 0, "{stderr}");
            let estate = read_estate(&saved, Keep::Points).expect("what is saved is read");
            survives_a_round_trip(&estate);
            true
        },
    }
}

fn samples_of(path: &Path) -> bool {
    let Ok(mut reader) = open_samples(path, &ReadOptions::default()) else { return false };
    let is_read = reader.by_ref().all(|sample| sample.is_ok());
    let _ = (reader.gaps(), reader.end());
    is_read
}

pub fn samples() -> Target {
    Target {
        name: "samples",
        file: "run.jsonl",
        short_pass: 1_500,
        corpus: corpus::samples,
        mutate: mutate::json_lines,
        read: samples_of,
    }
}

pub fn nvidia_smi_csv() -> Target {
    Target {
        name: "nvidia-smi CSV",
        file: "log.csv",
        short_pass: 1_000,
        corpus: corpus::smi_csv,
        mutate: mutate::lines,
        read: samples_of,
    }
}

pub fn nvidia_smi_xml() -> Target {
    Target {
        name: "nvidia-smi XML",
        file: "log.xml",
        short_pass: 1_000,
        corpus: corpus::smi_xml,
        mutate: mutate::lines,
        read: samples_of,
    }
}

pub fn policy() -> Target {
    Target {
        name: "policy",
        file: "gpucost-policy.toml",
        short_pass: 1_500,
        corpus: corpus::policies,
        mutate: mutate::lines,
        read: |path| read_policy(path, "policy").is_ok(),
    }
}

pub fn settings() -> Target {
    Target {
        name: "settings",
        file: "gpucost.toml",
        short_pass: 1_500,
        corpus: corpus::settings,
        mutate: mutate::lines,
        read: |path| read_settings(path).is_ok(),
    }
}

pub fn prices() -> Target {
    Target {
        name: "prices",
        file: "prices.csv",
        short_pass: 1_500,
        corpus: corpus::prices,
        mutate: mutate::lines,
        read: |path| read_own_prices(path).is_ok(),
    }
}

pub fn arrivals() -> Target {
    Target {
        name: "arrivals",
        file: "arrivals.csv",
        short_pass: 1_500,
        corpus: corpus::arrivals,
        mutate: mutate::lines,
        read: |path| {
            if read_arrivals(path).is_err() {
                return false;
            }
            let name = path.to_str().expect("UTF-8");
            let asked = ["capacity", "--arrivals", name, "--latency", "250ms"];
            let (code, _, stderr) = run(&[&asked[..], &["--objective", "2s"]].concat());
            assert!([0, 2].contains(&code), "{stderr}");
            true
        },
    }
}

/// Counts are planned for, or refused with a reason. JSON counts as read where it is complete:
/// most changes of an answer make it one that contradicts itself.
fn counts_of(path: &Path) -> bool {
    let found = read_request_counts(path);
    let name = path.to_str().expect("UTF-8");
    let asked = ["capacity", "--request-counts", name, "--per-gpu", "1000000000"];
    let (code, _, stderr) = run(&[&asked[..], &["--objective", "2s"]].concat());
    assert!([0, 2].contains(&code), "{stderr}");
    assert!(found.is_ok() || code == 2, "{stderr}");
    match found {
        Ok(_) => true,
        Err(error) => {
            matches!(
                error,
                RequestCountsError::Json { source: InvalidJson::Value(_), .. }
                    | RequestCountsError::Unusable { .. }
            )
        }
    }
}

pub fn request_counts() -> Target {
    Target {
        name: "request counts",
        file: "counts.json",
        short_pass: 600,
        corpus: corpus::request_counts,
        mutate: mutate::document,
        read: counts_of,
    }
}

pub fn request_rows() -> Target {
    Target {
        name: "request rows",
        file: "counts.csv",
        short_pass: 600,
        corpus: corpus::request_rows,
        mutate: mutate::numbers,
        read: counts_of,
    }
}

pub fn demand() -> Target {
    Target {
        name: "demand",
        file: "demand.csv",
        short_pass: 300,
        corpus: corpus::demand,
        mutate: mutate::numbers,
        read: |path| {
            if read_demand(path).is_err() {
                return false;
            }
            let name = path.to_str().expect("UTF-8");
            let asked = ["autoscale", "--demand", name, "--type", "g6.xlarge"];
            let (code, _, stderr) = run(&asked);
            assert!([0, 2].contains(&code), "{stderr}");
            true
        },
    }
}

pub fn jobs() -> Target {
    Target {
        name: "jobs",
        file: "jobs.csv",
        short_pass: 200,
        corpus: corpus::jobs,
        mutate: mutate::numbers,
        read: |path| {
            if read_jobs(path).is_err() {
                return false;
            }
            let name = path.to_str().expect("UTF-8");
            let start = ["--start", "2026-11-02T00:00:00Z"];
            for format in ["table", "json"] {
                let asked = ["place", "--jobs", name, "--format", format];
                let (code, _, stderr) = run(&[&asked[..], &start].concat());
                assert!([0, 2].contains(&code), "{stderr}");
            }
            true
        },
    }
}

pub fn bills() -> Target {
    Target {
        name: "bills",
        file: "bill.csv",
        short_pass: 300,
        corpus: corpus::bills,
        mutate: mutate::lines,
        read: |path| {
            let name = path.to_str().expect("UTF-8");
            let asked = ["bill", name, "--group-by", "tag:team", "--format", "json"];
            let (code, _, stderr) = run(&asked);
            assert!([0, 2].contains(&code), "{stderr}");
            code == 0
        },
    }
}

pub fn units() -> Target {
    Target {
        name: "units",
        file: "units.csv",
        short_pass: 1_500,
        corpus: corpus::units,
        mutate: mutate::lines,
        read: |path| read_units(path).is_ok(),
    }
}
