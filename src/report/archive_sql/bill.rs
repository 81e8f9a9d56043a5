//! The statement that adds up lines of a bill by resource and hour.
//!
//! Amortized costs of AWS are as its Cloud Intelligence Dashboards define them
//! (`cid/builtin/core/data/queries/cid/summary_view.sql` of 2026-08-14).

use super::bill_columns::{BillFormat, Column, Need, Read};
use super::dialect::{Dialect, TimeUnit};
use super::template::fill;

const HOURS: &str = include_str!("bill.sql");
const DESCRIBED: &str = include_str!("bill_described.sql");
const CHECK: &str = include_str!("check_lines.sql");
const CUR_LINE: &str = include_str!("bill_cur_line.sql");
const FOCUS_LINE: &str = include_str!("bill_focus_line.sql");
const USAGE_KIND: &str = include_str!("bill_usage_kind.sql");

/// Words for nothing, in cells of text.
const NOTHING: &str = "'NULL', 'null', 'Null', 'None'";
/// Kinds that have a list price as a rule. Those of fees and taxes compare with nothing.
const IS_USAGE: &str =
    "l.kind in ('instance', 'unused-reservation', 'volume', 'address', 'transfer', 'other')";
/// What an ARN puts before the ID of a resource, as `bare_id` of gpucost takes it away.
const BEFORE_ID: &str =
    "^arn:[^:]*:(?:(?:ec2|savingsplans):[^:]*:[^:]*:(?:.*/)?|[^:]*:[^:]*:[^:]*:)";

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
    let text = fill(
        HOURS,
        &[
            ("period", &dialect.day_text("b.first_day")),
            ("hour", &dialect.ident("hour")),
            ("bigint", dialect.whole_type()),
            ("sum_type", dialect.sum_type()),
            ("columns", &lines.columns()),
            ("lines", &lines.from),
            ("is_usage", IS_USAGE),
            (
                "resource",
                &dialect.replaced("r.whole_resource", BEFORE_ID, ""),
            ),
            ("described", &lines.format.described(dialect)),
            ("line", &lines.format.line(dialect)),
            ("counted", lines.format.counted()),
        ],
    );
    text + dialect.settings()
}

/// How many lines there are (`n`), and how many are added up (`counted`): all but copies of
/// instances that are divided among pods.
pub fn lines_statement(lines: &BillLines) -> String {
    let text = fill(
        CHECK,
        &[
            ("columns", &lines.columns()),
            ("lines", &lines.from),
            ("counted", lines.format.counted()),
        ],
    );
    text + lines.dialect.settings()
}

impl BillLines {
    /// The columns of the bill under the names of the statement.
    fn columns(&self) -> String {
        let columns = self.format.columns().iter();
        let columns = columns.map(|column| format!("{} as {}", self.read(column), column.name));
        columns.collect::<Vec<String>>().join(",\n        ")
    }

    fn read(&self, column: &Column) -> String {
        let dialect = self.dialect;
        let name = column.name_in(self.format);
        let is_in = |names: &[String]| names.iter().any(|one| one == name);
        let is_there = match column.need {
            Need::Required => true,
            Need::Usual => !is_in(&self.without),
            Need::Rare => is_in(&self.with),
        };
        let ident = dialect.ident(name);
        match column.read {
            Read::Text if is_there => {
                let text = format!("cast({ident} as {})", dialect.text_type());
                format!("case when {text} not in ({NOTHING}) then {text} else '' end")
            }
            Read::Text => "''".to_owned(),
            Read::Amount if is_there && self.is_text => format!(
                "cast(case when cast({ident} as {}) not in ('', {NOTHING}) then {ident} end as {})",
                dialect.text_type(),
                dialect.amount_type()
            ),
            Read::Amount if is_there => format!("cast({ident} as {})", dialect.amount_type()),
            Read::Amount => dialect.no_amount().to_owned(),
            Read::Time => dialect.seconds(&ident, TimeUnit::Timestamp),
        }
    }
}

impl BillFormat {
    /// The lines that count.
    fn counted(self) -> &'static str {
        match self {
            Self::Cur2 | Self::LegacyCur => "t.operation not in ('EKSPod-EC2', 'ECSTask-EC2')",
            Self::Focus => "1 = 1",
        }
    }

    /// The type of an instance that only a description names, which it does in FOCUS alone.
    fn described(self, dialect: Dialect) -> String {
        match self {
            Self::Cur2 | Self::LegacyCur => String::new(),
            Self::Focus => fill(DESCRIBED, &[("type", &described_type(dialect))]),
        }
    }

    /// What a line is for, how it is paid, and its amounts.
    fn line(self, dialect: Dialect) -> String {
        match self {
            Self::Cur2 | Self::LegacyCur => {
                let zero = format!("cast(0 as {})", dialect.amount_type());
                fill(
                    CUR_LINE,
                    &[
                        ("usage_kind", USAGE_KIND.trim_end()),
                        ("is_hour", &is_hour("t.unit")),
                        ("zero", &zero),
                    ],
                )
            }
            Self::Focus => fill(
                FOCUS_LINE,
                &[
                    ("usage_kind", USAGE_KIND.trim_end()),
                    ("is_hour", &is_hour("t.pricing_unit")),
                    ("is_other_hour", &is_hour("t.consumed_unit")),
                ],
            ),
        }
    }
}

/// Whether a unit is an hour.
fn is_hour(unit: &str) -> String {
    let names = "'h', 'hr', 'hrs', 'hour', 'hours', 'Hr', 'Hrs', 'Hour', 'Hours'";
    format!("{unit} in ({names})")
}

/// The instance type in a description, such as `$1.624 per On Demand Linux g5.4xlarge Instance
/// Hour`; the description itself where there is none.
fn described_type(dialect: Dialect) -> String {
    let size = "(?:nano|micro|small|medium|large|[0-9]*xlarge|metal[a-z0-9-]*)";
    let name = format!("(?:ml[.])?[a-z][a-z0-9-]*[.]{size}");
    let pattern = format!(r"^(?:.*?[ ,(])?({name})(?:[ ,.)].*)?$");
    dialect.replaced("r.description", &pattern, dialect.first_group())
}
