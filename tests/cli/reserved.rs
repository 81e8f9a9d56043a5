//! `gpucost reserved`: the figures, how they are shown, and what is refused.

use crate::cli::json_schemas::assert_described;
use crate::cli::pages::{blocks, page};
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A box with the prices of 2019, of which the catalog has only the first.
const P3: [&str; 8] = [
    "--type", "p3.2xlarge", "--on-demand-hourly", "3.06", "--reserved-1yr-hourly", "1.82",
    "--reserved-3yr-hourly", "1.31",
];

fn reserved(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["reserved"], arguments].concat())
}

fn figures(arguments: &[&str]) -> Value {
    let outcome = reserved(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

fn p3(arguments: &[&str]) -> Value {
    figures(&[&P3, arguments].concat())
}

/// A figure rounded to whole units.
fn whole(document: &Value, key: &str) -> f64 {
    document[key].as_f64().unwrap_or_else(|| panic!("{key}: {}", document[key])).round()
}

#[test]
fn the_familiar_figures_to_the_dollar() {
    let eight = p3(&["--count", "8", "--hours-per-month", "720"]);
    for (key, amount) in [
        ("on_demand_monthly", 17_626.0),
        ("on_demand_1yr_total", 211_507.0),
        ("reserved_1yr_total", 125_798.0),
        ("reserved_1yr_savings", 85_709.0),
        ("reserved_3yr_total_annualized", 90_547.0),
        // 1.82 × 8 760 × 8 and 1.31 × 26 280 × 8.
        ("reserved_1yr_billed_total", 127_546.0),
        ("reserved_3yr_billed_total", 275_414.0),
        // 3.06 × 720 × (6 × 8 + 6 × 4) and × (6 × 8 + 30 × 4), less those.
        ("balance_when_halved_1yr", 31_085.0),
        ("balance_when_halved_3yr", 94_723.0),
    ] {
        assert_eq!(whole(&eight, key), amount, "{key}");
    }
    assert_eq!(eight["reserved_1yr_savings_pct"], 40.5);
    assert_eq!(eight["reserved_3yr_savings_vs_ondemand_pct"], 57.2);
    // 1.82 / 3.06 and 1.31 / 3.06.
    assert_eq!(eight["break_even_utilization_1yr"], 0.5948);
    assert_eq!(eight["break_even_utilization_3yr"], 0.4281);
    assert_eq!(eight["break_even_month_1yr"], 1);
    assert_eq!(eight["currency"], "USD");
    assert_eq!(eight["on_demand_origin"], "user");
    assert_eq!(eight["on_demand_date"], Value::Null);
    // 8 760 hours a year are 730 a month, which is the default.
    let one = p3(&[]);
    assert_eq!(one["hours_per_month"], 730.0);
    assert_eq!(whole(&one, "on_demand_1yr_total"), 26_806.0);
    assert_eq!(whole(&one, "reserved_1yr_total"), 15_943.0);
    assert_eq!(whole(&one, "reserved_1yr_savings"), 10_862.0);
    // Half of one is none: 3.06 × 730 × 6 − 15 943.20.
    assert_eq!(one["balance_when_halved_1yr"], -2540.4);
}

#[test]
fn upfront_is_spread_and_paid_at_once() {
    let answer = p3(&["--reserved-1yr-upfront", "8000"]);
    // 8 000 + 1.82 × 8 760; (8 000 / 8 760 + 1.82) / 3.06.
    assert_eq!(answer["reserved_1yr_total"], 23_943.2);
    assert_eq!(answer["break_even_utilization_1yr"], 0.8932);
    // 8 000 / (730 × 1.24) = 8.8 months.
    assert_eq!(answer["break_even_month_1yr"], 9);
    assert_eq!(answer["reserved_1yr_payment"], "partial-upfront");
    let never = p3(&["--reserved-1yr-upfront", "12000"]);
    assert_eq!(never["break_even_month_1yr"], Value::Null);
    let all_upfront = figures(&[
        "--type", "p3.2xlarge", "--reserved-3yr-hourly", "0", "--reserved-3yr-upfront", "27000",
    ]);
    assert_eq!(all_upfront["reserved_3yr_total_annualized"], 9_000.0);
    assert_eq!(all_upfront["reserved_3yr_payment"], "all-upfront");
    assert_eq!(all_upfront["reserved_1yr_total"], Value::Null, "nobody sells it");
    assert_eq!(all_upfront["on_demand_hourly"], 3.06, "of the book");
    assert_eq!(all_upfront["on_demand_origin"], "bundled");
}

#[test]
fn prices_of_the_book_make_up_the_comparison() {
    let answer = figures(&["--type", "P4D.24xlarge", "--payment", "partial-upfront"]);
    let commitments = answer["commitments"].as_array().expect("a list");
    let offers: Vec<(&Value, &Value, &Value)> = commitments
        .iter()
        .map(|sold| (&sold["offer"], &sold["term_years"], &sold["payment"]))
        .collect();
    let mut expected = Vec::new();
    let names = [json!("reserved"), json!("ec2-instance-savings-plan")];
    let (years, payments) = (
        [json!(1), json!(3)],
        ["no-upfront", "partial-upfront", "all-upfront"].map(|name| json!(name)),
    );
    for name in &names {
        for year in &years {
            expected.extend(payments.iter().map(|payment| (name, year, payment)));
        }
    }
    assert_eq!(offers, expected);
    // Published: 58 070.85 and 6.629092 an hour, 13.258 effective of 21.957642.
    assert_eq!(answer["reserved_1yr_upfront"], 58_070.85);
    assert_eq!(answer["reserved_1yr_hourly"], 6.629_092);
    assert_eq!(answer["break_even_utilization_1yr"], 0.6038);
    assert_eq!(answer["reserved_3yr_upfront"], 114_053.19);
    // Month by month 21.957642 × 730 = 16 029.08 against 58 070.85 and 4 839.24.
    assert_eq!(answer["break_even_month_1yr"], 6);
    assert_eq!(answer["on_demand_date"], "2026-07-20");
    assert!(answer["capacity_block_hourly"].as_f64() > Some(1.0));
    assert!(answer["capacity_block_date"].is_string());
    // A plan costs what the reserved instance of the same term and payment does.
    for pair in 0..6 {
        let billed = |index: usize| commitments[index]["billed_total"].as_f64();
        let (instance, plan) = (billed(pair).expect("sold"), billed(pair + 6).expect("sold"));
        assert!((instance - plan).abs() < 0.05, "{pair}: {instance} {plan}");
        assert_eq!(commitments[pair + 6]["basis"], "derived");
    }
}

#[test]
fn one_term_alone_is_no_failure() {
    let answer = figures(&["--type", "p5.48xlarge"]);
    assert_eq!(answer["reserved_1yr_total"], Value::Null);
    assert_eq!(answer["break_even_utilization_1yr"], Value::Null);
    assert!(answer["reserved_3yr_total_annualized"].is_f64());
    let table = reserved(&["--type", "p5.48xlarge"]).stdout;
    assert!(table.contains("\n  Reserved for 1 year: not offered for the p5 family.\n"), "{table}");
    assert!(table.contains("\n  A Capacity Block costs "), "{table}");
}

#[test]
fn own_prices_of_the_settings_count() {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.file(
        "own.csv",
        "instance_type,region,option,hourly,effective_date\n\
         p3.2xlarge,us-east-1,reserved-1yr-all-upfront,1.5,2026-08-01\n",
    );
    world.file("gpucost.toml", "[prices]\nfile = \"own.csv\"\n");
    let outcome = world
        .run(&["reserved", "--type", "p3.2xlarge", "--payment", "all-upfront", "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let answer = outcome.json();
    // All upfront: 1.5 × 8 760 at once.
    assert_eq!(answer["reserved_1yr_upfront"], 13_140.0);
    assert_eq!(answer["reserved_1yr_origin"], "user");
    assert_eq!(answer["reserved_1yr_date"], "2026-08-01");
    assert_eq!(answer["commitments"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_document_is_as_the_contract_says() {
    for arguments in [
        &P3[..],
        &["--type", "p4d.24xlarge"],
        &["--type", "p5.48xlarge", "--count", "3"],
        &["--type", "p3.8xlarge", "--region", "cn-north-1", "--reserved-1yr-hourly", "80"],
    ] {
        let answer = figures(arguments);
        assert_described("reserved", &answer);
    }
}

#[test]
fn the_csv_is_one_row_of_the_same_figures() {
    for arguments in [&P3[..], &["--type", "p5.48xlarge"]] {
        let json = figures(arguments);
        let csv = reserved(&[arguments, &["--format", "csv"]].concat());
        assert_eq!(csv.code, 0, "{}", csv.stderr);
        let rows: Vec<BTreeMap<String, String>> = csv::Reader::from_reader(csv.stdout.as_bytes())
            .deserialize()
            .collect::<Result<_, _>>()
            .expect("as many cells as columns");
        let [row] = &rows[..] else {
            panic!("one row: {}", csv.stdout);
        };
        let nested = ["schema_version", "commitments", "given", "steps"];
        for (key, value) in json.as_object().expect("an object") {
            if nested.contains(&key.as_str()) || key.starts_with("capacity_block") {
                continue;
            }
            match value {
                Value::Null => assert_eq!(row[key], "", "{key}"),
                Value::String(text) => assert_eq!(&row[key], text, "{key}"),
                number => assert_eq!(row[key].parse().ok(), number.as_f64(), "{key}"),
            }
        }
    }
}

#[test]
fn slips_are_refused_with_what_was_meant() {
    let p3 = ["--type", "p3.2xlarge"];
    let with = |rest: &[&'static str]| [&p3[..], rest].concat();
    for (arguments, error, hint) in [
        (
            vec!["--type", "p3.2xlrage"],
            "no instance type `p3.2xlrage` in the price catalog",
            "did you mean p3.2xlarge",
        ),
        (
            p3.to_vec(),
            "no reserved price for p3.2xlarge in us-east-1 (linux): the p3 family has no reserved instances",
            "`--reserved-1yr-hourly`",
        ),
        (
            vec!["--type", "p5e.48xlarge"],
            "no on-demand price for p5e.48xlarge in us-east-1 (linux)",
            "`--on-demand-hourly`",
        ),
        (
            vec!["--type", "p4d.24xlarge", "--region", "us-east1"],
            "no region `us-east1` in the price catalog",
            "did you mean us-east-1",
        ),
        (
            vec!["--type", "p4d.24xlarge", "--region", "all"],
            "`--region all` is more than one region",
            "gpucost pricing",
        ),
        (
            vec!["--type", "p4d.24xlarge", "--os", "macos"],
            "`macos` is not an operating system in the price catalog",
            "valid values: linux",
        ),
        (
            with(&["--reserved-1yr-hourly", "0"]),
            "`--reserved-1yr-hourly 0` without `--reserved-1yr-upfront` is not a price",
            "all upfront",
        ),
        (
            with(&["--on-demand-hourly", "0"]),
            "invalid value '0' for '--on-demand-hourly <PRICE>'",
            "above zero",
        ),
        (
            with(&["--on-demand-hourly", "-3.06"]),
            "invalid value '-3.06' for '--on-demand-hourly <PRICE>'",
            "above zero",
        ),
        (
            with(&["--reserved-3yr-hourly", "-1"]),
            "invalid value '-1' for '--reserved-3yr-hourly <PRICE>'",
            "zero or more",
        ),
        (
            with(&["--hours-per-month", "745"]),
            "invalid value '745' for '--hours-per-month <HOURS>'",
            "at most 744",
        ),
        (
            with(&["--hours-per-month", "0"]),
            "invalid value '0' for '--hours-per-month <HOURS>'",
            "above 0",
        ),
        (with(&["--count", "0"]), "invalid value '0' for '--count <N>'", "1..=1000000"),
        (
            with(&["--reserved-1yr-upfront", "100"]),
            "the following required arguments were not provided",
            "--reserved-1yr-hourly <PRICE>",
        ),
    ] {
        let outcome = reserved(&arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stdout);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        assert!(
            outcome.stderr.starts_with(&format!("error: {error}")) && outcome.stderr.contains(hint),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn the_largest_figures_do_not_overflow() {
    let answer = figures(&[
        "--type", "p3.2xlarge", "--count", "1000000", "--hours-per-month", "744",
        "--on-demand-hourly", "1000000", "--reserved-3yr-hourly", "999999.9999999999999999999",
        "--reserved-3yr-upfront", "999999999.99",
    ]);
    // 10^6 × 744 × 10^6 instances.
    assert_eq!(answer["on_demand_monthly"], 7.44e14);
}

#[test]
fn tables_fit_a_terminal_and_warn_of_old_prices() {
    for arguments in [
        &[&P3[..], &["--count", "8"]].concat()[..],
        &["--type", "p4d.24xlarge", "--count", "64", "--payment", "partial-upfront"],
    ] {
        let table = reserved(arguments);
        assert_eq!(table.code, 0);
        for line in table.stdout.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
    let old = reserved(&["--type", "p4d.24xlarge"]);
    assert!(
        old.stderr.starts_with("warning: the oldest price is from 2026-01-21"),
        "{}",
        old.stderr
    );
    let refused = reserved(&["--type", "p4d.24xlarge", "--max-price-age", "200d"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    let wide = reserved(&["--type", "p4d.24xlarge", "--format", "wide"]).stdout;
    assert!(wide.contains("2026-01-21, bundled"), "{wide}");
}

#[test]
fn examples_of_the_page_print_what_it_shows() {
    let page = page("levers/reserved.md");
    let examples = blocks(&page, "text");
    assert_eq!(examples.len(), 1);
    for example in examples {
        let (command, shown) = example.split_once('\n').expect("a command line");
        let arguments: Vec<&str> =
            command.strip_prefix("$ gpucost reserved ").expect("a command").split(' ').collect();
        let printed = reserved(&arguments).stdout;
        crate::cli::pages::assert_shows("docs/levers/reserved.md", shown, &printed);
    }
}
