//! The needs that `gpucost select` takes from what was measured: a run that was sampled, or a
//! workload of a recorded estate.

use super::exit::Failure;
use super::select_args::SelectArgs;
use crate::analysis::RunningWorkload;
use crate::domain::{GpuShare, Policy, WorkloadKind, shown};
use crate::planners::select::Wanted;
use crate::planners::serving::MeasuredMemory;
use crate::profiling::RunProfile;
use std::path::Path;

/// Takes what the flags leave open from a workload, and what it is paid today.
pub(super) fn of_workload(
    wanted: &mut Wanted,
    args: &SelectArgs,
    running: &RunningWorkload,
    policy: &Policy,
) -> Result<(), Failure> {
    let name = &running.name;
    let sources = &mut wanted.sources;
    wanted.today = Some(running.today());
    if wanted.kind == WorkloadKind::Unknown && running.kind != WorkloadKind::Unknown {
        wanted.kind = running.kind;
        sources.insert("kind", format!("tag of {name}"));
    }
    if running.restartable && !wanted.restartable {
        wanted.restartable = true;
        sources.insert("restartable", format!("tag of {name}"));
    }
    if !wanted.models.is_empty() {
        wanted.measured = running.memory.clone();
        return Ok(());
    }
    let demand = match &running.demand {
        Ok(demand) => demand,
        // What is stated needs no measurement.
        Err(_) if args.vram.is_some() && args.gpus.is_some() => return Ok(()),
        Err(missing) => {
            return Err(Failure::input(format!("{name}: {missing}")).with_hint(
                "pass `--vram` and `--gpus`, or a model with `--params`; `gpucost metrics` shows \
                 what is measured",
            ));
        }
    };
    if args.gpus.is_none() {
        wanted.gpus = Some(GpuShare::Whole(demand.gpus_active.max(1)));
        sources.insert("gpus", format!("GPUs in use on an instance of {name}"));
    }
    if args.vram.is_none() {
        let (peak, headroom) = (demand.vram_peak_mib, policy.vram_headroom);
        wanted.vram_mib = Some(peak * headroom);
        sources.insert("vram_mib", format!("peak of {peak:.0} MiB of {name} × {headroom}"));
    }
    let headroom = policy.vcpu_headroom;
    if let Some(p95) = demand.memory_p95_mib.filter(|_| args.memory.is_none()) {
        wanted.memory_mib = Some(p95 * headroom);
        sources.insert("memory_mib", format!("p95 of {p95:.0} MiB of {name} × {headroom}"));
    }
    if let Some(p95) = demand.cpu_p95 {
        let cores = running.shape.vcpu;
        wanted.vcpu = Some(f64::from(cores) * p95 / 100.0 * headroom);
        let source = format!("p95 of {p95:.1}% of {cores} vCPUs of {name} × {headroom}");
        sources.insert("vcpu", source);
    }
    Ok(())
}

/// What the fullest whole GPU of a run held; absent where that or the type it ran on is unknown.
fn held(run: &RunProfile, file: &str, types: &[String]) -> Option<MeasuredMemory> {
    let held = run.whole().filter_map(|gpu| Some(gpu.vram_used_mib?.max));
    let stated = match types {
        [name] => Some(name.trim()),
        _ => None,
    };
    let ran_on = run.facts.instance_type.as_deref().or(stated)?;
    Some(MeasuredMemory {
        name: file.to_owned(),
        instance_type: ran_on.to_ascii_lowercase(),
        peak_mib: held.max_by(f64::total_cmp)?,
    })
}

/// Takes what the flags leave open from a run that was sampled.
pub(super) fn of_run(
    wanted: &mut Wanted,
    args: &SelectArgs,
    run: &RunProfile,
    path: &Path,
    policy: &Policy,
) -> Result<(), Failure> {
    let file = shown(path);
    let Some(used) = run.gpus_used() else {
        return Err(Failure::input(format!("{file} does not show whether every GPU was used"))
            .with_hint("pass `--vram` and `--gpus` instead"));
    };
    let has_model = !wanted.models.is_empty();
    if has_model {
        wanted.measured = held(run, &file, &args.instance_types);
    }
    let sources = &mut wanted.sources;
    if args.gpus.is_none() && !has_model {
        let gpus = u16::try_from(used.max(1)).unwrap_or(u16::MAX);
        wanted.gpus = Some(GpuShare::Whole(gpus));
        sources.insert("gpus", format!("GPUs used in {file}"));
    }
    let needs_vram = args.vram.is_none() && !has_model && used > 0;
    let peak = run.fullest().and_then(|gpu| gpu.vram_used_mib);
    if let Some(peak) = peak.filter(|_| needs_vram) {
        let (peak, headroom) = (peak.max, policy.vram_headroom);
        wanted.vram_mib = Some(peak * headroom);
        sources.insert("vram_mib", format!("peak of {peak:.0} MiB in {file} × {headroom}"));
    }
    let headroom = policy.vcpu_headroom;
    if let Some(memory) = run.host.memory_used_mib.filter(|_| args.memory.is_none()) {
        let peak = memory.max;
        wanted.memory_mib = Some(peak * headroom);
        sources.insert("memory_mib", format!("peak of {peak:.0} MiB in {file} × {headroom}"));
    }
    if let Some((cores, busy)) = run.host.cores.zip(run.host.cpu_percent) {
        let p95 = busy.p95;
        let vcpu = f64::from(cores) * p95 / 100.0 * headroom;
        let source = format!("p95 of {p95:.1}% of {cores} CPUs in {file} × {headroom}");
        wanted.vcpu = Some(vcpu);
        if used == 0 && wanted.vcpu_without_gpu.is_none() {
            wanted.vcpu_without_gpu = Some(vcpu);
            sources.insert("vcpu_without_gpu", format!("no GPU was used; {source}"));
        }
        sources.insert("vcpu", source);
    }
    Ok(())
}
