//! `gpucost rent-or-buy`: the page, figures by hand, and what is refused.

use crate::cli::pages::{assert_explains, assert_shows, blocks, page};
use crate::cli::world::{Outcome, World};
use serde_json::Value;

/// The server of the page.
const SERVER: [&str; 16] = [
    "--purchase", "270000", "--watts", "8000", "--rack-monthly", "1500", "--staff-hours", "8",
    "--spares-percent", "5", "--residual-percent", "10", "--years", "4", "--utilization", "80",
];

fn world() -> World {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    world
}

fn run(arguments: &[&str]) -> Outcome {
    world().run(&[&["rent-or-buy"], arguments].concat())
}

fn found(arguments: &[&str]) -> Value {
    let outcome = run(&[arguments, &SERVER, &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()
}

/// The flags of the server with one of them changed.
fn with(flag: &str, value: &'static str) -> Vec<&'static str> {
    let mut flags = SERVER.to_vec();
    let place = flags.iter().position(|argument| *argument == flag).expect("a flag");
    flags[place + 1] = value;
    flags
}

#[test]
fn the_examples_of_the_page_print_what_it_shows() {
    let examples = blocks(&page("planners/rent-or-buy.md"), "text");
    assert_eq!(examples.len(), 1);
    for example in examples {
        // The command goes over several lines.
        let (command, shown) = example.split_once("\n\n").expect("a command");
        let command = command.replace("\\\n", " ");
        let arguments = command.strip_prefix("$ gpucost rent-or-buy ").expect("a command");
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let printed = run(&arguments).stdout;
        assert_shows("docs/planners/rent-or-buy.md", shown, &printed);
    }
}

#[test]
fn every_key_of_the_json_is_in_the_page() {
    assert_explains("planners/rent-or-buy.md", &found(&["--type", "p5.48xlarge"]));
}

#[test]
fn the_worked_example_of_the_page() {
    let json = found(&["--type", "p5.48xlarge"]);
    let options = json["options"].as_array().expect("a list");
    let figures: Vec<(&str, f64, f64, &Value)> = options
        .iter()
        .map(|option| {
            let number = |key: &str| option[key].as_f64().expect("a number");
            let paying = option["paying"].as_str().expect("text");
            let month = &option["break_even_month"];
            (paying, number("monthly_cost"), number("term_cost"), month)
        })
        .collect();
    // As in the tests of the arithmetic: 48 × 2,573.04 + 283,500 - 27,000; 48 × 17,357.43;
    // 55.04 × 730 × 80% × 48.
    assert_eq!(
        figures,
        [
            ("buy", 2_573.04, 380_005.92, &Value::Null),
            ("reserved-3yr", 17_357.43, 833_156.64, &Value::from(20)),
            ("on-demand", 32_143.36, 1_542_881.28, &Value::from(10)),
        ]
    );
    assert_eq!(options[0]["useful_gpu_hourly"], 1.6945);
    assert_eq!(options[2]["useful_gpu_hourly"], 6.88);
    let row = |name: &str| {
        let mut rows = json["sensitivity"].as_array().expect("a list").iter();
        let row = rows.find(|row| row["input"] == name).expect("an input");
        (row["month_low"].clone(), row["month_high"].clone())
    };
    assert_eq!(row("purchase price"), (Value::from(8), Value::from(12)));
    assert_eq!(row("utilization"), (Value::from(13), Value::from(8)));
}

#[test]
fn a_price_by_hand_needs_no_type() {
    // 8 × 10 an hour × 730 × 80% = 5,840 a month... of eight GPUs together: 10 × 584.
    let json = found(&["--on-demand-hourly", "10", "--gpus", "8"]);
    let rented = &json["options"][1];
    assert_eq!(rented["monthly_cost"], 5_840.0);
    assert_eq!(rented["gpu_hourly"], 1.25);
    // (283,500 / (5,840 - 2,573.04)) is 86.8 months, and the term has 48.
    assert_eq!(rented["break_even_month"], Value::Null);
    assert!(
        json["headline"]
            .as_str()
            .is_some_and(|text| text.contains("never pays off within 4 years"))
    );
}

#[test]
fn other_providers_are_compared_by_the_gpu() {
    let json = found(&["--type", "p5.48xlarge", "--provider", "aws,lambda"]);
    let options = json["options"].as_array().expect("a list");
    let lambda = options.iter().find(|option| option["provider"] == "lambda").expect("an offer");
    // 4.29 a GPU: 4.29 × 8 × 730 × 80%.
    assert_eq!(lambda["gpu_hourly"], 4.29);
    assert_eq!(lambda["monthly_cost"], 20_042.88);
    assert_eq!(lambda["machines"], 8);
}

/// 1.49 per GPU at a marketplace is the lowest price of an H100, and of one GPU. Machines with
/// eight come first, and the headline is about one of them.
#[test]
fn several_machines_come_last_and_are_named() {
    let json = found(&["--type", "p5.48xlarge", "--provider", "all"]);
    let options = json["options"].as_array().expect("a list");
    let machines: Vec<u64> =
        options[1..].iter().map(|option| option["machines"].as_u64().expect("a number")).collect();
    let several = machines.iter().filter(|count| **count > 1).count();
    let (alike, small) = options[1..].split_at(machines.len() - several);
    assert!(!alike.is_empty() && !small.is_empty());
    assert!(alike.iter().all(|option| option["machines"] == 1));
    for part in [alike, small] {
        let cost = |option: &Value| option["term_cost"].as_f64().expect("an amount");
        assert!(part.is_sorted_by(|left, right| cost(left) <= cost(right)));
    }
    assert_eq!(small[0]["provider"], "vast-ai");
    let headline = json["headline"].as_str().expect("text");
    assert!(!headline.contains("vast-ai"), "{headline}");
    let cheapest = alike[0]["machine"].as_str().expect("text");
    assert!(headline.contains(cheapest), "{headline}");
    let caveats = json["caveats"].to_string();
    for said in [
        format!("{several} of {} rentals are several machines", machines.len()),
        "machines of runpod [community], tensordock, vast-ai belong to hosts of many owners"
            .to_owned(),
        "prices of other providers were seen from 2026-05-24 to ".to_owned(),
    ] {
        assert!(caveats.contains(&said), "{said}: {caveats}");
    }
    let alone = found(&["--type", "p5.48xlarge"])["caveats"].to_string();
    assert!(!alone.contains("several machines") && !alone.contains("other providers"));
}

#[test]
fn a_type_that_is_not_launched_is_named() {
    let said = "AWS launches no new p3.2xlarge";
    let retired = found(&["--type", "p3.2xlarge"]);
    assert!(retired["caveats"].to_string().contains(said));
    let usual = found(&["--type", "p5.48xlarge"]);
    assert!(!usual["caveats"].to_string().contains("launches no new"));
}

#[test]
fn the_draw_of_a_run_stands_for_the_server() {
    let world = world();
    let row = |second: u32| {
        format!(
            "2026/01/03 12:00:0{second}.000,0,NVIDIA H100 80GB HBM3,90 %,600 MiB,81559 MiB,300.00 W\n"
        )
    };
    let header = "timestamp,index,name,utilization.gpu [%],memory.used [MiB],memory.total [MiB],\
                  power.draw [W]\n";
    let rows: String = (0..5).map(row).collect();
    let path = world.file("run.csv", format!("{header}{rows}"));
    let mut flags = vec!["rent-or-buy", "--type", "p5.48xlarge", "--format", "json"];
    flags.extend(["--profile-data", &path, "--host-watts", "2000"]);
    flags.extend(SERVER.iter().filter(|argument| !["--watts", "8000"].contains(argument)));
    let outcome = world.run(&flags);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let json = outcome.json();
    let given = json["given"].as_array().expect("a list");
    let watts = given.iter().find(|figure| figure["key"] == "watts");
    // 8 × 300 + 2,000.
    assert_eq!(watts.expect("given")["value"], 4_400.0);
}

#[test]
fn bad_input_is_refused() {
    let of_type = |flags: Vec<&'static str>| [&["--type", "p5.48xlarge"][..], &flags[..]].concat();
    for (arguments, said) in [
        (of_type(with("--purchase", "0")), "expected a number above zero"),
        (of_type(with("--purchase", "-5")), "expected a number above zero"),
        (of_type(with("--utilization", "101")), "utilization is 101"),
        (of_type(with("--years", "0")), "0 is not in 1..=15"),
        (of_type(with("--rack-monthly", "NaN")), "expected a number of zero or more"),
        (
            [of_type(SERVER.to_vec()), vec!["--pue", "0.9"]].concat(),
            "PUE is 0.9: expected a number from 1 to 10",
        ),
        ([&["--type", "p5.48xlarg"][..], &SERVER].concat(), "did you mean p5.48xlarge"),
        ([&["--type", "g6f.large"][..], &SERVER].concat(), "has 0.125 of a GPU"),
        (
            [&["--type", "p5.48xlarge", "--region", "eu-*"][..], &SERVER].concat(),
            "more than one region",
        ),
        (SERVER.to_vec(), "--type"),
    ] {
        let outcome = run(&arguments);
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
    }
    let idle = run(&of_type(with("--utilization", "0")));
    assert_eq!(idle.code, 0, "{}", idle.stderr);
    assert!(idle.stdout.contains("never pays off"), "{}", idle.stdout);
}

/// Its p4d.24xlarge ran all the time for 21.957642 an hour: 730 of them are 16,029.08. The server
/// of the page pays off after 283,500 / (16,029.08 - 2,573.04) = 21.07 months.
#[test]
fn a_workload_states_type_hours_and_price() {
    let server: Vec<&str> = SERVER[..14].to_vec();
    let workload = ["--demo", "--workload", "foundation-pretraining"];
    let outcome = run(&[&workload[..], &server[..], &["--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let json = outcome.json();
    let options = json["options"].as_array().expect("a list");
    let today = options
        .iter()
        .find(|option| option["machine"] == "p4d.24xlarge (as foundation-pretraining pays today)")
        .expect("what is paid");
    assert_eq!(today["monthly_cost"], 16_029.08);
    assert_eq!(today["break_even_month"], 22);
    let given = json["given"].as_array().expect("a list");
    let utilization = given.iter().find(|figure| figure["key"] == "utilization_percent");
    let utilization = utilization.expect("given");
    assert_eq!(utilization["value"], 100.0);
    assert_eq!(utilization["source"], "share of the hours that foundation-pretraining ran");
    let fleet = ["--demo", "--workload", "chat-serving", "--format", "json"];
    let outcome = run(&[&fleet[..], &server[..]].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let caveats = outcome.json()["caveats"].to_string();
    assert!(caveats.contains("chat-serving has 5 instances"), "{caveats}");
}

#[test]
fn what_no_flag_and_no_workload_states_is_asked_for() {
    let without = &SERVER[..14];
    for (arguments, said) in [
        (&["--type", "p5.48xlarge"][..], "--utilization"),
        (&["--workload", "x"], "`--workload` is one of an estate"),
        (&["--demo"], "an estate needs `--workload`"),
        (&["--demo", "--workload", "chat-servin"], "did you mean chat-serving"),
        (
            &["--on-demand-hourly", "9", "--gpus", "8", "--utilization", "80", "--provider", "all"],
            "`--provider` needs `--type`",
        ),
    ] {
        let outcome = run(&[arguments, without].concat());
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
    }
}
