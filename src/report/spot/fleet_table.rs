//! `gpucost spot` for people: every workload of a fleet.

use super::type_table::{ZONE_COLUMNS, basis, length, share_or_absent, zone_row};
use crate::analysis::{SpotAssessment, SpotReport};
use crate::domain::{HourlyRate, Money};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, columns_left_out};
use crate::report::shared::text::{
    ABSENT, counted, fit, hanging, money_or_absent, rounded, safe, wrap,
};
use crate::report::shared::view::sum;
use crate::savings::SpotBasis;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Rows of a table that is not wide.
const ROWS: usize = 40;
/// Names shown of workloads that may not move for one reason.
const NAMES: usize = 12;
/// Which columns make room for the others, the first one first.
const SPARE: [&str; 3] = ["KIND", "NAIVE", "EFFECTIVE"];

/// Spot for a fleet as a table.
pub fn spot_fleet_table(report: &SpotReport, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = write_table(report, style, &mut out);
    out
}

fn write_table(report: &SpotReport, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let may_move = |one: &&SpotAssessment| one.eligibility.is_ok();
    let eligible: Vec<&SpotAssessment> = report.assessments.iter().filter(may_move).collect();
    let sums: Vec<String> = sums(&eligible).into_values().map(money_or_absent).collect();
    let saved = if sums.is_empty() {
        String::new()
    } else {
        format!(", {} per month after interruptions", sums.join(" and "))
    };
    writeln!(
        out,
        "{}\n",
        style.heading(&format!(
            "{} of {} {}{saved}",
            eligible.len(),
            counted(report.assessments.len() as u64, "workload", "workloads"),
            if report.is_today {
                "eligible for spot as it runs today"
            } else {
                "moved to spot by the plan"
            },
        ))
    )?;
    if !report.assessments.is_empty() {
        workloads(report, style, out)?;
    }
    catalog_averages(report, style, out)?;
    reasons(report, style, out)?;
    zones(report, style, out)?;
    gap_section(&report.gaps, style, out)
}

/// Effective savings by currency.
fn sums(eligible: &[&SpotAssessment]) -> BTreeMap<&'static str, Option<Money>> {
    let mut sums: BTreeMap<&str, Option<Money>> = BTreeMap::new();
    let saved = eligible
        .iter()
        .filter_map(|one| one.effective_monthly_savings);
    for money in saved {
        let sum = sums
            .entry(money.currency().code())
            .or_insert_with(|| Some(Money::zero(money.currency())));
        *sum = sum.and_then(|sum| sum.checked_add(money).ok());
    }
    sums
}

fn workloads(report: &SpotReport, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let mut header = vec!["WORKLOAD", "TYPE", "KIND", "SPOT"];
    if style.wide {
        header.extend(["ON-DEMAND", "INTERRUPTED", "EVERY", "LOST", "OVERHEAD"]);
    }
    header.extend(["NAIVE", "EFFECTIVE", "MONTH", "MOVE"]);
    let last = header.len() - 1;
    let numbers = 3..last;
    let spare = SPARE
        .iter()
        .filter_map(|title| header.iter().position(|one| one == title));
    let spare: Vec<usize> = spare.collect();
    let mut table = PlainTable::new(&header, numbers).whole(&spare);
    let (shown, hidden) = report
        .assessments
        .split_at(style.shown(report.assessments.len(), ROWS));
    for one in shown {
        table.row(row(one, report.is_today, style));
    }
    out.push_str(&table.text(style));
    // Only what may move counts in the sum above, and so in that of what is not shown.
    let hidden_savings = hidden.iter().filter(|one| one.eligibility.is_ok());
    let worth = sum(hidden_savings.map(|one| one.effective_monthly_savings));
    style.left_out(hidden.len(), "workload", "workloads", worth, out)?;
    let titles = table.left_out(style, 0);
    let is_left_out = |title: &str| titles.iter().any(|one| one == title);
    let naive = if is_left_out("NAIVE") {
        ""
    } else {
        "NAIVE: savings from the price alone; "
    };
    let effective = if is_left_out("EFFECTIVE") {
        "MONTH: savings after checkpoints and lost work"
    } else {
        "EFFECTIVE: savings after checkpoints and lost work; MONTH: effective savings"
    };
    let meanings = format!(
        "{naive}{effective} {}",
        if report.is_today {
            "at today's hours, whatever the plan stops, resizes or schedules"
        } else {
            "on the type and the hours that the other actions of the plan leave; → what the plan \
             does; `--today` is about today's fleet"
        }
    );
    let narrowed = columns_left_out(&titles, style).unwrap_or_default();
    for text in [&meanings, &narrowed] {
        for line in wrap(text, style.width) {
            writeln!(out, "{line}")?;
        }
    }
    for one in shown {
        let name = one.workload.as_ref().map_or("", |workload| &workload.name);
        for caveat in &one.caveats {
            let line = format!("{}: {}", safe(name), safe(caveat));
            hanging("  ! ", 4, &line, style.width, out)?;
        }
    }
    writeln!(out)
}

fn row(one: &SpotAssessment, is_today: bool, style: TableStyle) -> Vec<String> {
    let figures = one.figures.as_ref();
    let price = |found: Option<HourlyRate>| {
        found.map_or_else(absent, |rate| {
            let sign = rate.currency().sign();
            format!("{sign}{}", rounded(rate.amount(), 4))
        })
    };
    let name = one.workload.as_ref().map_or("", |workload| &workload.name);
    let spot = price(figures.map(|figures| figures.spot.rate));
    let is_average = figures.is_some_and(|figures| figures.spot.basis == SpotBasis::CatalogAverage);
    let mut row = vec![
        fit(name, if style.wide { 40 } else { 22 }),
        format!("{} × {}", one.instances, fit(&one.key.instance_type, 20)),
        one.job.kind.name().to_owned(),
        if is_average { format!("{spot}*") } else { spot },
    ];
    if style.wide {
        row.extend([
            price(one.on_demand.as_ref().map(|quote| quote.rate)),
            one.band
                .map_or_else(absent, |(band, _)| band.name().to_owned()),
            figures.map_or_else(absent, |figures| length(figures.checkpoint_interval)),
            figures.map_or_else(absent, |figures| length(figures.lost_per_interruption)),
            share_or_absent(
                figures.map(|figures| figures.overhead * rust_decimal::Decimal::ONE_HUNDRED),
            ),
        ]);
    }
    row.extend([
        share_or_absent(figures.map(|figures| figures.naive_savings_percent())),
        share_or_absent(figures.and_then(|figures| figures.effective_savings_percent())),
        money_or_absent(one.effective_monthly_savings),
        match &one.eligibility {
            Ok(_) if is_today => "yes".to_owned(),
            Ok(risk) => format!("→ {risk}"),
            Err(_) => "no".to_owned(),
        },
    ]);
    row
}

fn absent() -> String {
    ABSENT.to_owned()
}

/// Why workloads may not move, each reason once.
fn reasons(report: &SpotReport, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &report.assessments {
        if let (Err(reason), Some(workload)) = (&one.eligibility, &one.workload) {
            names.entry(reason).or_default().push(&workload.name);
        }
    }
    if names.is_empty() {
        return Ok(());
    }
    let title = if report.is_today {
        "NOT ELIGIBLE"
    } else {
        "NOT MOVED"
    };
    writeln!(out, "{}", style.heading(title))?;
    let width = style.width.saturating_sub(6);
    for (reason, names) in names {
        for part in wrap(reason, width) {
            writeln!(out, "  {part}")?;
        }
        let shown = style.shown(names.len(), NAMES);
        let mut list = names[..shown].join(", ");
        if shown < names.len() {
            list.push_str(&format!(" and {} more", names.len() - shown));
        }
        for part in wrap(&list, width) {
            writeln!(out, "      {part}")?;
        }
    }
    writeln!(out)
}

/// Prices by zone, each type and zone once.
fn zones(report: &SpotReport, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let mut seen = BTreeSet::new();
    let mut header = vec!["TYPE"];
    header.extend(ZONE_COLUMNS);
    let mut table = PlainTable::new(&header, 2..8);
    for one in &report.assessments {
        for price in &one.zones {
            if seen.insert((&one.key, &price.zone)) {
                let mut row = vec![fit(&one.key.instance_type, 18)];
                row.extend(zone_row(price));
                table.row(row);
            }
        }
    }
    if seen.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("SPOT PRICES BY ZONE"))?;
    out.push_str(&table.text(style));
    Ok(())
}

/// Says which prices are the catalog's averages.
fn catalog_averages(report: &SpotReport, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let dates: BTreeSet<Date> = report
        .assessments
        .iter()
        .filter_map(|one| one.figures.as_ref())
        .filter(|figures| figures.spot.basis == SpotBasis::CatalogAverage)
        .map(|figures| figures.spot.seen_on)
        .collect();
    if dates.is_empty() {
        return Ok(());
    }
    let dates: Vec<String> = dates.iter().map(Date::to_string).collect();
    let line = format!(
        "* {}, as of {}",
        basis(SpotBasis::CatalogAverage, 0),
        dates.join(", ")
    );
    for part in wrap(&line, style.width) {
        writeln!(out, "{part}")?;
    }
    writeln!(out)
}
