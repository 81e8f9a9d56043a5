//! Reading an earlier `audit --format json`. What it does not say stays absent;
//! what a newer layout may mean is not guessed.

use crate::domain::{
    Currency, Kpi, KpiValue, Money, PastAudit, PastFinding, PastGap, PastTotals, PastUnitCost,
    PastUnused, PastWorkload, TagFilter, Window, shown,
};
use crate::sources::files::shared::bounded::{Bounded, MOST_REPORT_BYTES};
use crate::sources::files::shared::plain_text::open;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::de::{self, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The versions of reports that this program reads, the one that it writes last. What is
/// read of the first has the same keys as in the second.
pub const REPORT_VERSIONS: [&str; 2] = ["1", "2"];

/// Why a report could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file could not be opened or read.
    #[error("cannot read the report {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is not what `audit --format json` writes.
    #[error("{} is not an audit report", shown(path))]
    Malformed {
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// It is a recorded estate.
    #[error("{} is an estate, not an audit report", shown(path))]
    Estate { path: PathBuf },
    /// It is what `profile --samples` writes.
    #[error("{} has the samples of a run, not its summary", shown(path))]
    Samples { path: PathBuf },
    #[error("{} has schema version {found}; this program reads versions {}", shown(path), REPORT_VERSIONS.join(" and "))]
    Newer {
        path: PathBuf,
        /// The version it has.
        found: String,
    },
    /// A value in it cannot be what it must be.
    #[error("the report {} has an invalid value at `{place}`: {found}", shown(path))]
    Wrong {
        path: PathBuf,
        /// The keys that lead there.
        place: String,
        /// What was found, and what was expected.
        found: String,
    },
}

/// Reads an earlier audit, plain or gzip-compressed.
///
/// # Errors
/// When it cannot be read, is not an audit report, or is of another version.
pub fn read_report(path: &Path) -> Result<PastAudit, ReportError> {
    let path_of_error = || path.to_owned();
    let mut text = Vec::new();
    open(path)
        .and_then(|reader| Bounded::new(reader, MOST_REPORT_BYTES).read_to_end(&mut text))
        .map_err(|source| ReportError::Io { path: path_of_error(), source })?;
    let malformed = |source| ReportError::Malformed { path: path_of_error(), source };
    let versions: Versions<'_> = serde_json::from_slice(&text).map_err(malformed)?;
    match versions.schema_version {
        None if versions.estate_version.is_some() => {
            return Err(ReportError::Estate { path: path_of_error() });
        }
        Some(found) if !REPORT_VERSIONS.contains(&found.get().trim_matches('"')) => {
            let version = found.get().trim_matches('"').chars().take(40).collect();
            return Err(ReportError::Newer { path: path_of_error(), found: version });
        }
        // Without a version it is malformed, and the whole says so below.
        _ => {}
    }
    let report: Report = serde_json::from_slice(&text).map_err(malformed)?;
    report.past().map_err(|invalid| ReportError::Wrong {
        path: path_of_error(),
        place: invalid.place,
        found: invalid.found,
    })
}

#[derive(Deserialize)]
struct Versions<'a> {
    /// As it stands: it may be anything, of any size.
    #[serde(borrow)]
    schema_version: Option<&'a RawValue>,
    estate_version: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Report {
    #[serde(rename = "schema_version")]
    _schema_version: String,
    gpucost_version: Option<String>,
    #[serde(deserialize_with = "time")]
    as_of: Timestamp,
    scope: Scope,
    prices: Prices,
    summary: Summary,
    /// Reports before the key have none.
    #[serde(default)]
    kpis: BTreeMap<String, Option<Number>>,
    #[serde(default)]
    unit_costs: Vec<UnitCost>,
    workloads: Vec<Workload>,
    /// Reports before the key had no such rows.
    #[serde(default)]
    unused_commitments: Vec<Unused>,
    findings: Vec<Finding>,
    #[serde(default)]
    gaps: Vec<PastGap>,
}

/// RFC 3339.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(de::Error::custom)
}

#[derive(Deserialize)]
struct Scope {
    accounts: Vec<String>,
    regions: Vec<String>,
    /// Reports before the key do not say it.
    #[serde(default)]
    tag_filters: Vec<Filter>,
    #[serde(deserialize_with = "time")]
    window_start: Timestamp,
    #[serde(deserialize_with = "time")]
    window_end: Timestamp,
    #[serde(default)]
    source: String,
}

#[derive(Deserialize)]
struct Filter {
    key: String,
    value: String,
    #[serde(default)]
    excluded: bool,
}

#[derive(Deserialize)]
struct Prices {
    currency: String,
}

#[derive(Deserialize)]
struct Summary {
    instances: u64,
    #[serde(default)]
    gpus: u64,
    #[serde(default)]
    unpriced_instances: u64,
    monthly_cost: Option<Number>,
    planned_monthly_cost: Option<Number>,
    monthly_savings: Option<Number>,
    monthly_waste: Option<Number>,
}

#[derive(Deserialize)]
struct UnitCost {
    name: String,
    unit: String,
    currency: Option<String>,
    per: u32,
    cost_per_units: Option<Number>,
}

#[derive(Deserialize)]
struct Workload {
    id: String,
    name: String,
    account: Option<String>,
    region: String,
    #[serde(default)]
    kind: String,
    instances: Vec<String>,
    instance_type: String,
    #[serde(default = "runs")]
    running: bool,
    purchase_option: String,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    currency: Option<String>,
    monthly_cost: Option<Number>,
    classification: String,
    utilization: Option<Utilization>,
    plan: Option<Plan>,
}

/// The contract's own layout does not have the key; whatever lacks it ran.
fn runs() -> bool {
    true
}

#[derive(Deserialize)]
struct Unused {
    id: String,
    name: String,
    account: Option<String>,
    region: Option<String>,
    currency: Option<String>,
    monthly_cost: Option<Number>,
    plan: Option<Plan>,
}

#[derive(Deserialize)]
struct Utilization {
    signal: String,
    mean: f64,
}

#[derive(Deserialize)]
struct Plan {
    planned_monthly_cost: Option<Number>,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Deserialize)]
struct Action {
    lost_work_monthly_cost: Option<Number>,
    /// Absent in reports before the key.
    snapshots_monthly_cost: Option<Number>,
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    rule: String,
    workload: String,
    severity: String,
    title: String,
    currency: Option<String>,
    monthly_savings: Option<Number>,
}

/// A value that cannot be what it must be.
struct InvalidValue {
    place: String,
    found: String,
}

/// The currency of a code.
fn known_currency(code: &str, place: impl FnOnce() -> String) -> Result<Currency, InvalidValue> {
    Currency::from_code(code).ok_or_else(|| InvalidValue {
        place: place(),
        found: format!("`{code}` is not a supported currency"),
    })
}

/// More than anything costs; beyond it, sums would overflow exact decimals.
const MOST: Decimal = Decimal::from_parts(u32::MAX, u32::MAX >> 8, 0, false, 0);

/// A JSON number as the decimal that it was written from, in cents.
fn money(
    number: Option<Number>,
    currency: Currency,
    place: impl Fn() -> String,
) -> Result<Option<Money>, InvalidValue> {
    let amount = price(number, currency, place)?;
    Ok(amount.map(Money::rounded))
}

/// A JSON number as the decimal that it was written from.
fn price(
    number: Option<Number>,
    currency: Currency,
    place: impl Fn() -> String,
) -> Result<Option<Money>, InvalidValue> {
    let Some(number) = number else {
        return Ok(None);
    };
    let text = number.to_string();
    text.parse()
        .ok()
        .or_else(|| Decimal::from_scientific(&text).ok())
        .filter(|amount| (Decimal::ZERO..=MOST).contains(amount))
        .map(|amount| Some(Money::new(amount, currency)))
        .ok_or_else(|| InvalidValue {
            place: place(),
            found: format!("{text} is not a valid amount"),
        })
}

/// The key figures that this program knows.
fn kpis(
    numbers: BTreeMap<String, Option<Number>>,
    currency: Currency,
) -> Result<BTreeMap<Kpi, KpiValue>, InvalidValue> {
    let mut known = BTreeMap::new();
    for (name, number) in numbers {
        let Some(kpi) = Kpi::from_name(&name) else {
            continue;
        };
        let value = if kpi.is_money() {
            price(number, currency, || format!("kpis.{name}"))?.map(KpiValue::Money)
        } else {
            let value = number.and_then(|number| number.as_f64());
            value.and_then(KpiValue::measured)
        };
        known.extend(value.map(|value| (kpi, value)));
    }
    Ok(known)
}

impl Report {
    fn past(self) -> Result<PastAudit, InvalidValue> {
        let place = || "prices.currency".to_owned();
        let currency = known_currency(&self.prices.currency, place)?;
        let window = Window::stated(self.scope.window_start, self.scope.window_end);
        let window =
            window.map_err(|found| InvalidValue { place: "scope.window_end".to_owned(), found })?;
        let sum = |number, key: &str| money(number, currency, || format!("summary.{key}"));
        let totals = PastTotals {
            currency,
            instances: self.summary.instances,
            gpus: self.summary.gpus,
            unpriced_instances: self.summary.unpriced_instances,
            monthly_cost: sum(self.summary.monthly_cost, "monthly_cost")?,
            planned_monthly_cost: sum(self.summary.planned_monthly_cost, "planned_monthly_cost")?,
            monthly_savings: sum(self.summary.monthly_savings, "monthly_savings")?,
            monthly_waste: sum(self.summary.monthly_waste, "monthly_waste")?,
        };
        let workloads: Vec<PastWorkload> =
            self.workloads.into_iter().map(Workload::past).collect::<Result<_, _>>()?;
        let currencies: BTreeMap<String, Currency> = workloads
            .iter()
            .map(|workload| {
                let of_region = Currency::of_region(&workload.region);
                let currency = workload.monthly_cost.map_or(of_region, Money::currency);
                (workload.id.clone(), currency)
            })
            .collect();
        let unit_costs = self.unit_costs.into_iter().map(|unit_cost| unit_cost.past(currency));
        let unused = self.unused_commitments.into_iter();
        let unused =
            unused.map(|commitment| commitment.past(currency)).collect::<Result<_, _>>()?;
        let findings = self.findings.into_iter().map(|finding| {
            let currency = currencies.get(&finding.workload).copied();
            finding.past(currency.unwrap_or(totals.currency))
        });
        let findings = findings.collect::<Result<_, _>>()?;
        Ok(PastAudit {
            gpucost_version: self.gpucost_version,
            as_of: self.as_of,
            window,
            source: self.scope.source,
            accounts: self.scope.accounts,
            regions: self.scope.regions,
            tag_filters: self.scope.tag_filters.into_iter().map(Filter::past).collect(),
            totals,
            kpis: kpis(self.kpis, currency)?,
            unit_costs: unit_costs.collect::<Result<_, _>>()?,
            workloads,
            unused,
            findings,
            gaps: self.gaps,
            left_out_workloads: 0,
        })
    }
}

impl Filter {
    fn past(self) -> TagFilter {
        TagFilter { key: self.key, value: self.value, is_excluded: self.excluded }
    }
}

impl UnitCost {
    fn past(self, of_report: Currency) -> Result<PastUnitCost, InvalidValue> {
        let place = |key: &str| format!("unit_costs.{}.{key}", self.name);
        let currency = match &self.currency {
            Some(code) => known_currency(code, || place("currency"))?,
            None => of_report,
        };
        let price = price(self.cost_per_units, currency, || place("cost_per_units"))?;
        Ok(PastUnitCost { price, name: self.name, unit: self.unit, per: self.per })
    }
}

impl Unused {
    fn past(self, of_report: Currency) -> Result<PastUnused, InvalidValue> {
        let place = |key: &str| format!("unused_commitments.{}.{key}", self.id);
        let currency = match &self.currency {
            Some(code) => known_currency(code, || place("currency"))?,
            None => of_report,
        };
        let planned = self.plan.and_then(|plan| plan.planned_monthly_cost);
        Ok(PastUnused {
            monthly_cost: money(self.monthly_cost, currency, || place("monthly_cost"))?,
            planned_monthly_cost: money(planned, currency, || place("plan"))?,
            id: self.id.clone(),
            name: self.name.clone(),
            account: self.account.clone(),
            region: self.region.clone(),
        })
    }
}

impl Workload {
    fn past(self) -> Result<PastWorkload, InvalidValue> {
        let id = &self.id;
        // Reports before the key have the currency of the region.
        let currency = match &self.currency {
            Some(code) => known_currency(code, || format!("workloads.{id}.currency"))?,
            None => Currency::of_region(&self.region),
        };
        let (planned, actions) = match self.plan {
            Some(plan) => (plan.planned_monthly_cost, plan.actions),
            None => (None, Vec::new()),
        };
        let lost_work = actions.iter().find_map(|action| action.lost_work_monthly_cost.clone());
        let snapshots = actions.into_iter().find_map(|action| action.snapshots_monthly_cost);
        let monthly_cost =
            money(self.monthly_cost, currency, || format!("workloads.{id}.monthly_cost"))?;
        let planned_monthly_cost =
            money(planned, currency, || format!("workloads.{id}.plan.planned_monthly_cost"))?;
        let lost_work = money(lost_work, currency, || {
            format!("workloads.{id}.plan.actions.lost_work_monthly_cost")
        })?;
        let snapshots = money(snapshots, currency, || {
            format!("workloads.{id}.plan.actions.snapshots_monthly_cost")
        })?;
        let (signal, mean_percent) = match self.utilization {
            Some(measured) => (Some(measured.signal), Some(measured.mean)),
            None => (None, None),
        };
        Ok(PastWorkload {
            id: self.id,
            name: self.name,
            account: self.account.unwrap_or_default(),
            region: self.region,
            kind: self.kind,
            instances: self.instances,
            instance_type: self.instance_type,
            running: self.running,
            purchase_option: self.purchase_option,
            tags: self.tags,
            monthly_cost,
            planned_monthly_cost,
            lost_work,
            snapshots,
            classification: self.classification,
            signal,
            mean_percent,
        })
    }
}

impl Finding {
    /// `usual` is the currency of a report before the key.
    fn past(self, usual: Currency) -> Result<PastFinding, InvalidValue> {
        let id = &self.id;
        let currency = match &self.currency {
            Some(code) => known_currency(code, || format!("findings.{id}.currency"))?,
            None => usual,
        };
        let monthly_savings =
            money(self.monthly_savings, currency, || format!("findings.{id}.monthly_savings"))?;
        Ok(PastFinding {
            id: self.id,
            rule: self.rule,
            workload: self.workload,
            severity: self.severity,
            title: self.title,
            monthly_savings,
        })
    }
}
