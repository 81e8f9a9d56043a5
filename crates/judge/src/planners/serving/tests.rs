use super::*;
use crate::catalog::shapes;
use crate::domain::{Currency, HourlyRate, InstanceShape, Money};
use crate::planners::model::{Model, ModelQuery};
use rust_decimal::Decimal;

fn published(name: &str) -> Model {
    let query = ModelQuery { name: Some(name.to_owned()), ..ModelQuery::default() };
    query.model().expect("published")
}

fn served(model: Model, dtype: Dtype, sequences: u32) -> ServedModel {
    ServedModel {
        model,
        dtype,
        load: Load { context_tokens: 8_192, input_tokens: 4_096, output_tokens: 4_096, sequences },
        terms: ServingTerms {
            kv_dtype: Dtype::Fp16,
            runtime_mib: 2_048.0,
            headroom: 1.2,
            efficiency: None,
            utilization: 1.0,
        },
    }
}

fn of(name: &str) -> &'static InstanceShape {
    shape(name).expect("a type")
}

fn reason(served: &ServedModel, name: &str) -> ServingRefusal {
    served.on(of(name)).expect_err("it does not fit")
}

/// By hand, Llama 3.1 8B in 16 bits on an L40S of 46,068 MiB and 864 GB/s, four sequences:
/// weights 16,060,522,496 bytes = 15,316.5 MiB; a token 131,072 bytes, a sequence of 8,192
/// tokens 1,024 MiB; (15,316.5 + 4 × 1,024 + 2,048) × 1.2 = 25,752.6 MiB. At most
/// (46,068 / 1.2 − 2,048 − 15,316.5) / 1,024 = 20.5 sequences. Prompts take
/// 2 × 8.0303e9 × 16,384 = 263.14 TFLOP and 2 × 32 × 4,096 × 4 × 4,096² = 17.59 TFLOP of
/// attention, 280.73e12 / (362e12 × 0.65) = 1.1931 s; a step
/// (16.0605e9 + 4 × 6,144 × 131,072) / (864e9 × 0.65) = 34.334 ms, so 16,384 tokens
/// 1.1931 + 4,096 × 0.034334 = 141.823 s: 115.52 tokens a second. At $1.861 an hour that is
/// 1.861 / 0.41589 = $4.4748 per million.
#[test]
fn one_card_by_hand() {
    let model = served(published("llama-3.1-8b"), Dtype::Fp16, 4);
    let layout = model.on(of("g6e.xlarge")).expect("it fits");
    assert_eq!((layout.gpus_each, layout.copies, layout.holds), (1, 1, 20));
    assert!((layout.needed_mib - 25_752.6).abs() < 0.1, "{}", layout.needed_mib);
    assert!((layout.pace.prefill_seconds - 1.1931).abs() < 1e-4);
    assert!((layout.pace.step_seconds - 0.034_334).abs() < 1e-6);
    assert!((layout.tokens_per_second - 115.524).abs() < 0.01);
    let rate = HourlyRate::new(Decimal::new(1_861, 3), Currency::Usd).expect("a rate");
    let text = |money: Option<Money>| money.map(|money| money.amount().round_dp(3).to_string());
    assert_eq!(text(layout.per_million(rate, &model.terms)).as_deref(), Some("4.475"));
    let half = ServingTerms { utilization: 0.5, ..model.terms.clone() };
    assert_eq!(text(layout.per_million(rate, &half)).as_deref(), Some("8.950"));
    // Of two hours that are paid, one is used.
    let hour = |terms: &ServingTerms| text(terms.hourly_of_use(rate));
    assert_eq!(hour(&model.terms).as_deref(), Some("1.861"));
    assert_eq!(hour(&half).as_deref(), Some("3.722"));
}

/// A second way to the same layout: sequences are dealt to copies one by one, memory is
/// added up per GPU, and tokens are generated one after the other while the cache grows.
#[test]
fn the_layout_is_the_best_of_all_by_a_simulation() {
    let simulated = |asked: &ServedModel, card: &Card, gpus: u16| -> Option<f64> {
        let (load, terms) = (&asked.load, &asked.terms);
        let mut dealt = vec![0_u32; usize::from(card.gpus / gpus)];
        let copies = dealt.len();
        for sequence in 0..load.sequences as usize {
            dealt[sequence % copies] += 1;
        }
        let weights = asked.model.weight_bytes(asked.dtype);
        let of_token = asked.model.kv_bytes_per_token(terms.kv_dtype);
        let rate = terms.efficiency_of(gpus) * f64::from(gpus);
        let mut total = 0.0;
        for sequences in dealt.into_iter().filter(|sequences| *sequences > 0) {
            let cache = f64::from(sequences) * load.context_tokens as f64 * of_token;
            let on_gpu = (weights + cache) / f64::from(gpus) / 1_048_576.0;
            if (on_gpu + terms.runtime_mib) * terms.headroom > card.usable_mib as f64 {
                return None;
            }
            let seconds = |bytes: f64, operations: f64| {
                let reading = bytes / (card.bytes_per_second * rate);
                reading.max(operations / (card.flops * rate))
            };
            let width = f64::from(asked.model.heads * asked.model.head_dim);
            let attends = 4.0 * f64::from(asked.model.layers) * width;
            let of_one = |before: u64| 2.0 * asked.model.params as f64 + attends * before as f64;
            let of_prompt: f64 = (0..load.input_tokens).map(of_one).sum();
            let mut clock = seconds(weights, f64::from(sequences) * of_prompt);
            for done in load.input_tokens..load.input_tokens + load.output_tokens {
                let cached = done as f64 * f64::from(sequences);
                let operations = of_one(done) * f64::from(sequences);
                clock += seconds(weights + cached * of_token, operations);
            }
            total += f64::from(sequences) * load.output_tokens as f64 / clock;
        }
        Some(total)
    };
    let mut compared = 0;
    for (model, dtype, sequences) in [
        ("llama-3.1-70b", Dtype::Fp8, 16),
        ("llama-3.1-70b", Dtype::Fp16, 3),
        ("llama-3.1-8b", Dtype::Fp16, 21),
        ("qwen2.5-7b", Dtype::Bf16, 100),
        ("llama-2-13b", Dtype::Int4, 7),
    ] {
        let asked = served(published(model), dtype, sequences);
        for machine in shapes() {
            let Ok(held) = asked.on(machine) else { continue };
            let groups = [1, 2, 4, 8].into_iter().filter(|gpus| {
                *gpus <= held.card.gpus
                    && (*gpus == 1 || held.card.has_nvlink)
                    && asked.model.kv_heads.is_multiple_of(u32::from(*gpus))
            });
            let best =
                groups.filter_map(|gpus| simulated(&asked, &held.card, gpus)).fold(0.0, f64::max);
            let off = (held.tokens_per_second / best - 1.0).abs();
            assert!(off < 0.001, "{model} on {}: {off}", machine.instance_type);
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn as_many_sequences_fit_as_it_says_and_no_more() {
    for (name, dtype) in
        [("p4de.24xlarge", Dtype::Fp16), ("p5.48xlarge", Dtype::Fp8), ("g7e.2xlarge", Dtype::Int4)]
    {
        let model = |sequences: u64| {
            let sequences = u32::try_from(sequences).expect("few");
            served(published("llama-3.1-70b"), dtype, sequences)
        };
        // The layout may change with the load: it is asked again until it does not.
        let mut holds = 1;
        for _ in 0..8 {
            match model(holds).on(of(name)) {
                Ok(layout) if layout.holds > holds => holds = layout.holds,
                Ok(_) => break,
                Err(error) => panic!("{name} holds {holds}: {error}"),
            }
        }
        let refused = reason(&model(holds + 1), name);
        assert!(
            matches!(refused, ServingRefusal::Memory { holds: most, .. } if most == holds),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn a_model_is_spread_over_linked_gpus_alone() {
    let large = served(published("llama-3.1-70b"), Dtype::Fp16, 1);
    assert_eq!(
        reason(&large, "g6e.12xlarge").to_string(),
        "4 GPUs would hold it, but L40S has no NVLink"
    );
    let linked = large.on(of("p4de.24xlarge")).expect("eight A100");
    assert_eq!(linked.gpus_each, 8);
    let wide = ModelQuery {
        params: Some(1_500_000_000_000),
        layers: Some(160),
        heads: Some(128),
        kv_heads: Some(4),
        head_dim: Some(128),
        ..ModelQuery::default()
    };
    let wide = wide.model().expect("whole");
    assert_eq!(
        reason(&served(wide, Dtype::Int4, 1), "p5en.48xlarge"),
        ServingRefusal::Heads { gpus: 8, kv_heads: 4 }
    );
}

#[test]
fn what_a_card_does_not_compute_is_read_in_16_bits_or_refused() {
    let small = |dtype| served(published("llama-3.2-3b"), dtype, 1);
    let computes = |dtype, name: &str| {
        let held = small(dtype).on(of(name)).expect("it fits");
        held.card.computes
    };
    assert_eq!(computes(Dtype::Fp8, "g6.xlarge"), Computes::AsStored);
    assert_eq!(computes(Dtype::Fp8, "g5.xlarge"), Computes::In16Bits);
    assert_eq!(computes(Dtype::Int4, "g4dn.xlarge"), Computes::In16Bits);
    assert_eq!(reason(&small(Dtype::Bf16), "g4dn.xlarge").to_string(), "T4 does not run bf16");
    for name in ["g4ad.xlarge", "trn1.2xlarge"] {
        assert_eq!(reason(&small(Dtype::Fp16), name), ServingRefusal::Vendor);
    }
    assert!(matches!(reason(&small(Dtype::Fp16), "g7.2xlarge"), ServingRefusal::Unknown { .. }));
}

/// An eighth of an L4 has 2,861 MiB and an eighth of 300 GB/s and 121 TFLOPS.
#[test]
fn a_part_of_a_gpu_has_its_part_of_the_speed() {
    let card = Card::of(of("g6f.large"), Dtype::Fp16).expect("a card");
    assert_eq!((card.gpus, card.usable_mib), (1, 2_861));
    assert!((card.bytes_per_second - 37.5e9).abs() < 1.0);
    assert!((card.flops - 15.125e12).abs() < 1e3);
}

#[test]
fn where_a_type_does_not_hold_it_the_nearest_is_reported() {
    let nearest = |model: &str, dtype, name: &str, sequences| {
        served(published(model), dtype, sequences).nearest_on(of(name))
    };
    assert_eq!(
        nearest("llama-3.1-8b", Dtype::Fp16, "g6e.xlarge", 21),
        Some("g6e.xlarge holds 20 in fp16: pass `--concurrency 20`".to_owned())
    );
    assert_eq!(
        nearest("llama-3.1-70b", Dtype::Fp16, "g7e.2xlarge", 1),
        Some("g7e.2xlarge holds it in fp8: pass `--dtype fp8`".to_owned())
    );
    assert_eq!(nearest("llama-3.1-405b", Dtype::Int4, "g4dn.xlarge", 1), None);
}
