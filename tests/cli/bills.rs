//! `gpucost bill`: totals by hand, the same bill in every form, what is refused.

use crate::cli::bill_tables::{Amounts, as_parquet};
use crate::cli::installed::installed;
use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use crate::support::skip::skip;
use flate2::write::GzEncoder;
use gpucost::sources::files::read_own_prices;
use parquet::basic::{Compression, GzipLevel};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const CUR2: &str = "fixtures/bills/cur2.csv";
const LEGACY: &str = "fixtures/bills/legacy.csv";
const FOCUS: &str = "fixtures/bills/focus12.csv";

fn run(arguments: &[&str]) -> Outcome {
    World::new().run(&[&["bill"], arguments].concat())
}

/// The document of a bill, by team.
fn found(path: &str) -> Value {
    let outcome = run(&[path, "--group-by", "tag:team", "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn text(path: &str) -> String {
    fs::read_to_string(path).expect("a fixture")
}

/// The row of a sheet with a value under a key.
fn row<'a>(json: &'a Value, sheet: &str, key: &str, value: &str) -> &'a Value {
    let mut rows = json[sheet].as_array().expect("a sheet").iter();
    rows.find(|row| row[key] == value).unwrap_or_else(|| panic!("no {value} in {sheet}: {json}"))
}

fn step<'a>(json: &'a Value, name: &str) -> &'a Value {
    &row(json, "steps", "name", name)["result"]
}

#[test]
fn the_examples_of_the_page_print_what_it_shows() {
    let examples = blocks(&page("bill.md"), "text");
    assert!(!examples.is_empty());
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments = command.strip_prefix("$ gpucost ").expect("a command");
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let printed = World::new().run(&arguments).stdout;
        assert_shows("docs/bill.md", shown, &printed);
    }
}

/// In a Cost and Usage Report, 2 h of a p4d under a plan are billed at 19.7618778 each, and a line of
/// its own takes 39.5237556 back. FOCUS bills them at 0 and has no such line.
#[test]
fn what_a_plan_takes_back_is_said_beside_what_is_billed() {
    let said = |path: &str| found(path)["caveats"].to_string();
    for path in [CUR2, LEGACY] {
        let caveats = said(path);
        assert!(caveats.contains("negation take $39.52 back"), "{caveats}");
    }
    assert!(!said(FOCUS).contains("negation"));
}

#[test]
fn every_key_of_the_json_is_in_the_page() {
    assert_explains("bill.md", &found(CUR2));
}

/// Figures by hand, from the lines of the fixture:
///
/// | lines | effective | billed |
/// |---|---|---|
/// | 2 h of a p4d on demand, 10% below 21.957642 | 39.5237556 | 39.5237556 |
/// | 2 h of another under a savings plan at 14.5 | 29 | 39.5237556 |
/// | what takes that back | 0 | −39.5237556 |
/// | 2 h of a g6e under a reserved instance at 1.17 | 2.34 | 0 |
/// | 1 h and 0.5 h of a g5 on spot | 0.38 + 0.205 | 0.585 |
/// | 2 h of the plan at 20, of which 5.5 unused | 11 | 40 |
/// | 3 h of the reserved instance, of which 1 unused | 1.17 | 3.51 |
/// | 1 h of reserved capacity for a p4d | 21.957642 | 21.957642 |
/// | volume, address, transfer, m6i, S3 | 0.0219 + 0.01 + 0.09 + 0.096 + 0.1 | the same |
/// | support, discount, credit, refund, tax | 100 − 1 − 2 − 0.5 + 1.5 | the same |
#[test]
fn totals_are_those_by_hand() {
    let json = found(CUR2);
    let kinds = json["kinds"].as_array().expect("a sheet");
    let sums: Vec<(&str, &Value, &Value, &Value)> = kinds
        .iter()
        .map(|row| {
            let kind = row["kind"].as_str().expect("a name");
            (kind, &row["lines"], &row["effective_cost"], &row["billed_cost"])
        })
        .collect();
    let expected = [
        ("instance", 9, json!(71.54), json!(79.73)),
        ("unused-reservation", 1, json!(21.96), json!(21.96)),
        ("volume", 2, json!(0.02), json!(0.02)),
        ("address", 2, json!(0.01), json!(0.01)),
        ("transfer", 1, json!(0.09), json!(0.09)),
        ("commitment", 3, json!(12.17), json!(43.51)),
        ("negation", 2, json!(0.0), json!(-39.52)),
        ("split-copy", 3, json!(0.0), json!(0.0)),
        ("discount", 1, json!(-1.0), json!(-1.0)),
        ("tax", 1, json!(1.5), json!(1.5)),
        ("credit", 1, json!(-2.0), json!(-2.0)),
        ("refund", 1, json!(-0.5), json!(-0.5)),
        ("support", 1, json!(100.0), json!(100.0)),
        ("other", 1, json!(0.1), json!(0.1)),
    ];
    let expected: Vec<(&str, Value, &Value, &Value)> = expected
        .iter()
        .map(|(kind, lines, effective, billed)| (*kind, json!(lines), effective, billed))
        .collect();
    let sums: Vec<(&str, Value, &Value, &Value)> = sums
        .into_iter()
        .map(|(kind, lines, effective, billed)| (kind, lines.clone(), effective, billed))
        .collect();
    assert_eq!(sums, expected);
    // 203.8942976 in all; of instances 39.5237556 + 29 + 2.34 + 0.585, and
    // 2 × 39.5237556 + 0.585.
    let headline = json["headline"].as_str().expect("text");
    assert_eq!(
        headline,
        "4 GPU instances cost $71.45 with commitments spread, $79.63 as billed, of $203.89 in all"
    );
}

#[test]
fn shares_are_those_by_hand() {
    let json = found(CUR2);
    // 1 − (93.7242976 + 12.17) / 115.33711.
    assert_eq!(*step(&json, "effective savings rate"), 8.1871);
    // (43.915284 + 3.722) / (43.915284 + 43.915284 + 3.722).
    assert_eq!(*step(&json, "coverage of GPU instances"), 52.0327);
    // 31.34 / (31.34 + 12.17).
    assert_eq!(*step(&json, "utilization of commitments"), 72.0294);
    // 2.34 / 71.4487556.
    assert_eq!(*step(&json, "unallocated GPU cost"), 3.2751);
    // (2.34 + 21.957642 + 0.01 + 12.17 + 98) / 203.8942976.
    assert_eq!(*step(&json, "unallocated cost"), 65.9546);
    // The hour of the instance, 19.7618778, of its two.
    assert_eq!(*step(&json, "divided among pods"), 50.0);

    let plan = row(&json, "commitments", "purchase_option", "savings-plan");
    assert_eq!(plan["used_cost"], 29.0);
    assert_eq!(plan["unused_cost"], 11.0);
    assert_eq!(plan["utilization_percent"], 72.5);
    assert_eq!(plan["fees_cost"], 40.0);
    let reserved = row(&json, "commitments", "purchase_option", "reserved");
    assert_eq!(reserved["utilization_percent"], 66.6667);
    assert_eq!(reserved["instance_types"], "g6e.xlarge");

    let search = row(&json, "groups", "group", "search");
    // 39.5237556 + 0.585 of instances; 0.0219 + 0.09 beside them. 2 × 8 + 1.5 GPU hours.
    assert_eq!(search["gpu_instances_cost"], 40.11);
    assert_eq!(search["effective_cost"], 40.22);
    assert_eq!(search["gpu_hours"], 17.5);

    let pods = json["pods"].as_array().expect("a sheet");
    assert_eq!(pods.len(), 1, "one has an accelerator");
    let pod = row(&json, "pods", "pod", "ranker-0");
    assert_eq!(pod["accelerator_hours"], 6.0);
    // 9 + 2 + 6 + 1.
    assert_eq!(pod["effective_cost"], 18.0);

    let instance = row(&json, "instances", "instance", "i-0aaa000000000001a");
    assert_eq!(instance["transfer_cost"], 0.09);
    assert_eq!(instance["hours"], 2.0);
    let unused = row(&json, "unused_reservations", "instance_type", "p4d.24xlarge");
    assert_eq!(unused["reservation"], "cr-0ddd000000000001a");
}

/// A document without what names its file.
fn comparable(mut json: Value) -> Value {
    let document = json.as_object_mut().expect("a document");
    for key in ["given", "sources", "next"] {
        document.remove(key);
    }
    json
}

#[test]
fn every_form_of_a_report_gives_the_same_answer() {
    let world = World::new();
    let csv = text(CUR2);
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(csv.as_bytes()).expect("room");
    let packed = encoder.finish().expect("room");
    let parquet = |compression| as_parquet(&csv, Amounts::Doubles, compression);
    let marked = format!("\u{feff}{}", csv.replace('\n', "\r\n"));
    fs::create_dir(world.path("export")).expect("writable");
    let mut lines = csv.lines();
    let header = lines.next().expect("a header");
    let lines: Vec<&str> = lines.collect();
    let (first, second) = lines.split_at(11);
    let part = |lines: &[&str]| format!("{header}\n{}\n", lines.join("\n"));
    world.file("export/part-1.csv", part(first));
    world.file("export/part-2.csv", part(second));
    let paths = [
        LEGACY.to_owned(),
        // The name of a file says nothing.
        world.file("bill.txt", &packed),
        world.file("marked.csv", marked),
        world.file("snappy.csv", parquet(Compression::SNAPPY)),
        world.file("gzip.parquet", parquet(Compression::GZIP(GzipLevel::default()))),
        world.file("plain.parquet", parquet(Compression::UNCOMPRESSED)),
        world.path("export"),
    ];
    let expected = comparable(found(CUR2));
    for path in paths {
        assert_eq!(comparable(found(&path)), expected, "{path}");
    }
}

#[test]
fn focus_gives_the_answer_of_the_report() {
    let world = World::new();
    let decimals = as_parquet(&text(FOCUS), Amounts::Decimals, Compression::SNAPPY);
    let decimals = world.file("focus.parquet", decimals);
    let (cur, focus) = (found(CUR2), found(FOCUS));
    assert_eq!(comparable(found(&decimals)), comparable(focus.clone()));
    // What a plan covers is billed at nothing in FOCUS, and taken back by lines of its own in
    // a report of AWS.
    let without = |json: &Value, sheet: &str, key: &str| -> Vec<Value> {
        let mut rows = json[sheet].as_array().expect("a sheet").clone();
        for row in &mut rows {
            row.as_object_mut().expect("a row").remove(key);
        }
        rows
    };
    for sheet in ["instances", "types", "groups", "commitments", "unused_reservations"] {
        assert_eq!(
            without(&focus, sheet, "billed_cost"),
            without(&cur, sheet, "billed_cost"),
            "{sheet}"
        );
    }
    for name in [
        "effective savings rate", "coverage of GPU instances", "utilization of commitments",
        "unallocated GPU cost", "unallocated cost",
    ] {
        assert_eq!(step(&focus, name), step(&cur, name), "{name}");
    }
    let headline = focus["headline"].as_str().expect("text");
    assert!(headline.ends_with("of $203.89 in all"), "{headline}");
}

#[test]
fn an_exported_audit_is_a_bill() {
    let world = World::new();
    let path = world.path("focus.csv");
    let outcome = world.run(&["audit", "--demo", "--format", "focus", "--output", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let mut reader = csv::Reader::from_path(&path).expect("a file");
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("a row")).collect();
    let cents = |row: &BTreeMap<String, String>| -> i64 {
        let text = row["EffectiveCost"].replace('.', "");
        text.parse().expect("cents")
    };
    let total: i64 = rows.iter().map(cents).sum();
    let json = world.run(&["bill", &path, "--format", "json"]).json();
    let of_kinds: f64 = json["kinds"]
        .as_array()
        .expect("a sheet")
        .iter()
        .map(|row| row["effective_cost"].as_f64().expect("an amount"))
        .sum();
    assert_eq!((of_kinds * 100.0).round() as i64, total);
    let files = row(&json, "sources", "form", "FOCUS 1.0");
    assert_eq!(files["rows"], rows.len());
    let caveat = json["caveats"][0].as_str().expect("a caveat");
    let says = format!("{} lines are estimates of gpucost", rows.len());
    assert!(caveat.starts_with(&says), "{caveat}");
}

#[test]
fn negotiated_prices_become_the_file_of_prices() {
    let world = World::new();
    let path = world.path("negotiated.csv");
    let outcome = world.run(&["bill", CUR2, "--write-prices", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("wrote 3 prices"), "{}", outcome.stderr);
    let prices = read_own_prices(Path::new(&path)).expect("the program reads what it writes");
    let prices: Vec<(String, String)> = prices
        .iter()
        .map(|(key, quote)| (key.to_string(), quote.rate.amount().to_string()))
        .collect();
    let price = |key: &str, amount: &str| (key.to_owned(), amount.to_owned());
    assert_eq!(
        prices,
        [
            price("g6e.xlarge us-east-1 linux shared reserved-1yr-no-upfront", "1.17"),
            // 90% of 21.957642.
            price("p4d.24xlarge us-east-1 linux shared on-demand", "19.761878"),
            price(
                "p4d.24xlarge us-east-1 linux shared compute-savings-plan-1yr-no-upfront",
                "14.5"
            ),
        ]
    );
    let json = found(CUR2);
    let spot = row(&json, "rates", "option", "spot");
    assert_eq!(spot["note"], "from $0.38 to $0.41");
    // FOCUS does not name the terms of commitments.
    let outcome = world.run(&["bill", FOCUS, "--write-prices", &path]);
    assert!(outcome.stderr.contains("wrote 1 price"), "{}", outcome.stderr);
    // A bill without one writes nothing.
    let nothing = world.path("nothing.csv");
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency\n";
    let bill = world.file("bill.csv", format!("{header}Usage,1,1,USD\n"));
    let outcome = world.run(&["bill", &bill, "--write-prices", &nothing]);
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    assert!(!Path::new(&nothing).exists());
}

#[test]
fn what_is_no_bill_is_refused() {
    let world = World::new();
    let whole = as_parquet(&text(CUR2), Amounts::Doubles, Compression::SNAPPY);
    let mut damaged = whole.clone();
    let (from, to) = (damaged.len() / 4, damaged.len() / 2);
    damaged[from..to].fill(0xa5);
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency\n";
    let mut half_packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    half_packed.write_all(text(CUR2).as_bytes()).expect("room");
    let half_packed = half_packed.finish().expect("room");
    for (name, bytes, says) in [
        ("notes.csv", b"Date,Amount\n1,2\n".to_vec(), "is not a bill that gpucost reads"),
        ("empty.csv", Vec::new(), "is not a bill"),
        ("half.parquet", whole[..whole.len() / 2].to_vec(), "it ends early"),
        ("short.parquet", b"PAR1".to_vec(), "it ends early"),
        ("damaged.parquet", damaged, "is damaged"),
        ("bill.csv.zip", b"PK\x03\x04rest".to_vec(), "ZIP archive"),
        ("bill.csv.zst", b"\x28\xb5\x2f\xfdrest".to_vec(), "Zstandard"),
        (
            "half.csv.gz",
            half_packed[..half_packed.len() / 2].to_vec(),
            "hint: download the file again",
        ),
        (
            "words.csv",
            format!("{header}Usage,much,1,USD\n").into_bytes(),
            "row 1 below the header: `much` in `BilledCost` is not a number",
        ),
        (
            "no-currency.csv",
            b"ChargeCategory,BilledCost,EffectiveCost\nUsage,1,1\n".to_vec(),
            "--currency USD",
        ),
    ] {
        let path = world.file(name, &bytes);
        let outcome = world.run(&["bill", &path]);
        assert_eq!(outcome.code, 2, "{name}: {}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stderr.contains(says), "{name}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{name}: {}", outcome.stdout);
    }
    let missing = world.path("none.csv");
    for (arguments, says) in [
        (vec![missing.as_str()], "cannot read the bill"),
        (vec![CUR2, CUR2], "has the same lines as"),
        (vec![CUR2, "--group-by", "team"], "valid keys: account"),
        (vec![CUR2, "--currency", "GBP"], "valid values: USD"),
        (vec![], "required"),
    ] {
        let outcome = run(&arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(says), "{arguments:?}: {}", outcome.stderr);
    }
    let copy = world.file("copy.csv", text(CUR2));
    let outcome = world.run(&["bill", &copy, "--output", &copy]);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(&copy).expect("it is there"), text(CUR2));
}

#[test]
fn names_of_a_bill_run_nowhere() {
    let world = World::new();
    let bill = text(CUR2)
        .replace("i-0aaa000000000001a", "=HYPERLINK(1)\u{1b}[2J")
        .replace("\"\"search\"\"", "\"\"\u{202e}+1\"\"");
    let path = world.file("bill.csv", bill);
    let csv = world.run(&["bill", &path, "--format", "csv"]).stdout;
    assert!(csv.contains("'=HYPERLINK(1)"), "{csv}");
    for format in ["table", "wide", "json", "csv"] {
        let outcome = world.run(&["bill", &path, "--group-by", "tag:team", "--format", format]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let shown = outcome.all();
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{format}: {shown}");
    }
}

/// A day of p5.48xlarge in a Capacity Block, and an hour of g5.xlarge on demand at half of its
/// list price.
#[test]
fn hours_that_are_paid_for_in_advance_save_nothing() {
    let header = "line_item_line_item_type,line_item_usage_account_id,\
        bill_billing_period_start_date,line_item_usage_start_date,line_item_usage_end_date,\
        line_item_product_code,line_item_usage_type,line_item_operation,line_item_resource_id,\
        line_item_currency_code,line_item_usage_amount,line_item_unblended_cost,\
        pricing_public_on_demand_cost,pricing_unit,product_instance_type,product_region_code";
    let mut bill = format!("{header}\n");
    let mut line = |kind: &str, hour: u32, usage: &str, resource: &str, amounts: &str| {
        let end = if hour == 23 {
            "2026-10-06T00:00:00Z".to_owned()
        } else {
            format!("2026-10-05T{:02}:00:00Z", hour + 1)
        };
        bill += &format!(
            "{kind},111122223333,2026-10-01T00:00:00Z,2026-10-05T{hour:02}:00:00Z,{end},AmazonEC2,\
             {usage},RunInstances,{resource},USD,{amounts},us-east-1\n"
        );
    };
    line("Fee", 0, "CapacityBlock", "", "1,755.14,,,");
    for hour in 0..24 {
        line("Usage", hour, "BoxUsage:p5.48xlarge", "i-block", "1,0,55.04,Hrs,p5.48xlarge");
    }
    line("Usage", 3, "BoxUsage:g5.xlarge", "i-one", "1,0.503,1.006,Hrs,g5.xlarge");
    let world = World::new();
    let path = world.file("block.csv", bill);
    let outcome = world.run(&["bill", &path, "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let document: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(
        row(&document, "instances", "instance", "i-block")["purchase_options"],
        "capacity-block"
    );
    assert_eq!(
        row(&document, "types", "instance_type", "p5.48xlarge")["savings_percent"],
        Value::Null
    );
    // 1 − 0.503 / 1.006, and nothing of 1.006 is covered.
    assert_eq!(*step(&document, "effective savings rate"), 50.0);
    assert_eq!(*step(&document, "coverage of GPU instances"), 0.0);
    let caveat = document["caveats"].as_array().expect("caveats");
    let caveat = caveat.iter().filter_map(Value::as_str);
    let said = "24 hours of GPU instances have a list price, cost nothing and name no commitment";
    assert_eq!(caveat.filter(|text| text.starts_with(said)).count(), 1, "{document}");
}

#[test]
fn two_currencies_stay_apart() {
    let world = World::new();
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,Tags\n";
    let rows = "Usage,1.5,1.5,USD,\nUsage,2.5,2.5,EUR,\nUsage,9,9,GBP,\nCredit,-0.25,-0.25,USD,\n";
    let path = world.file("bill.csv", format!("{header}{rows}"));
    let outcome = world.run(&["bill", &path, "--format", "json"]);
    let json = outcome.json();
    let kinds = json["kinds"].as_array().expect("a sheet");
    let sums: Vec<(&Value, &Value)> =
        kinds.iter().map(|row| (&row["currency"], &row["effective_cost"])).collect();
    let (dollars, euros) = (json!("USD"), json!("EUR"));
    let amounts = [json!(-0.25), json!(1.5), json!(2.5)];
    assert_eq!(sums, [(&dollars, &amounts[0]), (&dollars, &amounts[1]), (&euros, &amounts[2])]);
    assert_eq!(json["currency"], Value::Null);
    assert_eq!(json["missing"][0]["what"], "amounts in GBP");
}

/// Runs a generator of bills in a folder; false where it is not installed.
fn generated(program: &str, arguments: &[&str], folder: &Path) -> bool {
    let Some(program) = installed(program) else {
        skip(&format!("{program} is not installed; tests/run installs it"));
        return false;
    };
    let output =
        Command::new(program).args(arguments).current_dir(folder).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    true
}

/// 48 hours of three instances, of a generator that is not ours: one under a savings plan,
/// with what takes its on-demand price back, one on demand, and one under a reserved instance
/// whose effective cost it leaves out.
const NISE: &str = "generators:
  - EC2Generator: {start_date: 2026-10-01, end_date: 2026-10-03, resource_id: 1, region: us-west-2, tags: {'resourceTags/user:team': research},
      instance_type: {inst_type: p4d.24xlarge, family: GPU instance, cost: 32.773, rate: 32.773, saving: 20.0}}
  - EC2Generator: {start_date: 2026-10-01, end_date: 2026-10-03, resource_id: 1, region: us-west-2,
      instance_type: {inst_type: p4d.24xlarge, family: GPU instance, cost: 32.773, rate: 32.773, saving: 20.0, negation: true}}
  - EC2Generator: {start_date: 2026-10-01, end_date: 2026-10-03, resource_id: 2, region: us-west-2, tags: {'resourceTags/user:team': search},
      instance_type: {inst_type: g5.xlarge, family: GPU instance, cost: 1.006, rate: 1.006}}
  - EC2Generator: {start_date: 2026-10-01, end_date: 2026-10-03, resource_id: 3, region: us-west-2,
      instance_type: {inst_type: g6e.xlarge, family: GPU instance, cost: 1.861, rate: 1.861, reserved_instance: true}}
accounts: {payer: 9999999999999, user: [9999999999991]}
";

#[test]
fn a_generated_cost_and_usage_report_adds_up() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    fs::write(folder.path().join("gpu.yml"), NISE).expect("writable");
    let arguments = ["report", "aws", "--static-report-file", "gpu.yml"];
    let period = ["-s", "2026-10-01", "-e", "2026-10-03", "-w"];
    if !generated("nise", &[&arguments[..], &period].concat(), folder.path()) {
        return;
    }
    let path = folder.path().to_str().expect("UTF-8");
    let json = found(path);
    let sum = |kind: &str, key: &str| row(&json, "kinds", "kind", kind)[key].clone();
    // 48 × 20 + 48 × 1.006, and 48 × 32.773 + 48.288.
    assert_eq!(sum("instance", "effective_cost"), 1_008.29);
    assert_eq!(sum("instance", "billed_cost"), 1_621.39);
    assert_eq!(sum("negation", "billed_cost"), -1_573.1);
    assert_eq!(sum("instance", "lines_without_effective_cost"), 48);
    let headline = json["headline"].as_str().expect("text");
    assert!(headline.starts_with("3 GPU instances cost at least $1,008.29"), "{headline}");
    assert_eq!(
        row(&json, "instances", "instance", "i-1")["hours"],
        48.0,
        "what takes a price back has no hours"
    );
    let research = row(&json, "groups", "group", "research");
    assert_eq!(research["gpu_instances_cost"], 960.0);
    let missing = &json["missing"][0]["what"];
    assert_eq!(missing, "effective cost of 48 lines");
}

#[test]
fn a_generated_bill_in_focus_adds_up() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let arguments = ["generate", "--provider", "aws", "--focus-version", "1.2"];
    let size = ["--rows", "500", "--seed", "7", "--out", "f12"];
    if !generated("focus-toolkit", &[&arguments[..], &size].concat(), folder.path()) {
        return;
    }
    let path = folder.path().join("f12");
    let path = path.to_str().expect("UTF-8");
    let json = found(path);
    let file = json["sources"][0]["file"].as_str().expect("a path");
    let mut reader = csv::Reader::from_path(file).expect("a file");
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("a row")).collect();
    let sum = |key: &str| -> f64 {
        let cells = rows.iter().map(|row| &row[key]);
        cells.map(|cell| cell.parse::<f64>().expect("a number")).sum()
    };
    let of_kinds = |key: &str| -> f64 {
        let kinds = json["kinds"].as_array().expect("a sheet").iter();
        kinds.map(|row| row[key].as_f64().expect("an amount")).sum()
    };
    for (ours, theirs) in [("effective_cost", "EffectiveCost"), ("billed_cost", "BilledCost")] {
        // Each kind is rounded to cents.
        let difference = (of_kinds(ours) - sum(theirs)).abs();
        assert!(difference < 0.1, "{ours}: {difference}");
    }
    let unused: f64 = rows
        .iter()
        .filter(|row| row["CommitmentDiscountStatus"] == "Unused")
        .map(|row| row["EffectiveCost"].parse::<f64>().expect("a number"))
        .sum();
    let of_commitments: f64 = json["commitments"]
        .as_array()
        .expect("a sheet")
        .iter()
        .map(|row| row["unused_cost"].as_f64().unwrap_or_default())
        .sum();
    // Each commitment is rounded to cents.
    let rounding = json["commitments"].as_array().map_or(0, Vec::len) as f64 * 0.005 + 0.001;
    let difference = (unused - of_commitments).abs();
    assert!(difference <= rounding, "{unused} {of_commitments}");
    // It has no GPUs.
    assert!(json["instances"].as_array().is_some_and(Vec::is_empty));
}
