//! Language models: how many parameters they have, and the shape of their attention.

use super::NoResult;
use crate::domain::{named_enum, nearest_names, plain_name};

named_enum! {
    /// How a number of a model is stored.
    Dtype {
        Fp32 = "fp32",
        Fp16 = "fp16",
        Bf16 = "bf16",
        Fp8 = "fp8",
        Int8 = "int8",
        Int4 = "int4",
    }
}

/// Weights that share one scale in 4 bits: the usual group of GPTQ and AWQ.
const GROUP: f64 = 128.0;
/// Bits that a group adds: a scale of 16 and a zero point of 4.
const BITS_OF_GROUP: f64 = 20.0;
/// Bytes of a weight that quantization leaves as it is.
const UNQUANTIZED_BYTES: f64 = 2.0;

impl Dtype {
    /// Bytes of one weight, with its share of the scales in 4 bits. Scales of 8-bit
    /// weights, one for each row of a matrix, are left out: fewer than 0.1%.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Fp16 | Self::Bf16 => 2.0,
            Self::Fp8 | Self::Int8 => 1.0,
            Self::Int4 => (4.0 + BITS_OF_GROUP / GROUP) / 8.0,
        }
    }

    /// Whether a model is converted to it after training, without its embeddings.
    pub fn is_quantized(self) -> bool {
        matches!(self, Self::Fp8 | Self::Int8 | Self::Int4)
    }
}

/// A model whose memory and speed can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The published model that it is.
    pub name: Option<&'static str>,
    pub params: u64,
    /// Of them, those that one token uses; all in a dense model.
    pub active_params: u64,
    /// Of all, those of the input and output embeddings. Zero where no published model is near:
    /// then all weights count as quantized.
    pub embedding_params: u64,
    pub layers: u32,
    /// Heads of queries.
    pub heads: u32,
    pub kv_heads: u32,
    pub head_dim: u32,
    /// The published model that stands for what was not given.
    pub shape_of: Option<&'static str>,
}

/// Layers, heads of queries, heads of keys and values, and the dimension of a head.
type Shape = [u32; 4];

/// A published model: all its parameters, those that a token uses and those of the embeddings.
const fn known(name: &'static str, params: [u64; 3], shape: Shape) -> Model {
    let [params, active_params, embedding_params] = params;
    let [layers, heads, kv_heads, head_dim] = shape;
    Model {
        name: Some(name),
        params,
        active_params,
        embedding_params,
        layers,
        heads,
        kv_heads,
        head_dim,
        shape_of: None,
    }
}

/// Published models, by maker and size, from the `config.json` beside their weights on Hugging
/// Face, read on 2026-11-23. Parameters are counted from the same file.
const PUBLISHED: [Model; 17] = [
    known("llama-2-7b", [6_738_415_616, 6_738_415_616, 262_144_000], [32, 32, 32, 128]),
    known("llama-2-13b", [13_015_864_320, 13_015_864_320, 327_680_000], [40, 40, 40, 128]),
    known("llama-2-70b", [68_976_648_192, 68_976_648_192, 524_288_000], [80, 64, 8, 128]),
    known("llama-3.2-3b", [3_212_749_824, 3_212_749_824, 394_002_432], [28, 24, 8, 128]),
    known("llama-3.1-8b", [8_030_261_248, 8_030_261_248, 1_050_673_152], [32, 32, 8, 128]),
    known("llama-3.1-70b", [70_553_706_496, 70_553_706_496, 2_101_346_304], [80, 64, 8, 128]),
    known("llama-3.1-405b", [405_853_388_800, 405_853_388_800, 4_202_692_608], [126, 128, 8, 128]),
    known("mistral-7b", [7_241_732_096, 7_241_732_096, 262_144_000], [32, 32, 8, 128]),
    known("mixtral-8x7b", [46_702_792_704, 12_879_925_248, 262_144_000], [32, 32, 8, 128]),
    known("mixtral-8x22b", [140_620_634_112, 39_152_031_744, 393_216_000], [56, 48, 8, 128]),
    known("qwen2.5-3b", [3_085_938_688, 3_085_938_688, 311_164_928], [36, 16, 2, 128]),
    known("qwen2.5-7b", [7_615_616_512, 7_615_616_512, 1_089_994_752], [28, 28, 4, 128]),
    known("qwen2.5-14b", [14_770_033_664, 14_770_033_664, 1_557_135_360], [48, 40, 8, 128]),
    known("qwen2.5-32b", [32_763_876_352, 32_763_876_352, 1_557_135_360], [64, 40, 8, 128]),
    known("qwen2.5-72b", [72_706_203_648, 72_706_203_648, 2_491_416_576], [80, 64, 8, 128]),
    known("qwen3-30b-a3b", [30_532_122_624, 3_353_032_704, 622_329_856], [48, 32, 4, 128]),
    known("qwen3-235b-a22b", [235_093_634_560, 22_190_763_520, 1_244_659_712], [94, 64, 4, 128]),
];

/// How far the size of a published model may be for its shape to stand for another's.
const NEAR: f64 = 1.5;

/// What is said about a model; the rest is that of the nearest published one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelQuery {
    /// A published model.
    pub name: Option<String>,
    /// Parameters, where no published model is named.
    pub params: Option<u64>,
    /// Of a mixture of experts.
    pub active_params: Option<u64>,
    pub layers: Option<u32>,
    /// Heads of queries.
    pub heads: Option<u32>,
    pub kv_heads: Option<u32>,
    pub head_dim: Option<u32>,
}

impl ModelQuery {
    /// The model with every figure.
    ///
    /// # Errors
    /// When it is not known enough, or cannot exist.
    pub fn model(&self) -> Result<Model, NoResult> {
        let named = self.name.as_deref().map(published).transpose()?;
        let params = named.map(|published| published.params).or(self.params);
        let params = params.ok_or_else(|| {
            no_result! {
                "no model and no number of parameters is given";
                "pass `--params`, such as `--params 70b`, or `--model llama-3.1-70b`"
            }
        })?;
        let is_mixture = self.active_params.is_some();
        let nearest = named.unwrap_or_else(|| nearest_in_size(params, is_mixture));
        let ratio = params as f64 / nearest.params as f64;
        let is_near = (1.0 / NEAR..=NEAR).contains(&ratio);
        let near = named.or_else(|| is_near.then_some(nearest));
        let known = [self.layers, self.heads, self.kv_heads, self.head_dim];
        let of_near = near.map_or([None; 4], |near| near.shape().map(Some));
        let shape = std::array::from_fn(|place| known[place].or(of_near[place]));
        let [Some(layers), Some(heads), Some(kv_heads), Some(head_dim)] = shape else {
            let (name, [layers, heads, kv_heads, head_dim]) =
                (nearest.name.unwrap_or_default(), nearest.shape());
            return Err(no_result! {
                "no published model is near {params} parameters; the nearest is {name}";
                "pass `--layers`, `--heads`, `--kv-heads` and `--head-dim`; {name} has {layers}, {heads}, {kv_heads} and {head_dim}"
            });
        };
        let active = named.map(|published| published.active_params);
        let model = Model {
            name: named.and_then(|published| published.name),
            params,
            active_params: self.active_params.or(active).unwrap_or(params),
            embedding_params: near.map_or(0, |near| near.embedding_params).min(params),
            layers,
            heads,
            kv_heads,
            head_dim,
            shape_of: near.filter(|_| known.contains(&None)).and_then(|near| near.name),
        };
        model.checked()
    }
}

fn published(name: &str) -> Result<Model, NoResult> {
    let is_name = |known: &str| plain_name(known) == plain_name(name);
    let known = |published: &Model| published.name.is_some_and(is_name);
    PUBLISHED.into_iter().find(known).ok_or_else(|| {
        let nearest = nearest_names(name, PUBLISHED.iter().filter_map(|published| published.name));
        let hint = match nearest.join(", ").as_str() {
            "" => {
                "pass its size with `--params`; docs/planners/select.md lists the published models"
                    .to_owned()
            }
            nearest => format!("did you mean {nearest}?"),
        };
        no_result! { "no published model `{name}` is known"; "{hint}" }
    })
}

/// The published model of the same kind that is nearest in size, by ratio.
fn nearest_in_size(params: u64, is_mixture: bool) -> Model {
    let distance = |published: &Model| (params as f64 / published.params as f64).ln().abs();
    let of_kind = PUBLISHED.into_iter().filter(|published| published.is_mixture() == is_mixture);
    of_kind.min_by(|left, right| distance(left).total_cmp(&distance(right))).unwrap_or(PUBLISHED[0])
}

/// A number of parameters as models are named, such as `70b`.
pub fn parameters(count: u64) -> String {
    let units = [(1e12, "t"), (1e9, "b"), (1e6, "m")];
    let value = count as f64;
    let (unit, name) = units.into_iter().find(|(unit, _)| value >= *unit).unwrap_or((1e6, "m"));
    let text = format!("{:.2}", value / unit);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{name}")
}

impl Model {
    fn shape(&self) -> Shape {
        [self.layers, self.heads, self.kv_heads, self.head_dim]
    }

    /// The same model, unless it cannot exist. A layer projects a hidden state that is at
    /// least as wide as its keys to keys and to values.
    fn checked(self) -> Result<Self, NoResult> {
        let Self { params, active_params: active, layers, heads, kv_heads, head_dim, .. } = self;
        let width = u64::from(kv_heads).saturating_mul(u64::from(head_dim));
        let layers_of_two = u64::from(layers).saturating_mul(2);
        let needed = layers_of_two.saturating_mul(width.saturating_mul(width));
        refuse! {
            active > params => "{active} active parameters are more than all {params}"; "pass at most `--active-params {params}`";
            needed > params => "keys and values of {layers} layers with {kv_heads} heads of {head_dim} need at least {needed} parameters; the model has {params}"; "`--kv-heads` is num_key_value_heads of the config.json of the model, `--head-dim` its head_dim";
            kv_heads > heads => "{kv_heads} heads of keys and values are more than {heads} heads of queries"; "pass at most `--kv-heads {heads}`, or `--heads` with num_attention_heads of the config.json of the model";
        }
        Ok(self)
    }

    /// Bytes of all weights. Embeddings stay in 16 bits when a model is quantized, as in
    /// the checkpoints of GPTQ, AWQ and FP8.
    pub fn weight_bytes(&self, dtype: Dtype) -> f64 {
        if !dtype.is_quantized() {
            return self.params as f64 * dtype.bytes();
        }
        let embeddings = self.embedding_params as f64;
        (self.params as f64 - embeddings) * dtype.bytes() + embeddings * UNQUANTIZED_BYTES
    }

    /// Bytes that keys and values of one token take in the cache: 2 × layers × heads of
    /// keys and values × their dimension × bytes of a number (Kwon et al., PagedAttention,
    /// SOSP 2023, section 3).
    pub fn kv_bytes_per_token(&self, dtype: Dtype) -> f64 {
        let numbers =
            2.0 * f64::from(self.layers) * f64::from(self.kv_heads) * f64::from(self.head_dim);
        numbers * dtype.bytes()
    }

    /// Operations of a token that attends to so many: in every layer and head, it is
    /// multiplied with their keys and their values, two operations a number (Kaplan et al.,
    /// Scaling Laws, 2020, table 1, where half of them are masked on average).
    pub fn attention_operations(&self, tokens: f64) -> f64 {
        let width = f64::from(self.heads) * f64::from(self.head_dim);
        4.0 * f64::from(self.layers) * width * tokens
    }

    /// Operations that training takes for one token of a sequence of so many, forward and
    /// backward, without recomputation: 6N + 12LHQT (Chowdhery et al., PaLM, 2022, appendix
    /// B), with N the parameters that a token uses, L layers, H heads of queries, Q their
    /// dimension and T the length of the sequence.
    pub fn training_flops_per_token(&self, sequence: u64) -> f64 {
        let width = f64::from(self.heads) * f64::from(self.head_dim);
        let attention = 12.0 * f64::from(self.layers) * width * sequence as f64;
        6.0 * self.active_params as f64 + attention
    }

    /// Share of the weights that a step reads for so many tokens. Each token takes its own
    /// experts, as if by chance: a dense model reads everything, a mixture of experts more
    /// the more tokens a step has.
    pub fn share_read(&self, tokens: f64) -> f64 {
        let active = self.active_params as f64 / self.params as f64;
        1.0 - (1.0 - active).powf(tokens)
    }

    pub fn is_mixture(&self) -> bool {
        self.active_params < self.params
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(params: u64) -> ModelQuery {
        ModelQuery { params: Some(params), ..ModelQuery::default() }
    }

    fn named(name: &str) -> Model {
        let query = ModelQuery { name: Some(name.to_owned()), ..ModelQuery::default() };
        query.model().expect("published")
    }

    #[test]
    fn a_token_of_llama_2_7b_takes_42_gflop_to_train() {
        // 6 × 6,738,415,616 + 12 × 32 × 32 × 128 × 4,096 = 40,430,493,696 + 6,442,450,944.
        let flops = named("llama-2-7b").training_flops_per_token(4_096);
        assert_eq!(flops, 46_872_944_640.0);
        // Of a mixture the parameters that a token uses count.
        let flops = named("mixtral-8x7b").training_flops_per_token(1);
        assert_eq!(flops, 6.0 * 12_879_925_248.0 + 12.0 * 131_072.0);
    }

    const GIB: f64 = (1_u64 << 30) as f64;

    #[test]
    fn sizes_read_as_models_are_named() {
        assert_eq!(parameters(70_000_000_000), "70b");
        assert_eq!(parameters(6_738_415_616), "6.74b");
        assert_eq!(parameters(1_500_000_000_000), "1.5t");
        assert_eq!(parameters(125_000_000), "125m");
    }

    /// Counted from the vocabulary, the hidden size, the intermediate size, the layers and
    /// the heads of config.json: two embeddings, and per layer the four projections of the
    /// attention, the three of the feed-forward network and two norms; one norm at the end.
    #[test]
    fn parameters_follow_from_the_shape() {
        for (name, vocabulary, hidden, intermediate, heads) in [
            ("llama-2-7b", 32_000, 4_096, 11_008, 32),
            ("llama-2-13b", 32_000, 5_120, 13_824, 40),
            ("llama-2-70b", 32_000, 8_192, 28_672, 64),
            ("llama-3.1-8b", 128_256, 4_096, 14_336, 32),
            ("llama-3.1-70b", 128_256, 8_192, 28_672, 64),
            ("llama-3.1-405b", 128_256, 16_384, 53_248, 128),
            ("mistral-7b", 32_000, 4_096, 14_336, 32_u64),
        ] {
            let model = named(name);
            assert_eq!(u64::from(model.heads), heads, "{name}");
            let (keys, layers) = (u64::from(model.kv_heads), u64::from(model.layers));
            let attention = hidden * 128 * (2 * heads + 2 * keys);
            let layer = attention + 3 * hidden * intermediate + 2 * hidden;
            let embeddings: u64 = 2 * vocabulary * hidden;
            assert_eq!(model.embedding_params, embeddings, "{name}");
            assert_eq!(model.params, embeddings + layers * layer + hidden, "{name}");
        }
    }

    /// What vLLM says that weights take, in GiB: 67.7229 of Llama 3.1 70B in 8 bits (pull
    /// request 12569). Llama 2 70B in 16 bits is known as 138 GB.
    #[test]
    fn weights_take_what_engines_report() {
        let large = named("llama-3.1-70b").weight_bytes(Dtype::Int8) / GIB;
        assert!((large / 67.7229 - 1.0).abs() < 0.002, "{large}");
        let earlier = named("llama-2-70b").weight_bytes(Dtype::Fp16) / 1e9;
        assert!((earlier / 138.0 - 1.0).abs() < 0.001, "{earlier}");
    }

    /// vLLM 0.9 found 8.11 GiB on each of four GPUs for Qwen3 235B-A22B, and room for
    /// 178,880 tokens in it (issue 21348): four GPUs have one head each.
    #[test]
    fn a_cache_holds_as_many_tokens_as_an_engine_reports() {
        let each = named("qwen3-235b-a22b").kv_bytes_per_token(Dtype::Bf16) / 4.0;
        let tokens = 8.11 * GIB / each;
        assert!((tokens / 178_880.0 - 1.0).abs() < 0.012, "{tokens}");
    }

    /// 2 × 40 layers × 40 heads × 128 × 2 bytes = 819,200, the 800 KB that Kwon et al.
    /// state for OPT 13B, which has the attention of Llama 2 13B.
    #[test]
    fn a_token_takes_what_the_paper_says() {
        let bytes = named("llama-2-13b").kv_bytes_per_token(Dtype::Fp16);
        assert_eq!(bytes / 1024.0, 800.0);
    }

    /// Kaplan et al., table 1: 2 × layers × context × width for each token of a context, of
    /// which half is masked. GPT-3 has 96 layers of 12,288: with 2,048 tokens, 4.83 GFLOP.
    #[test]
    fn attention_takes_what_the_table_says() {
        let large = ModelQuery {
            layers: Some(96),
            heads: Some(96),
            kv_heads: Some(96),
            head_dim: Some(128),
            ..of(174_600_000_000)
        };
        let model = large.model().expect("whole");
        let of_all = model.attention_operations(2_048.0);
        assert!((of_all / 2.0 - 4.831_838e9).abs() < 1e4, "{of_all}");
    }

    /// Of eight experts with two for each token, two tokens by chance take 1 − 0.75² of
    /// all: 43.75%. Beside them, 1.6 billion parameters are always read.
    #[test]
    fn a_mixture_reads_more_experts_for_more_tokens() {
        let mixtral = named("mixtral-8x7b");
        let exact = |tokens: i32| {
            let shared = 1.605e9;
            let experts = mixtral.params as f64 - shared;
            (shared + experts * (1.0 - 0.75_f64.powi(tokens))) / mixtral.params as f64
        };
        for tokens in [1, 2, 4, 16, 64] {
            let share = mixtral.share_read(f64::from(tokens));
            assert!((share - exact(tokens)).abs() < 0.035, "{tokens}: {share}");
        }
        assert_eq!(named("llama-2-7b").share_read(1.0), 1.0);
    }

    #[test]
    fn what_is_not_said_is_that_of_the_nearest_model() {
        let model = of(70_000_000_000).model().expect("near");
        assert_eq!(model.shape_of, Some("llama-3.1-70b"));
        assert_eq!((model.layers, model.kv_heads), (80, 8));
        assert_eq!(model.params, 70_000_000_000);
        let mixture = ModelQuery { active_params: Some(13_000_000_000), ..of(47_000_000_000) };
        let mixture = mixture.model().expect("near");
        assert_eq!(mixture.shape_of, Some("mixtral-8x7b"));
        let own = ModelQuery {
            layers: Some(160),
            heads: Some(128),
            kv_heads: Some(16),
            head_dim: Some(128),
            ..of(1_500_000_000_000)
        };
        let own = own.model().expect("whole");
        assert_eq!((own.shape_of, own.embedding_params), (None, 0));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_nearest() {
        let refused = |query: ModelQuery| query.model().expect_err("refused").to_string();
        let far =
            "no published model is near 1500000000000 parameters; the nearest is llama-3.1-405b";
        assert_eq!(refused(of(1_500_000_000_000)), far);
        let misspelled =
            ModelQuery { name: Some("lama-3.1-70b".to_owned()), ..ModelQuery::default() };
        let hint = misspelled.model().expect_err("no such model").hint;
        assert!(hint.starts_with("did you mean llama-3.1-70b"), "{hint}");
        let wide = refused(ModelQuery { kv_heads: Some(1_024), ..of(7_000_000_000) });
        assert!(wide.starts_with("keys and values of 32 layers with 1024 heads"), "{wide}");
        // The nearest, mistral-7b, has 32 heads of queries.
        let many = ModelQuery { kv_heads: Some(64), head_dim: Some(64), ..of(7_000_000_000) };
        let heads = "64 heads of keys and values are more than 32 heads of queries";
        assert_eq!(refused(many), heads);
        let without_heads = ModelQuery {
            layers: Some(160),
            kv_heads: Some(16),
            head_dim: Some(128),
            ..of(1_500_000_000_000)
        };
        assert_eq!(refused(without_heads), far);
        let active = ModelQuery { active_params: Some(50_000_000_000), ..of(47_000_000_000) };
        let more = "50000000000 active parameters are more than all 47000000000";
        assert_eq!(refused(active), more);
        let nothing = "no model and no number of parameters is given";
        assert_eq!(refused(ModelQuery::default()), nothing);
    }
}
