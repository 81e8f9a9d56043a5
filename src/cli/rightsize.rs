//! `gpucost rightsize`: for the fleet, or for one type.

use super::args::{DocFormat, EstateArgs, RISKS, kind};
use super::choices::within;
use super::planning::Planning;
use super::scope::invocation;
use super::view_args::{RowArgs, VerdictArgs, check_known};
use super::{
    ExitCode, Failure, Io, Outcome, audit as audit_command, estate, flags, known_prices, output,
    parsers, refusal, refuse_if,
};
use crate::analysis::{Sized, Sizing, audit as audited, audit_types, instance_cost};
use crate::catalog::{Prices, gpu_spec, shape, shapes};
use crate::domain::{
    self, ACTIVE_PERCENT, AcceleratorKind, GpuOffer, HourlyRate, InstanceShape, Policy, PriceKey,
    Risk, WorkloadCost, WorkloadKind, counted, nearest_names,
};
use crate::report::{RowFacts, SortKey, View, rightsize_doc};
use crate::savings::{Bound, Demand, Today};
use rust_decimal::Decimal;

flags! {
    /// `gpucost rightsize`.
    pub(super) struct RightsizeArgs {
        estate: EstateArgs = command(flatten);
        one: OneTypeArgs = command(flatten);
        rows: RowArgs = command(flatten);
        verdicts: VerdictArgs = command(flatten);
        /// Maximum accepted risk level [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
    }

    /// What one type is used for.
    pub(super) struct OneTypeArgs {
        /// Evaluate one instance type without an account, such as p4d.24xlarge
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", requires_all = ["util_p95", "vram_peak"], conflicts_with_all = ["from", "from_kubectl", "demo", "save", "redact", "tag", "exclude_tag", "as_of", "lookback", "profile", "endpoint_url", "max_api_cost", "metrics_namespace", "prometheus_url", "history", "strict", "allow_empty", "limit", "all", "workload", "team", "sort", "class", "min_savings"], help_heading = "One type");
        /// Kind of workload: training, serving, batch, evaluation, development
        kind: Option<WorkloadKind> = arg(long, value_name = "KIND", value_parser = kind, requires = "instance_type", help_heading = "One type");
        /// Number of GPUs per instance that are ever active [default: all]
        gpus_used: Option<u16> = arg(long, value_name = "N", requires = "instance_type", help_heading = "One type");
        /// p95 utilization of the GPUs in use, percent
        util_p95: Option<f64> = arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, requires = "instance_type", help_heading = "One type");
        /// Peak memory use of any GPU, such as 18GiB or 18432MiB
        vram_peak: Option<f64> = arg(long, value_name = "SIZE", value_parser = size_mib, requires = "instance_type", help_heading = "One type");
        /// p95 CPU utilization, percent [default: unknown]
        cpu_p95: Option<f64> = arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true, requires = "instance_type", help_heading = "One type");
        /// Peak host memory use, such as 100GiB [default: unknown]
        memory_peak: Option<f64> = arg(long, value_name = "SIZE", value_parser = size_mib, requires = "instance_type", help_heading = "One type");
        /// Bottleneck of the GPUs: bandwidth, compute, unknown
        bound: Option<Bound> = arg(long, value_name = "WHAT", value_parser = bound, requires = "instance_type", help_heading = "One type");
        /// Treat the GPUs of an instance as independent, so NVLink and EFA are not required
        independent_gpus: bool = arg(long, requires = "instance_type", help_heading = "One type");
        /// Number of instances [default: 1]
        count: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "instance_type", help_heading = "One type");
    }
}

parsers! {
    pub(super) fn bound(text) -> Bound = Bound::from_name(text), "valid values: bandwidth, compute, unknown";
    /// A percentage.
    pub(super) fn percent(text) -> f64 = within(text.strip_suffix('%').unwrap_or(text).trim(), 0.0..=100.0), "expected a percentage from 0 to 100";
    /// A size in MiB. Gigabytes are taken for GiB, as drivers and AWS mean them.
    pub(super) fn size_mib(text) -> f64 = domain::size_mib(text), "expected a size such as 18GiB, 18GB or 18432MiB";
}

pub(super) fn known(name: &str) -> Outcome<(&'static InstanceShape, &'static GpuOffer)> {
    let accelerated = || shapes().filter(|shape| shape.accelerator != AcceleratorKind::Cpu);
    let Some(shape) = shape(&name.to_ascii_lowercase()) else {
        let names = accelerated().map(|shape| shape.instance_type.as_str());
        return Err(unknown("instance type", name, names));
    };
    match &shape.gpu {
        Some(offer) => Ok((shape, offer)),
        None => Err(refusal!("{} has no accelerator", shape.instance_type;
            "`gpucost pricing` lists the types with an accelerator")),
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
) -> Outcome<WorkloadCost> {
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
    refusal!("{wanted} has no price"; "set a custom price in gpucost.toml, see docs/pricing.md")
}

fn demand(
    args: &OneTypeArgs,
    shape: &InstanceShape,
    offer: &GpuOffer,
    count: u32,
) -> Outcome<Demand> {
    let devices = offer.share.visible_devices();
    let gpus = args.gpus_used.unwrap_or(devices);
    refuse_if!(gpus > devices;
        "`--gpus-used {gpus}` exceeds the {} of {}",
        counted(devices, "GPU", "GPUs"), shape.instance_type;
        "the value is per instance");
    // The parser asks for both beside `--type`; without them nothing is known.
    let (Some(p95), Some(vram_peak_mib)) = (args.util_p95, args.vram_peak) else {
        return Err(refusal!("`--type` needs `--util-p95` and `--vram-peak`";
            "an unmeasured value is not zero"));
    };
    refuse_if!(gpus == 0 && p95 > 0.0;
        "`--gpus-used 0` contradicts a `--util-p95` above 0";
        "pass the number of GPUs in use, or a utilization of 0");
    let card = gpu_spec(offer).and_then(|spec| spec.memory_mib_reported).max(offer.vram_mib);
    // A peak cannot be more than what there is.
    for (flag, peak_mib, there_mib, of) in [
        ("--vram-peak", Some(vram_peak_mib), card, "a GPU"),
        ("--memory-peak", args.memory_peak, Some(shape.memory_mib), "an instance"),
    ] {
        if let Some((peak_mib, there)) = peak_mib.zip(there_mib)
            && peak_mib > there as f64
        {
            return Err(refusal!(
                "`{flag}` of {peak_mib:.0} MiB exceeds the {there} MiB of {of} of {}",
                shape.instance_type;
                "pass the peak of one, not the total"));
        }
    }
    let kind = args.kind.unwrap_or(WorkloadKind::Unknown);
    let replicas = (kind == WorkloadKind::Serving).then(|| Policy::default().min_replicas);
    let gpu_count = f64::from(count) * f64::from(gpus);
    // A p95 of nothing says nothing about GPUs that are used.
    let sees_work = gpus == 0 || p95 >= ACTIVE_PERCENT;
    let held_percent = card.map(|card| vram_peak_mib / card as f64 * 100.0);
    Ok(Demand {
        kind,
        bound: args.bound.unwrap_or(Bound::Unknown),
        instances: count,
        least_instances: replicas.map_or(count, |least| least.min(count)),
        least_machines: replicas.unwrap_or(1),
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

pub(super) fn run(args: &RightsizeArgs, io: &mut Io<'_>) -> Outcome {
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    match &args.one.instance_type {
        Some(name) => one_type(args, name, &planning, io),
        None => fleet(args, &planning, io),
    }
}

fn fleet(args: &RightsizeArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    let settings = &planning.settings;
    let accepted = audit_command::risk(args.risk, settings, io)?;
    let view = args.rows.view(Some(&args.verdicts), &[]);
    planning.check_rows(|format| args.rows.refuse(&view, format))?;
    let estate = estate::read(&args.estate, settings, io)?;
    let policy = &settings.policy;
    let mut audit = audit_types(&estate, policy, accepted);
    // The plan of an audit may be one of a lower risk, where that costs less.
    let planned = audited(&estate, policy, accepted).workloads;
    for (workload, planned) in audit.workloads.iter_mut().zip(planned) {
        workload.actions = planned.actions;
    }
    let sizings = audit.workloads.iter().map(|workload| Sizing::of(workload, policy));
    let sizings: Vec<Sizing> = sizings.collect();
    let rows: Vec<RowFacts> = sizings
        .iter()
        .zip(&audit.workloads)
        .map(|(sizing, audited)| RowFacts {
            cost: sizing.monthly,
            monthly_savings: sizing.best().and_then(|best| best.monthly_savings),
            ..RowFacts::of(audited)
        })
        .collect();
    check_known(&view, &rows)?;
    let view = View { sort: view.sort.or(Some(SortKey::Savings)), ..view };
    let (shown, _) = view.order(&rows);
    let invocation = invocation(&args.estate, args.risk);
    let doc = rightsize_doc(accepted, &sizings, &audit.gaps, &shown, &invocation);
    planning.print(&doc, view.limit, (audit.prices.oldest_seen_on(), audit.window.end), io)?;
    Ok(output::close("sized", audit_command::seen(&audit), &audit.gaps, &args.estate, io))
}

fn one_type(args: &RightsizeArgs, name: &str, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    let settings = &planning.settings;
    let (accepted, policy) = (audit_command::risk(args.risk, settings, io)?, &settings.policy);
    let book = planning.book(None, args.estate.offline, io)?;
    let prices = planning.prices(&book);
    let region = match &args.estate.aws.region {
        Some(named) => named.clone(),
        // A list of regions says where an account is asked, not where a type runs.
        None => known_prices::home_region(settings, io),
    };
    let (shape, offer) = known(name)?;
    known_prices::check_region(&region, &prices)?;
    let count = args.one.count.unwrap_or(1);
    let cost = cost(shape, &region, count, &prices, policy)?;
    let demand = demand(&args.one, shape, offer, count)?;
    let today = Today { shape, cost: &cost, region: &region, activity: None };
    let sized = Sized::of(&today, demand.clone(), &prices, policy, accepted);
    let quotes = sized
        .accepted()
        .flat_map(|candidate| &candidate.considered.quotes)
        .map(|(_, quote)| quote)
        .chain(cost.instances.iter().map(|today| &today.quote));
    let oldest = quotes.map(|quote| quote.seen_on).min();
    let suitable = sized.accepted().count();
    let looked_at = sized.candidates.len();
    let sizing = Sizing {
        id: shape.instance_type.clone(),
        name: shape.instance_type.clone(),
        region: region.clone(),
        instance_type: shape.instance_type.clone(),
        instances: demand.instances,
        kind: demand.kind,
        monthly: Some(cost.compute_monthly),
        plan: Vec::new(),
        outcome: Ok(sized),
    };
    let invocation = invocation(&args.estate, args.risk);
    let doc = rightsize_doc(accepted, &[sizing], &[], &[0], &invocation);
    planning.print(&doc, None, (oldest, io.now), io)?;
    let types = counted(looked_at, "type", "types");
    planning.say(&format!("{suitable} of {types} suitable"), io);
    Ok(ExitCode::Done)
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
