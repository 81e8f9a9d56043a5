//! Which rows of a long list are shown, and in which order. A view leaves sums and the plan as
//! they are.

use super::text::counted;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{
    Classification, Money, OWNER_TAGS, UsageState, matches_pattern, named_enum, nearest_names,
    tag_value,
};
use rust_decimal::Decimal;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

named_enum! {
    /// What rows are sorted by: amounts and utilization from the largest on, and words
    /// ascending.
    SortKey {
        Cost = "cost",
        Savings = "savings",
        Utilization = "utilization",
        Name = "name",
        Type = "type",
        Region = "region",
        Class = "class",
    }
}

impl SortKey {
    fn compare(self, left: &RowFacts, right: &RowFacts) -> Ordering {
        // What is not known comes last.
        let mean = |row: &RowFacts| row.utilization.unwrap_or(-1.0);
        match self {
            Self::Cost => amount(right.cost).cmp(&amount(left.cost)),
            Self::Savings => amount(right.monthly_savings).cmp(&amount(left.monthly_savings)),
            Self::Utilization => mean(right).total_cmp(&mean(left)),
            Self::Name => left.name().cmp(right.name()),
            Self::Type => left.instance_type.cmp(&right.instance_type),
            Self::Region => left.region.cmp(&right.region),
            Self::Class => left.class.cmp(right.class),
        }
    }
}

/// The class of what does not run.
const STOPPED: &str = "stopped";

/// The names of classes and states that a view can ask for.
pub fn class_names() -> impl Iterator<Item = &'static str> {
    let states = UsageState::ALL.iter().map(|state| state.name());
    Classification::ALL.iter().map(|class| class.name()).chain(states).chain([STOPPED])
}

/// The class of a workload in lists.
pub fn class_of(audited: &AuditedWorkload) -> &'static str {
    if audited.workload.key.running { audited.verdict.classification.name() } else { STOPPED }
}

/// The team that tags name.
pub fn team_of(tags: &BTreeMap<String, String>) -> Option<&str> {
    tag_value(tags, &OWNER_TAGS).filter(|team| !team.is_empty())
}

/// What is asked of the rows of a list. In patterns, `*` stands for anything; a list of
/// patterns keeps what fits one of them, and an empty one keeps everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    pub sort: Option<SortKey>,
    /// Most rows of each list; `usize::MAX` for every row and every member of a group.
    pub limit: Option<usize>,
    /// Patterns of instance types.
    pub types: Vec<String>,
    /// Names of classes and states.
    pub classes: Vec<String>,
    /// Patterns of names, IDs and instances.
    pub names: Vec<String>,
    /// Patterns of teams.
    pub teams: Vec<String>,
    /// Least savings per month, in the currency of the row.
    pub min_savings: Option<Decimal>,
}

/// What a row is chosen and sorted by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowFacts {
    /// The name for people first, then IDs.
    pub names: Vec<String>,
    pub instance_type: String,
    pub region: String,
    /// Its class; empty where rows have none.
    pub class: &'static str,
    /// How it and its members behave; empty where that cannot be said.
    pub states: BTreeSet<&'static str>,
    pub team: Option<String>,
    /// Mean utilization, percent.
    pub utilization: Option<f64>,
    pub cost: Option<Money>,
    pub monthly_savings: Option<Money>,
}

impl RowFacts {
    /// Of a workload.
    pub fn of(audited: &AuditedWorkload) -> Self {
        let workload = &audited.workload;
        let instances = workload.instances.iter().map(|id| id.native().to_owned());
        let verdicts = audited.parts.iter().map(|part| &part.verdict).chain([&audited.verdict]);
        Self {
            names: [workload.name.clone(), workload.id()].into_iter().chain(instances).collect(),
            instance_type: workload.key.instance_type.clone(),
            region: workload.key.region.clone(),
            class: class_of(audited),
            states: verdicts.filter_map(|verdict| Some(verdict.state?.name())).collect(),
            team: team_of(&workload.tags).map(str::to_owned),
            utilization: workload.utilization.as_ref().map(|summary| summary.distribution.mean),
            cost: workload.monthly_cost(),
            monthly_savings: audited.planned_monthly_savings(),
        }
    }

    fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }
}

/// A pattern that fits no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPattern {
    pub flag: &'static str,
    pub pattern: String,
    /// What it may be an error for, best first.
    pub nearest: Vec<String>,
}

impl View {
    /// Whether it may leave rows out because of what they are.
    pub fn is_filtered(&self) -> bool {
        let patterns = [&self.types, &self.classes, &self.names, &self.teams];
        self.min_savings.is_some() || patterns.iter().any(|patterns| !patterns.is_empty())
    }

    /// Whether each member of a group of equals has its own row.
    pub fn lists_members(&self) -> bool {
        self.limit == Some(usize::MAX)
    }

    /// The first pattern that fits nothing. Without any row, nothing is unknown.
    pub fn unknown(&self, rows: &[RowFacts]) -> Option<UnknownPattern> {
        if rows.is_empty() {
            return None;
        }
        let names = rows.iter().flat_map(|row| &row.names);
        let teams = rows.iter().filter_map(|row| row.team.as_deref());
        let flags = [
            ("--type", &self.types, rows.iter().map(|row| row.instance_type.as_str()).collect()),
            ("--workload", &self.names, names.map(String::as_str).collect()),
            ("--team", &self.teams, teams.collect()),
        ];
        flags.into_iter().find_map(|(flag, patterns, known): (_, _, BTreeSet<&str>)| {
            let fits = |pattern: &str| known.iter().any(|name| matches_pattern(pattern, name));
            let pattern = patterns.iter().find(|pattern| !fits(pattern))?.clone();
            let nearest = nearest_names(&pattern, known.iter().copied());
            Some(UnknownPattern { flag, pattern, nearest })
        })
    }

    /// The places of the rows that it keeps, in its order, and those that it leaves out.
    pub fn order(&self, rows: &[RowFacts]) -> (Vec<usize>, Vec<usize>) {
        let (mut kept, skipped): (Vec<usize>, Vec<usize>) =
            (0..rows.len()).partition(|place| self.keeps(&rows[*place]));
        if let Some(key) = self.sort {
            // A stable sort keeps the order of the list among equals.
            kept.sort_by(|left, right| key.compare(&rows[*left], &rows[*right]));
        }
        (kept, skipped)
    }

    fn keeps(&self, row: &RowFacts) -> bool {
        let any = |patterns: &[String], word: &str| {
            patterns.iter().any(|pattern| matches_pattern(pattern, word))
        };
        let is_of_class = |name: &String| name == row.class || row.states.contains(name.as_str());
        let saves =
            |least: Decimal| amount(row.monthly_savings).is_some_and(|saved| saved >= least);
        (self.types.is_empty() || any(&self.types, &row.instance_type))
            && (self.classes.is_empty() || self.classes.iter().any(is_of_class))
            && (self.names.is_empty() || row.names.iter().any(|name| any(&self.names, name)))
            && (self.teams.is_empty() || row.team.iter().any(|team| any(&self.teams, team)))
            && self.min_savings.is_none_or(saves)
    }

    /// The workloads that it keeps, in its order, and those that it leaves out.
    pub fn workloads<'a>(&self, audit: &'a Audit) -> Picked<'a> {
        let rows: Vec<RowFacts> = audit.workloads.iter().map(RowFacts::of).collect();
        let (kept, skipped) = self.order(&rows);
        let of = |places: Vec<usize>| -> Vec<&'a AuditedWorkload> {
            places.into_iter().map(|place| &audit.workloads[place]).collect()
        };
        let skipped = of(skipped);
        let hidden = skipped.iter().map(|workload| workload.workload.id()).collect();
        Picked { kept: of(kept), skipped, hidden }
    }
}

/// The workloads of an audit, as a view divides them.
pub struct Picked<'a> {
    pub kept: Vec<&'a AuditedWorkload>,
    pub skipped: Vec<&'a AuditedWorkload>,
    /// The IDs of those that are left out.
    hidden: BTreeSet<String>,
}

impl Picked<'_> {
    /// Whether a list shows what is about this workload, by its ID.
    pub fn keeps(&self, id: &str) -> bool {
        !self.hidden.contains(id)
    }
}

/// How many of some workloads there are, what they cost and what the plan saves of that; absent
/// without any. `which` says which ones they are, such as `more` that are not shown.
pub fn summed(workloads: &[&AuditedWorkload], which: &str) -> Option<String> {
    let costs = workloads.iter().map(|workload| workload.workload.monthly_cost());
    let savings = workloads.iter().map(|workload| workload.planned_monthly_savings());
    hidden_rows(workloads.len(), which, sum(costs), sum(savings))
}

/// The same of any workloads.
pub fn hidden_rows(
    number: usize,
    more: &str,
    cost: Option<Money>,
    savings: Option<Money>,
) -> Option<String> {
    let cost = cost.map_or(String::new(), |cost| format!(", {cost} per month"));
    let savings = savings.filter(|savings| !savings.amount().is_zero());
    let savings = savings.map_or(String::new(), |saved| format!(", of which {saved} can be saved"));
    let (singular, plural) = (format!("{more} workload"), format!("{more} workloads"));
    (number > 0).then(|| format!("{}{cost}{savings}", counted(number, &singular, &plural)))
}

/// What is known of some amounts, together; absent where nothing is, and where currencies
/// meet.
pub fn sum(amounts: impl Iterator<Item = Option<Money>>) -> Option<Money> {
    let mut known = amounts.flatten();
    let first = known.next()?;
    known.try_fold(first, |sum, part| sum.checked_add(part).ok())
}

fn amount(money: Option<Money>) -> Option<Decimal> {
    money.map(Money::amount)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn row(name: &str, instance_type: &str, cost: Option<i64>, savings: Option<i64>) -> RowFacts {
        let usd = |amount| Money::new(Decimal::from(amount), Currency::Usd);
        RowFacts {
            names: vec![name.to_owned(), format!("i-{name}")],
            instance_type: instance_type.to_owned(),
            class: "underutilized",
            team: (name != "c").then(|| format!("team-{name}")),
            cost: cost.map(usd),
            monthly_savings: savings.map(usd),
            ..RowFacts::default()
        }
    }

    fn rows() -> [RowFacts; 4] {
        [
            row("a", "g5.xlarge", Some(10), Some(9)),
            row("b", "g5.2xlarge", Some(30), Some(0)),
            row("c", "p4d.24xlarge", None, None),
            row("d", "g5.xlarge", Some(20), Some(12)),
        ]
    }

    fn patterns(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn amounts_come_from_the_largest_on_and_unknown_ones_last() {
        let by = |sort| {
            let sort = Some(sort);
            let view = View { sort, ..View::default() };
            view.order(&rows()).0
        };
        assert_eq!(by(SortKey::Cost), [1, 3, 0, 2]);
        assert_eq!(by(SortKey::Savings), [3, 0, 1, 2]);
        assert_eq!(by(SortKey::Type), [1, 0, 3, 2]);
        assert_eq!(by(SortKey::Name), [0, 1, 2, 3]);
        assert_eq!(View::default().order(&rows()).0, [0, 1, 2, 3]);
    }

    #[test]
    fn what_is_kept_and_what_is_left_out_is_everything() {
        let g5 = View {
            types: patterns(&["g5.*"]),
            min_savings: Some(Decimal::from(9)),
            ..View::default()
        };
        assert_eq!(g5.order(&rows()), (vec![0, 3], vec![1, 2]));
        let of = |names: &[&str], teams: &[&str]| {
            let (names, teams) = (patterns(names), patterns(teams));
            let view = View { names, teams, ..View::default() };
            view.order(&rows()).0
        };
        assert_eq!(of(&["i-c", "d"], &[]), [2, 3]);
        assert_eq!(of(&[], &["team-*"]), [0, 1, 3]);
        assert_eq!(of(&["a*"], &["team-b"]), [0; 0]);
    }

    #[test]
    fn a_pattern_that_fits_nothing_is_named_with_the_nearest() {
        let view = View { types: patterns(&["g5.*", "g5.xlrage"]), ..View::default() };
        let unknown = view.unknown(&rows()).expect("one is unknown");
        assert_eq!((unknown.flag, unknown.pattern.as_str()), ("--type", "g5.xlrage"));
        assert_eq!(unknown.nearest.first().map(String::as_str), Some("g5.xlarge"));
        assert_eq!(view.unknown(&[]), None);
        let view = View { teams: patterns(&["team-?"]), ..View::default() };
        assert_eq!(view.unknown(&rows()).map(|pattern| pattern.flag), Some("--team"));
    }

    #[test]
    fn two_currencies_have_no_sum() {
        let of = |amount, currency| Some(Money::new(Decimal::from(amount), currency));
        let same = [of(1, Currency::Usd), None, of(2, Currency::Usd)];
        assert_eq!(sum(same.into_iter()), of(3, Currency::Usd));
        let mixed = [of(1, Currency::Usd), of(2, Currency::Cny)];
        assert_eq!(sum(mixed.into_iter()), None);
        assert_eq!(sum([None].into_iter()), None);
    }
}
