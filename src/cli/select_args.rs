//! Flags of `gpucost select`.

use super::args::{hourly_price, hours_of_a_month, kind, positive};
use super::choices::{choices, flags};
use super::model_args::{MemoryArgs, ModelArgs, dtype};
use super::planner_flags::{CatalogArgs, exact_rate};
use super::rightsize::size_mib;
use super::workload_args::WorkloadArgs;
use crate::domain::{Architecture, GpuShare, MOST_GPUS, WorkloadKind};
use crate::planners::model::Dtype;
use crate::planners::paying::Paying;
use clap::ValueEnum;
use rust_decimal::Decimal;
use std::path::PathBuf;

flags! {
    /// `gpucost select`.
    pub(super) struct SelectArgs {
        /// Kind of work: training, serving, batch, evaluation, development
        kind: WorkloadKind = arg(long, value_name = "KIND", value_parser = kind, default_value = "unknown", hide_default_value = true);
        /// Treat the work as safe to interrupt and restart, so that spot prices count; not for
        /// serving
        restartable: bool = arg(long);
        /// Memory needed on each GPU, such as 40GiB
        vram: Option<f64> = arg(long, value_name = "SIZE", value_parser = needed_mib, allow_hyphen_values = true, help_heading = "Needs");
        /// Memory needed on all GPUs of an instance together
        vram_total: Option<f64> = arg(long, value_name = "SIZE", value_parser = needed_mib, allow_hyphen_values = true, help_heading = "Needs");
        /// GPUs per instance, at least; a part such as 0.125 lets parts of a GPU compete [default:
        /// 1; with a model, as many as hold it]
        gpus: Option<GpuShare> = arg(long, value_name = "N", value_parser = gpus, allow_negative_numbers = true, help_heading = "Needs");
        /// GPU model, memory or both: H100, A100:80GB, 24GB.., 24GB..48GB
        gpu: Option<String> = arg(long, value_name = "GPU", help_heading = "Needs");
        /// Host memory needed, such as 100GiB
        memory: Option<f64> = arg(long, value_name = "SIZE", value_parser = needed_mib, allow_hyphen_values = true, help_heading = "Needs");
        /// Require NVLink between the GPUs
        nvlink: bool = arg(long, help_heading = "Needs");
        /// Require EFA
        efa: bool = arg(long, help_heading = "Needs");
        /// CPU architecture
        arch: ArchChoice = arg(long, value_enum, value_name = "ARCH", default_value_t = ArchChoice::X86_64, help_heading = "Needs");
        /// Requests per unit of time, such as 2/s, 120/min or 7200/h
        rate: Option<Decimal> = arg(long, value_name = "RATE", value_parser = exact_rate, allow_hyphen_values = true, requires = "cpu_seconds", conflicts_with_all = ["model", "params"], help_heading = "Needs");
        /// CPU time of a request without a GPU, in seconds; lets CPU types compete
        cpu_seconds: Option<Decimal> = arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true, requires = "rate", help_heading = "Needs");
        model: ModelArgs = command(flatten);
        /// Types of the weights to compare, the preferred one first: fp32, fp16, bf16, fp8, int8,
        /// int4 [default: fp16]
        dtype: Vec<Dtype> = arg(long, value_name = "DTYPE[,DTYPE…]", value_parser = dtype, value_delimiter = ',', help_heading = "Model");
        model_memory: MemoryArgs = command(flatten);
        of: WorkloadArgs = command(flatten);
        /// Samples written by `gpucost profile --samples`, to take the needs from; with a model, to
        /// compare its memory with theirs
        profile_data: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with_all = ["from", "demo", "workload"], help_heading = "Measured");
        /// Most to pay per hour, in USD
        budget_hourly: Option<Decimal> = arg(long, value_name = "USD", value_parser = hourly_price, allow_negative_numbers = true, help_heading = "Budget");
        /// Most to pay per month, in USD
        budget_monthly: Option<Decimal> = arg(long, value_name = "USD", value_parser = positive, allow_negative_numbers = true, help_heading = "Budget");
        /// Hours per month that the instance runs [default: hours_per_month of the policy, 730]
        hours_per_month: Option<Decimal> = arg(long, value_name = "HOURS", value_parser = hours_of_a_month, allow_negative_numbers = true, help_heading = "Budget");
        /// Price to rank by [default: spot where --restartable allows it, else on-demand]
        rank_by: Option<Paying> = arg(long, value_parser = RANKED_BY, value_name = "PRICE", help_heading = "Budget");
        /// Instance types to check [default: every type]
        instance_types: Vec<String> = arg(long = "type", value_name = "TYPE[,TYPE…]", value_delimiter = ',');
        /// Comma-separated regions, with `*` as a wildcard, or `all` [default: that of the workload,
        /// else us-east-1]
        region: Option<String> = arg(long, value_name = "R[,R…]|all");
        catalog: CatalogArgs = command(flatten);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ArchChoice {
    /// Intel and AMD
    #[value(name = "x86_64")]
    X86_64,
    /// Graviton and Grace
    Arm64,
    /// Either
    Any,
}

impl ArchChoice {
    pub(super) fn architecture(self) -> Option<Architecture> {
        match self {
            Self::X86_64 => Some(Architecture::X86_64),
            Self::Arm64 => Some(Architecture::Arm64),
            Self::Any => None,
        }
    }
}

choices! {
    RANKED_BY: Paying {
        "on-demand" = OnDemand, "On-demand price";
        "reserved-1yr" = Reserved1yr, "1-year reserved instance, no upfront, effective per hour";
        "reserved-3yr" = Reserved3yr, "3-year reserved instance, no upfront, effective per hour";
    }
}

/// Whole GPUs, or a part of one.
fn gpus(text: &str) -> Result<GpuShare, String> {
    text.trim().parse().ok().and_then(GpuShare::from_count).ok_or_else(|| {
        format!("expected a number of GPUs from 1 to {MOST_GPUS}, or a part of one such as 0.125")
    })
}

/// A size above zero.
fn needed_mib(text: &str) -> Result<f64, String> {
    size_mib(text).and_then(|mib| {
        if mib > 0.0 {
            Ok(mib)
        } else {
            Err("expected a size above zero, such as 40GiB".to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_above_zero() {
        assert_eq!(needed_mib("40GiB"), Ok(40_960.0));
        assert_eq!(gpus("8"), Ok(GpuShare::Whole(8)));
        assert_eq!(gpus("0.25"), Ok(GpuShare::Fraction(Decimal::new(25, 2))));
        for bad in ["0", "-1", "1.5", "257", "nan", ""] {
            assert!(gpus(bad).is_err(), "{bad}");
        }
        assert!(needed_mib("0GiB").is_err() && needed_mib("-1GiB").is_err());
    }
}
