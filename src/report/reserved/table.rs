//! `gpucost reserved` for people: the arithmetic line by line, then every
//! commitment side by side.

use crate::catalog::family;
use crate::domain::{CommitmentTerm, Money, PriceBasis, PriceOption, PriceQuote};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, columns_left_out};
use crate::report::shared::text::{ABSENT, count, counted, money, rounded, whole, wrap};
use crate::savings::{PricedCommitment, ReservedReport, SteadyUse, months};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// Lines of explanation are wrapped to this many columns at most.
const PROSE_WIDTH: usize = 100;
/// Which columns make room for the others, the first one first.
const SPARE: [&str; 3] = ["EFFECTIVE", "MONTH", "BREAK-EVEN"];
/// What columns mean, each with its title.
const MEANINGS: [(&str, &str); 5] = [
    ("PREPAID", "PREPAID, ANNUAL and HALVED: all instances"),
    (
        "EFFECTIVE",
        "EFFECTIVE: hourly cost of one, upfront spread over the term",
    ),
    (
        "BREAK-EVEN",
        "BREAK-EVEN: share of all hours above which it is cheaper",
    ),
    (
        "MONTH",
        "MONTH: first month in which on-demand has cost as much",
    ),
    (
        "HALVED",
        "HALVED: on-demand minus the commitment over its term, if half of the instances remain \
         from month 7",
    ),
];

/// A comparison as text; a wide one has columns for parts, totals and dates.
pub fn reserved_table(report: &ReservedReport, style: TableStyle) -> String {
    let used = &report.used;
    let width = style.width.min(PROSE_WIDTH);
    let mut lines = vec![
        format!(
            "{} × {}, {}, {}, {} h per month each",
            count(u64::from(used.count)),
            report.instance_type,
            report.region,
            report.operating_system,
            used.hours_per_month.normalize()
        ),
        String::new(),
    ];
    lines.extend(Steps::of(report).lines(width));
    lines.extend(missing_terms(report));
    lines.push(String::new());
    let compared = format!(
        "All commitments, billed whether used or not, compared with {} per year on-demand",
        money(report.comparison.on_demand_1yr_total)
    );
    lines.extend(wrap(&compared, width));
    lines.push(String::new());
    let table = side_by_side(report, style.wide);
    lines.extend(table.lines_in(style, 0));
    lines.push(String::new());
    let left_out = table.left_out(style, 0);
    lines.extend(legend(report, &left_out, width));
    if let Some(text) = columns_left_out(&left_out, style) {
        lines.extend(wrap(&text, width));
    }
    lines.join("\n") + "\n"
}

/// One line of arithmetic.
enum Step {
    /// What the lines below are about.
    Title(String),
    /// A name, how it is worked out, and what comes out.
    Line(String, String, String),
}

struct Steps(Vec<Step>);

impl Steps {
    fn of(report: &ReservedReport) -> Self {
        let used = &report.used;
        let mut steps = Self(Vec::new());
        let found = &report.comparison;
        let (rate, hours) = (sign(used, used.on_demand.amount()), hours(used));
        let count = count(u64::from(used.count));
        steps.title(format!(
            "On-demand, {rate}/h ({})",
            provenance(report.on_demand.as_ref())
        ));
        steps.line(
            "per month",
            format!("{rate} × {hours} × {count}"),
            money(found.on_demand_monthly),
        );
        steps.line(
            "per year",
            format!("{rate} × {hours} × 12 × {count}"),
            money(found.on_demand_1yr_total),
        );
        for sold in [&report.one_year, &report.three_years]
            .into_iter()
            .flatten()
        {
            steps.commitment(report, sold);
        }
        steps
    }

    fn title(&mut self, text: String) {
        self.0.push(Step::Title(text));
    }

    fn line(&mut self, name: &str, how: String, result: String) {
        self.0.push(Step::Line(name.to_owned(), how, result));
    }

    fn commitment(&mut self, report: &ReservedReport, sold: &PricedCommitment) {
        let used = &report.used;
        let figures = &sold.figures;
        let term = figures.term;
        let part = |amount: Decimal| (!amount.is_zero()).then(|| sign(used, amount));
        let upfront = part(figures.instalments.upfront);
        let hourly = part(figures.instalments.hourly);
        let rate = sign(used, used.on_demand.amount());
        let instances = count(u64::from(used.count));
        let price: Vec<String> = [
            upfront.clone(),
            hourly.as_ref().map(|hourly| format!("{hourly}/h")),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.title(format!(
            "Reserved for {}, {}, {} ({})",
            length(term),
            term.payment,
            price.join(" and "),
            provenance(sold.quote.as_ref())
        ));
        let spread = if term.years == 1 {
            upfront.clone()
        } else {
            upfront
                .as_ref()
                .map(|upfront| format!("{upfront} / {}", term.years))
        };
        let used_hours = hours(used);
        let year = hourly
            .as_ref()
            .map(|hourly| format!("{hourly} × {used_hours} × 12"));
        self.line(
            "per year",
            format!("{} × {instances}", sum(spread, year)),
            money(figures.annual_total),
        );
        self.line(
            "saved per year",
            format!(
                "{} − {}",
                money(report.comparison.on_demand_1yr_total),
                money(figures.annual_total)
            ),
            money(figures.annual_savings),
        );
        self.line(
            "in percent",
            format!(
                "{} / {}",
                money(figures.annual_savings),
                money(report.comparison.on_demand_1yr_total)
            ),
            format!("{}%", rounded(figures.annual_savings_pct, 1)),
        );
        let term_hours = format!("{} h", count(u64::from(term.hours())));
        let whole = hourly
            .as_ref()
            .map(|hourly| format!("{hourly} × {term_hours}"));
        self.line(
            "total billed",
            format!("{} × {instances}", sum(upfront.clone(), whole)),
            money(figures.billed_total),
        );
        let effective = sum(
            upfront
                .as_ref()
                .map(|upfront| format!("{upfront} / {term_hours}")),
            hourly.clone(),
        );
        self.line(
            "break-even",
            format!("{effective} / {rate}"),
            format!(
                "{}%",
                rounded(figures.break_even_utilization * Decimal::ONE_HUNDRED, 1)
            ),
        );
        let month = figures.break_even_month;
        let last = month.unwrap_or(months(term));
        let paid = [
            upfront.clone(),
            hourly.map(|hourly| format!("{last} × {hourly} × 730 h")),
        ];
        let paid: Vec<String> = paid.into_iter().flatten().collect();
        let reached = if month.is_some() { "≥" } else { "<" };
        self.line(
            "break-even month",
            format!(
                "{last} × {rate} × {used_hours} {reached} {}",
                paid.join(" + ")
            ),
            month.map_or_else(|| "never".to_owned(), |month| format!("month {month}")),
        );
        let halved = used.on_demand_when_halved(term);
        self.line(
            "usage halves",
            format!(
                "{rate} × {used_hours} × (6 × {instances} + {} × {}) on-demand",
                months(term) - 6,
                count(u64::from(used.count / 2))
            ),
            money(halved),
        );
        let lost = figures.balance_when_halved.amount().is_sign_negative();
        self.line(
            if lost {
                "  resulting loss"
            } else {
                "  remaining savings"
            },
            format!("{} − {}", money(halved), money(figures.billed_total)),
            money(figures.balance_when_halved),
        );
    }

    /// The lines of a width: arithmetic that is longer takes several, with what comes out
    /// beside the last one.
    fn lines(&self, width: usize) -> Vec<String> {
        let widest = |pick: fn(&Step) -> usize| self.0.iter().map(pick).max().unwrap_or(0);
        let names = widest(|step| match step {
            Step::Line(name, _, _) => name.chars().count(),
            Step::Title(_) => 0,
        });
        let hows = widest(|step| match step {
            Step::Line(_, how, _) => how.chars().count(),
            Step::Title(_) => 0,
        });
        let results = widest(|step| match step {
            Step::Line(_, _, result) => result.chars().count(),
            Step::Title(_) => 0,
        });
        // Two blanks before each of the three.
        let hows = hows.min(width.saturating_sub(names + results + 6));
        self.0
            .iter()
            .flat_map(|step| match step {
                Step::Title(text) => wrap(text, width),
                Step::Line(name, how, result) => {
                    let parts = wrap(how, hows);
                    let last = parts.len().saturating_sub(1);
                    let line = |(index, part): (usize, &String)| {
                        let name = if index == 0 { name.as_str() } else { "" };
                        let result = if index == last { result.as_str() } else { "" };
                        let line = format!("  {name:<names$}  {part:<hows$}  {result:>results$}");
                        line.trim_end().to_owned()
                    };
                    parts.iter().enumerate().map(line).collect()
                }
            })
            .collect()
    }
}

/// Two parts of a price in brackets, or the one that there is.
fn sum(upfront: Option<String>, hourly: Option<String>) -> String {
    match (upfront, hourly) {
        (Some(upfront), Some(hourly)) => format!("({upfront} + {hourly})"),
        (one, other) => one.or(other).unwrap_or_default(),
    }
}

fn hours(used: &SteadyUse) -> String {
    format!("{} h", used.hours_per_month.normalize())
}

/// A rate or an upfront with the decimals that it has, six at most.
fn sign(used: &SteadyUse, amount: Decimal) -> String {
    let currency = used.on_demand.currency();
    let decimals = amount.round_dp(6).normalize();
    if decimals.scale() <= 2 && amount >= Decimal::ONE_THOUSAND {
        return money(Money::new(amount, currency));
    }
    format!("{}{decimals}", currency.sign())
}

fn length(term: CommitmentTerm) -> String {
    counted(u64::from(term.years), "year", "years")
}

/// Where a price is from.
fn provenance(quote: Option<&PriceQuote>) -> String {
    quote.map_or_else(
        || "given".to_owned(),
        |quote| {
            let derived = match quote.basis {
                PriceBasis::Observed => "",
                PriceBasis::Derived => ", derived",
            };
            format!("{}, {}{derived}", quote.seen_on, quote.origin.name())
        },
    )
}

/// Says of which term there is no reserved price.
fn missing_terms(report: &ReservedReport) -> Vec<String> {
    let facts = report.instance_type.split('.').next().and_then(family);
    [
        (
            1,
            &report.one_year,
            facts.and_then(|facts| facts.reserved_1yr),
        ),
        (
            3,
            &report.three_years,
            facts.and_then(|facts| facts.reserved_3yr),
        ),
    ]
    .into_iter()
    .filter(|(_, sold, _)| sold.is_none())
    .map(|(years, _, sells)| {
        let length = counted(years, "year", "years");
        match (sells, facts) {
            (Some(false), Some(facts)) => format!(
                "Reserved for {length}: not offered for the {} family",
                facts.family
            ),
            _ => format!(
                "Reserved for {length}, {}: price not available",
                report.payment
            ),
        }
    })
    .collect()
}

fn side_by_side(report: &ReservedReport, wide: bool) -> PlainTable {
    let mut header = vec!["OFFER", "UPFRONT", "PREPAID"];
    if wide {
        header.push("HOUR");
    }
    header.extend(["EFFECTIVE", "ANNUAL", "SAVES"]);
    header.extend(["BREAK-EVEN", "MONTH", "HALVED"]);
    if wide {
        header.extend(["COMMITTED", "OF"]);
    }
    let numbers = if wide { header.len() - 1 } else { header.len() };
    let spare = SPARE
        .iter()
        .filter_map(|title| header.iter().position(|one| one == title));
    let spare: Vec<usize> = spare.collect();
    let mut table = PlainTable::new(&header, 2..numbers).whole(&spare);
    for sold in &report.commitments {
        table.row(row(report, sold, wide));
    }
    if let Some(quote) = &report.capacity_block {
        let mut row = vec![ABSENT.to_owned(); header.len()];
        "Capacity Block".clone_into(&mut row[0]);
        row[if wide { 4 } else { 3 }] = rate(report, quote.rate.amount());
        if wide {
            row[header.len() - 1] = provenance(Some(quote));
        }
        table.row(row);
    }
    table
}

fn row(report: &ReservedReport, sold: &PricedCommitment, wide: bool) -> Vec<String> {
    let figures = &sold.figures;
    let payment = figures.term.payment.name();
    let upfront = payment.strip_suffix("-upfront").unwrap_or(payment);
    let mut row = vec![
        offer(sold),
        upfront.to_owned(),
        whole(figures.upfront_total),
    ];
    if wide {
        row.push(rate(report, figures.instalments.hourly));
    }
    row.extend([
        rate(report, figures.effective_hourly),
        whole(figures.billed_annual),
        format!("{}%", rounded(figures.billed_savings_pct, 1)),
        format!(
            "{}%",
            rounded(figures.break_even_utilization * Decimal::ONE_HUNDRED, 1)
        ),
        figures
            .break_even_month
            .map_or_else(|| ABSENT.to_owned(), |month| month.to_string()),
        whole(figures.balance_when_halved),
    ]);
    if wide {
        row.push(whole(figures.billed_total));
        row.push(provenance(sold.quote.as_ref()));
    }
    row
}

fn offer(sold: &PricedCommitment) -> String {
    let name = match sold.option {
        PriceOption::Ec2InstanceSavingsPlan(_) => "EC2 plan",
        PriceOption::ComputeSavingsPlan(_) => "Compute plan",
        _ => "reserved",
    };
    format!("{name} {}yr", sold.figures.term.years)
}

fn rate(report: &ReservedReport, amount: Decimal) -> String {
    let currency = report.used.on_demand.currency();
    format!("{}{}", currency.sign(), rounded(amount, 4))
}

/// How old the prices are, and what the columns that are shown mean.
fn legend(report: &ReservedReport, left_out: &[String], width: usize) -> Vec<String> {
    let mut parts: Vec<String> = [("reserved", false), ("plans", true)]
        .into_iter()
        .filter_map(|(name, plans)| {
            let quotes: Vec<&PriceQuote> = report
                .commitments
                .iter()
                .filter(|sold| matches!(sold.option, PriceOption::Reserved(_)) != plans)
                .filter_map(|sold| sold.quote.as_ref())
                .collect();
            dated(name, &quotes)
        })
        .collect();
    parts.extend(
        report
            .capacity_block
            .as_ref()
            .and_then(|quote| dated("Capacity Block", &[quote])),
    );
    let mut lines = wrap(&parts.join(" · "), width);
    let shown = MEANINGS
        .iter()
        .filter(|(title, _)| !left_out.iter().any(|one| one == title));
    let shown: Vec<&str> = shown.map(|(_, meaning)| *meaning).collect();
    lines.extend(wrap(&shown.join("; "), width));
    if report.capacity_block.is_some() {
        lines.extend(wrap(
            "Capacity Block: paid upfront for days or weeks, so not compared by year",
            width,
        ));
    }
    lines
}

fn dated(name: &str, quotes: &[&PriceQuote]) -> Option<String> {
    let oldest = quotes.iter().map(|quote| quote.seen_on).min()?;
    let newest = quotes.iter().map(|quote| quote.seen_on).max()?;
    let from: BTreeSet<&str> = quotes
        .iter()
        .flat_map(|quote| {
            let derived = quote.basis == PriceBasis::Derived;
            [Some(quote.origin.name()), derived.then_some("some derived")]
        })
        .flatten()
        .collect();
    let from: Vec<&str> = from.into_iter().collect();
    let when = if oldest == newest {
        oldest.to_string()
    } else {
        format!("{oldest} to {newest}")
    };
    Some(format!("{name} dated {when} ({})", from.join(", ")))
}
