//! `gpucost-policy.toml`: what the gate demands, and what is accepted for a while. Its tables with
//! their keys, what they come to, and a choice of actions in the place of the one that a file has.

use super::keys::{TEXT, object};
use super::reader::{Problem, Reader};
use super::settings::ConfigError;
use crate::analysis::gate::{
    Budget, BudgetBasis, CoverageFloor, Forbidden, GatePolicy, Glob, PriceAgeLimit, RequiredTag,
    Scope, Spelling, Suppression, UtilizationFloor, WasteLimit, policy_rule, spelled_region,
    spelled_type,
};
use crate::domain::{ActionKind, Currency, Money, RejectedAction, Severity, WorkloadKind};
use crate::rules::{CLUSTER_RULES, COMMITMENT_RULES, RULES};
use crate::sources::files::read_written_text;
use rust_decimal::Decimal;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Table;

/// The file that is read where none is named.
pub const POLICY_FILE: &str = "gpucost-policy.toml";

/// The policy that `gpucost check init` writes.
pub const STARTING_POLICY: &str = include_str!("starting.toml");

/// The JSON schema of a policy file.
pub fn policy_schema() -> Json {
    object(POLICY)
}

/// Reads a policy file; `named` is what reports call it.
///
/// # Errors
/// With up to a hundred unknown keys and bad values at once, and when it states no rule.
pub fn read_policy(path: &Path, named: &str) -> Result<GatePolicy, ConfigError> {
    parse_policy(&text_of(path, named)?, named)
        .map_err(|problems| ConfigError::Invalid { path: named.into(), problems })
}

/// Reads the actions that a policy file rejects, which need not state a rule; `named` is what
/// messages call it.
///
/// # Errors
/// With up to a hundred unknown keys and bad values at once.
pub fn read_rejected(path: &Path, named: &str) -> Result<Vec<RejectedAction>, ConfigError> {
    parse_rejected(&text_of(path, named)?)
        .map_err(|problems| ConfigError::Invalid { path: named.into(), problems })
}

fn text_of(path: &Path, named: &str) -> Result<String, ConfigError> {
    read_written_text(path).map_err(|source| ConfigError::Io { path: named.into(), source })
}

/// Reads the actions that the text of a policy file rejects.
///
/// # Errors
/// With up to a hundred errors, in order of line.
pub fn parse_rejected(text: &str) -> Result<Vec<RejectedAction>, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let policy = reader.read(table.get_ref(), 1, "policy", POLICY);
    Ok(reader.end(policy)?.unwrap_or_default().rejected)
}

/// Reads the text of a policy file; `named` is what reports call it.
///
/// # Errors
/// With up to a hundred errors, in order of line.
pub fn parse_policy(text: &str, named: &str) -> Result<GatePolicy, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let policy = reader.read(table.get_ref(), 1, "policy", POLICY);
    let policy =
        GatePolicy { file: Some(named.to_owned()), ..reader.end(policy)?.unwrap_or_default() };
    if policy.rules() == 0 {
        return Err(vec![Problem {
            line: 1,
            message: "no rule is defined, so everything would pass; run `gpucost check \
                      init` to create a starter policy"
                .to_owned(),
        }]);
    }
    Ok(policy)
}

const REGION: &str = "^[a-z0-9-]+$";
const REGIONS: &str = "^[a-z0-9*?-]+$";
const TYPES: &str = "^[a-z0-9.*?-]+$";
/// What something does that is not a violation by itself.
const OUTCOMES: &[&str] = &[FAIL, "warn"];
const FAIL: &str = "fail";

keys! {
    const POLICY: GatePolicy = |reader, policy, value, entry| {
        tables[BUDGET, one_scope] "budget", for (draft, line) in value { reader.budget(draft, line, policy) }, "The most that may be spent.";
        table[WASTE] "waste", policy.waste = Some(value.limits()), "Money that is certain to end when acted upon.";
        table[UTILIZATION] "utilization", policy.utilization = value, "";
        table[COVERAGE] "coverage", policy.coverage = value.coverage, "";
        table[TAGS] "tags", policy.required_tags = value.required_tags, "";
        table[ALLOW] "allow", (policy.types.allowed, policy.regions.allowed) = value, "";
        table[DENY] "deny", (policy.types.denied, policy.regions.denied) = value, "";
        table[PRICES] "prices", policy.price_age = value.price_age, "";
        table[RECORDING] "recording", policy.recording_age = value.recording_age, "";
        table[GAPS] "gaps", policy.refuses_known_gaps = value.refuses_known_gaps, "";
        tables[FORBID, one_key] "forbid", for (draft, line) in value { reader.forbid(draft, line, policy) }, "Findings that must not be.";
        tables[SUPPRESS] "suppress", policy.suppressions.extend(value.into_iter().map(|(accepted, line)| Suppression { line, ..accepted })), "What is accepted for a while.";
        table[SUPPRESSIONS] "suppressions", (policy.accepts_expired, policy.refuses_unmatched) = (value.accepts_expired, value.refuses_unmatched), "";
        tables[REJECT] "reject", policy.rejected.extend(value.into_iter().filter_map(|(draft, _)| draft.action())), "Actions that plans do without; a check is not affected.";
    }
}

#[derive(Default)]
struct BudgetDraft {
    name: Option<String>,
    /// With the line of each.
    scopes: Vec<(Scope, usize)>,
    basis: BudgetBasis,
    monthly_limit: Decimal,
    currency: Option<Currency>,
}

keys! {
    const BUDGET: BudgetDraft = |reader, budget, value, entry| {
        form["^[0-9]{12}$", account] "account", budget.scopes.push((value, entry.line)), "The budget is about this account: 12 digits.";
        form[REGION, region] "region", budget.scopes.push((value, entry.line)), "The budget is about this region; no pattern.";
        form["^[^=]+=", tag] "tag", budget.scopes.push((value, entry.line)), "The budget is about what carries this tag, such as team=ml.";
        text "name", budget.name = Some(value), "What reports call the budget, beside its scope.";
        named[BudgetBasis] "basis", budget.basis = value, "What the budget is held against: a month of what runs now, or what this month is forecast to end at by its recorded days. run-rate unless said otherwise.";
        need amount "monthly_limit", budget.monthly_limit = value, "The most per month; it may be reached.";
        currency "currency", budget.currency = Some(value), "USD unless said otherwise.";
    }
}

/// A budget is about one account, one region, one tag, or everything.
fn one_scope() -> Json {
    let pairs = [["account", "region"], ["account", "tag"], ["region", "tag"]];
    let both = pairs.map(|pair| json!({ "required": pair }));
    json!({ "not": { "anyOf": both } })
}

fn account(text: &str) -> Result<Scope, String> {
    if text.len() == 12 && text.chars().all(|c| c.is_ascii_digit()) {
        return Ok(Scope::Account(text.to_owned()));
    }
    Err(format!("`{text}` is not an account ID: account IDs have 12 digits"))
}

fn region(text: &str) -> Result<Scope, String> {
    if text.contains(['*', '?']) {
        return Err(format!(
            "`{text}` is a pattern, but a budget covers one region; add a [[budget]] for each"
        ));
    }
    match spelled_region(text) {
        Spelling::Wrong(message) => Err(message),
        _ => Ok(Scope::Region(text.to_owned())),
    }
}

fn tag(text: &str) -> Result<Scope, String> {
    let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let scope =
        parts.map(|(key, value)| Scope::Tag { key: key.to_owned(), value: value.to_owned() });
    scope.ok_or_else(|| format!("`{text}` is not a tag such as team=ml"))
}

#[derive(Default)]
struct WasteDraft {
    monthly: Option<(Decimal, usize)>,
    currency: Option<Currency>,
    percent: Option<(Decimal, usize)>,
}

keys! {
    const WASTE: WasteDraft = |reader, waste, value, entry| {
        amount "monthly_limit", waste.monthly = Some((value, entry.line)), "The most per month.";
        currency "currency", waste.currency = Some(value), "USD unless said otherwise.";
        number[0.0, 100.0] "percent_limit", waste.percent = reader.decimal(entry.value).map(|percent| (percent, entry.line)), "The most as a percentage of the monthly cost.";
    }
}

impl WasteDraft {
    fn limits(self) -> WasteLimit {
        let currency = self.currency.unwrap_or(Currency::Usd);
        let monthly = self.monthly;
        WasteLimit {
            monthly: monthly.map(|(amount, line)| (Money::new(amount, currency), line)),
            percent: self.percent,
        }
    }
}

type Floors = BTreeMap<WorkloadKind, UtilizationFloor>;

keys! {
    const UTILIZATION: Floors = |reader, floors, value, entry| {
        number[0.0, 100.0] "training", add_floor(floors, WorkloadKind::Training, value, entry.line), "The least mean GPU utilization of training workloads.";
        number[0.0, 100.0] "serving", add_floor(floors, WorkloadKind::Serving, value, entry.line), "The least mean GPU utilization of serving workloads.";
        number[0.0, 100.0] "batch", add_floor(floors, WorkloadKind::Batch, value, entry.line), "The least mean GPU utilization of batch workloads.";
        number[0.0, 100.0] "evaluation", add_floor(floors, WorkloadKind::Evaluation, value, entry.line), "The least mean GPU utilization of evaluation workloads.";
        number[0.0, 100.0] "development", add_floor(floors, WorkloadKind::Development, value, entry.line), "The least mean GPU utilization of development workloads.";
        number[0.0, 100.0] "unknown", add_floor(floors, WorkloadKind::Unknown, value, entry.line), "The same for workloads whose kind is unknown.";
    }
}

fn add_floor(floors: &mut Floors, kind: WorkloadKind, mean_percent: f64, line: usize) {
    floors.insert(kind, UtilizationFloor { mean_percent, line });
}

keys! {
    const COVERAGE: GatePolicy = |reader, policy, value, entry| {
        number[0.0, 100.0] "minimum_percent", policy.coverage = Some(CoverageFloor { percent: value, line: entry.line }), "The least share of running GPU instances with enough metrics for a verdict.";
    }

    const TAGS: GatePolicy = |reader, policy, value, entry| {
        texts[TEXT] "required", policy.required_tags.extend(value.into_iter().map(|(key, line)| RequiredTag { key, line })), "Keys that every workload must carry; case counts.";
    }
}

/// Patterns of instance types and of regions, with the line of each.
type Patterns = (Vec<(Glob, usize)>, Vec<(Glob, usize)>);

keys! {
    const ALLOW: Patterns = |reader, patterns, value, entry| {
        texts[TYPES] "types", patterns.0 = reader.globs(value, spelled_type), "Instance types; * stands for anything, ? for one character.";
        texts[REGIONS] "regions", patterns.1 = reader.globs(value, spelled_region), "Regions, in the same way.";
    }

    const DENY: Patterns = |reader, patterns, value, entry| {
        texts[TYPES] "types", patterns.0 = reader.globs(value, spelled_type), "Instance types that may not be used.";
        texts[REGIONS] "regions", patterns.1 = reader.globs(value, spelled_region), "Regions that may not be used.";
    }

    const PRICES: GatePolicy = |reader, policy, value, entry| {
        duration "max_age", policy.price_age = Some(PriceAgeLimit { max_age: value.1, line: entry.line }), "How old a price may be, such as 120d or 36h.";
    }

    const RECORDING: GatePolicy = |reader, policy, value, entry| {
        duration "max_age", policy.recording_age = Some(value.1), "How old a recording of `--from` may be, such as 7d or 36h; 7d unless given.";
    }

    const GAPS: GatePolicy = |reader, policy, value, entry| {
        word[OUTCOMES] "known", policy.refuses_known_gaps = value == FAIL, "What data does that the baseline lacked too; warn unless given.";
    }
}

#[derive(Default)]
struct ForbidDraft {
    rule: Option<String>,
    severity: Option<Severity>,
}

keys! {
    const FORBID: ForbidDraft = |reader, ban, value, entry| {
        known[finding_rules, "a rule"] "rule", ban.rule = Some(value), "One rule; every rule unless given.";
        named[Severity] "severity", ban.severity = Some(value), "The least severity that is forbidden; info unless given.";
    }
}

fn one_key() -> Json {
    json!({ "minProperties": 1 })
}

keys! {
    const SUPPRESS: Suppression = |reader, accepted, value, entry| {
        need known[suppressible_rules, "a rule that can be suppressed"] "rule", accepted.rule = value, "";
        need text "workload", accepted.workload = Glob::new(value), "A workload's id or name, or a scope such as `tag team=ml`; * and ? are patterns.";
        need text "owner", accepted.owner = value, "Who answers for it.";
        need text "reason", accepted.reason = value, "Why.";
        need date "expires", accepted.expires = value, "The last day on which it holds, in UTC.";
        amount "monthly_limit", accepted.monthly_limit = Some(value), "The most per month that it covers, in the currency of the violation; any amount unless given.";
    }

    const SUPPRESSIONS: GatePolicy = |reader, policy, value, entry| {
        word[OUTCOMES] "expired", policy.accepts_expired = value != FAIL, "What an expired suppression does; fail unless given.";
        word[OUTCOMES] "unmatched", policy.refuses_unmatched = value == FAIL, "What a suppression that covers nothing does; warn unless given.";
    }
}

#[derive(Default)]
struct RejectDraft {
    workload: Option<String>,
    action: Option<ActionKind>,
    reason: Option<String>,
}

keys! {
    const REJECT: RejectDraft = |reader, rejected, value, entry| {
        need text "workload", rejected.workload = Some(value), "ID or name of a workload, with `*` for anything.";
        need named[ActionKind] "action", rejected.action = Some(value), "The kind of action that plans do without.";
        need text "reason", rejected.reason = Some(value), "";
    }
}

impl RejectDraft {
    fn action(self) -> Option<RejectedAction> {
        Some(RejectedAction {
            workload: self.workload?,
            action: self.action?,
            reason: self.reason?,
        })
    }
}

/// Ids of every rule that makes findings.
fn finding_rules() -> Vec<&'static str> {
    let of_workloads = RULES.iter().map(|rule| rule.meta().id);
    let of_others = COMMITMENT_RULES.into_iter().chain(CLUSTER_RULES);
    of_workloads.chain(of_others).collect()
}

fn suppressible_rules() -> Vec<&'static str> {
    let mut rules = finding_rules();
    rules.extend(policy_rule::SUPPRESSIBLE);
    rules
}

impl Reader<'_> {
    fn budget(&mut self, draft: BudgetDraft, line: usize, policy: &mut GatePolicy) {
        if let Some((_, line)) = draft.scopes.get(1) {
            let message = "a budget covers one account, one region or one tag; add a \
                           [[budget]] for each";
            self.at(*line, message);
        }
        let (basis, scope) = (draft.basis, draft.scopes.into_iter().next());
        let scope = scope.map_or(Scope::Everything, |(scope, _)| scope);
        let currency = draft.currency.unwrap_or(Currency::Usd);
        let same = policy.budgets.iter().find(|known| {
            known.scope == scope
                && known.monthly_limit.currency() == currency
                && known.basis == basis
        });
        if let Some(known) = same {
            let message = format!(
                "duplicate budget for {scope} in {currency}; the first is on line {}",
                known.line
            );
            self.at(line, &message);
        }
        policy.budgets.push(Budget {
            name: draft.name,
            scope,
            basis,
            monthly_limit: Money::new(draft.monthly_limit, currency),
            line,
        });
    }

    fn forbid(&mut self, draft: ForbidDraft, line: usize, policy: &mut GatePolicy) {
        if draft.rule.is_none() && draft.severity.is_none() {
            self.at(line, "this [[forbid]] has neither a rule nor a severity");
        }
        policy.forbidden.push(Forbidden {
            rule: draft.rule,
            severity: draft.severity.unwrap_or(Severity::Info),
            line,
        });
    }

    /// Patterns, each with its line, as `spelled` finds them.
    fn globs(
        &mut self,
        patterns: Vec<(String, usize)>,
        spelled: fn(&str) -> Spelling,
    ) -> Vec<(Glob, usize)> {
        for (pattern, line) in &patterns {
            if let Spelling::Wrong(message) = spelled(pattern) {
                self.at(*line, &message);
            }
        }
        let glob = |(text, line): (String, usize)| (Glob::new(text), line);
        patterns.into_iter().map(glob).collect()
    }
}

/// Begins each of the tables that a choice takes the place of.
const HEADER: &str = "[[reject]]";

/// The text of a policy file in which the rejected actions of `choice`, which has no other
/// table, are in the place of its own: every other table and comment stays. Of a text that has no
/// other table, or is not TOML, nothing stays. `title` begins the comment above a choice.
///
/// `None` where the other tables cannot be kept, as with rejected actions in an unusual form.
pub fn with_choice(text: &str, choice: &str, title: &str) -> Option<String> {
    let Ok(mut others) = toml::from_str::<Table>(text) else { return Some(choice.to_owned()) };
    others.remove("reject");
    if others.is_empty() {
        return Some(choice.to_owned());
    }
    let rest = without_choice(text, title);
    // Whatever the lines meant, the tables are the same, or the file is left alone.
    let is_kept = toml::from_str::<Table>(&rest).is_ok_and(|kept| kept == others);
    is_kept.then(|| format!("{}\n\n{choice}", rest.trim_end()))
}

/// The lines that belong to no rejected action. Comments stay, but for those of a choice.
fn without_choice(text: &str, title: &str) -> String {
    let (mut is_rejection, mut is_of_choice) = (false, false);
    let mut rest = String::new();
    for line in text.lines() {
        let start = line.trim_start();
        let is_comment = start.starts_with('#');
        is_of_choice = is_comment && (is_of_choice || start.starts_with(title));
        if start.starts_with('[') {
            is_rejection = start.starts_with(HEADER);
        }
        if !is_of_choice && (is_comment || !is_rejection) {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    rest
}

#[cfg(test)]
mod tests;
