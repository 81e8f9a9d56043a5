//! Flags of `gpucost capacity`, and the workload that they name.

use super::args::{DocFormat, EstateArgs, names_of};
use super::choices::{above_zero, within};
use super::model_args::{self, ModelArgs, dtype, passed, share};
use super::planning::{self, rate};
use super::rightsize::{bound, size_mib};
use super::scope::invocation;
use super::{
    Failure, Io, Outcome, choices, did_you_mean, estate, flags, hinted, parsers, refuse_if,
};
use crate::analysis::{Audit, NotMeasured, audit};
use crate::config::SettingsFile;
use crate::domain::Risk;
use crate::planners::batching::CurvePoint;
use crate::planners::capacity::{MOST_ZONES, PeakOf, ServiceTimes};
use crate::planners::model::Dtype;
use crate::savings::Bound;
use crate::usage::Estate;
use std::path::PathBuf;

/// Times that are evaluated, in seconds: a microsecond to eleven days.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
const MOST_TOKENS: f64 = 1e9;
const MOST_HEADROOM_PERCENT: f64 = 1_000.0;
/// Longest wait for a batch, in seconds.
const LONGEST_WAIT: f64 = 3_600.0;
/// What states that requests are served in batches.
const BATCHED: [&str; 4] = ["curve", "curve_data", "model", "params"];

/// A run at a batch.
#[derive(Debug, Clone)]
pub(super) struct SampledBatch {
    pub batch: u32,
    pub path: PathBuf,
}

parsers! {
    /// A length of time in seconds.
    fn seconds(text) -> f64 = planning::seconds(text).filter(|seconds| SECONDS.contains(seconds)), "expected a duration above zero such as 250ms, 1.5s or 2m";
    /// A percentile, such as `p95`.
    fn percentile(text) -> f64 = within(text.strip_prefix('p').unwrap_or(text), 50.0..=99.99), "expected a percentile from p50 to p99.99, such as p95";
    /// Percent beyond what is expected.
    fn headroom(text) -> f64 = within(text.strip_suffix('%').unwrap_or(text).trim(), 0.0..=MOST_HEADROOM_PERCENT), "expected a percentage from 0 to 1000";
    /// Tokens, of a request or per second.
    fn tokens(text) -> f64 = above_zero(text.trim(), MOST_TOKENS), "expected a number of tokens above zero, at most 1000000000";
    /// A wait up to an hour, in seconds.
    fn wait(text) -> f64 = planning::seconds(text).filter(|seconds| (0.0..=LONGEST_WAIT).contains(seconds)), "expected a time up to one hour, such as 20ms, 1.5s or 2m";
    /// A point such as 8:210.
    fn point(text) -> CurvePoint = text.split_once(':').and_then(|(batch, items)| {
        Some(CurvePoint { batch: batch.trim().parse().ok()?, items_per_second: items.trim().parse().ok()? })
    }), "expected BATCH:ITEMS_PER_SECOND, such as 8:210";
    /// A batch and a file, such as `8:run.jsonl`.
    fn sampled_batch(text) -> SampledBatch = text.split_once(':').and_then(|(batch, path)| {
        let batch: u32 = batch.trim().parse().ok()?;
        (batch > 0 && !path.is_empty()).then(|| SampledBatch { batch, path: PathBuf::from(path) })
    }), "expected BATCH:FILE, such as 8:run.jsonl";
    /// Which period of counts is the peak.
    fn peak(text) -> PeakOf = PeakOf::from_name(text), names_of(PeakOf::NAMES);
}

choices! {
    SERVICE_TIMES: ServiceTimes {
        "exponential" = Exponential, "Spread around their mean: many short requests and a few long ones";
        "fixed" = Fixed, "All alike";
    }
}

flags! {
    /// Requests that are served in batches: by a curve of throughput, or by a language model.
    pub(super) struct BatchArgs {
        /// Measured throughput of one GPU by batch, such as 1:35,8:210,32:520
        curve: Vec<CurvePoint> = arg(long, value_name = "BATCH:ITEMS_PER_SECOND,…", value_parser = point, value_delimiter = ',', allow_hyphen_values = true, conflicts_with_all = ["model", "params"], help_heading = "Batches");
        /// Samples of a run at a batch, written by `gpucost profile --samples --log-unit`; a point of
        /// the curve for each (can be repeated)
        curve_data: Vec<SampledBatch> = arg(long, value_name = "BATCH:FILE", value_parser = sampled_batch, conflicts_with_all = ["curve", "model", "params"], help_heading = "Batches");
        /// Unit of these runs that is a request [default: the only one]
        unit: Option<String> = arg(long, value_name = "NAME", requires = "curve_data", help_heading = "Batches");
        /// Longest time that the first request of a batch waits for others [default: 50ms]
        max_wait: Option<f64> = arg(long, value_name = "TIME", value_parser = wait, allow_hyphen_values = true, help_heading = "Batches");
        model: ModelArgs = command(flatten);
        /// Type of the weights: fp32, fp16, bf16, fp8, int8, int4 [default: fp16]
        dtype: Option<Dtype> = arg(long, value_name = "DTYPE", value_parser = dtype, help_heading = "Model");
        /// Mean tokens of a prompt [default: 1024]
        input_tokens: Option<u64> = arg(long, value_name = "TOKENS", value_parser = model_args::tokens, allow_hyphen_values = true, help_heading = "Model");
        /// Mean tokens of an answer [default: 128]
        output_tokens: Option<u64> = arg(long, value_name = "TOKENS", value_parser = model_args::tokens, allow_hyphen_values = true, help_heading = "Model");
    }

    /// `gpucost capacity`.
    pub(super) struct CapacityArgs {
        /// Requests to serve, such as 500, 500/s, 30000/min or 1800000/h
        rate: Option<f64> = arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true, required_unless_present_any = ["arrivals", "request_counts"], help_heading = "Requests");
        /// Recorded requests as CSV: a column `timestamp`, and `service_seconds` or tokens;
        /// replayed at `--rate`, or as fast as they came
        arrivals: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with_all = BATCHED, help_heading = "Requests");
        /// Requests counted by period: what `aws cloudwatch get-metric-data` or `query_range` of
        /// Prometheus prints, or CSV with the columns `time` and `requests`
        request_counts: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with_all = ["rate", "arrivals", "curve", "curve_data", "model", "params"], help_heading = "Requests");
        /// Length of these periods [default: the shortest time between two of them]
        request_period: Option<f64> = arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true, requires = "request_counts", conflicts_with_all = ["rate", "arrivals"], help_heading = "Requests");
        /// Period that the GPUs have to serve: p99 (one in a hundred has more) or max
        request_peak: PeakOf = arg(long, value_name = "WHICH", value_parser = peak, default_value = "p99", requires = "request_counts", conflicts_with_all = ["rate", "arrivals"], help_heading = "Requests");
        /// Percentage to plan for beyond that rate
        headroom: f64 = arg(long, value_name = "PERCENT", value_parser = headroom, allow_negative_numbers = true, default_value = "0", conflicts_with_all = BATCHED, help_heading = "Requests");
        /// Tokens of a request, prompt and generated
        tokens_per_request: Option<f64> = arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true, conflicts_with_all = BATCHED, help_heading = "Requests");
        /// Requests that one GPU serves, per second or as for `--rate`
        per_gpu: Option<f64> = arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true, conflicts_with_all = BATCHED, help_heading = "Throughput of a GPU");
        /// Time that a request takes on a GPU at that batch
        latency: Option<f64> = arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true, conflicts_with_all = BATCHED, help_heading = "Throughput of a GPU");
        /// Requests that a GPU works on at the same time
        batch: u32 = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_096), default_value_t = 1, conflicts_with_all = BATCHED, help_heading = "Throughput of a GPU");
        /// Tokens per second of one GPU over all requests that it works on
        tokens_per_second: Option<f64> = arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true, conflicts_with_all = BATCHED, help_heading = "Throughput of a GPU");
        /// The same for tokens of prompts, where they are faster [default: as the others]
        prompt_tokens_per_second: Option<f64> = arg(long, value_name = "N", value_parser = tokens, allow_negative_numbers = true, requires_all = ["tokens_per_second", "arrivals"], help_heading = "Throughput of a GPU");
        /// Requests that were served while `--workload` or `--profile-data` was measured, per
        /// second or as for `--rate` [default: those of `--request-counts` in that time]
        served_rate: Option<f64> = arg(long, value_name = "RATE", value_parser = rate, allow_negative_numbers = true, conflicts_with_all = BATCHED, help_heading = "Throughput of a GPU");
        /// Workload of the estate, by name or ID, whose GPU utilization shows its throughput
        workload: Option<String> = arg(long, value_name = "NAME", conflicts_with = "instance_type", help_heading = "Throughput of a GPU");
        /// Percentage of its largest throughput that a GPU has to do at most [default:
        /// serving_target_percent of the policy, 80]
        target: Option<f64> = arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true, help_heading = "Objective");
        /// Time in which requests have to be answered
        objective: Option<f64> = arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true, help_heading = "Objective");
        /// Share of the requests that the objective holds for
        percentile: f64 = arg(long, value_name = "pN", value_parser = percentile, default_value = "p95", requires = "objective", conflicts_with_all = BATCHED, help_heading = "Objective");
        /// How long GPUs work on requests that are not recorded
        service_times: ServiceTimes = arg(long, value_parser = SERVICE_TIMES, value_name = "HOW", default_value = "exponential", requires = "objective", conflicts_with_all = ["arrivals", "curve", "curve_data", "model", "params"], help_heading = "Objective");
        batches: BatchArgs = command(flatten);
        /// Availability zones that the instances are in
        zones: u32 = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ZONES)), default_value_t = 1, conflicts_with_all = BATCHED, help_heading = "Zones");
        /// Zones that may be lost while the others serve everything
        survive_zones: u32 = arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = BATCHED, help_heading = "Zones");
        /// Instance type on which the throughput was measured; `--region` sets its region
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", help_heading = "Types");
        /// Also evaluate types with these GPUs: H100, A100:80GB, 24GB.., 24GB..48GB; without `--type`,
        /// the GPU on which the throughput was measured
        gpu: Option<String> = arg(long, value_name = "GPU", conflicts_with_all = BATCHED, help_heading = "Types");
        /// Peak memory use of a GPU, such as 18GiB, that other types must hold with headroom;
        /// evaluates every GPU type unless `--gpu` is given
        vram_peak: Option<f64> = arg(long, value_name = "SIZE", value_parser = size_mib, allow_negative_numbers = true, conflicts_with_all = BATCHED, help_heading = "Types");
        /// Bottleneck of the GPU, by which others are compared: bandwidth, compute, unknown
        bound: Bound = arg(long, value_name = "WHAT", value_parser = bound, default_value = "unknown", conflicts_with_all = BATCHED, help_heading = "Types");
        /// Operating system
        os: String = arg(long, value_name = "OS", default_value = "linux", help_heading = "Types");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        estate: EstateArgs = command(flatten);
    }
}

impl CapacityArgs {
    /// The command that shows the same estate.
    pub(super) fn audit_command(&self) -> String {
        let flags = invocation(&self.estate, None).estate_flags();
        format!("`gpucost audit{flags}`")
    }

    /// Fails for an estate of which no workload is named.
    pub(super) fn check_estate(&self) -> Outcome<()> {
        refuse_if!(self.workload.is_none() && self.estate.is_named();
            "an estate needs `--workload`";
            "{} lists the workloads", self.audit_command());
        Ok(())
    }

    /// What an audit says of a workload, and its estate with the gaps of the audit.
    pub(super) fn audited<T>(
        &self,
        settings: &SettingsFile,
        workload: impl FnOnce(&Audit) -> Result<T, NotMeasured>,
        io: &mut Io<'_>,
    ) -> Outcome<(T, Estate)> {
        let mut estate = estate::read(&self.estate, settings, io)?;
        let audit = audit(&estate, &settings.policy, Risk::Medium);
        let measured = workload(&audit).map_err(|error| self.unmeasured(error))?;
        estate.gaps = audit.gaps;
        Ok((measured, estate))
    }

    fn unmeasured(&self, error: NotMeasured) -> Failure {
        hinted! { error;
            NotMeasured::Unknown { nearest, .. } => "{}", did_you_mean(nearest, &format!("{} lists the workloads", self.audit_command()));
            NotMeasured::Several { first, .. } => "pass an ID of `gpucost audit --format json`, such as {first}";
            NotMeasured::NoGpu(_) => "choose a workload with GPUs";
            NotMeasured::Unmeasured(_) => "{} lists what is missing", self.audit_command();
        }
    }
}

impl BatchArgs {
    /// Whether a throughput by batch is stated, or a model of which it is computed.
    pub(super) fn is_stated(&self) -> bool {
        let model = &self.model;
        let is_measured = !self.curve.is_empty() || !self.curve_data.is_empty();
        is_measured || model.model.is_some() || model.params.is_some()
    }

    /// A flag that says nothing without such a throughput.
    pub(super) fn stray(&self) -> Option<&'static str> {
        let own: Vec<_> = passed!(self; max_wait dtype input_tokens output_tokens);
        let mut passed = own.into_iter().chain(self.model.passed());
        passed.next().filter(|_| !self.is_stated())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_above_zero() {
        assert_eq!(tokens("2048"), Ok(2_048.0));
        for bad in ["0", "-1", "NaN", "inf", "1e10", "", "many"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
        assert_eq!(headroom("25%"), Ok(25.0));
        assert_eq!(headroom("0"), Ok(0.0));
        for bad in ["-1", "NaN", "1001", ""] {
            assert!(headroom(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(seconds("1.5s"), Ok(1.5));
        assert_eq!(seconds("2m"), Ok(120.0));
        assert_eq!(seconds("1h"), Ok(3_600.0));
        assert!(seconds("250ms").is_ok_and(|seconds| (seconds - 0.25).abs() < 1e-12));
        for bad in ["", "2", "0s", "-1s", "NaNs", "infs", "1e9h", "soon"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn percentiles_are_p50_to_p99_99() {
        assert_eq!(percentile("p95"), Ok(95.0));
        assert_eq!(percentile("99.9"), Ok(99.9));
        for bad in ["p49", "p100", "pNaN", "p", ""] {
            assert!(percentile(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn waits_have_units_and_points_two_numbers() {
        assert_eq!(wait("20ms"), Ok(0.02));
        assert_eq!(wait("0ms"), Ok(0.0));
        for bad in ["", "20", "ms", "-1s", "nans", "2h", "61m"] {
            assert!(wait(bad).is_err(), "{bad}");
        }
        let read = point("8:210").expect("a point");
        assert_eq!((read.batch, read.items_per_second), (8, 210.0));
        for bad in ["", "8", "8:", ":210", "-1:5", "1.5:5", "8:210:3"] {
            assert!(point(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_run_has_a_batch() {
        let read = sampled_batch("8:C:/runs/a.jsonl").expect("a run");
        assert_eq!((read.batch, read.path.to_str()), (8, Some("C:/runs/a.jsonl")));
        for bad in ["", "8", "8:", "0:a", ":a", "-1:a", "1.5:a", "a:8"] {
            assert!(sampled_batch(bad).is_err(), "{bad}");
        }
    }
}
