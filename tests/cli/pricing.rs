//! `gpucost pricing`: what is found, how it is shown, and what is refused.

use crate::cli::json_schemas::assert_described;
use crate::cli::world::{Outcome, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn pricing(arguments: &[&str]) -> Outcome {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world.run(&[&["pricing"], arguments].concat())
}

fn prices(arguments: &[&str]) -> Vec<Value> {
    let outcome = pricing(&[arguments, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let document = outcome.json();
    document["prices"].as_array().expect("a list").clone()
}

fn names(offers: &[Value]) -> Vec<&str> {
    offers.iter().map(|offer| offer["instance_type"].as_str().expect("a name")).collect()
}

#[test]
fn the_whole_book_is_as_its_schema_says() {
    let book = pricing(&["--provider", "all", "--region", "all", "--format", "json"]);
    assert_described("pricing", &book.json());
    assert_eq!(book.json()["currency"], Value::Null, "three currencies");
    let csv = pricing(&["--provider", "all", "--region", "all", "--format", "csv"]);
    let rows: Result<Vec<_>, _> =
        csv::Reader::from_reader(csv.stdout.as_bytes()).into_records().collect();
    let rows = rows.expect("as many cells as columns").len();
    assert_eq!(rows, book.json()["prices"].as_array().expect("a list").len());
}

#[test]
fn every_format_has_the_price_of_a_p4d() {
    for (format, price) in [
        ("table", "$21.9576"),
        ("wide", "$21.9576"),
        ("csv", ",21.957642,16029.08,2.744705,0.068618,0.008797,2026-07-20,"),
        ("markdown", "21.9576 |"),
        ("html", "$21.9576"),
    ] {
        let text = pricing(&["p4d.24xlarge", "--format", format]).stdout;
        assert!(text.contains(price), "{format}: {text}");
    }
}

#[test]
fn figures_of_a_p4d_are_those_of_the_published_lists() {
    let offer = &prices(&["p4d.24xlarge"])[0];
    // By hand: 21.957642 / 8; / (8 × 40 GiB); / (8 × 312 TFLOPS); × 730 h.
    assert_eq!(offer["on_demand_hourly"], 21.957642);
    assert_eq!(offer["on_demand_per_gpu_hourly"], 2.744705);
    assert_eq!(offer["on_demand_per_vram_gib_hourly"], 0.068618);
    assert_eq!(offer["on_demand_per_bf16_tflops_hourly"], 0.008797);
    assert_eq!(offer["on_demand_monthly"], 16029.08);
    let published = [
        (1, "no-upfront", 13.921),
        (1, "partial-upfront", 13.258),
        (1, "all-upfront", 12.993),
        (3, "no-upfront", 9.374),
        (3, "partial-upfront", 8.680),
        (3, "all-upfront", 8.159),
    ];
    let reserved = offer["reserved"].as_array().expect("a list");
    assert_eq!(reserved.len(), published.len());
    for (commitment, (years, payment, rate)) in reserved.iter().zip(published) {
        assert_eq!(commitment["term_years"], years);
        assert_eq!(commitment["payment"], payment);
        let effective = commitment["effective_hourly"].as_f64().expect("a rate");
        assert!((effective - rate).abs() < 0.0006, "{effective} {rate}");
        // What is paid over the term is the effective rate times its hours.
        let paid = |key: &str| commitment[key].as_f64().expect("an amount");
        let hours = 8_760.0 * f64::from(years);
        let total = paid("upfront") + paid("hourly") * hours;
        assert!((total - effective * hours).abs() < 0.05, "{total}");
    }
}

#[test]
fn offers_are_sorted_as_asked_and_unknown_figures_come_last() {
    for (sort, key) in [
        ("price", "on_demand_hourly"),
        ("on-demand", "on_demand_hourly"),
        ("spot", "spot_hourly"),
        ("gpu-hour", "on_demand_per_gpu_hourly"),
        ("vram", "on_demand_per_vram_gib_hourly"),
        ("tflops", "on_demand_per_bf16_tflops_hourly"),
    ] {
        let flags = ["--all", "--region", "us-east-1,us-east-2"];
        let offers = prices(&[&flags[..], &["--sort", sort]].concat());
        let figures: Vec<Option<f64>> = offers.iter().map(|offer| offer[key].as_f64()).collect();
        let known: Vec<f64> = figures.iter().flatten().copied().collect();
        assert!(known.is_sorted(), "{sort}");
        assert!(known.len() > 100, "{sort}: {}", known.len());
        assert!(figures[..known.len()].iter().all(Option::is_some), "{sort}");
    }
}

#[test]
fn filters_leave_what_was_asked_for() {
    let offers = prices(&["--gpu", "H100", "--count", "8", "--region", "eu-*"]);
    assert!(offers.len() >= 2);
    for offer in &offers {
        assert_eq!(offer["gpu"]["model"], "H100");
        assert_eq!(offer["gpu"]["count"], 8.0);
        let region = offer["region"].as_str().expect("a region");
        assert!(region.starts_with("eu-"), "{region}");
    }
    assert_eq!(names(&prices(&["--gpu", "A100:80GB"])), ["p4de.24xlarge"]);
    assert_eq!(names(&prices(&["--gpu", "A100:40GB"])), ["p4d.24xlarge"]);
    assert_eq!(names(&prices(&["P4D.24XLARGE"])), ["p4d.24xlarge"]);
    let large = prices(&["--gpu", "24GB..", "--region", "all"]);
    let smallest = large.iter().filter_map(|offer| offer["gpu"]["vram_mib"].as_u64()).min();
    assert_eq!(smallest, Some(22_888), "what AWS reports of a 24 GB card");
}

#[test]
fn a_region_stands_for_itself_alone() {
    let offers = prices(&["g5.xlarge", "--region", "all"]);
    let regions: BTreeSet<&str> =
        offers.iter().map(|offer| offer["region"].as_str().expect("a region")).collect();
    assert_eq!(regions.len(), offers.len());
    assert!(regions.len() > 15, "{}", regions.len());
    let nowhere = pricing(&["p5en.48xlarge", "--region", "cn-north-1"]);
    assert_eq!(nowhere.code, 4);
    assert_eq!(nowhere.stdout, "no priced offers\n\n");
}

#[test]
fn the_wide_table_has_every_row() {
    let offers = prices(&["--region", "us-east-1"]);
    assert!(offers.len() > 40, "{}", offers.len());
    let wide = pricing(&["--region", "us-east-1", "--format", "wide"]).stdout;
    for name in names(&offers) {
        let of_type = |line: &&str| line.split_whitespace().next() == Some(name);
        assert_eq!(wide.lines().filter(of_type).count(), 1, "{name}: {wide}");
    }
    assert!(!wide.contains("--limit"), "{wide}");
    let three = pricing(&["--region", "us-east-1", "--format", "wide", "--limit", "3"]);
    let line = format!("3 of {} offers; use `--limit {}`", offers.len(), offers.len());
    assert!(three.stdout.contains(&line), "{}", three.stdout);
}

#[test]
fn what_is_cut_off_is_announced() {
    let table = pricing(&["--region", "us-east-1", "--limit", "3"]);
    let count = prices(&["--region", "us-east-1"]).len();
    let line = format!("3 of {count} offers; use `--limit {count}` to show all\n");
    assert!(table.stdout.contains(&line), "{}", table.stdout);
    let json = pricing(&["--limit", "3", "--format", "json"]);
    assert_eq!(json.json()["prices"].as_array().map(Vec::len), Some(3));
    let said = format!("{count} offers; {} omitted by `--limit`\n", count - 3);
    assert!(json.stderr.ends_with(&said), "{}", json.stderr);
}

#[test]
fn slips_are_refused_with_what_was_meant() {
    for (arguments, error, hint) in [
        (
            &["p5.48xlrage"][..],
            "no instance type `p5.48xlrage` in the price catalog",
            "did you mean p5.48xlarge",
        ),
        (&["--gpu", "H10"], "no GPU `H10` in the price catalog", "did you mean H100"),
        (
            &["--provider", "asure"],
            "no provider `asure` in the price catalog",
            "did you mean azure",
        ),
        (&["--gpu", "80"], "no GPU `80` in the price catalog", "did you mean A800"),
        (
            &["--region", "us-east1"],
            "no region `us-east1` in the price catalog",
            "did you mean us-east-1",
        ),
        (&["--gpu", "A100:much"], "`A100:much` is not a GPU such as", "a range of sizes"),
        (
            &["--os", "macos"],
            "`macos` is not an operating system in the price catalog",
            "valid values: linux",
        ),
        (&["--max-price-age", "old"], "`old` is not a duration", "--max-price-age 90d"),
    ] {
        let outcome = pricing(arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}");
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        let (first, rest) = outcome.stderr.split_once('\n').expect("lines");
        assert!(
            first.starts_with(&format!("error: {error}")) && rest.contains(hint),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    assert_eq!(pricing(&["--gpu", "H100", "--count", "0"]).code, 2);
}

#[test]
fn old_prices_are_warned_of_and_refused_on_demand() {
    // The clock stands at 2026-11-20, the list at 2026-07-20: 123 days.
    let warned = pricing(&["g7.2xlarge"]);
    assert_eq!(warned.code, 0);
    assert!(
        warned
            .stderr
            .starts_with("warning: the oldest price is from 2026-07-20, 123 days old\nhint: "),
        "{}",
        warned.stderr
    );
    assert_eq!(pricing(&["g7.2xlarge", "--max-price-age", "123d"]).code, 0);
    let refused = pricing(&["g7.2xlarge", "--max-price-age", "122d"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(
        refused.stderr.starts_with(
            "error: the oldest price is from 2026-07-20, 123 days old; `--max-price-age` allows 122 days\n"
        ),
        "{}",
        refused.stderr
    );
    let world = World::new();
    world.file("gpucost.toml", "[prices]\nmax_age = \"100d\"\n");
    for command in ["audit", "inventory"] {
        let refused = world.run(&[command, "--demo"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{command}");
        let outranked = world.run(&[command, "--demo", "--max-price-age", "400d"]);
        assert_eq!(outranked.code, 0, "{command}: {}", outranked.stderr);
    }
}

#[test]
fn gpus_alone_are_listed_unless_all_are_asked_for() {
    let is_gpu = |name: &&str| name.starts_with(['g', 'p']);
    let gpus = prices(&["--region", "us-east-1"]);
    assert!(names(&gpus).iter().all(is_gpu), "{:?}", names(&gpus));
    let offers = prices(&["--region", "us-east-1", "--all"]);
    for name in ["trn1.32xlarge", "inf2.xlarge", "f2.6xlarge", "vt1.3xlarge"] {
        assert!(names(&offers).contains(&name), "{name}");
    }
    let others: Vec<&str> = names(&offers).into_iter().filter(|name| !is_gpu(name)).collect();
    assert_eq!(gpus.len() + others.len(), offers.len());
    assert_eq!(pricing(&["g5.xlarge", "--all"]).code, 2);
}

#[test]
fn a_limit_holds_for_the_figure_that_is_sorted_by() {
    // The rows of us-east-1 in `prices.csv` with a spot price up to it: 0.0535, 0.105025,
    // 0.1197, 0.131575, 0.218925, 0.228025, 0.23498; the next one is 0.253.
    let cheap = prices(&["--sort", "spot", "--max-price", "0.25"]);
    let expected = [
        "g6f.large", "g6f.xlarge", "g4ad.xlarge", "g5g.xlarge", "g6f.2xlarge", "g5g.2xlarge",
        "g4dn.xlarge",
    ];
    assert_eq!(names(&cheap), expected);
    // On demand, two of them: 0.202 and 0.2375.
    let on_demand = prices(&["--max-price", "0.2375"]);
    assert_eq!(names(&on_demand), expected[..2]);
    assert_eq!(pricing(&["--max-price", "0.01"]).code, 4);
    for invalid in ["0", "-1", "NaN", "much", "1e99"] {
        assert_eq!(pricing(&["--max-price", invalid]).code, 2, "{invalid}");
    }
}

#[test]
fn a_type_that_is_not_sold_in_a_region_is_answered_with_those_that_sell_it() {
    // By `prices.csv` and `capacity_blocks.csv`.
    let none = pricing(&["g7.2xlarge", "--region", "eu-west-1"]);
    assert_eq!(none.code, 4);
    let hint = "hint: g7.2xlarge is sold in us-east-1\n";
    assert!(none.stderr.ends_with(hint), "{}", none.stderr);
    let one = pricing(&["g7.2xlarge", "g5.xlarge", "--region", "eu-west-1"]);
    assert_eq!(one.code, 0);
    let note = "note: no priced offer here: g7.2xlarge is sold in us-east-1\n1 offer\n";
    assert!(one.stderr.ends_with(note), "{}", one.stderr);
    let many = pricing(&["p5en.48xlarge", "--region", "cn-north-1"]);
    let hint = "hint: p5en.48xlarge is sold in ap-northeast-1, ap-northeast-2, ap-south-1, \
                ap-southeast-3, eu-north-1, eu-south-2, eu-west-2, me-central-1 and 6 more \
                regions\n";
    assert!(many.stderr.ends_with(hint), "{}", many.stderr);
}

#[test]
fn what_no_refresh_reads_is_not_warned_of() {
    // A Capacity Block of 2026-07-22, on 2026-11-20.
    let block = ["p5e.48xlarge", "--region", "us-east-2"];
    let shown = pricing(&block);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, "1 offer\n"));
    let refused = pricing(&[&block[..], &["--max-price-age", "90d"]].concat());
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

#[test]
fn currencies_are_not_mixed() {
    let offers = prices(&["p3.8xlarge", "--region", "us-east-1,cn-north-1"]);
    let listed: Vec<(&Value, &Value)> =
        offers.iter().map(|offer| (&offer["currency"], &offer["on_demand_hourly"])).collect();
    let (usd, cny) = (json!("USD"), json!("CNY"));
    assert_eq!(listed, [(&usd, &json!(12.24)), (&cny, &json!(144.314))]);
}

#[test]
fn without_a_cache_the_status_lists_the_bundled_book() {
    let status = pricing(&["status", "--format", "json"]).json();
    assert_eq!(status["cache"], Value::Null);
    let lists = status["lists"].as_array().expect("a list");
    assert!(lists.iter().all(|list| list["origin"] == "bundled"));
    let karpenter = lists
        .iter()
        .find(|list| list["source"] == "karpenter-2026-07-20")
        .expect("the newest list");
    assert_eq!(karpenter["age_days"], 123);
    let csv = pricing(&["status", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), 1 + lists.len(), "{csv}");
    assert!(csv.contains(",2026-07-20,123,karpenter-2026-07-20\n"), "{csv}");
}

#[test]
fn who_asks_by_memory_or_number_means_gpus() {
    let world = World::new();
    let types = |arguments: &[&str]| -> Vec<String> {
        let outcome = world.run(&[&["pricing", "--format", "json"], arguments].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let offers = outcome.json()["prices"].as_array().expect("a list").clone();
        let name = |offer: &serde_json::Value| offer["instance_type"].as_str().map(str::to_owned);
        offers.iter().filter_map(name).collect()
    };
    let is_gpu = |name: &String| name.starts_with(['g', 'p']);
    for by_size in
        [&["--gpu", "24GB.."][..], &["--count", "8", "--gpu", "80GB.."], &["--count", "8"]]
    {
        let sold = types(by_size);
        assert!(sold.len() > 3 && sold.iter().all(is_gpu), "{sold:?}");
    }
    // Who names another accelerator gets it.
    assert!(types(&["--gpu", "Inferentia2"]).contains(&"inf2.xlarge".to_owned()));
    assert_eq!(types(&["vt1.3xlarge"]), ["vt1.3xlarge"]);
}
