//! Cards whose metrics are not what they seem, as DCGM exporters of MIG instances tell them:
//! an audit of a cluster and a server neither calls them idle nor stops them. The server is made
//! here, and every sample of a series is alike.

use crate::cli::world::World;
use crate::support::http::{Server, Unanswered};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const LAUNCHED_AT: &str = "2026-09-01T08:00:00Z";
const NODE: &str = "gpu-1.ec2.internal";
const ENGINE: &str = "DCGM_FI_PROF_GR_ENGINE_ACTIVE";
const USED: &str = "DCGM_FI_DEV_FB_USED";
const FREE: &str = "DCGM_FI_DEV_FB_FREE";
const POWER: &str = "DCGM_FI_DEV_POWER_USAGE";

/// The name of a metric, the MIG instance that it is of, and the value of all its samples.
type Constant = (&'static str, u32, f64);

/// A p5.4xlarge, which has one H100, divided into instances of a profile with a pod on each.
struct Machine {
    profile: &'static str,
    instances: u32,
    series: Vec<Constant>,
}

impl Machine {
    fn labels(&self, instance: u32) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("node", NODE.to_owned()),
            ("gpu", "0".to_owned()),
            ("UUID", "GPU-1".to_owned()),
            ("modelName", "NVIDIA H100 80GB HBM3".to_owned()),
            ("GPU_I_PROFILE", self.profile.to_owned()),
            ("GPU_I_ID", instance.to_string()),
        ])
    }

    /// What `kubectl` prints of it.
    fn cluster(&self) -> Value {
        let resource = format!("nvidia.com/mig-{}", self.profile);
        let offered = json!({resource.as_str(): self.instances.to_string(), "nvidia.com/gpu": "0"});
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": NODE, "creationTimestamp": LAUNCHED_AT,
                "labels": {
                    "node.kubernetes.io/instance-type": "p5.4xlarge",
                    "topology.kubernetes.io/region": "us-east-1",
                    "nvidia.com/gpu.count": "1",
                    "nvidia.com/mig.strategy": "mixed",
                },
            },
            "spec": {"providerID": "aws:///us-east-1a/i-0aaaaaaaaaaaaaaa1"},
            "status": {"capacity": offered, "allocatable": offered},
        });
        let pod = |name: String, requests: Value| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "name": name, "namespace": "search", "creationTimestamp": LAUNCHED_AT,
                },
                "spec": {
                    "nodeName": NODE,
                    "containers": [{"name": "main", "resources": {"requests": requests}}],
                },
                "status": {"phase": "Running", "startTime": LAUNCHED_AT},
            })
        };
        let pods = (0..self.instances)
            .map(|number| pod(format!("ranker-{number}"), json!({resource.as_str(): "1"})));
        // A cluster without any pod of the system was not read whole.
        let system = pod("dns".to_owned(), json!({}));
        let items: Vec<Value> = [node, system].into_iter().chain(pods).collect();
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }

    /// The series of a metric by their labels, with the value of their samples.
    fn rows(&self, metric: &str) -> impl Iterator<Item = (BTreeMap<&'static str, String>, f64)> {
        let own = self.series.iter().filter(move |(name, ..)| *name == metric);
        own.map(|(_, instance, value)| (self.labels(*instance), *value))
    }

    /// The answer to a request by its path and its form.
    fn answer(&self, path: &str, form: &BTreeMap<String, String>) -> Value {
        if path.ends_with("/series") {
            return self.rows(&form["match[]"]).map(|(labels, _)| json!(labels)).collect();
        }
        assert!(path.ends_with("/query_range"), "{path}");
        let query = &form["query"];
        let names = [ENGINE, USED, FREE, POWER];
        let metric = names.into_iter().find(|name| query.contains(name)).expect("a metric");
        let (_, by) = query.split_once(" by (").expect("groups");
        let (by, _) = by.split_once(')').expect("groups");
        let second = |name: &str| form[name].parse::<f64>().expect("seconds");
        let (start, end, step) = (second("start"), second("end"), second("step"));
        let steps = ((end - start) / step) as u32;
        // A card has one power, whichever of its instances tells it.
        let mut rows: BTreeMap<BTreeMap<&str, String>, f64> = BTreeMap::new();
        for (mut labels, value) in self.rows(metric) {
            labels.retain(|name, _| by.split(", ").any(|label| label == *name));
            rows.insert(labels, value);
        }
        let rows = rows.into_iter().map(|(labels, value)| {
            let at = |number: u32| json!([start + f64::from(number) * step, value.to_string()]);
            json!({"metric": labels, "values": (0..=steps).map(at).collect::<Vec<_>>()})
        });
        json!({"resultType": "matrix", "result": rows.collect::<Vec<_>>()})
    }

    /// An audit of the cluster by a server that has these series.
    fn audit(self) -> Value {
        let world = World::new();
        let cluster = world.file("cluster.json", self.cluster().to_string());
        let machine = Arc::new(self);
        let server = Server::start(None, move |request: Request<Incoming>| {
            let machine = Arc::clone(&machine);
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await.map_err(|_| Unanswered)?;
                let form = form_urlencoded::parse(&body.to_bytes()).into_owned().collect();
                let data = machine.answer(&path, &form);
                let body = json!({"status": "success", "data": data}).to_string();
                Ok(Response::new(Full::new(Bytes::from(body)).boxed()))
            }
        });
        let url = format!("http://{}", server.address());
        let outcome = world.run(&[
            "audit", "--from-kubectl", &cluster, "--prometheus-url", &url, "--metrics-source",
            "prometheus", "--offline", "--as-of", "2026-11-01T00:00:00Z", "--format", "json",
        ]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.json()
    }
}

/// That nothing of a machine is called idle or given up: 6.88 × 730 = 5,022.40 stay.
fn assert_kept(report: &Value) {
    let [workload] = report["workloads"].as_array().expect("a list").as_slice() else {
        panic!("{report}");
    };
    assert_eq!(workload["classification"], "insufficient-data");
    assert_eq!(workload["state"], Value::Null);
    assert_eq!(workload["plan"]["actions"], json!([]));
    assert_eq!(workload["plan"]["planned_monthly_cost"], 5_022.40);
    assert_eq!(report["summary"]["monthly_savings"], 0.0);
    let findings = report["findings"].as_array().expect("a list").iter();
    let mut rules = findings.filter_map(|finding| finding["id"].as_str());
    assert!(!rules.any(|id| id.starts_with("idle-")), "{}", report["findings"]);
}

fn assert_gap(report: &Value, words: &str) {
    let mut gaps = report["gaps"].as_array().expect("a list").iter();
    let stands = gaps.any(|gap| gap["reason"].as_str().is_some_and(|text| text.contains(words)));
    assert!(stands, "{}", report["gaps"]);
}

#[test]
fn one_idle_instance_says_nothing_of_two_that_report_no_activity() {
    let memory = (1..=3).flat_map(|slice| [(USED, slice, 15_000.0), (FREE, slice, 4_500.0)]);
    let report = Machine {
        profile: "2g.20gb",
        instances: 3,
        series: memory.chain([(ENGINE, 1, 0.0)]).collect(),
    }
    .audit();
    assert_kept(&report);
    assert_gap(&report, "2 of 3 MIG instances report no utilization");
}

#[test]
fn an_engine_at_zero_beside_a_high_power_is_not_idle() {
    let of_each = |slice: u32| {
        let memory = [(USED, slice, 30_000.0), (FREE, slice, 9_900.0)];
        memory.into_iter().chain([(ENGINE, slice, 0.0), (POWER, slice, 560.0)])
    };
    let report =
        Machine { profile: "3g.40gb", instances: 2, series: (1..=2).flat_map(of_each).collect() }
            .audit();
    assert_kept(&report);
    assert_gap(&report, "stays below 1% beside a mean power of 560 of 700 W");
}
