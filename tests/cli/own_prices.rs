//! Prices that a user negotiated: a file of their own and discounts, what of them
//! is seen in every document, and how an error in them is met.

use crate::cli::world::{Outcome, World};
use serde_json::Value;

const HEADER: &str = "instance_type,region,hourly,effective_date,operating_system,option,currency";

/// A world whose settings name a file of prices.
fn world_with(prices: impl AsRef<[u8]>) -> World {
    let world = World::new();
    world.file("own.csv", prices);
    world.file("gpucost.toml", "[prices]\nfile = \"own.csv\"\n");
    world
}

fn world_with_rows(rows: &[&str]) -> World {
    world_with(format!("{HEADER}\n{}\n", rows.join("\n")))
}

/// A world with discounts, one `family = percent` a line from the second on.
fn world_with_discounts(lines: &str) -> World {
    let world = World::new();
    world.file("gpucost.toml", format!("[prices.discount_percent]\n{lines}"));
    world
}

const LOOK_UP: &[&str] = &["pricing", "g5.xlarge", "--format", "json"];

/// Every command that needs prices says what is wrong and nothing else.
fn assert_refused(world: &World, says: &[&str]) {
    assert_refused_by(LOOK_UP, world, says);
    assert_refused_by(&["pricing", "g5.xlarge", "--offline"], world, says);
    assert_refused_by(&["audit", "--demo", "--format", "json"], world, says);
    assert_refused_by(&["inventory", "--demo", "--format", "csv"], world, says);
}

fn assert_refused_by(command: &[&str], world: &World, says: &[&str]) {
    let Outcome { code, stdout, stderr } = world.run(command);
    assert_eq!(code, 2, "{command:?}, {says:?}: {stderr}");
    assert_eq!(stdout, "", "{command:?}");
    assert!(stderr.starts_with("error: "), "{command:?}: {stderr}");
    assert!(stderr.contains("\nhint: "), "{command:?}: {stderr}");
    for part in says {
        assert!(stderr.contains(part), "{command:?}: no `{part}` in {stderr}");
    }
}

/// The first price of `gpucost pricing` with some arguments.
fn price(world: &World, arguments: &[&str]) -> Value {
    let command = [&["pricing"], arguments, &["--format", "json"]].concat();
    let outcome = world.run(&command);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.json()["prices"][0].clone()
}

/// The demo's largest workload: five p4d.24xlarge, on demand, around the clock.
fn chat_serving(world: &World) -> Value {
    let audit = world.run(&["audit", "--demo", "--format", "json"]).json();
    audit["workloads"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|workload| workload["name"] == "chat-serving")
        .expect("the demo has it")
        .clone()
}

#[test]
fn every_slip_in_a_line_names_the_file_and_the_line() {
    let good = "g5.xlarge,us-east-1,0.9,2026-10-01,,,";
    for (line, says) in [
        ("g5.xlarge,us-east-1,0.9", "3 cells instead of 7"),
        ("g5.xlarge,us-east-1,0.9,2026-10-01,,,,,", "9 cells instead of 7"),
        ("g5.2xlarge,us-east-1,-0.9,2026-10-01,,,", "`-0.9` is not between 0 and 1000000"),
        ("g5.2xlarge,us-east-1,0,2026-10-01,,,", "`0` is not between 0 and"),
        ("g5.2xlarge,us-east-1,0.000,2026-10-01,,,", "`0.000` is not between 0 and"),
        ("g5.2xlarge,us-east-1,free,2026-10-01,,,", "`free` is not between 0 and"),
        ("g5.2xlarge,us-east-1,\"0,9\",2026-10-01,,,", "`0,9` is not between 0 and"),
        ("g5.2xlarge,us-east-1,$0.9,2026-10-01,,,", "`$0.9` is not between 0 and"),
        ("g5.2xlarge,us-east-1,inf,2026-10-01,,,", "`inf` is not between 0 and"),
        ("g5.2xlarge,us-east-1,1000001,2026-10-01,,,", "`1000001` is not between 0 and"),
        ("g5.2xlarge,us-east-1,,2026-10-01,,,", "`hourly` is empty"),
        ("g5.2xlarge,us-east-1,1,2026-10-01,,,EUR", "us-east-1 is billed in USD, not in EUR"),
        ("g5.2xlarge,us-east-1,1,2026-10-01,,,CNY", "us-east-1 is billed in USD, not in CNY"),
        ("g5.2xlarge,cn-north-1,1,2026-10-01,,,", "cn-north-1 is billed in CNY, not in USD"),
        ("g5.2xlarge,us-east-1,1,2026-10-01,,,usd", "`usd` is not a known currency"),
        // Another currency of the same key is the same key twice, or not billed so.
        ("g5.xlarge,us-east-1,0.9,2026-10-01,,,EUR", "billed in USD, not in EUR"),
        (
            "g5.xlarge,us-east-1,0.8,2026-10-01,,,",
            "g5.xlarge us-east-1 linux shared on-demand is a duplicate",
        ),
        ("g5.xlarge,us-east-1,0.8,2026-10-01,linux,on-demand,USD", "is a duplicate"),
        ("g5.2xlarge,us-esat-1,1,2026-10-01,,,", "`us-esat-1` is not a region such as us-east-1"),
        ("g5.2xlarge,,1,2026-10-01,,,", "`region` is empty"),
        (
            "g5.2xlrage,us-east-1,1,2026-10-01,,,",
            "`g5.2xlrage` is not an instance type such as g5.2xlarge",
        ),
        ("g5,us-east-1,1,2026-10-01,,,", "`g5` is not an instance type such as p5.48xlarge"),
        ("g5.2xlarge,us-east-1,1,2026-10-01,,gift,", "`gift` is not a known option"),
        (
            "g5.2xlarge,us-east-1,1,2026-10-01,,reserved-1yr,",
            "`reserved-1yr` is not a known option",
        ),
        ("g5.2xlarge,us-east-1,1,2026-10-01,beos,,", "`beos` is not a known operating_system"),
        ("g5.2xlarge,us-east-1,1,2026-02-30,,,", "`2026-02-30` is not a date such as 2026-11-01"),
        ("g5.2xlarge,us-east-1,1,,,,", "`effective_date` is empty"),
    ] {
        let world = world_with_rows(&[good, line]);
        let place = format!("error: {}:3: ", world.path("own.csv"));
        assert_refused_by(LOOK_UP, &world, &[&place, says]);
    }
}

#[test]
fn a_foreign_file_is_refused_at_its_first_line() {
    for (text, says) in [
        ("", "it is empty; known columns: instance_type, region"),
        ("\n\n", "it is empty"),
        ("Date,Description,Amount\n2026-10-01,GPU,3\n", "unknown column `Date`"),
        ("instance_type;region;hourly;effective_date\n", "unknown column `instance_type;region"),
        (
            "instance_type,region,hourly,effective_date,discount\n",
            "unknown column `discount`; known columns: instance_type",
        ),
        ("instance_type,region,hourly\n", "missing column `effective_date`"),
        ("instance_type,region,hourly,hourly,effective_date\n", "column `hourly` is a duplicate"),
        ("{\"instance_type\": \"g5.xlarge\"}\n", "unknown column"),
    ] {
        let world = world_with(text);
        let place = format!("error: {}:1: ", world.path("own.csv"));
        assert_refused(&world, &[&place, says]);
    }
}

#[test]
fn what_is_not_text_is_named_with_its_line() {
    let latin = [HEADER.as_bytes(), b"\ng5.xlarge,us-east-1,1,2026-10-01,,\xfc,\n"].concat();
    let world = world_with(latin);
    let place = format!("error: {}:2: it is not UTF-8 text", world.path("own.csv"));
    assert_refused(&world, &[&place]);
    // A workbook instead of its text.
    let world = world_with(b"PK\x03\x04\xff\xfe");
    let place = format!("error: {}:1: it is not UTF-8 text", world.path("own.csv"));
    assert_refused(&world, &[&place]);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let world = World::new();
    world.file("gpucost.toml", "[prices]\nfile = \"own.csv\"\n");
    let says =
        format!("error: cannot read the price file {}\n  caused by: ", world.path("own.csv"));
    assert_refused(&world, &[&says]);
    std::fs::create_dir(world.path("own.csv")).expect("a folder");
    assert_refused(&world, &[&says]);
}

#[test]
fn spreadsheets_write_marks_line_ends_and_blanks_of_their_own() {
    let text = format!(
        "\u{feff}{HEADER}\r\n\r\n g5.xlarge , us-east-1 ,\"0.9\",2026-10-01,,,\r\n\
         g5.2xlarge,us-east-1,1.1,2026-10-01,,,"
    );
    let world = world_with(&text);
    assert_eq!(price(&world, &["g5.xlarge"])["on_demand_hourly"], 0.9);
    assert_eq!(price(&world, &["g5.2xlarge"])["on_demand_hourly"], 1.1);
    // The line that an editor shows.
    let world = world_with(format!("{text}\r\ng5.4xlarge,us-east-1,0,2026-10-01,,,\r\n"));
    let place = format!("error: {}:5: ", world.path("own.csv"));
    assert_refused(&world, &[&place]);
}

#[test]
fn own_prices_are_the_users_in_every_document_of_pricing() {
    let world = world_with_rows(&[
        "g5.xlarge,us-east-1,0.9,2026-10-01,,,",
        "g5.xlarge,us-east-1,0.5,2026-09-15,,reserved-1yr-no-upfront,",
        "g5.xlarge,us-east-1,0.3,2026-09-16,,spot,",
        "g5.xlarge,us-east-1,1.5,2026-09-17,windows,,",
    ]);
    let offer = price(&world, &["g5.xlarge"]);
    assert_eq!(offer["on_demand_hourly"], 0.9);
    // 0.9 × 730.
    assert_eq!(offer["on_demand_monthly"], 657.0);
    assert_eq!(offer["origin"], "user");
    assert_eq!(offer["source"], "own.csv");
    assert_eq!(offer["effective_date"], "2026-10-01");
    assert_eq!(offer["spot_hourly"], 0.3);
    assert_eq!(offer["spot_origin"], "user");
    assert_eq!(offer["commitment_1yr_hourly"], 0.5);
    let reserved = offer["reserved"].as_array().expect("a list");
    let origins: Vec<&str> =
        reserved.iter().map(|term| term["origin"].as_str().expect("a text")).collect();
    assert_eq!(origins, ["user", "bundled", "bundled", "bundled", "bundled", "bundled"]);
    // Other systems and regions keep the price of the catalog.
    let windows = price(&world, &["g5.xlarge", "--os", "windows"]);
    assert_eq!(windows["on_demand_hourly"], 1.5);
    let ireland = price(&world, &["g5.xlarge", "--region", "eu-west-1"]);
    assert_eq!(ireland["origin"], "bundled");

    let rows = world.run(&["pricing", "g5.xlarge", "--format", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(rows.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let row = reader.records().next().expect("a row").expect("whole");
    let cell = |name: &str| &row[header.iter().position(|column| column == name).expect(name)];
    assert_eq!(cell("origin"), "user");
    assert_eq!(cell("on_demand_hourly"), "0.9");
    assert_eq!(cell("on_demand_date"), "2026-10-01");

    for format in ["table", "wide"] {
        let text = world.run(&["pricing", "g5.xlarge", "--format", format]).stdout;
        assert!(text.contains("$0.9000"), "{text}");
        assert!(text.contains("on-demand dated 2026-10-01 (user)"), "{text}");
        assert!(text.contains("spot dated 2026-09-16 (user)"), "{text}");
    }
}

#[test]
fn own_prices_are_what_an_audit_rests_on() {
    let world = world_with_rows(&["p4d.24xlarge,us-east-1,20,2026-10-01,,,"]);
    let workload = chat_serving(&world);
    // 5 × 20, and that × 730.
    assert_eq!(workload["hourly_cost"], 100.0);
    assert_eq!(workload["monthly_cost"], 73_000.0);
    let audit = world.run(&["audit", "--demo", "--format", "json"]).json();
    assert!(audit["prices"]["origins"]["user"].as_u64() > Some(0));
    let rows = world.run(&["audit", "--demo", "--format", "csv"]).stdout;
    let row = rows.lines().find(|row| row.contains("tag:chat-serving"));
    assert!(row.is_some_and(|row| row.contains(",73000.00,100,")), "{row:?}");
    for format in ["table", "wide"] {
        let text = world.run(&["audit", "--demo", "--format", format]).stdout;
        let prices = text.lines().find(|line| line.starts_with("Prices: "));
        assert!(prices.is_some_and(|line| line.contains(" user")), "{prices:?}");
    }
    let rows = world.run(&["inventory", "--demo", "--format", "csv"]).stdout;
    let of_users = rows.lines().filter(|row| row.contains(",user")).count();
    // Six p4d.24xlarge run in the demo.
    assert_eq!(of_users, 6, "{rows}");
}

#[test]
fn discounts_come_off_on_demand_and_are_the_users() {
    let world = world_with_discounts("p4d = 50\n");
    let offer = price(&world, &["p4d.24xlarge"]);
    // 21.957642 ÷ 2; spot and commitments are no list prices.
    assert_eq!(offer["on_demand_hourly"], 10.978821);
    assert_eq!(offer["origin"], "user");
    assert_eq!(offer["source"], "karpenter-2026-07-20 less 50%");
    assert_eq!(offer["spot_hourly"], 14.091725);
    assert_eq!(offer["spot_origin"], "bundled");
    assert_eq!(offer["commitment_1yr_hourly"], 13.921094);
    // Another family whose name begins alike has none.
    assert_eq!(price(&world, &["p4de.24xlarge"])["origin"], "bundled");
    let workload = chat_serving(&world);
    // 5 × 10.978821 = 54.894105, × 730 = 40 072.69665.
    assert_eq!(workload["hourly_cost"], 54.894105);
    assert_eq!(workload["monthly_cost"], 40_072.7);
    for format in ["table", "wide"] {
        let text = world.run(&["pricing", "p4d.24xlarge", "--format", format]).stdout;
        assert!(text.contains("on-demand dated 2026-07-20 (user)"), "{text}");
    }
    let rows = world.run(&["pricing", "p4d.24xlarge", "--format", "csv"]);
    assert!(rows.stdout.trim_end().ends_with(",user"), "{}", rows.stdout);
}

#[test]
fn a_price_of_ones_own_is_net_already() {
    let world = World::new();
    world.file("own.csv", format!("{HEADER}\np4d.24xlarge,us-east-1,20,2026-10-01,,,\n"));
    world.file(
        "gpucost.toml",
        "[prices]\nfile = \"own.csv\"\n[prices.discount_percent]\np4d = 50\n",
    );
    assert_eq!(price(&world, &["p4d.24xlarge"])["on_demand_hourly"], 20.0);
    let elsewhere = price(&world, &["p4d.24xlarge", "--region", "us-west-2"]);
    assert_eq!(elsewhere["source"], "ec2-list-2026-05 less 50%");
}

#[test]
fn slips_in_discounts_name_the_line_and_what_belongs_there() {
    for (line, says) in [
        ("g5 = -4", "expected a percentage from 0 to below 100"),
        ("g5 = 100", "expected a percentage from 0 to below 100"),
        ("g5 = 120", "expected a percentage from 0 to below 100"),
        ("g5 = nan", "expected a percentage from 0 to below 100"),
        ("g5 = \"ten\"", "expected a number"),
        ("p4 = 10", "`p4` is not a GPU family in the price catalog; did you mean p4d"),
        ("G5 = 10", "`G5` is not a GPU family in the price catalog; did you mean g5"),
        ("m7i = 10", "`m7i` is not a GPU family in the price catalog"),
        ("zz9 = 10", "`zz9` is not a GPU family in the price catalog"),
    ] {
        let world = world_with_discounts(&format!("g6 = 0\n{line}\n"));
        let place = format!("error: {}:3: ", world.path("gpucost.toml"));
        assert_refused_by(LOOK_UP, &world, &[&place, says]);
    }
}
