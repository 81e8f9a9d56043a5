use super::*;
use crate::domain::{Currency, Money};
use crate::report::TableStyle;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

fn usd(text: &str) -> Money {
    Money::new(text.parse().expect("a decimal"), Currency::Usd)
}

/// Two tables whose rows have a record, behind one for screens alone.
fn changes() -> Doc {
    let side =
        |key: &'static str, title: &'static str| Head { kind: Kind::Money, ..column(key, title) };
    let table = |key: &'static str, change: Option<Money>| Table {
        key,
        title: key.to_owned(),
        columns: vec![
            column("id", "name"),
            Head {
                kind: Kind::Record(vec![side("new", "now"), side("change", "change")]),
                ..column("cost", "")
            },
        ],
        rows: vec![vec![
            Value::text("a"),
            Value::Record(vec![Value::Money(usd("2")), Value::of(change, Value::Money).signed()]),
        ]],
        ..Table::default()
    };
    let screen = Table {
        columns: vec![Head { level: Level::Screen, ..column("sum", "sum") }],
        ..table("totals", None)
    };
    Doc {
        record: Record {
            heads: vec![
                Head { kind: Kind::List, ..column("gpus", "") },
                Head { kind: Kind::Map(Box::new(Kind::Text)), ..column("more.tags", "") },
            ],
            values: vec![
                Value::List(vec![Value::text("A10G"), Value::Absent]),
                Value::make_map([
                    ("team".to_owned(), Value::text("a")),
                    ("host".to_owned(), Value::Absent),
                ]),
            ],
        },
        csv: CsvRows::Named,
        tables: vec![screen, table("added", Some(usd("2"))), table("more.gone", Some(usd("-1.5")))],
        ..Doc::default()
    }
}

#[test]
fn records_are_columns_on_screens_and_changes_have_their_sign() {
    let json: serde_json::Value =
        serde_json::from_str(&doc_json(&changes()).expect("a document")).expect("JSON");
    assert_eq!(json["gpus"], serde_json::json!(["A10G", null]));
    assert_eq!(json.get("totals"), None);
    let more = &json["more"];
    assert_eq!(more["tags"], serde_json::json!({ "team": "a", "host": null }));
    assert_eq!(more["gone"][0]["cost"]["change"], -1.5);
    let schema = doc_schema("x", "", &[changes()]).expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let more = &schema["properties"]["more"];
    assert_eq!(more["required"], serde_json::json!(["tags", "gone"]));
    assert_eq!(more["properties"]["gone"]["type"], "array");
    assert_eq!(schema["properties"].get("totals"), None);
    let cost = |list: &str| json[list][0]["cost"].clone();
    assert_eq!(cost("added"), serde_json::json!({ "new": 2.0, "change": 2.0 }));
    assert_eq!(
        doc_csv(&changes()).expect("memory"),
        "table,id,cost_new,cost_change\nadded,a,2.00,2.00\nmore.gone,a,2.00,-1.50\n"
    );
    let markdown = doc_markdown(&changes());
    assert!(
        markdown
            .contains("| name | now | change |\n| --- | --: | --: |\n| a | \\$2.00 | +\\$2.00 |"),
        "{markdown}"
    );
    assert!(markdown.contains("| a | \\$2.00 | -\\$1.50 |"), "{markdown}");
    assert!(markdown.contains("| sum |"), "{markdown}");
}

fn answer() -> Doc {
    let row = |name: &str, month: Value, hour: Value| {
        vec![Value::text(name), Value::Count(1_200), month, hour]
    };
    Doc {
        name: "capacity",
        headline: "3 GPUs serve 500 requests a second".to_owned(),
        given: vec![Given {
            key: "rate_per_second",
            name: "requests per second",
            value: Value::Number(1_500.0, 0),
            source: "--rate".to_owned(),
        }],
        steps: vec![Step {
            name: "GPUs".to_owned(),
            arithmetic: "500 / 200 = 2.5, rounded up".to_owned(),
            result: Value::Count(3),
        }],
        tables: vec![Table {
            key: "types",
            title: "TYPES".to_owned(),
            noun: ("type", "types"),
            columns: vec![
                column("instance_type", "type"),
                Head { level: Level::Wide, ..column("requests", "requests") },
                column("cost_usd_monthly", "month"),
                column("cost_usd_hourly", "hour"),
            ],
            rows: vec![
                row("g5.xlarge", Value::Money(usd("734.38")), Value::Price(usd("1.006"))),
                row("=HYPERLINK(1)\u{1b}", Value::Absent, Value::Absent),
            ],
            ..Table::default()
        }],
        caveats: vec!["at one request in flight".to_owned()],
        missing: vec![Missing {
            what: "latency".to_owned(),
            remedy: "run `gpucost profile`".to_owned(),
        }],
        files: vec![Printed {
            name: "values.yaml".to_owned(),
            purpose: "Helm values".to_owned(),
            text: "a: 1\nb: 2\n".to_owned(),
        }],
        next: vec!["gpucost pricing g5.xlarge".to_owned()],
        ..Doc::default()
    }
}

#[test]
fn a_table_has_every_part_in_order() {
    let style = TableStyle { width: 60, color: false, wide: false, limit: None, ascii: false };
    assert_eq!(
        doc_table(&answer(), style),
        "3 GPUs serve 500 requests a second\n\
         \n\
         GIVEN                VALUE  SOURCE\n\
         requests per second  1,500  --rate\n\
         \n\
         STEP  ARITHMETIC                   RESULT\n\
         GPUs  500 / 200 = 2.5, rounded up       3\n\
         \n\
         TYPES\n\
         TYPE                   MONTH    HOUR\n\
         g5.xlarge            $734.38  $1.006\n\
         =HYPERLINK(1)\\u{1b}        —       —\n\
         \n\
         CAVEATS\n\
         \x20 at one request in flight\n\
         \n\
         MISSING DATA\n\
         \x20 latency: run `gpucost profile`\n\
         \n\
         values.yaml\n\
         \x20 Helm values\n\
         \n\
         a: 1\n\
         b: 2\n\
         \n\
         NEXT\n\
         \x20 gpucost pricing g5.xlarge\n"
    );
}

#[test]
fn numbers_are_whole_where_words_do_not_fit() {
    let mut answer = answer();
    let reason = "it was measured on another card than that of the type";
    let source = "GPU utilization of chat-serving, 4032 periods of 300 s";
    answer.given[0].source = source.to_owned();
    answer.steps[0].arithmetic = "1,234,567 × 0.000125 × 730, rounded to cents each".to_owned();
    let sheet = &mut answer.tables[0];
    sheet.columns = vec![
        column("instance_type", "type"),
        column("reason", "out because"),
        column("cost_usd_monthly", "month"),
        column("cost_usd_hourly", "hour"),
    ];
    sheet.rows = vec![vec![
        Value::text("p4d.24xlarge"),
        Value::text(reason),
        Value::Money(usd("1234567.89")),
        Value::Price(usd("21.957642")),
    ]];
    let style = TableStyle { width: 60, color: false, wide: false, limit: None, ascii: false };
    let text = doc_table(&answer, style);
    assert!(!text.contains('…'), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 60, "{line}");
    }
    assert!(text.contains("$1,234,567.89  $21.957642\n"), "{text}");
    // Every word is there, in order, whatever stands between the lines of a cell.
    for cell in [reason, source, "0.000125 × 730, rounded to cents each"] {
        let mut rest = text.as_str();
        for word in cell.split(' ') {
            let split = rest.split_once(word);
            rest = split.unwrap_or_else(|| panic!("{word} of {cell}: {text}")).1;
        }
    }
    // A wide table has each row on one line.
    let wide = doc_table(&answer, TableStyle { wide: true, ..style });
    assert!(wide.contains(reason) && wide.contains(source), "{wide}");
}

#[test]
fn figures_that_take_more_than_the_width_are_not_cut() {
    let mut answer = answer();
    let style = TableStyle { width: 20, color: false, wide: false, limit: None, ascii: false };
    answer.tables[0].rows[0][2] = Value::Money(usd("1234567.89"));
    let text = doc_table(&answer, style);
    // Beside a name of 19 columns no figure has room: they are below it.
    assert!(text.contains("    $1,234,567.89,\n    HOUR: $1.006\n"), "{text}");
}

#[test]
fn instants_are_to_the_minute_in_tables_alone() {
    let mut answer = answer();
    let at = "2026-11-02T10:25:29Z".parse().expect("a time stamp");
    answer.tables[0].rows[0][0] = Value::Time(at);
    let style = TableStyle { width: 100, color: false, wide: false, limit: None, ascii: false };
    let table = doc_table(&answer, style);
    assert!(table.contains("\n2026-11-02 10:25  "), "{table}");
    let json = doc_json(&answer).expect("a document");
    assert!(json.contains("\"2026-11-02T10:25:29Z\""), "{json}");
    let csv = doc_csv(&answer).expect("a document");
    assert!(csv.contains("\n2026-11-02T10:25:29Z,"), "{csv}");
}

#[test]
fn rows_are_objects_in_json() {
    let text = doc_json(&answer()).expect("a document");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["currency"], "USD");
    assert_eq!(json["given"][0]["value"], 1_500.0);
    assert_eq!(json["types"][0]["cost_usd_monthly"], 734.38);
    assert_eq!(json["types"][1]["cost_usd_monthly"], serde_json::Value::Null);
    assert_eq!(json["types"][1]["requests"], 1_200);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_spreadsheet_runs_no_cell() {
    assert_eq!(
        doc_csv(&answer()).expect("a document"),
        "instance_type,requests,cost_usd_monthly,cost_usd_hourly\n\
         g5.xlarge,1200,734.38,1.006\n\
         '=HYPERLINK(1)\\u{1b},1200,,\n"
    );
}

#[test]
fn prices_of_small_units_keep_their_decimals() {
    assert_eq!(
        ["0.000125", "1.5", "-2", "12345.6789"]
            .map(|text| crate::report::shared::text::unit_price(usd(text))),
        ["$0.000125", "$1.50", "-$2.00", "$12,345.6789"]
    );
}

#[test]
fn a_long_name_is_cut_on_a_screen_and_whole_elsewhere() {
    let long = "x".repeat(10_000);
    let mut answer = answer();
    answer.tables[0].rows[0][0] = Value::text(&long);
    answer.caveats[0].clone_from(&long);
    answer.headline = "name ".repeat(2_000);
    answer.given[0].source.clone_from(&long);
    for (width, wide) in [(60, false), (100, true)] {
        let style = TableStyle { width, color: false, wide, limit: None, ascii: false };
        let table = doc_table(&answer, style);
        assert!(table.len() < 8_000, "{} bytes at {width}", table.len());
        assert!(table.contains('…'));
    }
    let csv = doc_csv(&answer).expect("CSV");
    assert!(csv.contains(&long));
    assert!(doc_json(&answer).expect("JSON").contains(&long));
}

#[test]
fn rates_align_on_screens_and_keep_their_decimals_in_data() {
    let mut answer = answer();
    for (row, price) in answer.tables[0].rows.iter_mut().zip(["1234.5", "0.0089685"]) {
        row[3] = Value::Rate(usd(price), 3);
    }
    let table = doc_markdown(&answer);
    assert!(table.contains("1,234.500 |"), "{table}");
    assert!(table.contains("0.009 |"), "{table}");
    let rows = doc_csv(&answer).expect("rows");
    let cells: Vec<&str> = rows.lines().filter_map(|row| row.rsplit(',').next()).collect();
    // Six decimals, half to even.
    assert_eq!(cells, ["cost_usd_hourly", "1234.5", "0.008968"]);
}

columns! {
    fn move_of(row: (&'static str, f64)) {
        text "instance_type|from_instance_type", "type", Narrow(0), row.0.to_owned(), "";
        millionths "interruptions_per_hour", "", Data, row.1, "";
        utilization "used", "", Data, row.1, "";
        rows[target] "targets", "", Wide, ["g6.xlarge"], "";
    }

    fn target(name: &'static str) {
        text "instance_type", "type", Narrow(0), (*name).to_owned(), "";
    }

    fn whole(row: (&'static str, f64)) {
        record[move_of] "move", "", Narrow(0), *row, "";
    }
}

#[test]
fn screens_may_differ_and_names_in_rows_too() {
    let row = ("g5.xlarge", 0.000_949_512);
    let table = |title: &str| Table::of("moves", title, ("move", "moves"), move_of(), [row]);
    let flat = "from_instance_type,interruptions_per_hour,used,instance_type\n\
                g5.xlarge,0.00095,0.0009,g6.xlarge\n";
    let other = Table::of("moves", "OTHER", ("move", "moves"), target(), ["g7.xlarge"]);
    let doc = Doc {
        record: Record::of(whole(), &row),
        csv: CsvRows::Record,
        tables: vec![table("MOVES")],
        screens: vec![other],
        ..Doc::default()
    };
    assert_eq!(doc_csv(&doc).expect("valid"), flat);
    let listed = Doc { csv: CsvRows::default(), ..doc.clone() };
    assert_eq!(doc_csv(&listed).expect("valid"), flat);
    let page = doc_markdown(&doc);
    assert!(page.contains("OTHER") && !page.contains("MOVES"), "{page}");
    let text = doc_json(&doc).expect("valid");
    let json: serde_json::Value = serde_json::from_str(&text).expect("valid");
    let expected = serde_json::json!({
        "instance_type": "g5.xlarge", "interruptions_per_hour": 0.00095, "used": 0.0009,
        "targets": [{ "instance_type": "g6.xlarge" }],
    });
    assert_eq!((&json["move"], &json["moves"][0]), (&expected, &expected));
    let schema = doc_schema("moves", "", &[doc]).expect("valid");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("valid");
    let keys = &schema["properties"]["move"]["properties"];
    assert_eq!(keys["used"]["maximum"], 100);
    assert_eq!(keys["instance_type"]["type"], "string");
}

columns! {
    fn saving(amount: Money) {
        money "monthly_savings", "saves", Narrow(0), *amount, "";
    }
}

#[test]
fn rows_that_are_not_shown_say_what_they_add_up_to() {
    let amounts = ["4", "2.5", "0.5"].map(usd);
    let doc = Doc {
        tables: vec![Table {
            summed: &["monthly_savings"],
            ..Table::of("moves", "MOVES", ("move", "moves"), saving(), amounts)
        }],
        ..Doc::default()
    };
    let style = TableStyle { width: 80, color: false, wide: false, limit: Some(1), ascii: false };
    let text = doc_table(&doc, style);
    let said = "\n$4.00\n  … and 2 more moves worth $3.00: see `--all`\n";
    assert!(text.contains(said), "{text}");
}

columns! {
    fn gpus(row: (u64, f64)) {
        count "index", "GPU", Narrow(0), row.0, "";
        percent[100] "mean", "mean", Narrow(0), row.1, "";
    }

    fn machines(row: (f64, Vec<(u64, f64)>)) {
        percent[100] "mean", "mean", Narrow(0), row.0, "";
        quantity "free", "free", Narrow(0), Decimal::new(3, 0) / Decimal::new(7, 0), "";
        pairs "tags", "", Data, &BTreeMap::from([("team".to_owned(), "=x".to_owned())]), "";
        rows[gpus] "gpus", "GPUs", Wide, row.1.clone(), "";
        opt rows[gpus] "spares", "", Data, None::<Vec<(u64, f64)>>, "";
    }
}

#[test]
fn a_name_that_a_row_shares_with_its_rows_stands_for_the_row() {
    let rows = [(20.0, vec![(0, 15.5), (1, 24.5)]), (0.0, Vec::new())];
    let table = Table::of("machines", "", ("machine", "machines"), machines(), rows);
    let doc = Doc { tables: vec![Table { is_optional: true, ..table }], ..Doc::default() };
    assert_eq!(
        doc_csv(&doc).expect("CSV"),
        "mean,free,tags,gpu_index,gpu_mean\n\
         20.0000,0.428571,team==x,0,15.5000\n\
         20.0000,0.428571,team==x,1,24.5000\n\
         0.0000,0.428571,team==x,,\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&doc_json(&doc).expect("JSON")).expect("JSON");
    assert_eq!(
        json["machines"][1],
        serde_json::json!({
            "mean": 0.0, "free": 0.428_571, "tags": {"team": "=x"}, "gpus": [], "spares": null,
        })
    );
    let schema: serde_json::Value =
        serde_json::from_str(&doc_schema("x", "", &[doc]).expect("JSON")).expect("JSON");
    let required = schema["required"].as_array().expect("keys");
    assert!(!required.contains(&"machines".into()), "{required:?}");
    let machine = &schema["properties"]["machines"]["items"]["properties"];
    assert_eq!(machine["mean"]["maximum"], 100);
    let words = serde_json::json!(["string", "null"]);
    assert_eq!(machine["tags"]["additionalProperties"]["type"], words);
}

struct Row {
    name: &'static str,
    cost: Option<Money>,
}

columns! {
    fn rows(row: Row) {
        text "name", "name", Narrow(0), row.name.to_owned(), "";
        texts "parts", "", Json, vec![row.name.to_owned(); 2], "";
        text "parts", "", Flat, row.name.repeat(2), "";
        map[Kind::Count] "sizes", "", Data, [("a".to_owned(), Value::Count(1)), ("b".to_owned(), Value::Absent)], "";
        opt cost "cost", "cost", Narrow(0), row.cost, "";
        opt text "note", "note", Spare(1), None::<String>, "";
        text "why", "why", Below, format!("{} is idle; it has been so for many days", row.name), "";
    }
}

fn table_of(names: &[&'static str]) -> Doc {
    let listed = names.iter().map(|name| Row { name, cost: Some(usd("1.5")) });
    Doc {
        headline: "Some rows".to_owned(),
        record: Record { heads: vec![column("kind", "")], values: vec![Value::text("x")] },
        tables: vec![Table {
            summed: &["cost"],
            most: Some(1),
            ..Table::of("rows", "ROWS", ("row", "rows"), rows(), listed)
        }],
        closing: "That is all.".to_owned(),
        ..Doc::default()
    }
}

#[test]
fn a_column_may_have_another_form_in_json_and_in_flat_formats() {
    let doc = table_of(&["ab"]);
    let json: serde_json::Value =
        serde_json::from_str(&doc_json(&doc).expect("JSON")).expect("JSON");
    assert_eq!(
        json["rows"],
        serde_json::json!([
            {"name": "ab", "parts": ["ab", "ab"], "sizes": {"a": 1, "b": null}, "cost": 1.5}
        ])
    );
    assert_eq!(doc_csv(&doc).expect("CSV"), "name,parts,sizes,cost\nab,abab,a=1;b=,1.50\n");
}

#[test]
fn rows_of_a_brief_list_that_say_the_same_stand_once() {
    let style = TableStyle { width: 30, color: false, wide: false, limit: None, ascii: false };
    let text = doc_table(&table_of(&["ab", "ab", "ab", "c", "ab"]), style);
    let first = "ROWS\n  3 × ab  $1.50\n      ab is idle\n";
    assert!(text.contains(first), "{text}");
    assert!(text.contains("  … and 2 more rows worth $3.00: see"), "{text}");
}

#[test]
fn sentences_stand_below_their_rows_and_hidden_rows_have_their_worth() {
    let style = TableStyle { width: 30, color: false, wide: false, limit: None, ascii: false };
    let doc = table_of(&["ab", "c", "d"]);
    assert_eq!(
        doc_table(&doc, style),
        "Some rows\n\nROWS\n  ab    $1.50\n      ab is idle\n  … and 2 more rows worth $3.00: see `--format wide`\n\n\
         That is all.\n"
    );
    let unlimited = TableStyle { limit: Some(usize::MAX), ..style };
    assert!(
        doc_table(&doc, unlimited)
            .contains("      ab is idle; it has been\n      so for many days\n")
    );
}
