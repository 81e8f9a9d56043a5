//! Files that planners print, read by other programs: YAML by PyYAML against what the systems
//! accept, and inputs of Auto Scaling against the model of botocore.

use crate::cli::estates::one;
use crate::cli::installed::installed;
use crate::cli::world::World;
use crate::support::skip::skip;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The answers of `manifests.py` to some questions; `None` where it cannot run.
fn answers(questions: &[Value]) -> Option<Vec<Value>> {
    let Some(python) = installed("python") else {
        skip("target/test-venv with PyYAML and botocore is missing");
        return None;
    };
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/manifests.py");
    let mut child = Command::new(python)
        .arg(helper)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let lines: String = questions.iter().map(|question| format!("{question}\n")).collect();
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = stdin.write_all(lines.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("ModuleNotFoundError") {
        skip("target/test-venv has no PyYAML or no botocore");
        return None;
    }
    written.expect("it reads");
    assert!(output.status.success(), "{stderr}\n{lines}");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), questions.len());
    Some(answers)
}

/// The documents of each text; `None` where no parser is there.
fn documents(texts: &[&str]) -> Option<Vec<Vec<Value>>> {
    let questions: Vec<Value> = texts.iter().map(|text| json!({"yaml": text})).collect();
    let answers = answers(&questions)?.into_iter();
    let lists = answers.map(|answer| answer.as_array().expect("a list").clone());
    Some(lists.collect())
}

/// Fails with every part of a document that a schema does not allow.
fn assert_valid(schema: &Value, document: &Value) {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    let problems: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(problems, Vec::<String>::new(), "{document:#}");
}

/// An object with these keys and no others.
fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object", "required": required, "additionalProperties": false,
        "properties": properties,
    })
}

fn string() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// A number of at least zero as Kubernetes keeps it.
fn int32() -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": i32::MAX})
}

/// Names of objects of Kubernetes: RFC 1123, by `IsDNS1123Label`.
fn metadata() -> Value {
    let name = json!({
        "type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    });
    object(&["name"], json!({"name": name, "namespace": name}))
}

/// `keda.sh_scaledobjects.yaml` of KEDA 2 with what its scalers and the HorizontalPodAutoscaler
/// read: `pkg/scalers/{prometheus,aws_sqs_queue,cron}_scaler.go`, and
/// `ValidateHorizontalPodAutoscalerSpec` for the window. Excerpts by hand, read in 2026-11.
fn scaled_object() -> Value {
    let rules = object(
        &[],
        json!({
            "stabilizationWindowSeconds": {"type": "integer", "minimum": 0, "maximum": 3_600},
            "selectPolicy": {"enum": ["Max", "Min", "Disabled"]},
        }),
    );
    let behavior = object(&[], json!({"scaleDown": rules, "scaleUp": rules}));
    let autoscaler = object(&[], json!({"name": string(), "behavior": behavior}));
    let number = json!({"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?$"});
    let whole = json!({"type": "string", "pattern": "^[1-9][0-9]*$"});
    let cron = json!({"type": "string", "pattern": "^[0-9]+ [0-9]+ \\* \\* [0-6](,[0-6])*$"});
    // Values of all scalers are strings.
    let of_type = |name: &str, metadata: Value| json!({"properties": {"type": {"const": name}, "metadata": metadata}});
    let scalers = [
        of_type(
            "prometheus",
            object(
                &["serverAddress", "query", "threshold"],
                json!({"serverAddress": string(), "query": string(), "threshold": number}),
            ),
        ),
        of_type(
            "aws-sqs-queue",
            object(
                &["queueURL", "awsRegion"],
                json!({
                    "queueURL": string(), "awsRegion": string(), "queueLength": whole,
                    "scaleOnInFlight": {"enum": ["true", "false"]},
                }),
            ),
        ),
        of_type(
            "cron",
            object(
                &["timezone", "start", "end", "desiredReplicas"],
                json!({
                    "timezone": string(), "start": cron, "end": cron, "desiredReplicas": whole,
                }),
            ),
        ),
    ];
    let trigger = json!({
        "type": "object", "required": ["metadata", "type"], "additionalProperties": false,
        "properties": {
            "type": string(), "name": string(), "metadata": {"type": "object"},
            "metricType": {"enum": ["Value", "AverageValue", "Utilization"]},
        },
        "oneOf": scalers,
    });
    let spec = object(
        &["scaleTargetRef", "triggers"],
        json!({
            "scaleTargetRef": object(
                &["name"],
                json!({"apiVersion": string(), "kind": string(), "name": string()}),
            ),
            "pollingInterval": int32(), "cooldownPeriod": int32(), "minReplicaCount": int32(),
            "maxReplicaCount": int32(), "idleReplicaCount": int32(),
            "advanced": object(&[], json!({"horizontalPodAutoscalerConfig": autoscaler})),
            "triggers": {"type": "array", "minItems": 1, "items": trigger},
        }),
    );
    object(
        &["apiVersion", "kind", "metadata", "spec"],
        json!({
            "apiVersion": {"const": "keda.sh/v1alpha1"}, "kind": {"const": "ScaledObject"},
            "metadata": metadata(), "spec": spec,
        }),
    )
}

/// `karpenter.sh_nodepools.yaml` of Karpenter v1. Excerpt by hand, read in 2026-11.
fn node_pool() -> Value {
    let quantity = json!({"anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": "^[0-9]+(\\.[0-9]*)?([KMGTPE]i|[numkMGTPE])?$"},
    ]});
    let duration = json!({"type": "string", "pattern": "^(([0-9]+(s|m|h))+|Never)$"});
    let key = json!({
        "type": "string", "maxLength": 316,
        "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    });
    let requirement = object(
        &["key", "operator"],
        json!({
            "key": key, "minValues": {"type": "integer", "minimum": 1, "maximum": 50},
            "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]},
            "values": {"type": "array", "maxItems": 50, "items": {
                "type": "string", "maxLength": 63,
                "pattern": "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
            }},
        }),
    );
    let taint = object(
        &["effect", "key"],
        json!({
            "key": key, "value": string(),
            "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
        }),
    );
    let of_nodes = object(
        &["nodeClassRef", "requirements"],
        json!({
            "nodeClassRef": object(
                &["group", "kind", "name"],
                json!({
                    "group": {"type": "string", "pattern": "^[^/]+$"}, "kind": string(),
                    "name": string(),
                }),
            ),
            "requirements": {"type": "array", "maxItems": 100, "items": requirement},
            "taints": {"type": "array", "items": taint}, "expireAfter": duration,
        }),
    );
    let disruption = object(
        &["consolidateAfter"],
        json!({
            "consolidateAfter": duration,
            "consolidationPolicy": {"enum": ["WhenEmpty", "WhenEmptyOrUnderutilized"]},
        }),
    );
    let spec = object(
        &["template"],
        json!({
            "weight": {"type": "integer", "minimum": 1, "maximum": 100},
            "limits": {"type": "object", "additionalProperties": quantity},
            "disruption": disruption, "template": object(&["spec"], json!({"spec": of_nodes})),
        }),
    );
    object(
        &["apiVersion", "kind", "metadata", "spec"],
        json!({
            "apiVersion": {"const": "karpenter.sh/v1"}, "kind": {"const": "NodePool"},
            "metadata": metadata(), "spec": spec,
        }),
    )
}

/// `UnmarshalJSON` in `api/spec/v1/spec.go` of NVIDIA/mig-parted. Read in 2026-11.
fn mig_parted() -> Value {
    let devices = json!({"type": "array", "minItems": 1, "uniqueItems": true,
        "items": {"type": "integer", "minimum": 0}});
    let slices = json!({
        "type": "object", "propertyNames": {"pattern": r"^[1-9]g\.[0-9]+gb(\+[a-z.]+)?$"},
        "additionalProperties": {"type": "integer", "minimum": 1},
    });
    let divided = object(
        &["devices", "mig-enabled", "mig-devices"],
        json!({"devices": devices, "mig-enabled": {"const": true}, "mig-devices": slices}),
    );
    let whole = object(
        &["devices", "mig-enabled"],
        json!({"devices": devices, "mig-enabled": {"const": false}}),
    );
    let card = json!({"oneOf": [divided, whole]});
    object(
        &["version", "mig-configs"],
        json!({
            "version": {"const": "v1"},
            "mig-configs": {
                "type": "object", "minProperties": 1,
                "additionalProperties": {"type": "array", "minItems": 1, "items": card},
            },
        }),
    )
}

/// A ConfigMap of Kubernetes: documents by key.
fn config_map() -> Value {
    object(
        &["apiVersion", "kind", "metadata", "data"],
        json!({
            "apiVersion": {"const": "v1"}, "kind": {"const": "ConfigMap"},
            "metadata": metadata(),
            "data": {
                "type": "object", "minProperties": 1,
                "propertyNames": {"pattern": "^[-._a-zA-Z0-9]{1,253}$"},
                "additionalProperties": {"type": "string"},
            },
        }),
    )
}

/// `api/config/v1/replicas.go` of NVIDIA/k8s-device-plugin, which refuses less than two
/// replicas. Read in 2026-11.
fn device_plugin() -> Value {
    let resource = object(
        &["name", "replicas"],
        json!({
            "name": {"type": "string", "pattern": "^nvidia\\.com/[-a-z0-9.]+$"},
            "replicas": {"type": "integer", "minimum": 2},
        }),
    );
    let shared = object(
        &["resources"],
        json!({
            "renameByDefault": {"type": "boolean"},
            "failRequestsGreaterThanOne": {"type": "boolean"},
            "resources": {"type": "array", "minItems": 1, "items": resource},
        }),
    );
    let mut sharing = object(&[], json!({"mps": shared, "timeSlicing": shared}));
    sharing["minProperties"] = json!(1);
    sharing["maxProperties"] = json!(1);
    object(&["version", "sharing"], json!({"version": {"const": "v1"}, "sharing": sharing}))
}

fn answer(arguments: &[&str]) -> Value {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let rows = (0..24).map(|hour| format!("{},{}\n", hour * 3_600, [2, 6, 3][hour / 8]));
    let day = world.file("day.csv", format!("time,gpus\n{}", rows.collect::<String>()));
    let arguments = arguments.iter().map(|argument| match *argument {
        "day.csv" => day.as_str(),
        other => other,
    });
    let arguments: Vec<&str> = arguments.chain(["--format", "json"]).collect();
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn file<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    let mut files = answer["files"].as_array().expect("a list").iter();
    files.find(|file| file["name"] == name)
}

fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    let file = file(answer, name).unwrap_or_else(|| panic!("{name}: {answer}"));
    file["text"].as_str().expect("text")
}

/// Every GPU of an instance is in one entry of each configuration, and has at most seven
/// slices.
fn assert_divides(document: &Value, gpus: u64) {
    let setups = document["mig-configs"].as_object().expect("setups");
    for cards in setups.values() {
        let cards = cards.as_array().expect("a list");
        let devices = cards.iter().flat_map(|card| card["devices"].as_array().expect("a list"));
        let devices: Vec<u64> = devices.filter_map(Value::as_u64).collect();
        let once: BTreeSet<u64> = devices.iter().copied().collect();
        assert_eq!(once.len(), devices.len(), "{document:#}");
        let every_gpu: BTreeSet<u64> = (0..gpus).collect();
        assert_eq!(once, every_gpu, "{document:#}");
        for slices in cards.iter().filter_map(|card| card["mig-devices"].as_object()) {
            let compute = slices.iter().map(|(profile, count)| {
                let (slices, _) = profile.split_once('g').expect("a profile");
                slices.parse::<u64>().expect("a number") * count.as_u64().expect("a number")
            });
            assert!(compute.sum::<u64>() <= 7, "{document:#}");
        }
    }
}

#[test]
fn slices_are_divided_as_mig_parted_and_the_operator_read_them() {
    let pairs = ["share", "--type", "p4d.24xlarge", "--tenant"];
    let mixed = ["a:10GiB:33%", "--tenant", "b:4GiB:10%", "--tenant", "c:30GiB"];
    for (arguments, gpus) in [([&pairs[..], &mixed].concat(), 8), (vec!["share", "--demo"], 8)] {
        let answer = answer(&arguments);
        let parted = text(&answer, "mig-parted.yaml");
        let operator = text(&answer, "gpu-operator-mig.yaml");
        let Some(parsed) = documents(&[parted, operator]) else { return };
        let [parted, operator] = parsed.as_slice() else {
            panic!("two texts");
        };
        let ([parted], [operator]) = (parted.as_slice(), operator.as_slice()) else {
            panic!("a document each");
        };
        assert_valid(&mig_parted(), parted);
        assert_divides(parted, gpus);
        assert_valid(&config_map(), operator);
        // The operator reads the same document inside its own.
        let inside = operator["data"]["config.yaml"].as_str().expect("text");
        let inside = documents(&[inside]).expect("it ran before");
        assert_eq!(&inside[0][0], parted);
    }
}

/// Tenants of three classes on GPUs without slices, and the modes and resources that they get.
#[test]
fn replicas_are_shared_as_the_device_plugin_reads_them() {
    let classes = [
        "share", "--type", "g5.12xlarge", "--tenant", "prod:10GiB:33%", "--tenant",
        "mps-1:4GiB:20%:search:trusted", "--tenant", "mps-2:4GiB:20%:search:trusted", "--tenant",
        "note-1:3GiB:5%:research:development", "--tenant", "note-2:3GiB:5%:research:development",
        "--tenant", "note-3:3GiB:5%:research:development",
    ];
    // 40 + 40 of 80% are on a card, and the third has one, and an instance, of its own.
    let uneven = [
        "share", "--type", "g5.xlarge", "--class", "development", "--tenant", "a:2GiB:40%",
        "--tenant", "b:2GiB:40%", "--tenant", "c:2GiB:40%",
    ];
    let cases = [
        (&classes[..], vec![("mps-2", "mps", 2), ("time-slicing-3", "timeSlicing", 3)]),
        (&uneven[..], vec![("time-slicing-2", "timeSlicing", 2)]),
    ];
    for (arguments, setups) in cases {
        let answer = answer(arguments);
        let Some(parsed) = documents(&[text(&answer, "gpu-operator-sharing.yaml")]) else { return };
        let [map] = parsed[0].as_slice() else {
            panic!("one document");
        };
        assert_valid(&config_map(), map);
        let data = map["data"].as_object().expect("documents");
        let names: Vec<&str> = data.keys().map(String::as_str).collect();
        let expected: Vec<&str> = setups.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(names, expected);
        for (name, way, replicas) in setups {
            let inside = documents(&[data[name].as_str().expect("text")]);
            let inside = inside.expect("it ran before");
            assert_valid(&device_plugin(), &inside[0][0]);
            let resources = &inside[0][0]["sharing"][way]["resources"];
            assert_eq!(resources[0]["replicas"], replicas);
        }
        // Each label of a node names a document, and what is alone needs none.
        let text = text(&answer, "gpu-operator-sharing.yaml");
        for line in text.lines().filter(|line| line.contains("kubectl label")) {
            let (_, rest) = line.split_once("device-plugin.config=").expect("a label");
            let (name, _) = rest.split_once(' ').expect("a name");
            assert!(data.contains_key(name), "{line}");
        }
        for card in answer["cards"].as_array().expect("a list") {
            let is_shared = card["setup"] != "whole";
            assert_eq!(is_shared, card["mode"] != "whole", "{card}");
            assert!(is_shared || card["tenants"] == 1, "{card}");
        }
    }
}

#[test]
fn one_tenant_on_an_instance_of_its_own_has_a_whole_gpu() {
    let tenants = ["a:2GiB:40%", "b:2GiB:40%", "c:2GiB:40%"];
    let mut arguments = vec!["share", "--type", "g5.xlarge", "--class", "development"];
    arguments.extend(tenants.iter().flat_map(|tenant| ["--tenant", *tenant]));
    let answer = answer(&arguments);
    let rows = answer["placements"].as_array().expect("a list");
    let placed: Vec<[&str; 3]> = rows
        .iter()
        .map(|row| ["tenant", "mode", "resource"].map(|key| row[key].as_str().expect("text")))
        .collect();
    let expected = [
        ["a", "time-slicing", "nvidia.com/gpu.shared"],
        ["b", "time-slicing", "nvidia.com/gpu.shared"],
        ["c", "whole", "nvidia.com/gpu"],
    ];
    assert_eq!(placed, expected);
    assert_eq!(answer["cards"][1]["setup"], "whole");
    let sharing = text(&answer, "gpu-operator-sharing.yaml");
    assert!(!sharing.contains("replicas: 1\n"), "{sharing}");
}

const OF_THE_DAY: [&str; 6] =
    ["autoscale", "--demand", "day.csv", "--type", "g6.12xlarge", "--offline"];

/// Policies of every kind that is printed.
fn policies() -> Vec<Vec<&'static str>> {
    let with = |more: &[&'static str]| [&OF_THE_DAY[..], more].concat();
    vec![
        with(&[]),
        with(&["--target", "62.5%", "--cool-down", "2h", "--start-up", "24h"]),
        with(&["--cool-down", "0", "--start-up", "0", "--max", "1"]),
        with(&["--queue-length", "4.5", "--request-seconds", "30"]),
        with(&["--scale-to-zero", "--queue-length", "0.5", "--request-seconds", "1"]),
        with(&["--scale-to-zero", "--spot-share", "100%"]),
        with(&[
            "--spot-share", "50%", "--on-demand-base", "2", "--schedule", "mon-fri@08:00-20:00=4",
            "--schedule", "sat,sun@00:00-24:00=2",
        ]),
        vec!["autoscale", "--demo", "mixed-fleet", "--workload", "speech-online"],
    ]
}

#[test]
fn policies_have_the_shapes_of_keda_and_karpenter() {
    for arguments in policies() {
        let answer = answer(&arguments);
        let texts = ["scaledobject.yaml", "nodepool.yaml"].map(|name| text(&answer, name));
        let Some(parsed) = documents(&texts) else { return };
        let [scaled, pools] = parsed.as_slice() else {
            panic!("two texts");
        };
        let [scaled] = scaled.as_slice() else {
            panic!("one object: {scaled:?}");
        };
        assert_valid(&scaled_object(), scaled);
        let spec = &scaled["spec"];
        let (least, most) = (&spec["minReplicaCount"], &spec["maxReplicaCount"]);
        assert!(least.as_u64() <= most.as_u64(), "{spec}");
        assert!((1..=2).contains(&pools.len()), "{pools:?}");
        let mut names = BTreeSet::new();
        for pool in pools {
            assert_valid(&node_pool(), pool);
            assert!(names.insert(pool["metadata"]["name"].to_string()), "{pool}");
        }
        // All pools together have the GPUs of as many instances as the policy may run.
        let gpus =
            pools.iter().filter_map(|pool| pool["spec"]["limits"]["nvidia.com/gpu"].as_u64());
        let of_one = if arguments.contains(&"g6.12xlarge") { 4 } else { 1 };
        let expected = most.as_u64().expect("a number") * of_one;
        assert_eq!(gpus.sum::<u64>(), expected, "{arguments:?}");
    }
}

#[test]
fn policies_are_inputs_of_auto_scaling() {
    for arguments in policies() {
        let answer = answer(&arguments);
        let mut questions = Vec::new();
        for name in ["auto-scaling-group.json", "scaling-policy.json", "scheduled-actions.json"] {
            let Some(file) = file(&answer, name) else { continue };
            // The operation is the one that the text beside the file says to call.
            let purpose = file["purpose"].as_str().expect("text");
            let (_, command) = purpose.split_once("aws autoscaling ").expect("a command");
            let operation = command.split(' ').next().expect("a word");
            assert!(command.contains(&format!("file://{name}")), "{purpose}");
            let input: Value =
                serde_json::from_str(file["text"].as_str().expect("text")).expect("JSON");
            questions.push(json!({"operation": operation, "input": input}));
        }
        assert!(questions.len() >= 2, "{answer}");
        let Some(answers) = answers(&questions) else { return };
        assert!(answers.iter().all(|problems| *problems == json!([])), "{answers:?}");
    }
}

/// What cannot be wrong cannot be right: each schema and the model refuse something.
#[test]
fn wrong_files_are_found() {
    let Some(parsed) = documents(&[
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata:\n  name: 1234\n",
        "version: v1\nmig-configs:\n  a:\n    - devices: [0]\n      mig-enabled: true\n",
        "version: v1\nsharing:\n  mps:\n    resources:\n      - {name: nvidia.com/gpu, replicas: 1}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n",
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: 0}\n",
    ]) else {
        return;
    };
    let schemas = [scaled_object(), mig_parted(), device_plugin(), config_map(), node_pool()];
    for (schema, documents) in schemas.iter().zip(&parsed) {
        let validator = jsonschema::validator_for(schema).expect("a schema");
        assert!(!validator.is_valid(&documents[0]), "{:#}", documents[0]);
    }
    let policy = json!({"PolicyName": "a", "TargetTrackingConfiguration": {}});
    let asked = [
        json!({"operation": "put-scaling-policy", "input": policy}),
        json!({"operation": "put-policy", "input": {}}),
    ];
    let answers = answers(&asked).expect("it ran before");
    assert!(answers.iter().all(|problems| *problems != json!([])), "{answers:?}");
}

#[test]
fn workloads_of_any_name_have_names_of_kubernetes() {
    for name in [
        "1234",
        "true",
        "No",
        "null",
        "~",
        "1e3",
        "0x1f",
        "2026-11-02",
        "08:30",
        "a: b # c",
        "\n- x: y\n",
        "\"quoted\"",
        "=cmd|x",
        "模型",
        "--",
        "\u{1b}[31mred",
        &"x".repeat(300),
    ] {
        let mut estate = one();
        estate["instances"][0]["tags"] = json!({"Name": name, "gpucost:kind": "serving"});
        let world = World::new();
        let path = world.estate("estate.json", &estate);
        let outcome = world.run(&["autoscale", "--from", &path, "--format", "json"]);
        assert_eq!(outcome.code, 0, "{name:?}: {}", outcome.stderr);
        let answer = outcome.json();
        let texts = ["scaledobject.yaml", "nodepool.yaml"].map(|file| text(&answer, file));
        let Some(parsed) = documents(&texts) else { return };
        assert_valid(&scaled_object(), &parsed[0][0]);
        assert_valid(&node_pool(), &parsed[1][0]);
    }
}
