//! The statement that adds up lines of a bill by resource and hour.
//!
//! Amortized costs of AWS are as its Cloud Intelligence Dashboards define them
//! (`cid/builtin/core/data/queries/cid/summary_view.sql` of 2026-08-14).

use super::dialect::{Dialect, TimeUnit};
use super::text::{block, fill, push};

const BILL_SQL: &str = include_str!("bill.sql");
const CHECKS: &str = include_str!("checks.sql");
/// A column in each line: what statements call it, what it is read as, whether a bill has it,
/// and what bills call it; of AWS, the second name is that of [`BillFormat::LegacyCur`].
const COLUMNS: &str = include_str!("bill_columns.txt");

/// Words for nothing, in cells of text.
const NOTHING: &str = "'NULL', 'null', 'Null', 'None'";
/// Kinds that have a list price as a rule. Those of fees and taxes compare with nothing.
const IS_USAGE: &str =
    "l.kind in ('instance', 'unused-reservation', 'volume', 'address', 'transfer', 'other')";
/// What an ARN puts before the ID of a resource, as `bare_id` of gpucost takes it away.
const BEFORE_ID: &str =
    "^arn:[^:]*:(?:(?:ec2|savingsplans):[^:]*:[^:]*:(?:.*/)?|[^:]*:[^:]*:[^:]*:)";
/// The type of exact amounts: a difference of two has room in 38 digits, and so has a sum.
const AMOUNT: &str = "decimal(28, 12)";

/// The columns of the result, in order. Amounts are decimals with twelve places, each beside
/// the number of lines that state it.
pub const BILL: [&str; 22] = [
    "period",
    "account",
    "region",
    "resource",
    "instance_type",
    "hour",
    "seconds",
    "kind",
    "purchase_option",
    "unit",
    "currency",
    "n",
    "quantity",
    "n_quantity",
    "list_cost",
    "n_list",
    "contracted_cost",
    "n_contracted",
    "effective_cost",
    "n_effective",
    "billed_cost",
    "n_billed",
];

/// A format of bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BillFormat {
    /// Version 2 of AWS's Cost and Usage Report; the version before it, as Parquet.
    Cur2,
    /// The version before it, as CSV.
    LegacyCur,
    /// FOCUS, 1.0 to 1.3.
    Focus,
}

struct Column {
    /// What statements call it.
    own: &'static str,
    /// Its name in the bill.
    name: &'static str,
    read: &'static str,
    need: &'static str,
}

/// Lines of a bill, and how an engine reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillLines {
    pub dialect: Dialect,
    /// What comes after `from`, quoted.
    pub from: String,
    pub format: BillFormat,
    /// Columns that are there though few bills have them.
    pub with: Vec<String>,
    /// Columns that are not there though most bills have them.
    pub without: Vec<String>,
    /// Whether amounts may be texts, in which a word stands for none, as in CSV.
    pub is_text: bool,
}

/// The hours of resources: see [`BILL`].
pub fn bill_statement(lines: &BillLines) -> String {
    let dialect = lines.dialect;
    let replaced = |text: &str, pattern: &str, with: &str| {
        let (pattern, with) = (dialect.text(pattern), dialect.text(with));
        format!("regexp_replace({text}, {pattern}, {with})")
    };
    // The type of an instance that only a description names, which it does in FOCUS alone, as
    // in `$1.624 per On Demand Linux g5.4xlarge Instance Hour`; the description itself where
    // there is none.
    let size = "(?:nano|micro|small|medium|large|[0-9]*xlarge|metal[a-z0-9-]*)";
    let pattern = format!(r"^(?:.*?[ ,(])?((?:ml[.])?[a-z][a-z0-9-]*[.]{size})(?:[ ,.)].*)?$");
    let described = replaced("r.description", &pattern, dialect.words().group);
    let line = match lines.format {
        BillFormat::Focus => block(BILL_SQL, "focus line"),
        _ => block(BILL_SQL, "cur line"),
    };
    let line = line
        .replace("{usage_kind}", block(BILL_SQL, "usage kind"))
        .replace("{is_cur_hour}", &is_hour("t.unit"))
        .replace("{is_hour}", &is_hour("t.pricing_unit"))
        .replace("{is_other_hour}", &is_hour("t.consumed_unit"));
    let described = match lines.format {
        BillFormat::Focus => block(BILL_SQL, "described").replace("{type}", &described) + "\n",
        _ => String::new(),
    };
    let resource = replaced("r.whole_resource", BEFORE_ID, "");
    fill(
        &dialect.worded(block(BILL_SQL, "hours")),
        &[
            ("period", &dialect.date("b.first_day")),
            ("columns", &lines.columns()),
            ("lines", &lines.from),
            ("is_usage", IS_USAGE),
            ("resource", &resource),
            ("described", &described),
            ("line", &line),
            ("counted", lines.format.counted()),
        ],
    )
}

/// Whether a unit is an hour.
fn is_hour(unit: &str) -> String {
    let names = "'h', 'hr', 'hrs', 'hour', 'hours', 'Hr', 'Hrs', 'Hour', 'Hours'";
    format!("{unit} in ({names})")
}

/// How many lines there are (`n`), and how many are added up (`counted`): all but copies of
/// instances that are divided among pods.
pub fn lines_statement(lines: &BillLines) -> String {
    fill(
        block(CHECKS, "lines"),
        &[
            ("columns", &lines.columns()),
            ("lines", &lines.from),
            ("counted", lines.format.counted()),
        ],
    )
}

/// The check of a bill, and the statement of its hours.
pub fn bill_script(lines: &BillLines) -> String {
    let mut text = String::from(
        "-- Check first: `n` must be the rows of the files, and the `n` of the result must add\n\
         -- up to `counted`.\n",
    );
    push(&mut text, &lines_statement(lines));
    text.push_str("-- bill\n");
    push(&mut text, &bill_statement(lines));
    text
}

impl BillLines {
    /// The columns of the bill under the names of the statement.
    fn columns(&self) -> String {
        let columns = self.format.columns();
        let columns = columns.map(|column| format!("{} as {}", self.read(&column), column.own));
        columns.collect::<Vec<String>>().join(",\n        ")
    }

    fn read(&self, column: &Column) -> String {
        let dialect = self.dialect;
        let is_in = |names: &[String]| names.iter().any(|one| one == column.name);
        let is_there = match column.need {
            "usual" => !is_in(&self.without),
            "rare" => is_in(&self.with),
            _ => true,
        };
        let ident = dialect.ident(column.name);
        let text = format!("cast({ident} as {})", dialect.words().text);
        match column.read {
            "text" if is_there => {
                format!("case when {text} not in ({NOTHING}) then {text} else '' end")
            }
            "text" => "''".to_owned(),
            "amount" if is_there && self.is_text => format!(
                "cast(case when {text} not in ('', {NOTHING}) then {ident} end as {AMOUNT})"
            ),
            "amount" if is_there => format!("cast({ident} as {AMOUNT})"),
            "amount" => format!("cast(null as {AMOUNT})"),
            _ => dialect.seconds(&ident, TimeUnit::Timestamp),
        }
    }
}

impl BillFormat {
    fn columns(self) -> impl Iterator<Item = Column> {
        let (title, place) = match self {
            Self::Cur2 => ("cur", 0),
            Self::LegacyCur => ("cur", 1),
            Self::Focus => ("focus", 0),
        };
        let lines = block(COLUMNS, title).lines();
        lines.filter_map(move |line| {
            let mut cells = line.split_whitespace();
            let [own, read, need] = [cells.next()?, cells.next()?, cells.next()?];
            let name = cells.nth(place)?;
            Some(Column {
                own,
                name,
                read,
                need,
            })
        })
    }

    /// The names of the columns without which a table is not a bill of this format.
    pub fn required(self) -> impl Iterator<Item = &'static str> {
        let required = self.columns().filter(|column| column.need == "required");
        required.map(|column| column.name)
    }

    /// The names of all columns that statements read, and whether each is expected.
    pub fn known(self) -> impl Iterator<Item = (&'static str, bool)> {
        self.columns()
            .map(|column| (column.name, column.need != "rare"))
    }

    /// The lines that count.
    fn counted(self) -> &'static str {
        match self {
            Self::Cur2 | Self::LegacyCur => "t.operation not in ('EKSPod-EC2', 'ECSTask-EC2')",
            Self::Focus => "1 = 1",
        }
    }
}
