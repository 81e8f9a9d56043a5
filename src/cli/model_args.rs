//! Flags that describe a language model and what is served with it.

use super::choices::{above_zero, within};
use super::{Outcome, flags, parsers, refuse_if};
use crate::domain::Policy;
use crate::planners::model::{Dtype, Model, ModelQuery};
use crate::planners::serving::{Load, ServingTerms};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Parameters that a model may have.
const PARAMETERS: RangeInclusive<f64> = 1e6..=1e14;
/// Tokens that a sequence may have.
const MOST_TOKENS: f64 = 1e8;
/// Tokens of a sequence where none are given.
const CONTEXT_TOKENS: u64 = 8_192;
/// GiB of each GPU beside weights and cache: between the 1.1 and the 3.1 that logs of vLLM
/// show, see docs/planners/select.md.
const RUNTIME_GIB: f64 = 2.0;
const MIB_OF_GIB: f64 = 1024.0;

/// The names of those of some flags that were passed.
macro_rules! passed {
    ($args:expr; $($flag:ident)+) => {{
        let flags = [$((stringify!($flag), $args.$flag.is_some())),+];
        flags.into_iter().filter(|(_, is_passed)| *is_passed).map(|(flag, _)| flag).collect()
    }};
}
pub(super) use passed;

/// A flag as it is typed.
pub(super) fn typed(flag: &str) -> String {
    format!("--{}", flag.replace('_', "-"))
}

/// A number with one of some suffixes, or without, within limits.
fn scaled(text: &str, suffixes: &[(char, f64)], limits: RangeInclusive<f64>) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = match suffixes.iter().find(|(name, _)| lower.ends_with(*name)) {
        Some((_, unit)) => (&lower[..lower.len() - 1], *unit),
        None => (lower.as_str(), 1.0),
    };
    let number: f64 = number.trim().parse().ok()?;
    Some((number * unit).round()).filter(|count| limits.contains(count)).map(|count| count as u64)
}

parsers! {
    /// A number of parameters, such as 70b.
    fn parameters(text) -> u64 = scaled(text, &[('m', 1e6), ('b', 1e9), ('t', 1e12)], PARAMETERS), "expected a number of parameters from 1m to 100t, such as 7b, 70b or 1.5t";
    /// A number of tokens, such as 32k, which is 32,768.
    pub(super) fn tokens(text) -> u64 = scaled(text, &[('k', 1024.0), ('m', 1_048_576.0)], 1.0..=MOST_TOKENS), "expected a number of tokens from 1 to 100,000,000, such as 4096 or 32k";
    /// A type of numbers.
    pub(super) fn dtype(text) -> Dtype = Dtype::from_name(&text.trim().to_ascii_lowercase()), format!("valid values: {}", Dtype::NAMES.join(", "));
    /// A percentage above zero, as a share.
    pub(super) fn share(text) -> f64 = above_zero(text.trim().trim_end_matches('%'), 100.0).map(|percent: f64| percent / 100.0), "expected a percentage above 0 and at most 100";
    fn runtime_gib(text) -> f64 = within(text, 0.0..=100.0), "expected GiB from 0 to 100";
    fn headroom(text) -> f64 = within(text, 1.0..=10.0), "expected a factor from 1 to 10, such as 1.2";
}

flags! {
    /// Which language model it is.
    pub(super) struct ModelArgs {
        /// Published model, such as llama-3.1-70b, instead of `--params`
        model: Option<String> = arg(long, value_name = "NAME", conflicts_with_all = ["params", "active_params"], help_heading = "Model");
        /// Number of parameters, such as 7b, 70b or 1.5t
        params: Option<u64> = arg(long, value_name = "N", value_parser = parameters, allow_hyphen_values = true, help_heading = "Model");
        /// Parameters that each token uses, of a mixture of experts [default: all]
        active_params: Option<u64> = arg(long, value_name = "N", value_parser = parameters, allow_hyphen_values = true, requires = "params", help_heading = "Model");
        /// Layers, num_hidden_layers of config.json [default: nearest published model]
        layers: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000), allow_negative_numbers = true, help_heading = "Model");
        /// Heads of queries, num_attention_heads [default: nearest published model]
        heads: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024), allow_negative_numbers = true, help_heading = "Model");
        /// Heads of keys and values, num_key_value_heads [default: nearest published model]
        kv_heads: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024), allow_negative_numbers = true, help_heading = "Model");
        /// Dimension of a head, head_dim [default: nearest published model]
        head_dim: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024), allow_negative_numbers = true, help_heading = "Model");
    }

    /// What of a model is in memory at a time, and what beside it.
    #[derive(Default)]
    pub(super) struct MemoryArgs {
        /// Type of the cache of keys and values [default: fp16]
        kv_dtype: Option<Dtype> = arg(long, value_name = "DTYPE", value_parser = dtype, help_heading = "Model");
        /// Tokens that the cache holds for each sequence, such as 32k [default: 8k]
        context: Option<u64> = arg(long, value_name = "TOKENS", value_parser = tokens, allow_hyphen_values = true, help_heading = "Load");
        /// Mean tokens of a prompt [default: the rest of the context, or half of it]
        input_tokens: Option<u64> = arg(long, value_name = "TOKENS", value_parser = tokens, allow_hyphen_values = true, help_heading = "Load");
        /// Mean tokens of an answer [default: the rest of the context, or half of it]
        output_tokens: Option<u64> = arg(long, value_name = "TOKENS", value_parser = tokens, allow_hyphen_values = true, help_heading = "Load");
        /// Sequences in flight at a time [default: 1]
        concurrency: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), allow_negative_numbers = true, help_heading = "Load");
        /// Percentage of the hours in which so many sequences are in flight [default: 100]
        utilization: Option<f64> = arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true, help_heading = "Load");
        /// GiB of each GPU for the CUDA context, activations and buffers [default: 2]
        runtime_gib: Option<f64> = arg(long, value_name = "GIB", value_parser = runtime_gib, allow_negative_numbers = true, help_heading = "Assumptions");
        /// Factor on all memory [default: vram_headroom of the policy, 1.2]
        headroom: Option<f64> = arg(long, value_name = "FACTOR", value_parser = headroom, allow_negative_numbers = true, help_heading = "Assumptions");
        /// Percentage of the peak that the engine reaches [default: 65, on linked GPUs 50]
        efficiency: Option<f64> = arg(long, value_name = "PERCENT", value_parser = share, allow_negative_numbers = true, help_heading = "Assumptions");
    }
}

impl ModelArgs {
    /// The model, with what a published one says where flags do not.
    pub(super) fn model(&self) -> Outcome<Model> {
        let query = ModelQuery {
            name: self.model.clone(),
            params: self.params,
            active_params: self.active_params,
            layers: self.layers,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
        };
        Ok(query.model()?)
    }

    /// The flags that were passed.
    pub(super) fn passed(&self) -> BTreeSet<&'static str> {
        passed!(self; params active_params layers heads kv_heads head_dim)
    }
}

impl MemoryArgs {
    /// What is served at a time; what is not stated of prompt and answer is the rest of the
    /// context, or half of it.
    ///
    /// # Errors
    /// When prompt and answer are longer than the context.
    pub(super) fn load(&self) -> Outcome<Load> {
        let context = self.context.unwrap_or(CONTEXT_TOKENS);
        let (half, rest) = ((context / 2).max(1), |of| context.saturating_sub(of).max(1));
        let (input, output) = match (self.input_tokens, self.output_tokens) {
            (Some(input), Some(output)) => (input, output),
            (Some(input), None) => (input, rest(input)),
            (None, Some(output)) => (rest(output), output),
            (None, None) => (half, half),
        };
        let longest = input.saturating_add(output);
        refuse_if!(longest > context.max(2);
            "a prompt of {input} and an answer of {output} tokens do not fit into a context of \
             {context}";
            "pass `--context {longest}`, or fewer tokens");
        Ok(Load {
            context_tokens: context,
            input_tokens: input,
            output_tokens: output,
            sequences: self.concurrency.unwrap_or(1),
        })
    }

    pub(super) fn terms(&self, policy: &Policy) -> ServingTerms {
        ServingTerms {
            kv_dtype: self.kv_dtype.unwrap_or(Dtype::Fp16),
            runtime_mib: self.runtime_gib.unwrap_or(RUNTIME_GIB) * MIB_OF_GIB,
            headroom: self.headroom.unwrap_or(policy.vram_headroom),
            efficiency: self.efficiency,
            utilization: self.utilization.unwrap_or(1.0),
        }
    }

    /// The flags that were passed.
    pub(super) fn passed(&self) -> BTreeSet<&'static str> {
        passed! { self; kv_dtype context input_tokens output_tokens concurrency utilization runtime_gib headroom efficiency }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_suffixes() {
        assert_eq!(parameters("70b"), Ok(70_000_000_000));
        assert_eq!(parameters("1.5T"), Ok(1_500_000_000_000));
        assert_eq!(parameters("6738415616"), Ok(6_738_415_616));
        assert_eq!(tokens("32k"), Ok(32_768));
        assert_eq!(tokens("4096"), Ok(4_096));
        assert_eq!(share("65"), Ok(0.65));
        assert_eq!(share("65%"), Ok(0.65));
        assert_eq!(dtype("FP8"), Ok(Dtype::Fp8));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for bad in ["", "b", "-7b", "0", "7", "nan", "inf", "1e30", "7bb", "7 x", "200t", "é"] {
            assert!(parameters(bad).is_err(), "{bad}");
        }
        for bad in ["", "k", "-1", "0", "nan", "1000m", "32kb", "0.1"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
        for bad in ["0", "-5", "101", "nan", "half", ""] {
            assert!(share(bad).is_err(), "{bad}");
        }
        assert!(dtype("fp12").is_err());
    }
}
