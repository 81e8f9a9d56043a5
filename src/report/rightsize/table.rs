//! `gpucost rightsize` for people.

use super::Sizings;
use crate::analysis::{Candidate, Sized, Sizing};
use crate::domain::InstanceShape;
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, left_out};
use crate::report::shared::text::{
    ABSENT, counted, fit, money, money_or_absent, percent, safe, wrap,
};
use crate::savings::Demand;
use std::collections::BTreeMap;
use std::fmt::{Result, Write};

/// Types that would do, and nearest ones that would not, before the rest is
/// announced: for one workload, and for each of several.
const SHOWN_OF_ONE: (usize, usize) = (8, 6);
const SHOWN_OF_MANY: (usize, usize) = (3, 2);

pub fn rightsize_table(sizings: &Sizings, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(sizings, style, &mut out);
    out
}

fn draw(sizings: &Sizings, style: TableStyle, out: &mut String) -> Result {
    let many = sizings.workloads.len() > 1;
    let mut alone = Vec::new();
    for sizing in &sizings.workloads {
        match &sizing.outcome {
            Ok(sized) => workload(sizing, sized, many, style, out)?,
            Err(reason) => alone.push((sizing, reason)),
        }
    }
    left_alone(&alone, style, out)?;
    gap_section(&sizings.gaps, style, out)?;
    writeln!(
        out,
        "at `--risk {}`; P95 is projected per GPU in use",
        sizings.accepted
    )
}

fn workload(
    sizing: &Sizing,
    sized: &Sized,
    many: bool,
    style: TableStyle,
    out: &mut String,
) -> Result {
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
    writeln!(out, "{}", style.heading(&fit(&title, style.width)))?;
    for line in wrap(&uses(&sized.demand), style.width.saturating_sub(2)) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)?;
    let (most, nearest) = if many { SHOWN_OF_MANY } else { SHOWN_OF_ONE };
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
    );
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
    left_out(all.len() - shown, "type", "types", None, out)?;
    writeln!(
        out,
        "\n  before moving to {} × {}:",
        first.considered.count, first.considered.shape.instance_type
    )?;
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
        let mut table = PlainTable::new(&["  NOT SUITABLE", "GPU", "MONTH", "WHY"], 2..3);
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

fn left_alone(alone: &[(&Sizing, &String)], style: TableStyle, out: &mut String) -> Result {
    if alone.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading("NOT RESIZED"))?;
    for (sizing, reason) in alone {
        let line = format!(
            "{}: {} × {}: {reason}",
            safe(&sizing.name),
            sizing.instances,
            sizing.instance_type
        );
        for (index, part) in wrap(&line, style.width.saturating_sub(4))
            .iter()
            .enumerate()
        {
            writeln!(out, "  {}{part}", if index == 0 { "" } else { "  " })?;
        }
    }
    writeln!(out)
}

fn lines(table: &PlainTable, style: TableStyle, out: &mut String) -> Result {
    for line in table.lines() {
        let line = if style.wide {
            line
        } else {
            fit(&line, style.width)
        };
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
