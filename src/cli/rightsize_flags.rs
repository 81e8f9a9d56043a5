//! The flags of `gpucost rightsize`, and what one type named there uses.

use super::args::{DocFormat, EstateArgs, RiskChoice, kind};
use super::exit::Failure;
use super::known_prices;
use super::numbers::within;
use super::view_args::{RowArgs, VerdictArgs};
use crate::analysis::instance_cost;
use crate::catalog::{Prices, gpu_spec, shape, shapes};
use crate::domain::{
    self, ACTIVE_PERCENT, AcceleratorKind, GpuOffer, HourlyRate, InstanceShape, Policy, PriceKey,
    WorkloadCost, WorkloadKind, counted, nearest_names,
};
use crate::savings::{Bound, Demand};
use clap::Args;
use rust_decimal::Decimal;

/// `gpucost rightsize`.
#[derive(Debug, Args)]
pub(super) struct RightsizeArgs {
    #[command(flatten)]
    pub estate: EstateArgs,
    #[command(flatten)]
    pub one: OneTypeArgs,
    #[command(flatten)]
    pub rows: RowArgs,
    #[command(flatten)]
    pub verdicts: VerdictArgs,
    /// Maximum accepted risk level [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DocFormat>,
}

/// What one type is used for.
#[derive(Debug, Args)]
pub(super) struct OneTypeArgs {
    /// Evaluate one instance type without an account, such as p4d.24xlarge
    #[arg(
        long = "type",
        value_name = "TYPE",
        requires_all = ["util_p95", "vram_peak"],
        conflicts_with_all = [
            "from", "from_kubectl", "demo", "save", "redact", "tag", "exclude_tag", "as_of", "lookback",
            "profile", "endpoint_url", "max_api_cost", "metrics_namespace", "prometheus_url", "history",
            "strict", "allow_empty", "limit", "all", "workload", "team", "sort", "class", "min_savings",
        ],
        help_heading = "One type"
    )]
    pub instance_type: Option<String>,
    /// Kind of workload: training, serving, batch, evaluation, development
    #[arg(long, value_name = "KIND", value_parser = kind, requires = "instance_type", help_heading = "One type")]
    pub kind: Option<WorkloadKind>,
    /// Number of GPUs per instance that are ever active [default: all]
    #[arg(long, value_name = "N", requires = "instance_type", help_heading = "One type")]
    pub gpus_used: Option<u16>,
    /// p95 utilization of the GPUs in use, percent
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, requires = "instance_type", help_heading = "One type")]
    pub util_p95: Option<f64>,
    /// Peak memory use of any GPU, such as 18GiB or 18432MiB
    #[arg(long, value_name = "SIZE", value_parser = size_mib, requires = "instance_type", help_heading = "One type")]
    pub vram_peak: Option<f64>,
    /// p95 CPU utilization, percent [default: unknown]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, requires = "instance_type", help_heading = "One type")]
    pub cpu_p95: Option<f64>,
    /// Peak host memory use, such as 100GiB [default: unknown]
    #[arg(long, value_name = "SIZE", value_parser = size_mib, requires = "instance_type", help_heading = "One type")]
    pub memory_peak: Option<f64>,
    /// Bottleneck of the GPUs: bandwidth, compute, unknown
    #[arg(long, value_name = "WHAT", value_parser = bound, requires = "instance_type", help_heading = "One type")]
    pub bound: Option<Bound>,
    /// Treat the GPUs of an instance as independent, so NVLink and EFA are not required
    #[arg(long, requires = "instance_type", help_heading = "One type")]
    pub independent_gpus: bool,
    /// Number of instances [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "instance_type", help_heading = "One type")]
    pub count: Option<u32>,
}

pub(super) fn bound(text: &str) -> Result<Bound, String> {
    Bound::from_name(text).ok_or_else(|| "valid values: bandwidth, compute, unknown".to_owned())
}

/// A percentage.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    within(number, 0.0..=100.0, "expected a percentage from 0 to 100")
}

/// A size in MiB. Gigabytes are taken for GiB, as drivers and AWS mean them.
pub(super) fn size_mib(text: &str) -> Result<f64, String> {
    domain::size_mib(text)
        .ok_or_else(|| "expected a size such as 18GiB, 18GB or 18432MiB".to_owned())
}

/// A type with what it costs and what is used of it.
#[derive(Debug)]
pub(super) struct OneType {
    pub shape: &'static InstanceShape,
    pub cost: WorkloadCost,
    pub demand: Demand,
}

impl OneType {
    /// Reads the flags.
    pub(super) fn of(
        args: &OneTypeArgs,
        name: &str,
        region: &str,
        prices: &Prices<'_>,
        policy: &Policy,
    ) -> Result<Self, Failure> {
        let (shape, offer) = known(name)?;
        known_prices::check_region(region, prices)?;
        let count = args.count.unwrap_or(1);
        Ok(Self {
            shape,
            cost: cost(shape, region, count, prices, policy)?,
            demand: demand(args, shape, offer, count)?,
        })
    }
}

pub(super) fn known(name: &str) -> Result<(&'static InstanceShape, &'static GpuOffer), Failure> {
    let accelerated = || shapes().filter(|shape| shape.accelerator != AcceleratorKind::Cpu);
    let Some(shape) = shape(&name.to_ascii_lowercase()) else {
        let names = accelerated().map(|shape| shape.instance_type.as_str());
        return Err(unknown("instance type", name, names));
    };
    match &shape.gpu {
        Some(offer) => Ok((shape, offer)),
        None => Err(Failure::input(format!("{} has no accelerator", shape.instance_type))
            .with_hint("`gpucost pricing` lists the types with an accelerator")),
    }
}

pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    known_prices::not_in_the_catalog(what, name, &nearest_names(name, known))
}

fn cost(
    shape: &InstanceShape,
    region: &str,
    count: u32,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Result<WorkloadCost, Failure> {
    let wanted = PriceKey::linux_on_demand(region, &shape.instance_type);
    let cost = instance_cost(&wanted, prices, policy).map_err(|_| unpriced(&wanted))?;
    let rate = cost.quote.rate;
    let hourly = HourlyRate::new(rate.amount() * Decimal::from(count), rate.currency())
        .ok_or_else(|| Failure::input("`--count` is too large to price"))?;
    Ok(WorkloadCost {
        instances: vec![cost; count as usize],
        hourly,
        compute_monthly: hourly.times_hours(policy.hours_per_month).rounded(),
    })
}

pub(super) fn unpriced(wanted: &PriceKey) -> Failure {
    Failure::input(format!("{wanted} has no price"))
        .with_hint("set a custom price in gpucost.toml, see docs/pricing.md")
}

fn demand(
    args: &OneTypeArgs,
    shape: &InstanceShape,
    offer: &GpuOffer,
    count: u32,
) -> Result<Demand, Failure> {
    let devices = offer.share.visible_devices();
    let gpus = args.gpus_used.unwrap_or(devices);
    if gpus > devices {
        return Err(Failure::input(format!(
            "`--gpus-used {gpus}` exceeds the {} of {}",
            counted(devices, "GPU", "GPUs"),
            shape.instance_type
        ))
        .with_hint("the value is per instance"));
    }
    // The parser asks for both beside `--type`; without them nothing is known.
    let (Some(p95), Some(vram_peak_mib)) = (args.util_p95, args.vram_peak) else {
        return Err(Failure::input("`--type` needs `--util-p95` and `--vram-peak`")
            .with_hint("an unmeasured value is not zero"));
    };
    if gpus == 0 && p95 > 0.0 {
        return Err(Failure::input("`--gpus-used 0` contradicts a `--util-p95` above 0")
            .with_hint("pass the number of GPUs in use, or a utilization of 0"));
    }
    let reported = gpu_spec(offer).and_then(|spec| spec.memory_mib_reported);
    let card = reported.max(offer.vram_mib);
    refuse_more("--vram-peak", vram_peak_mib, card, "a GPU", shape)?;
    if let Some(peak_mib) = args.memory_peak {
        let host = Some(shape.memory_mib);
        refuse_more("--memory-peak", peak_mib, host, "an instance", shape)?;
    }
    let kind = args.kind.unwrap_or(WorkloadKind::Unknown);
    let gpu_count = f64::from(count) * f64::from(gpus);
    // A p95 of nothing says nothing about GPUs that are used.
    let sees_work = gpus == 0 || p95 >= ACTIVE_PERCENT;
    let held_percent = card.map(|card| vram_peak_mib / card as f64 * 100.0);
    Ok(Demand {
        kind,
        bound: args.bound.unwrap_or(Bound::Unknown),
        instances: count,
        least_instances: if kind == WorkloadKind::Serving {
            Policy::default().min_replicas.min(count)
        } else {
            count
        },
        least_machines: if kind == WorkloadKind::Serving {
            Policy::default().min_replicas
        } else {
            1
        },
        gpus_active: gpus,
        gpus_held: gpus,
        gpus_active_in_all: u64::from(count) * u64::from(gpus),
        tenants: sees_work.then_some(u64::from(count) * u64::from(gpus)),
        gpu_peak_largest: sees_work.then_some(p95),
        gpu_peak: sees_work.then_some(p95),
        gpu_sum: sees_work.then_some(p95 * gpu_count),
        gpus_unused: gpus == 0 && held_percent.is_some_and(|percent| percent < 5.0),
        never_worked: !sees_work,
        needs_fp64: false,
        encodes: false,
        gpus_linked: match kind {
            _ if gpus < 2 || args.independent_gpus => Some(false),
            WorkloadKind::Training => Some(true),
            _ => None,
        },
        may_share_gpus: true,
        vram_peak_mib,
        vram_is_reserved: false,
        cpu_p95: args.cpu_p95,
        cpu_p95_sum: args.cpu_p95.map(|p95| p95 * f64::from(count)),
        memory_p95_mib: args.memory_peak,
        network_gbps: None,
        network_gbps_sum: None,
        nodes_talk: false,
        averaged_seconds: None,
        runs: None,
    })
}

/// A peak cannot be more than what there is.
fn refuse_more(
    flag: &str,
    peak_mib: f64,
    there_mib: Option<u64>,
    of: &str,
    shape: &InstanceShape,
) -> Result<(), Failure> {
    match there_mib {
        Some(there) if peak_mib > there as f64 => Err(Failure::input(format!(
            "`{flag}` of {peak_mib:.0} MiB exceeds the {there} MiB of {of} of {}",
            shape.instance_type
        ))
        .with_hint("pass the peak of one, not the total")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_any_unit() {
        for text in ["18GiB", "18GB", "18432MiB", " 18 gib ", "18432mb"] {
            assert_eq!(size_mib(text), Ok(18_432.0), "{text}");
        }
        assert_eq!(size_mib("1.5TiB"), Ok(1_572_864.0));
        assert_eq!(size_mib("0MiB"), Ok(0.0));
        for bad in ["", "18", "GiB", "-1GiB", "18 giraffes", "1e400GiB", "nanGiB"] {
            assert!(size_mib(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentages_are_0_to_100() {
        assert_eq!(percent("30"), Ok(30.0));
        assert_eq!(percent("30.5%"), Ok(30.5));
        for bad in ["-1", "100.1", "NaN", "inf", "", "much"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
