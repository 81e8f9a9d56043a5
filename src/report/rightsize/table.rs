//! `gpucost rightsize` for people.

use super::Sizings;
use crate::analysis::{Candidate, Sized, Sizing};
use crate::domain::{InstanceShape, Money};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::next::Invocation;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, a_year, count, counted, fit, hanging, money, money_or_absent, percent, safe,
    shell_word, some_of, wrap,
};
use crate::report::shared::view::{hidden_rows, sum};
use crate::savings::{Demand, averaged, averaged_away};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Result, Write};

/// Types that would do, and nearest ones that would not, before the rest is announced.
const SHOWN_OF_ONE: (usize, usize) = (8, 6);
/// Workloads of a fleet before the rest is announced.
const SHOWN: usize = 20;
/// Workloads that are named among those with one caveat, and those that stay as they are for one
/// reason.
const NAMED: usize = 3;
/// Which columns of a fleet make room for the others, the first one first.
const SPARE: [usize; 3] = [7, 3, 5];

/// The sizing for a terminal: of one workload with every type, of several a row each.
/// `shown` are the places of the workloads to list, in order, and `invocation` is what led to
/// them.
pub fn rightsize_table(
    sizings: &Sizings,
    shown: &[usize],
    invocation: &Invocation,
    style: TableStyle,
) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(sizings, shown, invocation, style, &mut out);
    out
}

fn draw(
    sizings: &Sizings,
    shown: &[usize],
    invocation: &Invocation,
    style: TableStyle,
    out: &mut String,
) -> Result {
    let all = &sizings.workloads;
    let listed: Vec<&Sizing> = shown.iter().filter_map(|place| all.get(*place)).collect();
    match listed.as_slice() {
        [one] => match &one.outcome {
            Ok(sized) => workload(one, sized, style, out)?,
            Err(reason) => left_alone(&[(*one, reason)], style, out)?,
        },
        several => fleet(sizings, several, style, out)?,
    }
    outside(sizings, shown, style, out)?;
    gap_section(&sizings.gaps, style, out)?;
    writeln!(
        out,
        "at `--risk {}`; P95 is projected per GPU in use",
        sizings.accepted
    )?;
    match listed.as_slice() {
        [] | [_] => Ok(()),
        [first, ..] => next(first, invocation, style, out),
    }
}

/// What to type for one of several workloads.
fn next(first: &Sizing, invocation: &Invocation, style: TableStyle, out: &mut String) -> Result {
    writeln!(out, "\n{}", style.heading("NEXT"))?;
    let only = format!("--workload {}", shell_word(&first.id));
    let every_type = invocation.command("rightsize", true, &only);
    writeln!(out, "  {every_type}\n      every type for one workload")?;
    let why = invocation.command("explain", true, &shell_word(&first.id));
    writeln!(out, "  {why}\n      its verdict and its part of the plan")
}

/// Several workloads, a row each.
fn fleet(sizings: &Sizings, listed: &[&Sizing], style: TableStyle, out: &mut String) -> Result {
    let saving = sizings.workloads.iter().filter_map(Sizing::best);
    let saving: Vec<Option<Money>> = saving.map(|best| best.monthly_savings).collect();
    let total = sum(saving.iter().copied()).map_or(String::new(), |saved| {
        let (month, year) = (money(saved), money(a_year(saved)));
        format!(" would save {month} per month, {year} per year")
    });
    let workloads = sizings.workloads.len() as u64;
    let title = format!(
        "RIGHTSIZE  {} of {}{total}",
        count(saving.len() as u64),
        counted(workloads, "workload", "workloads")
    );
    style.title(&title, out)?;
    let movable: Vec<(&Sizing, &Candidate)> = listed
        .iter()
        .filter_map(|sizing| Some((*sizing, sizing.best()?)))
        .collect();
    let (shown, hidden) = movable.split_at(style.shown(movable.len(), SHOWN));
    if !shown.is_empty() {
        let header = [
            "WORKLOAD",
            "NOW",
            "TARGET",
            "$/MONTH",
            "SAVES/MONTH",
            "SAVES/YEAR",
            "RISK",
            "P95",
        ];
        let mut table = PlainTable::new(&header, [3, 4, 5, 7]).giving(0, &SPARE);
        for (sizing, best) in shown {
            table.row(row(sizing, best));
        }
        for line in table.lines_in(style, 2) {
            writeln!(out, "  {line}")?;
        }
    }
    let costs = hidden.iter().map(|(sizing, _)| sizing.monthly);
    let savings = hidden.iter().map(|(_, best)| best.monthly_savings);
    if let Some(rest) = hidden_rows(hidden.len(), "more", sum(costs), sum(savings)) {
        hanging(
            "  … ",
            4,
            &format!("and {rest}: see `--all`"),
            style.width,
            out,
        )?;
    }
    caveats(shown, style, out)?;
    let seconds = movable.iter().filter_map(|(sizing, best)| {
        let sized = sizing.outcome.as_ref().ok()?;
        averaged(&sized.demand, &best.considered)
    });
    if let Some(seconds) = seconds.max() {
        hanging("  ! ", 4, &averaged_away(seconds), style.width, out)?;
    }
    writeln!(out)?;
    let no_type = "no suitable type costs less".to_owned();
    let alone: Vec<(&Sizing, &String)> = listed
        .iter()
        .filter_map(|sizing| match &sizing.outcome {
            Ok(_) if sizing.best().is_some() => None,
            Ok(_) => Some((*sizing, &no_type)),
            Err(reason) => Some((*sizing, reason)),
        })
        .collect();
    left_alone(&alone, style, out)
}

/// What would stop an engineer, each caveat once with the workloads that it is about.
fn caveats(shown: &[(&Sizing, &Candidate)], style: TableStyle, out: &mut String) -> Result {
    let mut said: Vec<(&String, Vec<&str>)> = Vec::new();
    for (sizing, best) in shown {
        for caveat in &best.caveats {
            let known = said.iter_mut().find(|(known, _)| *known == caveat);
            match known {
                Some((_, names)) => names.push(&sizing.name),
                None => said.push((caveat, vec![sizing.name.as_str()])),
            }
        }
    }
    let most = if style.lists_members() {
        usize::MAX
    } else {
        NAMED
    };
    for (caveat, names) in said {
        let line = format!("{}: {}", some_of(names.into_iter(), most), safe(caveat));
        hanging("  ! ", 4, &line, style.width, out)?;
    }
    Ok(())
}

fn row(sizing: &Sizing, best: &Candidate) -> Vec<String> {
    let found = &best.considered;
    let saved = best.monthly_savings;
    let p95 = found.projection.map(|found| percent(found.utilization));
    vec![
        fit(&sizing.name, 32),
        format!("{} × {}", sizing.instances, safe(&sizing.instance_type)),
        format!("{} × {}", found.count, found.shape.instance_type),
        money_or_absent(sizing.monthly),
        money_or_absent(saved),
        money_or_absent(saved.map(a_year)),
        found.risk.to_string(),
        p95.unwrap_or_else(absent),
    ]
}

/// What the filters leave out.
fn outside(sizings: &Sizings, shown: &[usize], style: TableStyle, out: &mut String) -> Result {
    let listed: BTreeSet<&usize> = shown.iter().collect();
    let all = sizings.workloads.iter().enumerate();
    let hidden: Vec<&Sizing> = all
        .filter_map(|(place, one)| (!listed.contains(&place)).then_some(one))
        .collect();
    let costs = hidden.iter().map(|sizing| sizing.monthly);
    let savings = hidden
        .iter()
        .map(|sizing| sizing.best().and_then(|best| best.monthly_savings));
    match hidden_rows(hidden.len(), "other", sum(costs), sum(savings)) {
        None => Ok(()),
        Some(rest) => {
            let rest = format!("and {rest}, outside of the filters");
            hanging("… ", 2, &rest, style.width, out)?;
            writeln!(out)
        }
    }
}

fn workload(sizing: &Sizing, sized: &Sized, style: TableStyle, out: &mut String) -> Result {
    let name = if sizing.name == sizing.instance_type {
        String::new()
    } else {
        format!("{}: ", safe(&sizing.name))
    };
    let title = format!(
        "{name}{} × {} in {}, {}, {} per month",
        sizing.instances,
        safe(&sizing.instance_type),
        safe(&sizing.region),
        sizing.kind,
        money_or_absent(sizing.monthly)
    );
    for line in wrap(&title, style.width) {
        writeln!(out, "{}", style.heading(&line))?;
    }
    for line in wrap(&uses(&sized.demand), style.width.saturating_sub(2)) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)?;
    let (most, nearest) = SHOWN_OF_ONE;
    accepted(sized, most, style, out)?;
    rejected(sized, nearest, style, out)
}

/// What a workload uses, in words.
fn uses(demand: &Demand) -> String {
    let mut parts = vec![match demand.gpus_active {
        0 => "no GPU in use".to_owned(),
        gpus => counted(u64::from(gpus), "GPU in use", "GPUs in use"),
    }];
    if demand.gpus_held > demand.gpus_active {
        let holders = u64::from(demand.gpus_held - demand.gpus_active);
        parts.push(counted(
            holders,
            "GPU only holding memory",
            "GPUs only holding memory",
        ));
    }
    parts.extend(
        demand
            .gpu_peak
            .filter(|_| demand.gpus_active > 0)
            .map(|peak| format!("{} peak per GPU", percent(peak))),
    );
    parts.push(format!("VRAM peak {:.0} MiB", demand.vram_peak_mib));
    parts.push(match demand.cpu_p95 {
        Some(p95) => format!("CPU p95 {}", percent(p95)),
        None => "CPU unknown".to_owned(),
    });
    parts.push(match demand.memory_p95_mib {
        Some(mib) => format!("host memory {:.1} GiB", mib / 1024.0),
        None => "host memory unknown".to_owned(),
    });
    parts.push(format!("bound by: {}", demand.bound));
    if demand.least_instances < demand.instances {
        let least = u64::from(demand.least_instances);
        parts.push(format!(
            "at least {}",
            counted(least, "replica", "replicas")
        ));
    }
    parts.join(" · ")
}

fn accepted(sized: &Sized, most: usize, style: TableStyle, out: &mut String) -> Result {
    let all: Vec<&Candidate> = sized.accepted().collect();
    let Some(first) = all.first() else {
        return writeln!(out, "  no suitable type costs less\n");
    };
    let shown = style.shown(all.len(), most);
    let mut table = PlainTable::new(
        &[
            "  SUITABLE",
            "GPU",
            "P95",
            "SLOWER",
            "MONTH",
            "SAVES",
            "RISK",
        ],
        2..6,
    )
    .whole(&[3, 1]);
    for one in &all[..shown] {
        let projection = one.considered.projection;
        table.row(vec![
            format!(
                "  {} × {}",
                one.considered.count, one.considered.shape.instance_type
            ),
            gpus(one.considered.shape),
            projection.map_or_else(absent, |found| percent(found.utilization)),
            projection.map_or_else(absent, |found| format!("{:.2}×", found.slowdown)),
            money_or_absent(one.considered.monthly),
            one.monthly_savings.map_or_else(absent, money),
            one.considered.risk.to_string(),
        ]);
    }
    lines(&table, style, out)?;
    style.left_out(all.len() - shown, "type", "types", None, out)?;
    writeln!(
        out,
        "\n  before moving to {} × {}:",
        first.considered.count, first.considered.shape.instance_type
    )?;
    for caveat in &first.caveats {
        hanging("    ! ", 6, &safe(caveat), style.width, out)?;
    }
    for step in &first.steps {
        for (index, line) in wrap(step, style.width.saturating_sub(6)).iter().enumerate() {
            let mark = if index == 0 { "-" } else { " " };
            writeln!(out, "    {mark} {line}")?;
        }
    }
    writeln!(out)
}

fn rejected(sized: &Sized, nearest: usize, style: TableStyle, out: &mut String) -> Result {
    let all: Vec<&Candidate> = sized.rejected().collect();
    let shown = style.shown(all.len(), nearest);
    if shown > 0 {
        let header = ["  NOT SUITABLE", "GPU", "MONTH", "WHY"];
        let mut table = PlainTable::new(&header, 2..3).whole(&[1]);
        for one in &all[..shown] {
            let reason = one.considered.rejection.as_ref();
            table.row(vec![
                format!(
                    "  {} × {}",
                    one.considered.count, one.considered.shape.instance_type
                ),
                gpus(one.considered.shape),
                money_or_absent(one.considered.monthly),
                reason.map_or_else(absent, ToString::to_string),
            ]);
        }
        lines(&table, style, out)?;
    }
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for reason in all
        .iter()
        .filter_map(|one| one.considered.rejection.as_ref())
    {
        *counts.entry(reason.name()).or_insert(0) += 1;
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
    let counts: Vec<String> = counts
        .iter()
        .map(|(reason, number)| format!("{number} {reason}"))
        .collect();
    let all = counted(all.len() as u64, "type", "types");
    let text = format!("rejected {all}: {}", counts.join(", "));
    for line in wrap(&text, style.width.saturating_sub(2)) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)
}

/// Workloads that stay as they are: one with its type, and several with the same reason
/// together.
fn left_alone(alone: &[(&Sizing, &String)], style: TableStyle, out: &mut String) -> Result {
    if alone.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("NOT RESIZED"))?;
    let mut groups: Vec<(&String, Vec<&Sizing>)> = Vec::new();
    for (sizing, reason) in alone {
        let known = groups.iter_mut().find(|(other, _)| other == reason);
        match known.filter(|_| !style.lists_members()) {
            Some((_, group)) => group.push(*sizing),
            None => groups.push((*reason, vec![*sizing])),
        }
    }
    for (reason, group) in groups {
        let who = match group.as_slice() {
            [one] => format!(
                "{}: {} × {}",
                safe(&one.name),
                one.instances,
                safe(&one.instance_type)
            ),
            several => {
                let names = several.iter().map(|one| one.name.as_str());
                let number = counted(several.len() as u64, "workload", "workloads");
                format!("{number} ({})", some_of(names, NAMED))
            }
        };
        hanging("  ", 4, &format!("{who}: {reason}"), style.width, out)?;
    }
    writeln!(out)
}

fn lines(table: &PlainTable, style: TableStyle, out: &mut String) -> Result {
    for line in table.lines_in(style, 0) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn absent() -> String {
    ABSENT.to_owned()
}

fn gpus(shape: &InstanceShape) -> String {
    shape.gpu.as_ref().map_or_else(absent, |offer| {
        fit(&format!("{} × {}", offer.share, offer.model), 24)
    })
}
