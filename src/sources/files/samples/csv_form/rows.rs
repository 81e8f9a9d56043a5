//! Writing the rows of a sample.

use super::super::json_form::json_line;
use super::super::wire::{ACTIVITY_COLUMNS, FigureColumn, GPU_COLUMNS, HOST_COLUMNS, fine_wire};
use crate::domain::{GpuIdentity, GpuSample, RunFacts, Sample, spreadsheet_safe};
use std::io;

/// Text as a cell. An apostrophe that is there already is doubled, so that the
/// one that disarms a formula can be distinguished from it.
fn text(value: Option<&str>) -> String {
    let Some(value) = value else {
        return String::new();
    };
    let safe = spreadsheet_safe(value);
    let cell = if value.starts_with('\'') { format!("'{safe}") } else { safe };
    quoted(&cell)
}

fn quoted(cell: &str) -> String {
    let edge = |c: Option<char>| c.is_some_and(char::is_whitespace);
    let is_plain = !cell.contains([',', '"', '\n', '\r'])
        && !edge(cell.chars().next())
        && !edge(cell.chars().next_back());
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn figures<'a, T>(
    columns: &'a [FigureColumn<T>],
    from: Option<&'a T>,
) -> impl Iterator<Item = String> + 'a {
    columns
        .iter()
        .map(move |(_, get, _)| shown(from.and_then(get).filter(|value| value.is_finite())))
}

fn json(value: &impl serde::Serialize) -> io::Result<String> {
    Ok(quoted(json_line(value)?.trim_end()))
}

/// What stands in every row, and what stands in every row of one GPU.
#[derive(Debug)]
pub(in crate::sources::files::samples) struct Rows {
    run: String,
    gpus: Vec<String>,
}

impl Rows {
    pub(in crate::sources::files::samples) fn of(facts: &RunFacts) -> Self {
        let run = [
            facts.started.to_string(),
            shown(facts.interval_seconds),
            facts.is_command.to_string(),
            text(facts.hostname.as_deref()),
            text(facts.instance_id.as_deref()),
            text(facts.instance_type.as_deref()),
            text(facts.region.as_deref()),
            text(facts.driver_version.as_deref()),
        ];
        let gpu = |gpu: &GpuIdentity| {
            let slot = gpu.mig.as_ref();
            [
                gpu.index.to_string(),
                shown(slot.map(|slot| slot.index)),
                shown(slot.and_then(|slot| slot.gpu_instance)),
                shown(slot.and_then(|slot| slot.compute_instance)),
                text(slot.and_then(|slot| slot.profile.as_deref())),
                text(gpu.uuid.as_deref()),
                text(gpu.name.as_deref()),
                shown(gpu.vram_total_mib),
                shown(gpu.power_limit_w),
                shown(gpu.power_default_limit_w),
                shown(gpu.pcie_max_bytes_per_second),
                shown(gpu.is_mig_enabled),
            ]
            .join(",")
        };
        Self { run: run.join(","), gpus: facts.gpus.iter().map(gpu).collect() }
    }

    pub(in crate::sources::files::samples) fn of_sample(
        &self,
        sample: &Sample,
    ) -> io::Result<String> {
        let mut host = vec![shown(sample.host.cores)];
        host.extend(figures(HOST_COLUMNS, Some(&sample.host)));
        let host = host.join(",");
        let mut rows = String::new();
        for (gpu, identity) in sample.gpus.iter().zip(&self.gpus) {
            let (time, at, run) = (sample.time, sample.at_seconds, &self.run);
            let reading = reading_cells(gpu)?.join(",");
            rows.push_str(&format!("{time},{at},{run},{identity},{reading},{host}\n"));
        }
        Ok(rows)
    }
}

fn reading_cells(gpu: &GpuSample) -> io::Result<Vec<String>> {
    let reading = gpu.reading();
    let lost = match gpu {
        GpuSample::Lost(loss) => Some(loss.reason.as_str()),
        GpuSample::Read(_) => None,
    };
    let mut cells: Vec<String> = figures(GPU_COLUMNS, reading).collect();
    cells.push(text(lost));
    cells.push(shown(reading.and_then(|read| read.throttle).map(|bits| bits.0)));
    cells.push(match reading.and_then(|read| read.processes.as_ref()) {
        Some(list) => json(list)?,
        None => String::new(),
    });
    cells.push(match reading {
        Some(one) if !one.fine.is_empty() => json(&fine_wire(&one.fine))?,
        _ => String::new(),
    });
    cells.push(match gpu.xids() {
        [] => String::new(),
        xids => json(&xids)?,
    });
    let activity = reading.and_then(|read| read.activity.as_ref());
    cells.extend(figures(ACTIVITY_COLUMNS, activity));
    Ok(cells)
}
