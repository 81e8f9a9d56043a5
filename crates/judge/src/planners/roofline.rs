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
mod tests {
    use super::*;
    use crate::planners::model::ModelQuery;

    /// Measurements of one page on one kind of GPU.
    struct Measured {
        model: &'static str,
        dtype: Dtype,
        kv_dtype: Dtype,
        gpus: u32,
        /// GB/s and dense TFLOPS of one GPU, as the catalog has them.
        card: [f64; 2],
        /// Sequences at a time, tokens of a prompt, tokens of an answer, and output tokens a
        /// second of all GPUs.
        rows: &'static [(u64, u64, u64, f64)],
    }

    const A100: [f64; 2] = [2_039.0, 312.0];
    const H100_FP8: [f64; 2] = [3_350.0, 1_979.0];
    const L40S_FP8: [f64; 2] = [864.0, 733.0];

    const fn in_16_bits(
        model: &'static str,
        gpus: u32,
        rows: &'static [(u64, u64, u64, f64)],
    ) -> Measured {
        Measured { model, dtype: Dtype::Fp16, kv_dtype: Dtype::Fp16, gpus, card: A100, rows }
    }

    const fn in_fp8(
        model: &'static str,
        gpus: u32,
        card: [f64; 2],
        rows: &'static [(u64, u64, u64, f64)],
    ) -> Measured {
        Measured { model, dtype: Dtype::Fp8, kv_dtype: Dtype::Fp8, gpus, card, rows }
    }

    /// LMDeploy 0.1.0a1, `docs/en/benchmark/a100_fp16.md` (InternLM/lmdeploy 3e391df), static
    /// inference on A100 with 80 GB. Rows whose cache does not fit, or with a prompt of one
    /// token in 13B and 70B, are left out.
    static LMDEPLOY: [Measured; 3] = [
        in_16_bits(
            "llama-2-7b",
            1,
            &[
                (1, 1, 128, 100.02),
                (1, 128, 128, 102.21),
                (1, 128, 2_048, 98.92),
                (1, 2_048, 128, 86.1),
                (1, 2_048, 2_048, 93.78),
                (16, 1, 128, 1_504.72),
                (16, 128, 128, 1_272.47),
                (16, 128, 2_048, 1_010.62),
                (16, 2_048, 128, 348.87),
                (16, 2_048, 2_048, 601.63),
                (32, 1, 128, 2_136.73),
                (32, 128, 128, 2_125.47),
                (32, 128, 2_048, 1_462.12),
                (64, 128, 128, 3_024.07),
            ],
        ),
        in_16_bits(
            "llama-2-13b",
            1,
            &[
                (1, 128, 128, 56.58),
                (1, 128, 2_048, 55.29),
                (1, 2_048, 128, 48.99),
                (1, 2_048, 2_048, 52.12),
                (16, 128, 128, 757.3),
                (16, 128, 2_048, 605.88),
                (16, 2_048, 128, 257.92),
                (32, 128, 128, 1_301.27),
                (64, 128, 128, 2_033.22),
            ],
        ),
        in_16_bits(
            "llama-2-70b",
            4,
            &[
                (1, 128, 128, 33.63),
                (1, 128, 2_048, 32.38),
                (1, 2_048, 128, 28.32),
                (1, 2_048, 2_048, 31.9),
                (16, 128, 128, 439.77),
                (16, 128, 2_048, 482.99),
                (16, 2_048, 128, 189.34),
                (16, 2_048, 2_048, 399.42),
                (32, 128, 128, 746.36),
                (32, 128, 2_048, 853.56),
                (32, 2_048, 128, 232.6),
                (32, 2_048, 2_048, 636.23),
                (64, 128, 128, 1_159.84),
                (64, 128, 2_048, 1_391.8),
                (64, 2_048, 128, 270.47),
                (64, 2_048, 2_048, 930.46),
            ],
        ),
    ];

    /// TensorRT-LLM on one GPU, `docs/source/performance.md` (NVIDIA/TensorRT-LLM 138f96d):
    /// H100 and A100 with 0.6.1, L40S and the second of H100 with 0.5.
    static TENSORRT_ONE: [Measured; 4] = [
        in_fp8(
            "llama-2-7b",
            1,
            H100_FP8,
            &[
                (768, 128, 128, 19_694.0),
                (112, 128, 2_048, 6_818.0),
                (80, 2_048, 128, 2_244.0),
                (48, 2_048, 2_048, 2_740.0),
            ],
        ),
        in_fp8(
            "llama-2-7b",
            1,
            H100_FP8,
            &[
                (64, 128, 128, 9_193.0),
                (64, 128, 2_048, 5_367.0),
                (64, 2_048, 128, 2_058.0),
                (32, 2_048, 2_048, 2_230.0),
            ],
        ),
        in_fp8(
            "llama-2-7b",
            1,
            L40S_FP8,
            &[
                (64, 128, 128, 3_240.0),
                (64, 128, 2_048, 1_622.0),
                (32, 2_048, 128, 581.0),
                (16, 2_048, 2_048, 531.0),
            ],
        ),
        in_16_bits(
            "llama-2-7b",
            1,
            &[(384, 128, 128, 5_586.0), (60, 128, 2_048, 1_928.0), (52, 2_048, 128, 591.0)],
        ),
    ];

    /// The same page on several GPUs: figures for each GPU of 0.6.1 times their number, and
    /// those of 0.5 for all of them.
    static TENSORRT_LINKED: [Measured; 5] = [
        in_fp8(
            "llama-2-70b",
            2,
            H100_FP8,
            &[
                (1_024, 128, 128, 2.0 * 2_657.0),
                (96, 2_048, 128, 2.0 * 306.0),
                (64, 2_048, 2_048, 2.0 * 547.0),
            ],
        ),
        in_fp8("llama-2-70b", 4, H100_FP8, &[(480, 128, 2_048, 4.0 * 1_486.0)]),
        in_fp8(
            "llama-2-70b",
            4,
            H100_FP8,
            &[
                (64, 128, 128, 3_317.0),
                (64, 128, 2_048, 2_616.0),
                (64, 2_048, 128, 843.0),
                (64, 2_048, 2_048, 1_583.0),
            ],
        ),
        in_16_bits("llama-2-7b", 2, &[(64, 2_048, 2_048, 2.0 * 782.0)]),
        in_16_bits(
            "llama-2-70b",
            4,
            &[
                (1_280, 128, 128, 4.0 * 670.0),
                (240, 128, 2_048, 4.0 * 525.0),
                (120, 2_048, 128, 4.0 * 79.0),
            ],
        ),
    ];

    /// NVIDIA NIM 1.8.0, Llama 3.3 70B, which has the shape of 3.1 (docs.nvidia.com, NIM for
    /// LLM benchmarking 1.0.0, performance). Beyond 50 sequences the cache is full.
    static NIM: [Measured; 1] = [in_fp8(
        "llama-3.1-70b",
        2,
        H100_FP8,
        &[
            (1, 5_000, 500, 51.67),
            (5, 5_000, 500, 218.48),
            (25, 5_000, 500, 623.4),
            (50, 5_000, 500, 814.37),
        ],
    )];

    /// By how much the roofline is above each measurement, in percent, ascending.
    fn errors(pages: &[&[Measured]]) -> Vec<f64> {
        let measured = pages.iter().flat_map(|page| page.iter());
        let mut errors: Vec<f64> = measured.flat_map(of).collect();
        errors.sort_by(f64::total_cmp);
        errors
    }

    fn of(measured: &Measured) -> Vec<f64> {
        let query = ModelQuery { name: Some(measured.model.to_owned()), ..ModelQuery::default() };
        let model = query.model().expect("published");
        let gpus = f64::from(measured.gpus);
        let peak = Peak {
            bytes_per_second: measured.card[0] * 1e9 * gpus,
            flops: measured.card[1] * 1e12 * gpus,
            efficiency: if measured.gpus == 1 { EFFICIENCY } else { LINKED_EFFICIENCY },
        };
        let error = |row: &(u64, u64, u64, f64)| {
            let (sequences, input_tokens, output_tokens, tokens_per_second) = *row;
            let work = Work {
                model: &model,
                dtype: measured.dtype,
                kv_dtype: measured.kv_dtype,
                input_tokens,
                output_tokens,
            };
            let pace = work.pace(peak, sequences as f64);
            (pace.tokens_per_second() / tokens_per_second - 1.0) * 100.0
        };
        measured.rows.iter().map(error).collect()
    }

    fn median(ascending: &[f64]) -> f64 {
        let middle = ascending.len() / 2;
        if ascending.len() % 2 == 1 {
            ascending[middle]
        } else {
            f64::midpoint(ascending[middle - 1], ascending[middle])
        }
    }

    /// The errors that `docs/planners/select.md` states. A second program, in another language,
    /// found the same from the same tables.
    #[test]
    fn errors_against_published_measurements_are_those_of_the_page() {
        for (pages, stated) in [
            (vec![&LMDEPLOY[..2]], [23.0, -9.7, -16.7, 35.3]),
            (vec![&LMDEPLOY[2..]], [16.0, -4.7, -14.1, 13.2]),
            (vec![&TENSORRT_ONE[..]], [15.0, -6.8, -20.8, 34.3]),
            (vec![&TENSORRT_LINKED[..]], [12.0, 50.6, -31.8, 223.8]),
            (vec![&NIM[..]], [4.0, -14.4, -14.7, -14.2]),
        ] {
            let computed = errors(&pages);
            let last = computed.len() - 1;
            let summary = [computed.len() as f64, median(&computed), computed[0], computed[last]];
            for (figure, stated) in summary.iter().zip(stated) {
                assert!((figure - stated).abs() < 0.06, "{summary:?}, stated {stated}");
            }
        }
        let pooled = errors(&[&LMDEPLOY[..], &TENSORRT_ONE[..], &TENSORRT_LINKED[..], &NIM[..]]);
        let mut sizes: Vec<f64> = pooled.iter().map(|error| error.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        assert_eq!(pooled.len(), 70);
        assert!((median(&sizes) - 11.4).abs() < 0.06, "{}", median(&sizes));
        assert!((sizes[63] - 49.5).abs() < 0.06, "nine of ten: {}", sizes[63]);
    }

    /// What half of these measurements reach of the peak.
    #[test]
    fn the_default_efficiencies_are_below_the_medians() {
        for (pages, default, stated) in [
            (vec![&LMDEPLOY[..2], &TENSORRT_ONE[..]], EFFICIENCY, 0.698),
            (vec![&LMDEPLOY[2..], &TENSORRT_LINKED[..], &NIM[..]], LINKED_EFFICIENCY, 0.517),
        ] {
            let mut reached: Vec<f64> =
                errors(&pages).iter().map(|error| default / (1.0 + error / 100.0)).collect();
            reached.sort_by(f64::total_cmp);
            let median = median(&reached);
            assert!((median - stated).abs() < 0.001, "{median}");
            assert!(default <= median);
        }
    }

    /// By hand: 8.03 billion weights of two bytes on 2,039 GB/s at 65% take
    /// 16.0605 / 1,325.35 = 12.118 ms a token. 1,000 tokens of prompt are
    /// 2 × 8.0303e9 × 1,000 = 16.0605 TFLOP, and 2 × 32 × 4,096 × 1,000² = 0.2621 TFLOP of
    /// attention: at 312 × 0.65 = 202.8 TFLOPS 80.486 ms.
    #[test]
    fn a_step_reads_the_weights_and_a_prompt_is_arithmetic() {
        let query = ModelQuery { name: Some("llama-3.1-8b".to_owned()), ..ModelQuery::default() };
        let model = query.model().expect("published");
        let work = Work {
            model: &model,
            dtype: Dtype::Bf16,
            kv_dtype: Dtype::Bf16,
            input_tokens: 1_000,
            output_tokens: 2,
        };
        let peak = Peak { bytes_per_second: 2_039e9, flops: 312e12, efficiency: 0.65 };
        let pace = work.pace(peak, 1.0);
        assert!((pace.prefill_seconds - 0.080_486).abs() < 1e-6);
        // And the cache of 1,001 tokens, 131,072 bytes each.
        let cache = 1_001.0 * 131_072.0 / (2_039e9 * 0.65);
        assert!((pace.step_seconds - 0.012_118 - cache).abs() < 1e-6);
        let round = pace.prefill_seconds + 2.0 * pace.step_seconds;
        assert!((pace.round_seconds - round).abs() < 1e-12);
    }

    /// 130,000 tokens of prompt on an H100 of 989 TFLOPS, by hand: 2 × 7e9 × 130,000 = 1,820
    /// TFLOP of weights, and 2 × 32 layers × 4,096 × 130,000² = 4,430.2 TFLOP of attention. At
    /// 989 × 0.65 = 642.85 TFLOPS that is 9.7227 s; without attention, it would be 2.83 s.
    /// Token by token, each attends to those before it: the sum of 4 × 32 × 4,096 × i.
    #[test]
    fn attention_rules_a_long_prompt() {
        let query = ModelQuery { params: Some(7_000_000_000), ..ModelQuery::default() };
        let model = query.model().expect("near mistral-7b");
        let work = Work {
            model: &model,
            dtype: Dtype::Fp16,
            kv_dtype: Dtype::Fp16,
            input_tokens: 130_000,
            output_tokens: 100,
        };
        let peak = Peak { bytes_per_second: 3_350e9, flops: 989e12, efficiency: 0.65 };
        let pace = work.pace(peak, 1.0);
        assert!((pace.prefill_seconds - 9.7227).abs() < 1e-4, "{pace:?}");
        let by_token: f64 =
            (0..130_000).map(|before| 2.0 * 7e9 + 4.0 * 32.0 * 4_096.0 * f64::from(before)).sum();
        assert!((pace.prefill.operations / by_token - 1.0).abs() < 1e-5);
        // A generated token attends to 130,050, and still waits for the memory.
        let attended = 2.0 * 7e9 + 4.0 * 32.0 * 4_096.0 * 130_050.0;
        assert!((pace.step.operations - attended).abs() < 1.0);
        assert!((pace.step_seconds - pace.step.bytes / (3_350e9 * 0.65)).abs() < 1e-12);
    }
}
