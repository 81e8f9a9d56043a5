//! `gpucost reserved --type`: what commitments to one type come to.

use super::doc::{CsvRows, Doc, Given, Record, Step, Table, Value, columns, rows};
use super::shared::text::{count, counted, joined, money, unit_price};
use crate::catalog::family;
use crate::domain::{
    Currency, Instalments, Money, OperatingSystem, PaymentOption, PriceBasis, PriceOption,
    PriceOrigin, PriceQuote,
};
use crate::savings::{CommitmentFigures, PricedCommitment, ReservedReport, SteadyUse, months};
use jiff::civil::Date;
use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};

pub(super) const CURRENCIES: &[&str] = Currency::NAMES;
pub(super) const ORIGINS: &[&str] = PriceOrigin::NAMES;
pub(super) const PAYMENTS: &[&str] = PaymentOption::NAMES;
pub(super) const SYSTEMS: &[&str] = OperatingSystem::NAMES;
const OFFERS: &[&str] = &["reserved", "ec2-instance-savings-plan", "compute-savings-plan"];
/// Years of a term.
pub(super) const TERMS: &[u64] = &[1, 3];
pub(super) const BASES: &[&str] = PriceBasis::NAMES;

/// Origin of a price that the user stated, on the command line too.
const GIVEN: &str = "user";

columns! {
    fn calculator(report: ReservedReport) {
        text "instance_type", "", Data, report.instance_type.clone(), "The instance type.";
        text "region", "", Data, report.region.clone(), "";
        word[SYSTEMS] "operating_system", "", Data, report.operating_system.name(), "";
        count "count", "", Data, report.used.count, "Number of instances.";
        number "hours_per_month", "", Data, report.used.hours_per_month, "Hours per month that each instance runs.";
        word[CURRENCIES] "currency", "", Data, report.used.on_demand.currency().code(), "Of all amounts.";
        price "on_demand_hourly", "", Data, amount(report, report.used.on_demand.amount()), "Of one instance.";
        opt date "on_demand_date", "", Data, report.on_demand.as_ref().map(|quote| quote.seen_on), "null if a flag set the price.";
        word[ORIGINS] "on_demand_origin", "", Data, origin(report.on_demand.as_ref()), "";
        opt word[PAYMENTS] "reserved_1yr_payment", "", Data, report.one_year.as_ref().map(payment), "null where the term is not sold.";
        opt price "reserved_1yr_upfront", "", Data, figures(report.one_year.as_ref(), |figures| amount(report, figures.instalments.upfront)), "Paid once, for one instance.";
        opt price "reserved_1yr_hourly", "", Data, figures(report.one_year.as_ref(), |figures| amount(report, figures.instalments.hourly)), "Paid in addition, every hour.";
        opt date "reserved_1yr_date", "", Data, report.one_year.as_ref().and_then(seen_on), "";
        opt word[ORIGINS] "reserved_1yr_origin", "", Data, report.one_year.as_ref().map(|sold| origin(sold.quote.as_ref())), "";
        opt word[PAYMENTS] "reserved_3yr_payment", "", Data, report.three_years.as_ref().map(payment), "null where the term is not sold.";
        opt price "reserved_3yr_upfront", "", Data, figures(report.three_years.as_ref(), |figures| amount(report, figures.instalments.upfront)), "Paid once, for one instance.";
        opt price "reserved_3yr_hourly", "", Data, figures(report.three_years.as_ref(), |figures| amount(report, figures.instalments.hourly)), "Paid in addition, every hour.";
        opt date "reserved_3yr_date", "", Data, report.three_years.as_ref().and_then(seen_on), "";
        opt word[ORIGINS] "reserved_3yr_origin", "", Data, report.three_years.as_ref().map(|sold| origin(sold.quote.as_ref())), "";
        money "on_demand_monthly", "", Data, report.used.on_demand_monthly(), "";
        money "on_demand_1yr_total", "", Data, report.used.on_demand_1yr_total(), "";
        opt money "reserved_1yr_total", "", Data, figures(report.one_year.as_ref(), |figures| figures.annual_total), "";
        opt money "reserved_1yr_savings", "", Data, figures(report.one_year.as_ref(), |figures| figures.annual_savings), "Below zero if the commitment costs more.";
        opt number "reserved_1yr_savings_pct", "", Data, figures(report.one_year.as_ref(), |figures| figures.annual_savings_pct).map(tenth), "Percentage, at most 100.";
        opt money "reserved_1yr_billed_total", "", Data, figures(report.one_year.as_ref(), |figures| figures.billed_total), "Cost of the whole term, with every hour billed.";
        opt money "reserved_3yr_total_annualized", "", Data, figures(report.three_years.as_ref(), |figures| figures.annual_total), "One year of the three.";
        opt number "reserved_3yr_savings_vs_ondemand_pct", "", Data, figures(report.three_years.as_ref(), |figures| figures.annual_savings_pct).map(tenth), "Percentage, at most 100.";
        opt money "reserved_3yr_billed_total", "", Data, figures(report.three_years.as_ref(), |figures| figures.billed_total), "Cost of the whole term, with every hour billed.";
        opt share "break_even_utilization_1yr", "", Data, figures(report.one_year.as_ref(), |figures| figures.break_even_utilization), "Share of all hours; above 1 if the commitment never pays.";
        opt share "break_even_utilization_3yr", "", Data, figures(report.three_years.as_ref(), |figures| figures.break_even_utilization), "Share of all hours; above 1 if the commitment never pays.";
        opt count "break_even_month_1yr", "", Data, figures(report.one_year.as_ref(), |figures| figures.break_even_month).flatten(), "Month of the term; null if it is not reached within the term.";
        opt count "break_even_month_3yr", "", Data, figures(report.three_years.as_ref(), |figures| figures.break_even_month).flatten(), "Month of the term; null if it is not reached within the term.";
        opt money "balance_when_halved_1yr", "", Data, figures(report.one_year.as_ref(), |figures| figures.balance_when_halved), "On-demand cost minus commitment cost over the term, if half of the instances remain from month 7.";
        opt money "balance_when_halved_3yr", "", Data, figures(report.three_years.as_ref(), |figures| figures.balance_when_halved), "On-demand cost minus commitment cost over the term, if half of the instances remain from month 7.";
        opt price "capacity_block_hourly", "", Data, report.capacity_block.as_ref().map(|quote| amount(report, quote.rate.amount())), "Of one instance; paid upfront for days or weeks.";
        opt date "capacity_block_date", "", Data, report.capacity_block.as_ref().map(|quote| quote.seen_on), "";
        opt word[ORIGINS] "capacity_block_origin", "", Data, report.capacity_block.as_ref().map(|quote| quote.origin.name()), "";
    }

    fn commitments(row: (PricedCommitment, Currency)) {
        word[OFFERS] "offer", "", Data, offer(&row.0).0, "What is sold.";
        text "name", "offer", Screen, format!("{} {}yr", offer(&row.0).1, row.0.figures.term.years), "";
        count[TERMS] "term_years", "", Data, row.0.figures.term.years, "";
        word[PAYMENTS] "payment", "payment", Narrow(0), payment(&row.0), "";
        price "upfront", "", Data, Money::new(row.0.figures.instalments.upfront, row.1), "Of one instance.";
        price "hourly", "per hour", Wide, Money::new(row.0.figures.instalments.hourly, row.1), "Of one instance.";
        price "effective_hourly", "effective", Narrow(3), Money::new(row.0.figures.effective_hourly, row.1), "Both together, per hour of the term.";
        whole "upfront_total", "prepaid", Narrow(0), row.0.figures.upfront_total, "Of all instances.";
        money "annual_total", "", Data, row.0.figures.annual_total, "For the hours that they run.";
        money "annual_savings", "", Data, row.0.figures.annual_savings, "";
        number "annual_savings_pct", "", Data, tenth(row.0.figures.annual_savings_pct), "Percentage, at most 100.";
        whole "billed_total", "committed", Wide, row.0.figures.billed_total, "With every hour billed.";
        whole "billed_annual", "annual", Narrow(0), row.0.figures.billed_annual, "With every hour billed.";
        percent "billed_savings_pct", "saves", Narrow(0), tenth(row.0.figures.billed_savings_pct).to_f64(), "Percentage, at most 100.";
        share "break_even_utilization", "break-even", Narrow(1), row.0.figures.break_even_utilization, "Share of the hours above which it is cheaper.";
        opt count "break_even_month", "month", Narrow(2), row.0.figures.break_even_month, "First month in which on-demand has cost as much.";
        whole "balance_when_halved", "halved", Narrow(0), row.0.figures.balance_when_halved, "On-demand minus the commitment over its term, if half of the instances remain from month 7.";
        opt word[BASES] "basis", "", Data, row.0.quote.as_ref().map(|quote| quote.basis.name()), "";
        opt date "date", "date", Wide, seen_on(&row.0), "";
        word[ORIGINS] "origin", "origin", Wide, origin(row.0.quote.as_ref()), "";
    }
}

/// A comparison as a document: the calculator's figures, their arithmetic, and every commitment
/// side by side.
pub fn reserved_doc(report: &ReservedReport) -> Doc {
    let used = &report.used;
    let mut table = sold(&report.commitments, used.on_demand.currency());
    table.notes = rows! {
        ..missing_terms(report);
        "PREPAID, ANNUAL and HALVED are of all instances; EFFECTIVE is the hourly cost of one, with the upfront payment spread over the term; BREAK-EVEN is the share of all hours above which a commitment is cheaper, and MONTH the first month in which on-demand has cost as much; HALVED is on-demand minus the commitment over its term, if half of the instances remain from month 7.".to_owned();
        for quote in &report.capacity_block => format!("A Capacity Block costs {} per hour ({}): it is paid upfront for days or weeks, so it is not compared by year.", sign(used, quote.rate.amount()), provenance(Some(quote)));
    };
    Doc {
        name: "reserved",
        headline: headline(report),
        record: Record::of(calculator(), report),
        csv: CsvRows::Record,
        given: given(report),
        steps: steps(report),
        tables: vec![table],
        ..Doc::default()
    }
}

/// The document without a value, for its schema.
pub(super) fn reserved_form() -> Doc {
    Doc::form(Record::heads(calculator()), [sold(&[], Currency::Usd)])
}

fn sold(offers: &[PricedCommitment], currency: Currency) -> Table {
    let (title, noun) = ("COMMITMENTS  billed whether used or not", ("commitment", "commitments"));
    let rows = offers.iter().map(|sold| (sold.clone(), currency));
    Table::of("commitments", title, noun, commitments(), rows)
}

fn headline(report: &ReservedReport) -> String {
    let used = &report.used;
    let ReservedReport { instance_type, region, operating_system, .. } = report;
    let (count, hours) = (count(u64::from(used.count)), used.hours_per_month.normalize());
    let year = used.on_demand_1yr_total();
    format!(
        "{count} × {instance_type}, {region}, {operating_system}, {hours} hours per month each, \
         cost {year} per year on-demand"
    )
}

fn given(report: &ReservedReport) -> Vec<Given> {
    let price = |key, name, part, quote| {
        Given::new(key, name, Value::Price(amount(report, part)), provenance(quote))
    };
    let (one_year, three) = (report.one_year.as_ref(), report.three_years.as_ref());
    rows! {
        price("on_demand", "on-demand, per hour", report.used.on_demand.amount(), report.on_demand.as_ref());
        for (part, quote) in paid(one_year, |paid| paid.upfront) => price("reserved_1yr_upfront", "1 year, upfront", part, quote);
        for (part, quote) in paid(one_year, |paid| paid.hourly) => price("reserved_1yr", "1 year, per hour", part, quote);
        for (part, quote) in paid(three, |paid| paid.upfront) => price("reserved_3yr_upfront", "3 years, upfront", part, quote);
        for (part, quote) in paid(three, |paid| paid.hourly) => price("reserved_3yr", "3 years, per hour", part, quote);
    }
}

/// A part of what is paid for a commitment, with its price; absent where it is zero.
fn paid(
    sold: Option<&PricedCommitment>,
    part: fn(&Instalments) -> Decimal,
) -> Option<(Decimal, Option<&PriceQuote>)> {
    let part = part(&sold?.figures.instalments);
    (!part.is_zero()).then_some((part, sold?.quote.as_ref()))
}

fn steps(report: &ReservedReport) -> Vec<Step> {
    let used = &report.used;
    let (rate, hours) = (sign(used, used.on_demand.amount()), hours(used));
    let count = count(u64::from(used.count));
    let terms = [&report.one_year, &report.three_years].into_iter().flatten();
    rows! {
        Step::new("on-demand per month", format!("{rate} × {hours} × {count}"), Value::Money(used.on_demand_monthly()));
        Step::new("on-demand per year", format!("{rate} × {hours} × 12 × {count}"), Value::Money(used.on_demand_1yr_total()));
        ..terms.flat_map(|sold| term_steps(report, sold));
    }
}

/// The arithmetic of one term.
fn term_steps(report: &ReservedReport, sold: &PricedCommitment) -> Vec<Step> {
    let (used, figures) = (&report.used, &sold.figures);
    let term = figures.term;
    let part = |amount: Decimal| (!amount.is_zero()).then(|| sign(used, amount));
    let (upfront, hourly) = (part(figures.instalments.upfront), part(figures.instalments.hourly));
    let (rate, used_hours) = (sign(used, used.on_demand.amount()), hours(used));
    let instances = count(u64::from(used.count));
    let spread = upfront.as_ref().map(|upfront| match term.years {
        1 => upfront.clone(),
        years => format!("{upfront} / {years}"),
    });
    let times = |hours: &str| hourly.as_ref().map(|hourly| format!("{hourly} × {hours}"));
    let term_hours = format!("{} h", count(u64::from(term.hours())));
    let year = sum(spread, times(&format!("{used_hours} × 12")));
    let effective = upfront.as_ref().map(|upfront| format!("{upfront} / {term_hours}"));
    let month = figures.break_even_month;
    let last = month.unwrap_or(months(term));
    let billed = hourly.as_ref().map(|hourly| format!("{last} × {hourly} × 730 h"));
    let paid = joined(upfront.iter().cloned().chain(billed), " + ");
    let reached = if month.is_some() { "≥" } else { "<" };
    let on_demand = money(used.on_demand_1yr_total());
    let halved = used.on_demand_when_halved(term);
    let length = counted(term.years, "year", "years");
    let step = |name: &str, arithmetic: String, result: Value| {
        Step::new(format!("{length}, {name}"), arithmetic, result)
    };
    rows! {
        step("per year", format!("{year} × {instances}"), Value::Money(figures.annual_total));
        step("saved per year", format!("{on_demand} − {}", money(figures.annual_total)), Value::Money(figures.annual_savings));
        step("in percent", format!("{} / {on_demand}", money(figures.annual_savings)), Value::make_percent(figures.annual_savings_pct));
        step("total billed", format!("{} × {instances}", sum(upfront.clone(), times(&term_hours))), Value::Money(figures.billed_total));
        step("break-even", format!("{} / {rate}", sum(effective, hourly)), Value::Share(figures.break_even_utilization));
        step("break-even month", format!("{last} × {rate} × {used_hours} {reached} {paid}"), Value::make_count(month));
        step("on-demand if usage halves", format!("{rate} × {used_hours} × (6 × {instances} + {} × {})", months(term) - 6, count(u64::from(used.count / 2))), Value::Money(halved));
        step("balance if usage halves", format!("{} − {}", money(halved), money(figures.billed_total)), Value::Money(figures.balance_when_halved));
    }
}

/// A figure of a term; absent where it is not sold.
fn figures<T>(
    sold: Option<&PricedCommitment>,
    figure: impl FnOnce(&CommitmentFigures) -> T,
) -> Option<T> {
    sold.map(|sold| figure(&sold.figures))
}

fn amount(report: &ReservedReport, amount: Decimal) -> Money {
    Money::new(amount, report.used.on_demand.currency())
}

/// Half away from zero.
fn tenth(percent: Decimal) -> Decimal {
    percent.round_dp_with_strategy(1, RoundingStrategy::MidpointAwayFromZero)
}

fn origin(quote: Option<&PriceQuote>) -> &'static str {
    quote.map_or(GIVEN, |quote| quote.origin.name())
}

fn seen_on(sold: &PricedCommitment) -> Option<Date> {
    sold.quote.as_ref().map(|quote| quote.seen_on)
}

fn payment(sold: &PricedCommitment) -> &'static str {
    sold.figures.term.payment.name()
}

/// What is sold, for programs and for people.
fn offer(sold: &PricedCommitment) -> (&'static str, &'static str) {
    match sold.option {
        PriceOption::Ec2InstanceSavingsPlan(_) => ("ec2-instance-savings-plan", "EC2 plan"),
        PriceOption::ComputeSavingsPlan(_) => ("compute-savings-plan", "Compute plan"),
        _ => ("reserved", "reserved"),
    }
}

/// Two parts of a price in brackets, or the one that there is.
fn sum(upfront: Option<String>, hourly: Option<String>) -> String {
    match (upfront, hourly) {
        (Some(upfront), Some(hourly)) => format!("({upfront} + {hourly})"),
        (upfront, hourly) => upfront.or(hourly).unwrap_or_default(),
    }
}

fn hours(used: &SteadyUse) -> String {
    format!("{} h", used.hours_per_month.normalize())
}

/// A rate or an upfront with the decimals that it has, six at most.
fn sign(used: &SteadyUse, amount: Decimal) -> String {
    unit_price(Money::new(amount, used.on_demand.currency()))
}

/// Where a price is from.
fn provenance(quote: Option<&PriceQuote>) -> String {
    let Some(quote) = quote else { return "given".to_owned() };
    let derived = if quote.basis == PriceBasis::Derived { ", derived" } else { "" };
    format!("{}, {}{derived}", quote.seen_on, quote.origin.name())
}

/// Says of which term there is no reserved price.
fn missing_terms(report: &ReservedReport) -> Vec<String> {
    let facts = report.instance_type.split('.').next().and_then(family);
    let terms = [
        ("1 year", &report.one_year, facts.and_then(|facts| facts.reserved_1yr)),
        ("3 years", &report.three_years, facts.and_then(|facts| facts.reserved_3yr)),
    ];
    let unsold = terms.into_iter().filter(|(_, sold, _)| sold.is_none());
    let said = unsold.map(|(length, _, sells)| match (sells, facts) {
        (Some(false), Some(facts)) => {
            format!("Reserved for {length}: not offered for the {} family.", facts.family)
        }
        _ => format!("Reserved for {length}, {}: price not available.", report.payment),
    });
    said.collect()
}
