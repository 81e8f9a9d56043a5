//! Statements that turn archives of points into the tables of a history, and bills into
//! hours of resources. They are text, so that any engine can run them where the data is: the
//! `.sql` files beside this one, in which [`Dialect`] puts the few words that differ.
//!
//! A statement is a scan, group-bys and nothing else: no join, no union, no limit. Sums are of
//! whole numbers, so that they are the same in any order. The arithmetic is that of
//! `usage`, bucket for bucket; `docs/scale.md` says where it must end.
//!
//! `gpucost-engine` is built with these files as well, so that they use the standard library
//! alone.

mod bill;
mod dialect;
mod flags;
mod points;
mod usage;

pub use bill::{BillFormat, BillLines, bill_script, bill_statement, lines_statement};
pub use dialect::{Dialect, TimeUnit, is_csv};
pub use flags::{date_of, days_of, measures, point_columns};
pub use points::{GAUGES, Key, Measure, PointColumns, Points};
pub use usage::{
    ASKED, Kind, Statement, Table, duplicates_statement, rows_statement, statements, usage_script,
};

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECTS: [Dialect; 4] =
        [Dialect::DataFusion, Dialect::DuckDb, Dialect::Spark, Dialect::Trino];

    fn points(dialect: Dialect) -> Points {
        Points {
            dialect,
            from: dialect.table("lake.points"),
            columns: PointColumns {
                account: Key::Column("payer".to_owned()),
                region: Key::Text("us-east-1".to_owned()),
                instance: "host".to_owned(),
                gpu: Some("gpu".to_owned()),
                metric: "metric".to_owned(),
                time: "ts".to_owned(),
                value: "value".to_owned(),
            },
            time_unit: TimeUnit::Seconds,
            measures: measures(&[]).expect("all of them"),
            source: "prometheus".to_owned(),
            days: None,
            is_distinct: false,
        }
    }

    fn bill(dialect: Dialect, format: BillFormat) -> BillLines {
        BillLines {
            dialect,
            from: dialect.table("bill"),
            format,
            with: Vec::new(),
            without: Vec::new(),
            is_text: true,
        }
    }

    /// Every text in every dialect.
    fn texts() -> Vec<String> {
        let mut texts = Vec::new();
        for dialect in DIALECTS {
            for (is_distinct, days) in [(false, None), (true, Some(20_758..20_759))] {
                let points = Points { is_distinct, days, ..points(dialect) };
                texts.extend(statements(&points, None).into_iter().map(|statement| statement.text));
                texts.extend(
                    statements(&points, Some("p")).into_iter().map(|statement| statement.text),
                );
                texts.extend([
                    points.periods(),
                    rows_statement(&points),
                    duplicates_statement(&points),
                ]);
            }
            for format in [BillFormat::Cur2, BillFormat::LegacyCur, BillFormat::Focus] {
                let lines = bill(dialect, format);
                texts.extend([bill_statement(&lines), lines_statement(&lines)]);
            }
        }
        texts
    }

    #[test]
    fn a_statement_is_a_scan_and_group_bys() {
        let texts = texts();
        // One asked, 3 series, 2 grids, 2 histograms and one of hours.
        let rollup = 9 * 2 * 2;
        assert_eq!(texts.len(), DIALECTS.len() * (rollup + 2 * 3 + 3 * 2));
        for text in &texts {
            assert!(!text.contains(['{', '}', ';']), "{text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            for word in ["join", "union", "limit", "over", "intersect", "except"] {
                assert!(!words.contains(&word), "{word}: {text}");
            }
            let open = text.matches('(').count();
            assert_eq!(open, text.matches(')').count(), "{text}");
        }
    }

    /// The names of the columns of a statement.
    fn columns(text: &str) -> Vec<String> {
        let (head, _) = text.split_once("\nfrom (").expect("a subquery");
        let head = head.strip_prefix("select ").expect("a selection");
        let mut parts = vec![String::new()];
        let mut depth = 0;
        for c in head.chars() {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            match (c, depth) {
                (',', 0) => parts.push(String::new()),
                _ => parts.last_mut().expect("one at least").push(c),
            }
        }
        let name = |column: &String| {
            let last = column.split_whitespace().last().expect("a name");
            last.trim_matches(['"', '`']).to_owned()
        };
        parts.iter().map(name).collect()
    }

    /// The columns of the hours of a bill.
    const BILL: [&str; 22] = [
        "period", "account", "region", "resource", "instance_type", "hour", "seconds", "kind",
        "purchase_option", "unit", "currency", "n", "quantity", "n_quantity", "list_cost",
        "n_list", "contracted_cost", "n_contracted", "effective_cost", "n_effective",
        "billed_cost", "n_billed",
    ];

    #[test]
    fn statements_give_the_columns_of_their_tables() {
        for dialect in DIALECTS {
            for statement in statements(&points(dialect), Some("p")) {
                let table = statement.table.columns().iter().map(|(name, _)| (*name).to_owned());
                let expected: Vec<String> = table.chain(["dt".to_owned()]).collect();
                assert_eq!(columns(&statement.text), expected, "{}", statement.text);
            }
            for format in [BillFormat::Cur2, BillFormat::LegacyCur, BillFormat::Focus] {
                assert_eq!(columns(&bill_statement(&bill(dialect, format))), BILL);
            }
        }
    }

    #[test]
    fn names_are_quoted_as_each_engine_reads_them() {
        let name = "a\"b`c'd\\e";
        let quoted = |dialect: Dialect| (dialect.ident(name), dialect.text(name));
        let owned = |ident: &str, text: &str| (ident.to_owned(), text.to_owned());
        for dialect in [Dialect::DataFusion, Dialect::DuckDb, Dialect::Trino] {
            assert_eq!(quoted(dialect), owned("\"a\"\"b`c'd\\e\"", "'a\"b`c''d\\e'"));
        }
        assert_eq!(quoted(Dialect::Spark), owned("`a\"b``c'd\\e`", "'a\"b`c\\'d\\\\e'"));
        assert_eq!(Dialect::Trino.table("lake.points"), "\"lake\".\"points\"");
    }

    #[test]
    fn a_name_in_braces_is_a_name() {
        let points = Points {
            columns: PointColumns {
                instance: "{where}".to_owned(),
                ..points(Dialect::DuckDb).columns
            },
            ..points(Dialect::DuckDb)
        };
        assert!(points.periods().contains("\"{where}\" as instance"));
    }

    #[test]
    fn files_are_read_where_an_engine_reads_files() {
        for (dialect, path, from) in [
            (Dialect::DuckDb, "a'b/", "read_parquet('a''b/**/*.parquet')"),
            (Dialect::DuckDb, "x.parquet", "read_parquet('x.parquet')"),
            (Dialect::DuckDb, "x.csv.gz", "read_csv('x.csv.gz')"),
            (Dialect::Spark, "/a/", "parquet.`/a/`"),
        ] {
            let files = dialect.files("points", path);
            assert_eq!(files, Some((String::new(), from.to_owned())), "{path}");
        }
        let (before, from) = Dialect::DataFusion.files("p", "x.csv").expect("a table");
        assert_eq!(from, "\"p\"");
        assert_eq!(
            before,
            "create external table \"p\" stored as csv location 'x.csv' \
         options ('format.has_header' 'true');\n\n"
        );
        for (dialect, path) in [(Dialect::Spark, "x.csv"), (Dialect::Trino, "x.parquet")] {
            assert_eq!(dialect.files("points", path), None, "{dialect:?}");
        }
    }

    #[test]
    fn days_are_compared_in_the_unit_of_the_column() {
        let of = |time_unit: TimeUnit| {
            let points =
                Points { time_unit, days: Some(20_758..20_760), ..points(Dialect::DuckDb) };
            points.periods()
        };
        let text = of(TimeUnit::Milliseconds);
        assert!(text.contains("\"ts\" >= 1793491200000 and \"ts\" < 1793664000000"), "{text}");
        assert!(text.contains("cast(\"ts\" as double) / 1000 as second"), "{text}");
        let text = of(TimeUnit::Timestamp);
        assert!(text.contains("epoch(cast(\"ts\" as timestamp)) >= 1793491200"), "{text}");
    }
}
