//! Reading an earlier `audit --format json`. What it does not say stays absent;
//! what a newer layout may mean is not guessed.

use crate::domain::{
    Currency, Kpi, KpiValue, Money, PastAudit, PastFinding, PastGap, PastMember, PastTotals,
    PastUnitCost, PastUnused, PastWorkload, TagFilter, Window, shown,
};
use crate::files::shared::bounded::{MOST_REPORT_BYTES, bounded, open};
use crate::files::shared::same_fields;
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
    let text = whole_text(path)?;
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
    let past = report.past();
    past.map_err(|(place, found)| ReportError::Wrong { path: path_of_error(), place, found })
}

/// The text of a report, plain or gzip-compressed.
///
/// # Errors
/// When it cannot be read, or is larger than any report.
pub(super) fn whole_text(path: &Path) -> Result<Vec<u8>, ReportError> {
    let mut text = Vec::new();
    open(path)
        .and_then(|reader| bounded(reader, MOST_REPORT_BYTES).read_to_end(&mut text))
        .map_err(|source| ReportError::Io { path: path.to_owned(), source })?;
    Ok(text)
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
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
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
    #[serde(default)]
    tagged_instances: BTreeMap<String, u64>,
    #[serde(default)]
    members: Vec<Member>,
    currency: Option<String>,
    monthly_cost: Option<Number>,
    classification: String,
    utilization: Option<Utilization>,
    plan: Option<Plan>,
}

#[derive(Deserialize)]
struct Member {
    #[serde(default)]
    tags: BTreeMap<String, String>,
    monthly_cost: Option<Number>,
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
    #[serde(default)]
    tags: BTreeMap<String, String>,
    currency: Option<String>,
    monthly_cost: Option<Number>,
    plan: Option<Plan>,
}

#[derive(Deserialize)]
struct Utilization {
    signal: String,
    mean: f64,
}

#[derive(Default, Deserialize)]
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

/// Where a value is that cannot be what it must be, and what was found there.
type Invalid = (String, String);

/// More than anything costs; beyond it, sums would overflow exact decimals.
const MOST: Decimal = Decimal::from_parts(u32::MAX, u32::MAX >> 8, 0, false, 0);

/// The amounts of a part of a report.
struct Amounts {
    /// The keys that lead there.
    place: String,
    currency: Currency,
}

impl Amounts {
    /// Of a part that names its currency; those before the key have the usual one.
    fn of(place: String, code: Option<&str>, usual: Currency) -> Result<Self, Invalid> {
        let Some(code) = code else {
            return Ok(Self { place, currency: usual });
        };
        match Currency::from_name(code) {
            Some(currency) => Ok(Self { place, currency }),
            None => {
                Err((format!("{place}.currency"), format!("`{code}` is not a supported currency")))
            }
        }
    }

    /// A JSON number as the decimal that it was written from, in cents.
    fn money(&self, number: Option<Number>, key: &str) -> Result<Option<Money>, Invalid> {
        Ok(self.price(number, key)?.map(Money::rounded))
    }

    /// A JSON number as the decimal that it was written from.
    fn price(&self, number: Option<Number>, key: &str) -> Result<Option<Money>, Invalid> {
        let Some(number) = number else { return Ok(None) };
        let text = number.to_string();
        text.parse()
            .ok()
            .or_else(|| Decimal::from_scientific(&text).ok())
            .filter(|amount| (Decimal::ZERO..=MOST).contains(amount))
            .map(|amount| Some(Money::new(amount, self.currency)))
            .ok_or_else(|| {
                (format!("{}.{key}", self.place), format!("{text} is not a valid amount"))
            })
    }
}

/// The key figures that this program knows.
fn kpis(
    numbers: BTreeMap<String, Option<Number>>,
    currency: Currency,
) -> Result<BTreeMap<Kpi, KpiValue>, Invalid> {
    let amounts = Amounts { place: "kpis".to_owned(), currency };
    let mut known = BTreeMap::new();
    for (name, number) in numbers {
        let Some(kpi) = Kpi::from_name(&name) else { continue };
        let value = if kpi.is_money() {
            amounts.price(number, &name)?.map(KpiValue::Money)
        } else {
            number.and_then(|number| number.as_f64()).and_then(KpiValue::measured)
        };
        known.extend(value.map(|value| (kpi, value)));
    }
    Ok(known)
}

impl Report {
    fn past(self) -> Result<PastAudit, Invalid> {
        let code = Some(self.prices.currency.as_str());
        let currency = Amounts::of("prices".to_owned(), code, Currency::Usd)?.currency;
        let window = Window::stated(self.scope.window_start, self.scope.window_end);
        let window = window.map_err(|found| ("scope.window_end".to_owned(), found))?;
        let summary = self.summary;
        let sums = Amounts { place: "summary".to_owned(), currency };
        let totals = same_fields!(summary => PastTotals {
            instances, gpus, unpriced_instances;
            currency,
            monthly_cost: sums.money(summary.monthly_cost, "monthly_cost")?,
            planned_monthly_cost: sums
                .money(summary.planned_monthly_cost, "planned_monthly_cost")?,
            monthly_savings: sums.money(summary.monthly_savings, "monthly_savings")?,
            monthly_waste: sums.money(summary.monthly_waste, "monthly_waste")?,
        });
        let workloads: Vec<PastWorkload> =
            self.workloads.into_iter().map(Workload::past).collect::<Result<_, _>>()?;
        let currencies: BTreeMap<String, Currency> = workloads
            .iter()
            .map(|workload| {
                let of_region = Currency::of_region(&workload.region);
                (workload.id.clone(), workload.monthly_cost.map_or(of_region, Money::currency))
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
        let filters = self.scope.tag_filters.into_iter();
        Ok(PastAudit {
            gpucost_version: self.gpucost_version,
            as_of: self.as_of,
            window,
            source: self.scope.source,
            accounts: self.scope.accounts,
            regions: self.scope.regions,
            tag_filters: filters
                .map(|Filter { key, value, excluded }| TagFilter {
                    key,
                    value,
                    is_excluded: excluded,
                })
                .collect(),
            totals,
            kpis: kpis(self.kpis, currency)?,
            unit_costs: unit_costs.collect::<Result<_, _>>()?,
            workloads,
            unused,
            findings,
            gaps: self.gaps,
            skipped_workloads: 0,
        })
    }
}

impl UnitCost {
    fn past(self, usual: Currency) -> Result<PastUnitCost, Invalid> {
        let place = format!("unit_costs.{}", self.name);
        let amounts = Amounts::of(place, self.currency.as_deref(), usual)?;
        let price = amounts.price(self.cost_per_units, "cost_per_units")?;
        Ok(PastUnitCost { price, name: self.name, unit: self.unit, per: self.per })
    }
}

impl Unused {
    fn past(self, usual: Currency) -> Result<PastUnused, Invalid> {
        let place = format!("unused_commitments.{}", self.id);
        let amounts = Amounts::of(place, self.currency.as_deref(), usual)?;
        let planned = self.plan.and_then(|plan| plan.planned_monthly_cost);
        Ok(same_fields!(self => PastUnused {
            id, name, account, region, tags;
            monthly_cost: amounts.money(self.monthly_cost, "monthly_cost")?,
            planned_monthly_cost: amounts.money(planned, "plan")?,
        }))
    }
}

impl Workload {
    fn past(self) -> Result<PastWorkload, Invalid> {
        // Reports before the key have the currency of the region.
        let usual = Currency::of_region(&self.region);
        let place = format!("workloads.{}", self.id);
        let amounts = Amounts::of(place, self.currency.as_deref(), usual)?;
        let tagged = self.members.into_iter().filter(|own| !own.tags.is_empty());
        let tagged_members = tagged.map(|own| {
            let monthly_cost = amounts.money(own.monthly_cost, "members.monthly_cost")?;
            Ok(PastMember { tags: own.tags, monthly_cost })
        });
        let tagged_members = tagged_members.collect::<Result<_, Invalid>>()?;
        let plan = self.plan.unwrap_or_default();
        let lost_work =
            plan.actions.iter().find_map(|action| action.lost_work_monthly_cost.clone());
        let snapshots = plan.actions.into_iter().find_map(|action| action.snapshots_monthly_cost);
        let planned = plan.planned_monthly_cost;
        let (signal, mean_percent) =
            self.utilization.map(|measured| (measured.signal, measured.mean)).unzip();
        Ok(same_fields!(self => PastWorkload {
            id, name, region, kind, instances, instance_type, running, purchase_option, tags,
            tagged_instances, classification;
            monthly_cost: amounts.money(self.monthly_cost, "monthly_cost")?,
            planned_monthly_cost: amounts.money(planned, "plan.planned_monthly_cost")?,
            lost_work: amounts.money(lost_work, "plan.actions.lost_work_monthly_cost")?,
            snapshots: amounts.money(snapshots, "plan.actions.snapshots_monthly_cost")?,
            account: self.account.unwrap_or_default(),
            tagged_members,
            signal,
            mean_percent,
        }))
    }
}

impl Finding {
    /// `usual` is the currency of a report before the key.
    fn past(self, usual: Currency) -> Result<PastFinding, Invalid> {
        let place = format!("findings.{}", self.id);
        let amounts = Amounts::of(place, self.currency.as_deref(), usual)?;
        Ok(same_fields!(self => PastFinding {
            id, rule, workload, severity, title;
            monthly_savings: amounts.money(self.monthly_savings, "monthly_savings")?,
        }))
    }
}
