//! Flags that say which rows of tables are shown, and in which order.

use super::exit::Failure;
use super::numbers::not_negative;
use crate::report::text::safe;
use crate::report::{RowFacts, SortKey, View, class_names};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rust_decimal::Decimal;

/// Which instance types are shown.
#[derive(Debug, Args)]
pub(super) struct TypeArgs {
    /// Show only these instance types; `*` stands for anything
    #[arg(
        long = "type",
        value_name = "TYPE[,TYPE…]",
        value_delimiter = ',',
        help_heading = "Rows of the tables"
    )]
    pub types: Vec<String>,
}

/// How many rows of any list are shown.
#[derive(Debug, Args)]
pub(super) struct LimitArgs {
    /// Most rows of each list; sums count every row
    #[arg(long, value_name = "N", help_heading = "Rows of the tables")]
    pub limit: Option<usize>,
    /// Every row of each list, and each member of a group
    #[arg(long, overrides_with = "limit", help_heading = "Rows of the tables")]
    pub all: bool,
}

impl LimitArgs {
    /// Most rows; `None` for as many as are usual for a list.
    pub(super) fn most(&self) -> Option<usize> {
        if self.all { Some(usize::MAX) } else { self.limit }
    }

    /// Fails where one is given for a format that is complete by contract.
    pub(super) fn refuse(&self, format: &str) -> Result<(), Failure> {
        refuse(&self.given(), format)
    }

    fn given(&self) -> [(&'static str, bool); 2] {
        [("--all", self.all), ("--limit", self.limit.is_some())]
    }
}

/// Which rows of any list are shown.
#[derive(Debug, Args)]
pub(super) struct RowArgs {
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Show only these names, IDs or instances; `*` stands for anything (can be repeated)
    #[arg(long, value_name = "NAME", help_heading = "Rows of the tables")]
    pub workload: Vec<String>,
    /// Show only what the tag `team`, or else `owner`, gives to this team; `*` stands for
    /// anything (can be repeated)
    #[arg(long, value_name = "TEAM", help_heading = "Rows of the tables")]
    pub team: Vec<String>,
}

/// Which workloads are shown.
#[derive(Debug, Args)]
pub(super) struct VerdictArgs {
    /// Sort the workloads: amounts and utilization from the largest on
    #[arg(long, value_name = "KEY", value_parser = sort_key(), help_heading = "Rows of the tables")]
    pub sort: Option<SortKey>,
    /// Show only workloads of these classes or states
    #[arg(long, value_name = "CLASS[,CLASS…]", value_delimiter = ',', value_parser = class(), help_heading = "Rows of the tables")]
    pub class: Vec<String>,
    /// Show only workloads that can save at least this much per month
    #[arg(long, value_name = "AMOUNT", value_parser = not_negative, allow_negative_numbers = true, help_heading = "Rows of the tables")]
    pub min_savings: Option<Decimal>,
}

/// What instances are sorted by.
pub(super) const INVENTORY_KEYS: [(&str, &str, SortKey); 4] = [
    ("cost", "Price per hour, most expensive first", SortKey::Cost),
    ("name", "Name", SortKey::Name),
    ("type", "Instance type", SortKey::Type),
    ("region", "Region", SortKey::Region),
];

fn sort_key() -> impl TypedValueParser<Value = SortKey> {
    let names = SortKey::ALL.iter().map(|key| key.name());
    PossibleValuesParser::new(names)
        .try_map(|name| SortKey::from_name(&name).ok_or("not a key to sort by"))
}

fn class() -> PossibleValuesParser {
    PossibleValuesParser::new(class_names())
}

/// The flags of a view that were given.
pub(super) struct ViewFlags<'a> {
    pub rows: &'a RowArgs,
    pub verdicts: Option<&'a VerdictArgs>,
    pub types: &'a [String],
    pub sort: Option<SortKey>,
}

impl ViewFlags<'_> {
    /// What is asked of the rows.
    pub(super) fn view(&self) -> View {
        let verdicts = self.verdicts;
        View {
            sort: self.sort.or(verdicts.and_then(|verdicts| verdicts.sort)),
            limit: self.rows.limits.most(),
            types: self.types.to_vec(),
            classes: verdicts.map_or(Vec::new(), |verdicts| verdicts.class.clone()),
            names: self.rows.workload.clone(),
            teams: self.rows.team.clone(),
            min_savings: verdicts.and_then(|verdicts| verdicts.min_savings),
        }
    }

    /// Fails where a document that is complete by contract was asked for.
    pub(super) fn refuse(&self, format: &str) -> Result<(), Failure> {
        let view = self.view();
        let [all, limit] = self.rows.limits.given();
        let given = [
            ("--sort", view.sort.is_some()),
            all,
            limit,
            ("--type", !view.types.is_empty()),
            ("--class", !view.classes.is_empty()),
            ("--workload", !view.names.is_empty()),
            ("--team", !view.teams.is_empty()),
            ("--min-savings", view.min_savings.is_some()),
        ];
        refuse(&given, format)
    }
}

/// Fails with the first of some flags that is given: a program that reads a document would not
/// notice what it does not show.
fn refuse(flags: &[(&str, bool)], format: &str) -> Result<(), Failure> {
    match flags.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::input(format!(
            "`{flag}` cannot be used with `--format {format}`"
        ))
        .with_hint(
            "it chooses rows of tables; this format always has every row: filter what it prints",
        )),
    }
}

/// Fails where a pattern fits nothing.
pub(super) fn check_known(view: &View, rows: &[RowFacts]) -> Result<(), Failure> {
    let Some(unknown) = view.unknown(rows) else {
        return Ok(());
    };
    let what = match unknown.flag {
        "--type" => "no instance type",
        "--team" => "no team",
        _ => "no name, ID or instance",
    };
    let failure = Failure::input(format!(
        "{what} in scope fits `{} {}`",
        unknown.flag,
        safe(&unknown.pattern)
    ));
    let nearest: Vec<String> = unknown.nearest.iter().map(|name| safe(name)).collect();
    Err(if nearest.is_empty() {
        failure.with_hint("leave the flag out to list everything; `*` stands for anything")
    } else {
        failure.with_hint(format!("did you mean {}?", nearest.join(", ")))
    })
}
