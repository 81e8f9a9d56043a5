//! How fast a language model can run, from what the data sheet of a card states: reading a
//! prompt is bound by arithmetic, generating tokens by reading weights and cache (Pope et
//! al., Efficiently Scaling Transformer Inference, 2022; Williams et al., Roofline, 2009).

use super::model::{Dtype, Model};

/// Share of the peak that is reached on one GPU, and on several that are linked: medians of
/// the published measurements in `docs/planners/select.md`, rounded down.
pub const EFFICIENCY: f64 = 0.65;
pub const LINKED_EFFICIENCY: f64 = 0.5;

/// What all GPUs of one copy of a model do together, as their data sheet states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    pub bytes_per_second: f64,
    /// Operations a second, dense, in the type that is computed in.
    pub flops: f64,
    /// Share of both that is reached, above 0 and at most 1.
    pub efficiency: f64,
}

/// A model at work.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    pub model: &'a Model,
    pub dtype: Dtype,
    pub kv_dtype: Dtype,
    /// Tokens of a prompt, at least one.
    pub input_tokens: u64,
    /// Tokens of an answer, at least one.
    pub output_tokens: u64,
}

/// What a phase reads and computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    pub bytes: f64,
    pub operations: f64,
}

/// How long a copy takes for sequences that run together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    pub sequences: f64,
    /// Until the prompts of all of them are read.
    pub prefill_seconds: f64,
    /// From one token of each to the next.
    pub step_seconds: f64,
    /// From the first prompt to the last token.
    pub round_seconds: f64,
    pub output_tokens: f64,
    /// Of all prompts.
    pub prefill: Effort,
    /// Of one token of each.
    pub step: Effort,
}

impl Pace {
    /// Output tokens of all sequences.
    pub fn tokens_per_second(&self) -> f64 {
        self.sequences * self.output_tokens / self.round_seconds
    }
}

impl Peak {
    fn seconds(&self, effort: Effort) -> f64 {
        let reading = effort.bytes / self.bytes_per_second;
        reading.max(effort.operations / self.flops) / self.efficiency
    }
}

impl Work<'_> {
    /// The pace of so many sequences on a copy. A token costs two operations for each
    /// active parameter, and those of attention to the tokens before it: half of the prompt
    /// on average while the prompt is read, the prompt and half of the answer, which fill
    /// the cache, while the answer is generated.
    pub fn pace(&self, peak: Peak, sequences: f64) -> Pace {
        let (input, output) = (self.input_tokens as f64, self.output_tokens as f64);
        let weights = self.model.weight_bytes(self.dtype);
        let read = |tokens: f64| weights * self.model.share_read(tokens);
        let operations = |tokens: f64, before: f64| {
            let of_weights = 2.0 * self.model.active_params as f64;
            tokens * (of_weights + self.model.attention_operations(before))
        };
        let prompts = sequences * input;
        let prefill = Effort { bytes: read(prompts), operations: operations(prompts, input / 2.0) };
        let cached = input + output / 2.0;
        let cache = cached * self.model.kv_bytes_per_token(self.kv_dtype);
        let step = Effort {
            bytes: read(sequences) + sequences * cache,
            operations: operations(sequences, cached),
        };
        let prefill_seconds = peak.seconds(prefill);
        let step_seconds = peak.seconds(step);
        Pace {
            sequences,
            prefill_seconds,
            step_seconds,
            round_seconds: prefill_seconds + output * step_seconds,
            output_tokens: output,
            prefill,
            step,
        }
    }
}

#[cfg(test)]
#[path = "roofline_tests.rs"]
mod tests;
