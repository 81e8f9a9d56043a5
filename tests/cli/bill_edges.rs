//! `gpucost bill` where a bill says little: no currency, no known machine, rounded costs.

use crate::cli::world::World;
use gpucost::billing::Ledger;
use gpucost::report::{BillOrigin, bill_answer};
use serde_json::{Value, json};

/// What begins with a dash would pass for a flag.
#[test]
fn commands_of_next_take_any_name_for_a_file() {
    let bill = Ledger::new(None).finish().expect("small");
    let origin = BillOrigin {
        paths: ["-x.csv", "it's.csv", "export/"].map(str::to_owned).to_vec(),
        ..BillOrigin::default()
    };
    let next = bill_answer(&bill, &origin).next;
    let json = next.last().expect("a command");
    assert_eq!(json, r"gpucost bill ./-x.csv 'it'\''s.csv' export/ --format json");
}

/// Commands under NEXT lead to the same bill, with its currency.
#[test]
fn commands_of_next_read_the_same_bill() {
    let world = World::new();
    let text = "ChargeCategory,BilledCost,EffectiveCost\nUsage,1,1\n";
    let path = world.file("bill.csv", text);
    let outcome = world.run(&["bill", &path, "--currency", "eur", "--format", "json"]);
    let json = outcome.json();
    let next = json["next"].as_array().expect("a list");
    assert_eq!(next.len(), 2, "{next:?}");
    for command in next.iter().filter_map(Value::as_str) {
        let words = shlex::split(command).expect("words");
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let answered = world.run(&words);
        assert_eq!(answered.code, 0, "{command}: {}", answered.stderr);
        assert!(command.contains(" --currency EUR "), "{command}");
    }
}

/// Ten lines of 1.60 at list price that cost 1.60: an export that rounds each to 2 would make it
/// a loss of 25%.
#[test]
fn rounded_costs_are_no_saving() {
    let world = World::new();
    let header = "ChargeCategory,BilledCost,EffectiveCost,ListCost,BillingCurrency,ProviderName\n";
    let rate = |effective: &str| {
        let row = format!("Usage,1.6,{effective},1.6,USD,AWS\n");
        let path = world.file("bill.csv", format!("{header}{}", row.repeat(10)));
        let json = world.run(&["bill", &path, "--format", "json"]).json();
        let steps = json["steps"].as_array().expect("a list").iter();
        let rates = steps.filter(|step| step["name"] == "effective savings rate");
        let rates: Vec<Value> = rates.map(|step| step["result"].clone()).collect();
        let caveat = json["caveats"][0].as_str().unwrap_or_default();
        (rates, caveat.contains("rounded to whole units"))
    };
    assert_eq!(rate("2"), (vec![], true));
    // 1 - 12 / 16.
    assert_eq!(rate("1.2"), (vec![json!(25.0)], false));
}

/// A machine that is not known may have GPUs: its bill has no zero for them.
#[test]
fn a_bill_without_known_machines_has_no_cost_of_gpus() {
    let world = World::new();
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,ProviderName,ServiceName";
    let rows = "Usage,3,2.5,USD,Google Cloud,Compute Engine\nTax,1,1,USD,Google Cloud,\n";
    let path = world.file("bill.csv", format!("{header}\n{rows}"));
    let json = world.run(&["bill", &path, "--format", "json"]).json();
    assert_eq!(
        json["headline"],
        "No line is for a GPU instance that gpucost knows, of $3.50 in all"
    );
    assert_eq!(json["instances"], json!([]));
}

/// A sum that leaves a line out says so, wherever it stands.
#[test]
fn a_sum_without_all_of_its_lines_is_at_least_that() {
    let world = World::new();
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,Tags\n";
    let rows = "Usage,3,2.5,usd,\nUsage,1,,USD,\"{\"\"team\"\":\"\"a\"\"}\"\n";
    let path = world.file("bill.csv", format!("{header}{rows}"));
    let outcome = world.run(&["bill", &path, "--group-by", "tag:team", "--format", "json"]);
    let json = outcome.json();
    let headline = json["headline"].as_str().expect("a sentence");
    assert!(headline.ends_with("of at least $2.50 in all"), "{headline}");
    let steps = json["steps"].as_array().expect("a list").iter();
    let words: Vec<&Value> = steps.map(|step| &step["arithmetic"]).collect();
    assert_eq!(words, [&json!("$2.50 / at least $2.50")]);
    assert_eq!(json["missing"][0]["what"], "effective cost of 1 line");
}

#[test]
fn strict_is_about_rows_that_are_left_out_too() {
    let world = World::new();
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency";
    let path = world.file("bill.csv", format!("{header}\nUsage,1,1,USD\n"));
    assert_eq!(world.run(&["bill", &path, "--strict"]).code, 0);
    let path = world.file("two.csv", format!("{header}\nUsage,1,1,USD\nUsage,1,1,GBP\n"));
    assert_eq!(world.run(&["bill", &path]).code, 0);
    let outcome = world.run(&["bill", &path, "--strict"]);
    assert_eq!(outcome.code, 3, "{}", outcome.stdout);
    assert!(outcome.stderr.contains("rows of the bill were skipped\nhint: "), "{}", outcome.stderr);
}
