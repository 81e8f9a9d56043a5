//! Exports for finance: lists as CSV, FOCUS by instance and day, byte order marks, the way from
//! list prices to the cost, and the workbook, which openpyxl reads.

use crate::cli::estates::{empty, one, owned};
use crate::cli::hostile::{fleet, is_harmless};
use crate::cli::installed::installed;
use crate::cli::pages::{blocks, page as page_text};
use crate::cli::world::World;
use crate::support::skip::skip;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

type Row = BTreeMap<String, String>;

const BILLED: &str = "fixtures/bills/estate.json";

/// The lists that stand in place of the workloads.
const LISTS: [&str; 6] = ["actions", "purchases", "findings", "gaps", "prices", "reconciliation"];

fn read(text: &str) -> (Vec<String>, Vec<Row>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let rows = reader.deserialize().map(|row| row.expect("a row"));
    (header.iter().map(str::to_owned).collect(), rows.collect::<Vec<Row>>())
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn sum(rows: &[Row], column: &str) -> Decimal {
    let cells = rows.iter().map(|row| row[column].as_str());
    cells.filter(|cell| !cell.is_empty()).map(decimal).sum::<Decimal>().normalize()
}

fn number(value: &Value) -> Decimal {
    decimal(&value.to_string()).normalize()
}

/// A world with estates that differ in how they are paid for, and the arguments that audit
/// each.
fn worlds() -> (World, Vec<Vec<String>>) {
    let world = World::new();
    let owned = world.estate("owned.json", &owned());
    let billed = Path::new(env!("CARGO_MANIFEST_DIR")).join(BILLED);
    let billed = billed.to_string_lossy().into_owned();
    let audits = [
        vec!["--demo".to_owned()],
        vec!["--from".to_owned(), owned],
        vec!["--from".to_owned(), billed],
    ];
    (world, audits.into())
}

fn audited(world: &World, of: &[String], more: &[&str]) -> String {
    let of: Vec<&str> = of.iter().map(String::as_str).collect();
    let outcome = world.run(&[&["audit"], &of[..], more].concat());
    assert_eq!(outcome.code, 0, "{of:?} {more:?}: {}", outcome.stderr);
    outcome.stdout
}

fn document(world: &World, of: &[String]) -> Value {
    serde_json::from_str(&audited(world, of, &["--format", "json"])).expect("JSON")
}

fn table(world: &World, of: &[String], name: &str) -> (Vec<String>, Vec<Row>) {
    read(&audited(world, of, &["--format", "csv", "--csv-table", name]))
}

#[test]
fn lists_have_the_rows_of_the_audit_and_name_their_currency() {
    let (world, audits) = worlds();
    for of in &audits {
        let audit = document(&world, of);
        let list = |key: &str| audit[key].as_array().expect("a list").clone();
        let (_, actions) = table(&world, of, "actions");
        assert_eq!(
            sum(&actions, "monthly_savings"),
            number(&audit["summary"]["monthly_savings"]),
            "{of:?}"
        );
        assert_eq!(
            sum(&actions, "waste_monthly_savings"),
            number(&audit["summary"]["monthly_waste"]),
            "{of:?}"
        );
        let planned = list("workloads").into_iter().chain(list("unused_commitments"));
        let planned = planned.map(|row| row["plan"]["actions"].as_array().expect("a list").len());
        assert_eq!(actions.len(), planned.sum::<usize>());
        // What is bought is what the actions that commit save.
        let (_, purchases) = table(&world, of, "purchases");
        assert_eq!(purchases.len(), list("purchases").len());
        let commits = actions.iter().filter(|row| row["action"] == "commit");
        let committed: Decimal = commits.map(|row| decimal(&row["monthly_savings"])).sum();
        assert_eq!(sum(&purchases, "monthly_savings"), committed.normalize(), "{of:?}");
        let (_, findings) = table(&world, of, "findings");
        let ids: Vec<&str> = findings.iter().map(|row| row["id"].as_str()).collect();
        let expected = list("findings");
        let expected: Vec<&str> =
            expected.iter().map(|finding| finding["id"].as_str().expect("text")).collect();
        assert_eq!(ids, expected);
        let (_, gaps) = table(&world, of, "gaps");
        assert_eq!(gaps.len(), list("gaps").len());
        let (_, prices) = table(&world, of, "prices");
        let origins = &audit["prices"]["origins"];
        let total: u64 =
            origins.as_object().expect("an object").values().filter_map(Value::as_u64).sum();
        assert_eq!(prices.len() as u64, total, "{of:?}");
        let rows = actions.iter().chain(&purchases).chain(&findings);
        for row in rows.chain(&prices) {
            assert_eq!(row["currency"], "USD", "{row:?}");
        }
    }
    let workloads = ["--format", "csv", "--csv-table", "workloads"];
    assert_eq!(
        audited(&world, &audits[0], &workloads),
        audited(&world, &audits[0], &["--format", "csv"])
    );
}

#[test]
fn headers_are_those_of_the_page() {
    let (world, audits) = worlds();
    let page = page_text("finance.md");
    for name in LISTS {
        let (header, _) = table(&world, &audits[0], name);
        let columns: Vec<String> = header.iter().map(|column| format!("`{column}`")).collect();
        let line = format!("| `{name}` | {} |", columns.join(", "));
        assert!(page.contains(&line), "{line}");
    }
}

#[test]
fn flags_that_do_not_belong_to_the_format_are_refused() {
    for (arguments, said) in [
        (&["--csv-table", "gaps"][..], "`--csv-table` works only with"),
        (&["--csv-table", "gaps", "--format", "xlsx"], "`--csv-table` works only with"),
        (&["--by-day", "--format", "csv"], "`--by-day` works only with"),
        (&["--bom", "--format", "json"], "`--bom` works only with"),
        (
            &["--group-by", "region", "--format", "xlsx"],
            "`--group-by` cannot be used with `--format xlsx`",
        ),
        (
            &["--format", "csv", "--csv-table", "gaps", "--group-by", "region"],
            "cannot be used with",
        ),
    ] {
        let outcome = World::new().run(&[&["audit", "--demo"], arguments].concat());
        assert_eq!(outcome.code, 2, "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
    }
    let mut world = World::new();
    world.terminal = true;
    let outcome = world.run(&["audit", "--demo", "--format", "xlsx"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stdout.is_empty());
    assert!(outcome.stderr.contains("--output audit.xlsx"), "{}", outcome.stderr);
    let path = world.path("audit.xlsx");
    let outcome = world.run(&["audit", "--demo", "--format", "xlsx", "--output", &path]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(fs::read(path).expect("a file").starts_with(b"PK\x03\x04"));
}

#[test]
fn a_byte_order_mark_is_added_on_request_alone() {
    let (world, audits) = worlds();
    for format in [
        &["--format", "csv"][..],
        &["--format", "csv", "--csv-table", "findings"],
        &["--format", "csv", "--group-by", "region"],
        &["--format", "focus"],
    ] {
        let plain = audited(&world, &audits[0], format);
        let marked = audited(&world, &audits[0], &[format, &["--bom"]].concat());
        assert_eq!(&marked.as_bytes()[..3], [0xef, 0xbb, 0xbf]);
        assert_eq!(marked[3..], plain, "{format:?}");
        assert!(!plain.starts_with('\u{feff}'));
    }
}

/// 14 days at $1.006 for 24 hours are $338.016, or $338.02. A day is $24.144: 14 times $24.14
/// are $337.96, and the six cents that are left go to the first six days. The GPU was at 15%:
/// 0.15 × 24.15 is 3.62 of it, and so is 0.15 × 24.14.
#[test]
fn days_of_an_instance_are_as_by_hand() {
    let world = World::new();
    let of = ["--from".to_owned(), world.estate("one.json", &one())];
    let (header, rows) = read(&audited(&world, &of, &["--format", "focus", "--by-day"]));
    let (expected, _) = read(&audited(&world, &of, &["--format", "focus"]));
    assert_eq!(header, expected, "the columns are the same");
    assert_eq!(rows.len(), 14);
    for (place, row) in rows.iter().enumerate() {
        let cost = if place < 6 { "24.15" } else { "24.14" };
        assert_eq!(row["EffectiveCost"], cost, "{place}");
        assert_eq!(row["ListCost"], cost);
        assert_eq!(row["BilledCost"], cost);
        assert_eq!(row["ResourceId"], "i-one");
        assert_eq!(row["PricingQuantity"], "24.00");
        assert_eq!(row["x_UsefulCost"], "3.62");
        assert_eq!(row["x_MeanUtilizationPercent"], "15.0000");
        assert_eq!(row["BillingPeriodStart"], "2026-10-01T00:00:00Z");
        assert_eq!(row["BillingPeriodEnd"], "2026-11-01T00:00:00Z");
    }
    assert_eq!(rows[0]["ChargePeriodStart"], "2026-10-18T00:00:00Z");
    assert_eq!(rows[0]["ChargePeriodEnd"], "2026-10-19T00:00:00Z");
    assert_eq!(rows[13]["ChargePeriodEnd"], "2026-11-01T00:00:00Z");
}

/// What rows of a charge have in common, whatever they are divided by.
fn charge(row: &Row) -> [String; 7] {
    let of = if row["x_Classification"] == "unused" { "ResourceId" } else { "x_WorkloadId" };
    [
        of, "ServiceCategory", "PricingCategory", "CommitmentDiscountId",
        "CommitmentDiscountStatus", "AvailabilityZone", "ListUnitPrice",
    ]
    .map(|column| row[column].clone())
}

/// The first instance is billed at 2 × 19.7618778 and 0.09 for its transfer, of a list price of
/// 3 × 21.957642 that the audit expects; the last is in no line of the bill.
#[test]
fn the_statement_of_the_page_joins_a_bill() {
    let Some(python) = installed("python") else {
        return skip("target/test-venv with duckdb is missing");
    };
    let (world, audits) = worlds();
    let bill = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/bills/focus12.csv");
    world.file("bill.csv", fs::read(bill).expect("a bill"));
    let path = world.path("audit.csv");
    let more = ["--format", "focus", "--by-day", "--output", &path];
    audited(&world, &audits[2], &more);
    let statements = blocks(&page_text("finance.md"), "sql");
    let program = "import duckdb, json, sys\n\
        rows = duckdb.sql(sys.argv[1]).fetchall()\n\
        print(json.dumps([[None if cell is None else str(cell) for cell in row] for row in rows]))";
    let output = Command::new(python)
        .args(["-c", program, &statements[0]])
        .current_dir(world.path(""))
        .output()
        .expect("Python starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("ModuleNotFoundError") {
        return skip("target/test-venv has no duckdb");
    }
    let rows: Value = serde_json::from_slice(&output.stdout).expect(&stderr);
    let cells = |row: &Value| -> Vec<String> {
        let cells = row.as_array().expect("a row").iter();
        let text = |cell: &Value| cell.as_str().map_or("-".to_owned(), str::to_owned);
        cells.map(text).collect()
    };
    let answer: Vec<Vec<String>> = list(&json!({ "rows": rows }), "rows")
        .iter()
        .map(cells)
        .map(|row| [&row[..2], &row[3..6]].concat())
        .collect();
    let expected = [
        ["i-0aaa000000000001a", "39.6137556000", "65.87", "-26.2562444000"],
        ["i-0aaa000000000002b", "29.0000000000", "65.87", "-36.8700000000"],
        ["i-0aaa000000000003c", "2.3400000000", "5.58", "-3.2400000000"],
        ["i-0aaa000000000004d", "0.5850000000", "0.68", "-0.0950000000"],
        ["i-0aaa000000000006f", "-", "1.21", "-"],
    ];
    let expected = expected.map(|row| [&["2026-10-05"][..], &row[..]].concat());
    assert_eq!(answer, expected);
}

#[test]
fn days_add_up_to_the_charges_of_the_window() {
    let (world, mut audits) = worlds();
    // From 18:00 on, so that the first day is a part of one, with a stopped box that has a
    // volume.
    let mut estate = owned();
    estate["window_start"] = json!("2026-10-18T18:00:00Z");
    estate["window_end"] = json!("2026-11-01T00:00:00Z");
    let mut stopped = estate["instances"][0].clone();
    stopped["id"] = json!("i-stopped");
    stopped["state"] = json!("stopped");
    stopped["volumes"] = json!([{"id": "vol-1", "volume_type": "gp3", "size_gib": 500}]);
    estate["instances"].as_array_mut().expect("a list").push(stopped);
    audits.push(vec!["--from".to_owned(), world.estate("partial.json", &estate)]);
    for of in &audits {
        let (_, whole) = read(&audited(&world, of, &["--format", "focus"]));
        let (_, daily) = read(&audited(&world, of, &["--format", "focus", "--by-day"]));
        assert!(daily.len() >= whole.len(), "{of:?}");
        let sums = |rows: &[Row], column: &str| {
            let mut sums: BTreeMap<[String; 7], Decimal> = BTreeMap::new();
            for row in rows.iter().filter(|row| !row[column].is_empty()) {
                *sums.entry(charge(row)).or_default() += decimal(&row[column]);
            }
            sums
        };
        for column in ["EffectiveCost", "ListCost", "BilledCost", "ContractedCost"] {
            assert_eq!(sums(&daily, column), sums(&whole, column), "{of:?} {column}");
        }
        // Hours are shown with ten decimals.
        let hours = sums(&whole, "PricingQuantity");
        for (charge, of_days) in sums(&daily, "PricingQuantity") {
            let expected = hours[&charge];
            assert!((of_days - expected).abs() < Decimal::new(1, 6), "{charge:?}");
        }
        for row in &daily {
            let day = |column: &str| row[column][..10].to_owned();
            let start = row["ChargePeriodStart"].parse::<jiff::Timestamp>().expect("a time");
            let end = row["ChargePeriodEnd"].parse::<jiff::Timestamp>().expect("a time");
            assert!(start < end && end.duration_since(start).as_hours() <= 24, "{row:?}");
            assert!(day("BillingPeriodStart") <= day("ChargePeriodStart"), "{row:?}");
            assert!(decimal(&row["EffectiveCost"]) >= Decimal::ZERO);
        }
    }
}

/// 1.006 × 730 = 734.38 at list price. A discount of 10% leaves 0.9054 × 730 = 660.942, and the
/// reserved instance 0.63378 × 730 = 462.6594.
#[test]
fn the_way_from_list_prices_to_the_cost_is_as_by_hand() {
    let world = World::new();
    let of = ["--from".to_owned(), world.estate("owned.json", &owned())];
    let cells = |row: &Row| {
        [
            "id", "list_monthly_cost", "discount_monthly", "spot_monthly", "commitment_monthly",
            "unused_monthly_cost", "monthly_cost",
        ]
        .map(|column| row[column].clone())
    };
    let (_, rows) = table(&world, &of, "reconciliation");
    let shown: Vec<_> = rows.iter().map(cells).collect();
    assert_eq!(
        shown,
        [
            ["i-one", "734.38", "0.00", "0.00", "271.72", "0.00", "462.66"],
            ["cr-1", "0.00", "0.00", "0.00", "0.00", "734.38", "734.38"],
            ["ri-1", "0.00", "0.00", "0.00", "0.00", "462.66", "462.66"],
        ]
    );
    world.file("gpucost.toml", "[policy]\n\n[prices]\ndiscount_percent = { g5 = 10 }\n");
    let (_, rows) = table(&world, &of, "reconciliation");
    assert_eq!(cells(&rows[0]), ["i-one", "734.38", "73.44", "0.00", "198.28", "0.00", "462.66"]);
}

/// A spot instance that ran for 7 of 12 periods: 425.83 hours, 428.39 at the list price of
/// 1.006 and 166.07 at 0.39.
#[test]
fn rows_of_the_reconciliation_add_up_to_the_audit() {
    let (world, audits) = worlds();
    for of in &audits {
        let (_, rows) = table(&world, of, "reconciliation");
        for row in &rows {
            let of = |column: &str| decimal(&row[column]);
            let explained = of("list_monthly_cost") + of("unlisted_monthly_cost")
                - of("discount_monthly")
                - of("spot_monthly")
                - of("commitment_monthly")
                + of("idle_storage_monthly_cost")
                + of("unused_monthly_cost");
            assert_eq!(explained, of("monthly_cost"), "{row:?}");
            assert_eq!(row["currency"], "USD");
        }
        assert_eq!(
            sum(&rows, "monthly_cost"),
            number(&document(&world, of)["summary"]["monthly_cost"]),
            "{of:?}"
        );
    }
    let (_, rows) = table(&world, &audits[2], "reconciliation");
    let spot = rows.iter().find(|row| row["id"] == "i-0aaa000000000004d");
    let spot = spot.expect("a row");
    assert_eq!(spot["list_monthly_cost"], "428.39");
    assert_eq!(spot["spot_monthly"], "262.32");
    assert_eq!(spot["monthly_cost"], "166.07");
}

/// A workbook as openpyxl reads it; `None` where it is not installed.
fn opened(path: &str) -> Option<Value> {
    let Some(python) = installed("python") else {
        skip("target/test-venv with openpyxl is missing");
        return None;
    };
    let helper = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/workbook.py");
    let output = Command::new(python).arg(helper).arg(path).output().expect("Python starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("ModuleNotFoundError") {
        skip("target/test-venv has no openpyxl");
        return None;
    }
    assert!(output.status.success(), "{stderr}");
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn workbook_of(world: &World, of: &[String], name: &str) -> Option<Value> {
    let path = world.path(name);
    audited(world, of, &["--format", "xlsx", "--output", &path]);
    opened(&path)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().expect("a list")
}

fn page<'a>(workbook: &'a Value, name: &str) -> &'a Value {
    let mut sheets = list(workbook, "sheets").iter();
    sheets.find(|sheet| sheet["name"] == name).unwrap_or_else(|| panic!("no sheet {name}"))
}

/// Cells of a column of a sheet under its header, without those of its totals.
fn column<'a>(sheet: &'a Value, name: &str) -> Vec<&'a Value> {
    let (header, rows) = list(sheet, "rows").split_first().expect("a header");
    let header = header.as_array().expect("a list");
    let place = header.iter().position(|cell| cell["value"] == name);
    let place = place.unwrap_or_else(|| panic!("no column {name}"));
    let rows =
        rows.iter().take_while(|row| !row[0]["value"].is_null() || !row[1]["value"].is_null());
    rows.map(|row| &row[place]).collect()
}

fn amounts(sheet: &Value, name: &str) -> Decimal {
    let cells = column(sheet, name).into_iter();
    cells
        .filter(|cell| !cell["value"].is_null())
        .map(|cell| {
            assert_eq!(cell["type"], "n", "{cell}");
            assert_eq!(cell["format"], "#,##0.00", "{cell}");
            decimal(cell["value"].as_str().expect("a number"))
        })
        .sum::<Decimal>()
        .normalize()
}

/// The value of a line of the first sheet.
fn stated(workbook: &Value, name: &str) -> Option<Decimal> {
    let sheet = page(workbook, "document");
    let mut rows = list(sheet, "rows").iter();
    let row = rows.find(|row| row[0]["value"] == name);
    let row = row.unwrap_or_else(|| panic!("no line {name}"));
    let value = row[1]["value"].as_str();
    value.map(|text| decimal(text).normalize())
}

/// The totals under a column of a sheet, as its formulas have them.
fn totals(sheet: &Value, name: &str) -> Vec<Decimal> {
    let header = list(sheet, "rows")[0].as_array().expect("a header");
    let place = header.iter().position(|cell| cell["value"] == name);
    let mut place = place.unwrap_or_else(|| panic!("no column {name}")) + 1;
    let mut letters = String::new();
    while place > 0 {
        letters.insert(0, char::from(b'A' + ((place - 1) % 26) as u8));
        place = (place - 1) / 26;
    }
    let formulas = list(sheet, "formulas").iter();
    formulas
        .filter(|formula| {
            let cell = formula["cell"].as_str().expect("text");
            cell.trim_end_matches(|c: char| c.is_ascii_digit()) == letters
        })
        .map(|formula| decimal(formula["result"].as_str().expect("a number")).normalize())
        .collect()
}

#[test]
fn a_second_program_computes_the_totals_of_a_workbook() {
    let (world, audits) = worlds();
    for (place, of) in audits.iter().enumerate() {
        let Some(workbook) = workbook_of(&world, of, &format!("{place}.xlsx")) else { return };
        let names: Vec<&Value> =
            list(&workbook, "sheets").iter().map(|sheet| &sheet["name"]).collect();
        assert_eq!(
            names,
            [
                "document", "workloads", "unused_commitments", "purchases", "findings", "actions",
                "gaps", "prices", "storage_prices", "reconciliation"
            ]
        );
        let audit = document(&world, of);
        let summary = &audit["summary"];
        // When the file was made is when the audit was.
        let created = workbook["created"].as_str().expect("a time");
        assert!(audit["as_of"].as_str().expect("a time").starts_with(created), "{created}");
        for sheet in list(&workbook, "sheets") {
            assert_eq!(sheet["frozen"], "A2", "{}", sheet["name"]);
            for formula in list(sheet, "formulas") {
                let [result, computed] =
                    ["result", "computed"].map(|key| formula[key].as_str().expect("a number"));
                assert_eq!(
                    decimal(result).normalize(),
                    decimal(computed).normalize(),
                    "{} {formula}",
                    sheet["name"]
                );
            }
            if sheet["name"] != "document" {
                let filter = sheet["filter"].as_str().expect("a filter");
                assert!(filter.starts_with("A1:"), "{filter}");
                assert!(sheet["width"].as_f64().expect("a width") >= 12.0);
            }
        }
        for name in [
            "monthly_cost", "monthly_savings", "monthly_waste", "monthly_optimization",
            "planned_monthly_cost", "annual_savings",
        ] {
            assert_eq!(
                stated(&workbook, &format!("summary_{name}")),
                Some(number(&summary[name])),
                "{name}"
            );
        }
        for (name, column, expected) in [
            ("workloads", "monthly_cost", "monthly_cost"),
            ("workloads", "plan_planned_monthly_cost", "planned_monthly_cost"),
            ("actions", "monthly_savings", "monthly_savings"),
            ("actions", "waste_monthly_savings", "monthly_waste"),
            ("reconciliation", "monthly_cost", "monthly_cost"),
        ] {
            let sheets: &[&str] = match name {
                "workloads" => &["workloads", "unused_commitments"],
                _ => &[name],
            };
            let sheets = || sheets.iter().map(|name| page(&workbook, name));
            let total: Decimal = sheets().map(|sheet| amounts(sheet, column)).sum();
            let expected = number(&summary[expected]);
            assert_eq!(total.normalize(), expected, "{name} {column}");
            let total: Decimal = sheets().flat_map(|sheet| totals(sheet, column)).sum();
            assert_eq!(total.normalize(), expected, "{name} {column}");
        }
        let committed = summary["savings_by_action"].get("commit").map(number);
        assert_eq!(
            amounts(page(&workbook, "purchases"), "monthly_savings"),
            committed.unwrap_or_default()
        );
        for name in ["workloads", "actions", "purchases", "findings", "prices", "reconciliation"] {
            for cell in column(page(&workbook, name), "currency") {
                assert_eq!(cell["value"], "USD", "{name}");
            }
        }
        let dates = column(page(&workbook, "prices"), "seen_on");
        let dates = dates.iter().filter(|cell| !cell["value"].is_null());
        for cell in dates {
            assert_eq!(cell["type"], "d", "{cell}");
        }
    }
}

#[test]
fn a_workbook_is_the_same_for_the_same_audit() {
    let (world, audits) = worlds();
    let [one, other] = ["one.xlsx", "other.xlsx"].map(|name| {
        let path = world.path(name);
        audited(&world, &audits[0], &["--format", "xlsx", "--output", &path]);
        fs::read(path).expect("a file")
    });
    assert_eq!(one, other);
}

#[test]
fn names_in_a_workbook_are_text() {
    let world = World::new();
    let mut estate = fleet();
    // Markup of the program that writes the file, and text that is longer than a cell.
    for (place, name) in ["<r><t>x</t></r>", "</t></si><si><t>", "_x0041_"]
        .into_iter()
        .map(str::to_owned)
        .chain(["y".repeat(40_000)])
        .enumerate()
    {
        let mut instance = one()["instances"][0].clone();
        instance["id"] = json!(format!("i-markup-{place}"));
        instance["tags"] = json!({"Name": name, "gpucost:workload": name});
        estate["instances"].as_array_mut().expect("a list").push(instance);
    }
    let of = ["--from".to_owned(), world.estate("fleet.json", &estate)];
    let Some(workbook) = workbook_of(&world, &of, "hostile.xlsx") else { return };
    for sheet in list(&workbook, "sheets") {
        for formula in list(sheet, "formulas") {
            let text = formula["formula"].as_str().expect("text");
            assert!(text.starts_with("=SUMIF("), "{formula}");
        }
    }
    let names: Vec<&str> = column(page(&workbook, "workloads"), "name")
        .into_iter()
        .filter_map(|cell| cell["value"].as_str())
        .collect();
    for expected in [
        "=cmd|' /C calc'!A0", "<script>alert(1)</script>", " <r><t>x</t></r>", "</t></si><si><t>",
        "_x0041_",
    ] {
        assert!(names.contains(&expected), "{expected}: {names:?}");
    }
    assert!(names.iter().all(|name| name.chars().all(is_harmless)));
    assert!(names.iter().all(|name| name.chars().count() <= 32_767));
}

#[test]
fn a_workbook_of_nothing_has_its_sheets() {
    let world = World::new();
    let of =
        ["--from".to_owned(), world.estate("empty.json", &empty()), "--allow-empty".to_owned()];
    let Some(workbook) = workbook_of(&world, &of, "empty.xlsx") else { return };
    assert_eq!(list(&workbook, "sheets").len(), 10);
    assert_eq!(stated(&workbook, "summary_monthly_cost"), Some(Decimal::ZERO));
    assert!(list(page(&workbook, "workloads"), "formulas").is_empty());
    for name in LISTS {
        let (header, _) = table(&world, &of, name);
        assert!(!header.is_empty());
    }
}

/// Yuan are not dollars: each has a total of its own, and the first sheet has that of the audit.
#[test]
fn each_currency_has_a_total_of_its_own() {
    let world = World::new();
    let mut estate = one();
    let mut other = estate["instances"][0].clone();
    other["id"] = json!("i-two");
    other["region"] = json!("cn-north-1");
    other["zone"] = json!("cn-north-1a");
    estate["instances"].as_array_mut().expect("a list").push(other);
    estate["prices"] = json!([{
        "region": "cn-north-1", "instance_type": "g5.xlarge", "operating_system": "linux",
        "tenancy": "shared", "option": "on-demand", "currency": "CNY", "hourly": "10",
        "origin": "api", "effective_date": "2026-10-01", "source": "made by hand",
    }]);
    let of = ["--from".to_owned(), world.estate("two.json", &estate)];
    let Some(workbook) = workbook_of(&world, &of, "two.xlsx") else { return };
    // 1.006 × 730 and 10 × 730.
    assert_eq!(
        totals(page(&workbook, "workloads"), "monthly_cost"),
        [decimal("734.38").normalize(), decimal("7300").normalize()]
    );
    assert_eq!(stated(&workbook, "summary_monthly_cost"), Some(decimal("734.38").normalize()));
}
