//! Flags that say which rows of tables are shown, and in which order.

use super::choices::not_negative;
use super::{Outcome, choices, did_you_mean, flags, refusal};
use crate::domain::safe;
use crate::report::{RowFacts, SortKey, View, class_names};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use rust_decimal::Decimal;

flags! {
    /// Which instance types are shown.
    pub(super) struct TypeArgs {
        /// Show only these instance types; `*` stands for anything
        types: Vec<String> = arg(long = "type", value_name = "TYPE[,TYPE…]", value_delimiter = ',', help_heading = "Rows of the tables");
    }

    /// How many rows of any list are shown.
    pub(super) struct LimitArgs {
        /// Most rows of each list; sums count every row
        limit: Option<usize> = arg(long, value_name = "N", help_heading = "Rows of the tables");
        /// Every row of each list, and each member of a group
        all: bool = arg(long, overrides_with = "limit", help_heading = "Rows of the tables");
    }

    /// Which rows of any list are shown.
    pub(super) struct RowArgs {
        limits: LimitArgs = command(flatten);
        /// Show only these names, IDs or instances; `*` stands for anything (can be repeated)
        workload: Vec<String> = arg(long, value_name = "NAME", help_heading = "Rows of the tables");
        /// Show only what the tag `team`, or else `owner`, gives to this team; `*` stands for
        /// anything (can be repeated)
        team: Vec<String> = arg(long, value_name = "TEAM", help_heading = "Rows of the tables");
    }

    /// Which workloads are shown.
    pub(super) struct VerdictArgs {
        /// Sort the workloads: amounts and utilization from the largest on
        sort: Option<SortKey> = arg(long, value_name = "KEY", value_parser = PossibleValuesParser::new(SortKey::ALL.iter().map(|key| key.name())).try_map(|name| SortKey::from_name(&name).ok_or("not a key to sort by")), help_heading = "Rows of the tables");
        /// Show only workloads of these classes or states
        class: Vec<String> = arg(long, value_name = "CLASS[,CLASS…]", value_delimiter = ',', value_parser = PossibleValuesParser::new(class_names()), help_heading = "Rows of the tables");
        /// Show only workloads that can save at least this much per month
        min_savings: Option<Decimal> = arg(long, value_name = "AMOUNT", value_parser = not_negative, allow_negative_numbers = true, help_heading = "Rows of the tables");
    }
}

impl LimitArgs {
    /// Most rows; `None` for as many as are usual for a list.
    pub(super) fn most(&self) -> Option<usize> {
        if self.all { Some(usize::MAX) } else { self.limit }
    }

    /// Fails where one is given for a format that is complete by contract.
    pub(super) fn refuse(&self, format: &str) -> Outcome<()> {
        refuse(&self.given(), format)
    }

    fn given(&self) -> [(&'static str, bool); 2] {
        [("--all", self.all), ("--limit", self.limit.is_some())]
    }
}

choices! {
    pub(super) INVENTORY_KEYS: SortKey {
        "cost" = Cost, "Price per hour, most expensive first";
        "name" = Name, "Name";
        "type" = Type, "Instance type";
        "region" = Region, "Region";
    }
}

impl RowArgs {
    /// What is asked of the rows.
    pub(super) fn view(&self, verdicts: Option<&VerdictArgs>, types: &[String]) -> View {
        View {
            sort: verdicts.and_then(|verdicts| verdicts.sort),
            limit: self.limits.most(),
            types: types.to_vec(),
            classes: verdicts.map_or(Vec::new(), |verdicts| verdicts.class.clone()),
            names: self.workload.clone(),
            teams: self.team.clone(),
            min_savings: verdicts.and_then(|verdicts| verdicts.min_savings),
        }
    }

    /// Fails where a view is asked of a document that is complete by contract.
    pub(super) fn refuse(&self, view: &View, format: &str) -> Outcome<()> {
        let [all, limit] = self.limits.given();
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
fn refuse(flags: &[(&str, bool)], format: &str) -> Outcome<()> {
    match flags.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(refusal!("`{flag}` cannot be used with `--format {format}`";
            "it chooses rows of tables; this format always has every row: filter what it prints")),
    }
}

/// Fails where a pattern fits nothing.
pub(super) fn check_known(view: &View, rows: &[RowFacts]) -> Outcome<()> {
    let Some(unknown) = view.unknown(rows) else { return Ok(()) };
    let what = match unknown.flag {
        "--type" => "no instance type",
        "--team" => "no team",
        _ => "no name, ID or instance",
    };
    let (flag, pattern) = (unknown.flag, safe(&unknown.pattern));
    let nearest: Vec<String> = unknown.nearest.iter().map(|name| safe(name)).collect();
    let otherwise = "leave the flag out to list everything; `*` stands for anything";
    let hint = did_you_mean(&nearest, otherwise);
    Err(refusal!("{what} in scope fits `{flag} {pattern}`"; "{hint}"))
}
