use super::*;
use crate::domain::PriceBook;
use crate::planners::model::ModelAsk;
use std::collections::BTreeMap;

fn published(name: &str) -> Model {
    let ask = ModelAsk {
        name: Some(name.to_owned()),
        ..ModelAsk::default()
    };
    ask.model().expect("published")
}

fn ask(model: Model, dtype: Dtype, types: &[&str], sequences: u32) -> FitAsk {
    FitAsk {
        model,
        dtypes: vec![dtype],
        load: Load {
            context_tokens: 8_192,
            input_tokens: 4_096,
            output_tokens: 4_096,
            sequences,
        },
        terms: FitTerms {
            kv_dtype: Dtype::Fp16,
            runtime_mib: 2_048.0,
            headroom: 1.2,
            efficiency: None,
            utilization: 1.0,
            hours_per_month: Decimal::from(730),
        },
        region: "us-east-1".to_owned(),
        operating_system: OperatingSystem::Linux,
        instance_types: types.iter().map(|name| (*name).to_owned()).collect(),
        flags: BTreeSet::new(),
    }
}

fn answered(ask: FitAsk) -> Result<Fit, NothingFits> {
    let (gathered, no_discount) = (PriceBook::default(), BTreeMap::new());
    fit(ask, &Prices::new(&gathered, &no_discount))
}

fn reason(ask: FitAsk) -> FitRefusal {
    let error = answered(ask).expect_err("nothing fits");
    *error.reason.expect("one type has one reason")
}

/// By hand, Llama 3.1 8B in 16 bits on an L40S of 46,068 MiB and 864 GB/s, four sequences:
/// weights 16,060,522,496 bytes = 15,316.5 MiB; a token 131,072 bytes, a sequence of 8,192
/// tokens 1,024 MiB; (15,316.5 + 4 × 1,024 + 2,048) × 1.2 = 25,752.6 MiB. At most
/// (46,068 / 1.2 − 2,048 − 15,316.5) / 1,024 = 20.5 sequences. Prompts take
/// 2 × 8.0303e9 × 16,384 = 263.14 TFLOP and 2 × 32 × 4,096 × 4 × 4,096² = 17.59 TFLOP of
/// attention, 280.73e12 / (362e12 × 0.65) = 1.1931 s; a step
/// (16.0605e9 + 4 × 6,144 × 131,072) / (864e9 × 0.65) = 34.334 ms, so 16,384 tokens
/// 1.1931 + 4,096 × 0.034334 = 141.823 s: 115.52 tokens a second. At $1.861 an hour that is
/// 1.861 / 0.41589 = $4.4748 per million, and $1,358.53 a month.
#[test]
fn one_card_by_hand() {
    let found = answered(ask(
        published("llama-3.1-8b"),
        Dtype::Fp16,
        &["g6e.xlarge"],
        4,
    ));
    let found = found.expect("it fits");
    let [one] = &found.candidates[..] else {
        panic!("one type: {found:?}");
    };
    assert_eq!((one.gpus_each, one.copies, one.holds), (1, 1, 20));
    assert!(
        (one.needed_mib - 25_752.6).abs() < 0.1,
        "{}",
        one.needed_mib
    );
    assert!((one.pace.prefill_seconds - 1.1931).abs() < 1e-4);
    assert!((one.pace.step_seconds - 0.034_334).abs() < 1e-6);
    assert!((one.tokens_per_second - 115.524).abs() < 0.01);
    let terms = &found.ask.terms;
    let text = |money: Option<Money>| money.map(|money| money.amount().round_dp(3).to_string());
    assert_eq!(text(one.per_million(terms)).as_deref(), Some("4.475"));
    assert_eq!(text(one.monthly(terms)).as_deref(), Some("1358.53"));
    let half = FitTerms {
        utilization: 0.5,
        ..terms.clone()
    };
    assert_eq!(text(one.per_million(&half)).as_deref(), Some("8.950"));
    // Of two hours that are paid, one is used.
    assert_eq!(text(one.hourly_of_use(terms)).as_deref(), Some("1.861"));
    assert_eq!(text(one.hourly_of_use(&half)).as_deref(), Some("3.722"));
    assert!(one.has_commitment);
}

/// A second way to the same layout: sequences are dealt to copies one by one, memory is
/// added up per GPU, and tokens are generated one after the other while the cache grows.
#[test]
fn the_layout_is_the_best_of_all_by_a_simulation() {
    let simulated = |asked: &FitAsk, card: &Card, gpus: u16| -> Option<f64> {
        let (load, terms) = (&asked.load, &asked.terms);
        let mut dealt = vec![0_u32; usize::from(card.gpus / gpus)];
        let copies = dealt.len();
        for sequence in 0..load.sequences as usize {
            dealt[sequence % copies] += 1;
        }
        let weights = asked.model.weight_bytes(asked.dtypes[0]);
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
        let asked = ask(published(model), dtype, &[], sequences);
        let found = answered(asked.clone()).expect("something holds it");
        for one in &found.candidates {
            let groups = [1, 2, 4, 8].into_iter().filter(|gpus| {
                *gpus <= one.card.gpus
                    && (*gpus == 1 || one.card.has_nvlink)
                    && asked.model.kv_heads.is_multiple_of(u32::from(*gpus))
            });
            let best = groups
                .filter_map(|gpus| simulated(&asked, &one.card, gpus))
                .fold(0.0, f64::max);
            let off = (one.tokens_per_second / best - 1.0).abs();
            assert!(off < 0.001, "{model} on {}: {off}", one.instance_type);
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn as_many_sequences_fit_as_it_says_and_no_more() {
    let model = || published("llama-3.1-70b");
    for (name, dtype) in [
        ("p4de.24xlarge", Dtype::Fp16),
        ("p5.48xlarge", Dtype::Fp8),
        ("g7e.2xlarge", Dtype::Int4),
    ] {
        let first = answered(ask(model(), dtype, &[name], 1)).expect("one fits");
        // The layout may change with the load: it is asked again until it does not.
        let mut holds = first.candidates[0].holds;
        for _ in 0..8 {
            let many = u32::try_from(holds).expect("few");
            match answered(ask(model(), dtype, &[name], many)) {
                Ok(found) if found.candidates[0].holds > holds => {
                    holds = found.candidates[0].holds;
                }
                Ok(_) => break,
                Err(error) => panic!("{name} holds {holds}: {error}"),
            }
        }
        let more = u32::try_from(holds + 1).expect("few");
        let refused = reason(ask(model(), dtype, &[name], more));
        assert!(
            matches!(refused, FitRefusal::Memory { holds: most, .. } if most == holds),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn a_model_is_spread_over_linked_gpus_alone() {
    let large = |types: &[&str]| ask(published("llama-3.1-70b"), Dtype::Fp16, types, 1);
    assert_eq!(
        reason(large(&["g6e.12xlarge"])).to_string(),
        "4 GPUs would hold it, but L40S has no NVLink"
    );
    let linked = answered(large(&["p4de.24xlarge"])).expect("eight A100");
    assert_eq!(linked.candidates[0].gpus_each, 8);
    let wide = ModelAsk {
        params: Some(1_500_000_000_000),
        layers: Some(160),
        heads: Some(128),
        kv_heads: Some(4),
        head_dim: Some(128),
        ..ModelAsk::default()
    };
    let wide = wide.model().expect("whole");
    let refused = reason(ask(wide, Dtype::Int4, &["p5en.48xlarge"], 1));
    assert_eq!(
        refused,
        FitRefusal::Heads {
            gpus: 8,
            kv_heads: 4
        }
    );
}

#[test]
fn what_a_card_does_not_compute_is_read_in_16_bits_or_refused() {
    let small = |dtype, name: &str| ask(published("llama-3.2-3b"), dtype, &[name], 1);
    let computes = |dtype, name: &str| {
        let found = answered(small(dtype, name)).expect("it fits");
        found.candidates[0].card.computes
    };
    assert_eq!(computes(Dtype::Fp8, "g6.xlarge"), Computes::AsStored);
    assert_eq!(computes(Dtype::Fp8, "g5.xlarge"), Computes::In16Bits);
    assert_eq!(computes(Dtype::Int4, "g4dn.xlarge"), Computes::In16Bits);
    assert_eq!(
        reason(small(Dtype::Bf16, "g4dn.xlarge")).to_string(),
        "T4 does not run bf16"
    );
    assert_eq!(
        reason(small(Dtype::Fp16, "p3.2xlarge")),
        FitRefusal::NotLaunchable
    );
    assert_eq!(
        reason(small(Dtype::Fp16, "g4ad.xlarge")),
        FitRefusal::Vendor
    );
    assert_eq!(
        reason(small(Dtype::Fp16, "trn1.2xlarge")),
        FitRefusal::Vendor
    );
    assert!(matches!(
        reason(small(Dtype::Fp16, "g7.2xlarge")),
        FitRefusal::Unknown { .. }
    ));
}

/// An eighth of an L4 has 2,861 MiB and an eighth of 300 GB/s and 121 TFLOPS.
#[test]
fn a_part_of_a_gpu_has_its_part_of_the_speed() {
    let shape = shapes().find(|shape| shape.instance_type == "g6f.large");
    let card = Card::of(shape.expect("known"), Dtype::Fp16).expect("a card");
    assert_eq!((card.gpus, card.usable_mib), (1, 2_861));
    assert!((card.bytes_per_second - 37.5e9).abs() < 1.0);
    assert!((card.flops - 15.125e12).abs() < 1e3);
}

#[test]
fn where_nothing_fits_the_nearest_is_said() {
    let nearest = |ask: FitAsk| answered(ask).expect_err("too large").nearest;
    let many = ask(published("llama-3.1-8b"), Dtype::Fp16, &["g6e.xlarge"], 21);
    assert_eq!(
        nearest(many),
        Some(Nearest::Fewer {
            dtype: Dtype::Fp16,
            instance_type: "g6e.xlarge".to_owned(),
            sequences: 20,
        })
    );
    let large = ask(published("llama-3.1-70b"), Dtype::Fp16, &["g7e.2xlarge"], 1);
    assert_eq!(
        nearest(large),
        Some(Nearest::Smaller {
            dtype: Dtype::Fp8,
            instance_type: "g7e.2xlarge".to_owned(),
        })
    );
    let never = ask(
        published("llama-3.1-405b"),
        Dtype::Int4,
        &["g4dn.xlarge"],
        1,
    );
    assert_eq!(nearest(never), None);
}

#[test]
fn types_stand_cheapest_first_in_each_type_of_numbers() {
    let mut asked = ask(published("llama-3.1-8b"), Dtype::Fp16, &[], 4);
    asked.dtypes = vec![Dtype::Fp16, Dtype::Int4];
    let found = answered(asked).expect("much fits");
    for dtype in [Dtype::Fp16, Dtype::Int4] {
        let prices: Vec<_> = found.of(dtype).filter_map(Candidate::hourly).collect();
        let amounts: Vec<Decimal> = prices.iter().map(|price| price.amount()).collect();
        assert!(amounts.len() > 20 && amounts.is_sorted(), "{amounts:?}");
        let least = found.least_per_million(dtype).expect("priced");
        let cost = |one: &Candidate| one.per_million(&found.ask.terms).map(Money::amount);
        assert!(
            found
                .of(dtype)
                .filter_map(cost)
                .all(|one| Some(one) >= cost(least))
        );
    }
    assert!(found.of(Dtype::Int4).count() >= found.of(Dtype::Fp16).count());
}
