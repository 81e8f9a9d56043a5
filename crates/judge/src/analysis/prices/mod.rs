//! Questions about prices, and the offers that answer them.

mod comparison;
mod offered;

pub use self::comparison::{Offer, OfferedGpus, compare, sold_elsewhere};
pub use self::offered::{Rentals, rentals, select_types};

use crate::catalog::{Prices, bundled_regions, other_clouds, shapes};
use crate::domain::{
    AcceleratorKind, GpuOffer, OperatingSystem, matches_pattern, nearest_names, plain_name,
};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// The provider whose prices an audit rests on.
pub const AWS: &str = "aws";

/// The figure to sort by, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortBy {
    /// On-demand per hour.
    Price,
    /// Spot per hour.
    Spot,
    /// Per hour and GPU.
    GpuHour,
    /// Per hour and GiB of VRAM.
    Vram,
    /// Per hour and dense BF16 TFLOPS.
    Tflops,
}

/// A model, a size of memory, or both.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuFilter {
    pub model: Option<String>,
    at_least_gb: Option<f64>,
    at_most_gb: Option<f64>,
}

/// How far the memory that a list states may be from the size on the label:
/// "24 GB" is 22 888 MiB on one list and 24 576 on another.
const SIZE_TOLERANCE: f64 = 0.02;

impl GpuFilter {
    /// Reads `H100`, `A100:80GB`, `24GB..`, `24GB..48GB` or `L4:..24GB`.
    ///
    /// # Errors
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = || {
            format!("`{text}` is not a GPU such as `H100`, `A100:80GB`, `24GB..` or `24GB..48GB`")
        };
        let (model, size) = match text.split_once(':') {
            Some((model, size)) => (Some(model), Some(size)),
            None if gigabytes(text.split("..").next().unwrap_or_default()).is_some()
                || text.starts_with("..") =>
            {
                (None, Some(text))
            }
            None => (Some(text), None),
        };
        let model = model.map(str::trim).map(str::to_owned);
        if model.as_deref().is_some_and(|name| plain_name(name).is_empty() || reads_as_size(name)) {
            return Err(expected());
        }
        let edge = |edge: &str| match edge.trim() {
            "" => Ok(None),
            size => gigabytes(size).map(Some).ok_or_else(expected),
        };
        let (at_least_gb, at_most_gb) = match size.map(|size| size.split_once("..")) {
            None => (None, None),
            Some(Some((least, most))) => (edge(least)?, edge(most)?),
            Some(None) => {
                let exact = edge(size.unwrap_or_default())?.ok_or_else(expected)?;
                (Some(exact), Some(exact))
            }
        };
        if size.is_some() && at_least_gb.is_none() && at_most_gb.is_none() {
            return Err(expected());
        }
        if at_least_gb.zip(at_most_gb).is_some_and(|(least, most)| least > most) {
            return Err(format!("the sizes of `{text}` end below where they begin"));
        }
        Ok(Self { model, at_least_gb, at_most_gb })
    }

    /// Whether GPUs of a model and memory are asked for. A model's name stands
    /// for its variants too: `H100` finds `H100 PCIe`.
    pub fn matches(&self, model: &str, vram_mib: Option<u64>) -> bool {
        let named = self.model.as_ref().is_none_or(|wanted| {
            let variant =
                model.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
                    && model[wanted.len()..].starts_with(' ');
            variant || plain_name(model) == plain_name(wanted)
        });
        named && self.matches_size(vram_mib)
    }

    /// Sizes on labels count in powers of ten or of two; either is accepted.
    #[expect(clippy::cast_precision_loss, reason = "MiB of a GPU are far below 2^52")]
    fn matches_size(&self, vram_mib: Option<u64>) -> bool {
        if self.at_least_gb.is_none() && self.at_most_gb.is_none() {
            return true;
        }
        let Some(mib) = vram_mib.map(|mib| mib as f64) else { return false };
        let decimal_mib = |gb: f64| gb * 1e9 / f64::from(1 << 20);
        let binary_mib = |gb: f64| gb * 1024.0;
        let least = self.at_least_gb.map(decimal_mib);
        let most = self.at_most_gb.map(binary_mib);
        least.is_none_or(|least| mib >= least * (1.0 - SIZE_TOLERANCE))
            && most.is_none_or(|most| mib <= most * (1.0 + SIZE_TOLERANCE))
    }
}

fn gigabytes(text: &str) -> Option<f64> {
    let number = text.trim().to_ascii_lowercase().strip_suffix("gb")?.trim().parse::<f64>().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Whether a text is meant as a size and not as a model, valid or not.
fn reads_as_size(text: &str) -> bool {
    let number = text.to_ascii_lowercase();
    let number = number.strip_suffix("gb").map(str::trim);
    text.contains("..") || number.is_some_and(|number| number.parse::<f64>().is_ok())
}

/// Which offers to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Machines by name; empty for every GPU.
    pub instance_types: Vec<String>,
    /// GPUs by model or memory.
    pub gpu: Option<GpuFilter>,
    /// GPUs per machine.
    pub count: Option<Decimal>,
    /// Regions or patterns such as `eu-*`; empty for each provider's usual one.
    pub regions: Vec<String>,
    /// The region that stands for AWS when none is named.
    pub home_region: String,
    /// Providers, at least one.
    pub providers: BTreeSet<String>,
    /// Operating system, on AWS.
    pub operating_system: OperatingSystem,
    pub sort: SortBy,
}

impl Question {
    /// Offers of AWS on Linux, the cheapest first; the first of the regions is its home.
    pub fn of_aws(instance_types: Vec<String>, regions: Vec<String>) -> Self {
        Self {
            instance_types,
            gpu: None,
            count: None,
            home_region: regions.first().cloned().unwrap_or_default(),
            regions,
            providers: BTreeSet::from([AWS.to_owned()]),
            operating_system: OperatingSystem::Linux,
            sort: SortBy::Price,
        }
    }

    /// Whether accelerators of a kind answer it. Who asks by memory or number means GPUs;
    /// others are there for those who name them.
    pub fn asks_kind(&self, kind: AcceleratorKind) -> bool {
        let by_size = self.gpu.as_ref().map_or(self.count.is_some(), |gpu| gpu.model.is_none());
        match kind {
            AcceleratorKind::Gpu => true,
            AcceleratorKind::Cpu => false,
            _ => !by_size,
        }
    }

    /// Whether a machine is named.
    pub fn asks_type(&self, instance_type: &str) -> bool {
        self.instance_types.iter().any(|name| name.eq_ignore_ascii_case(instance_type))
    }

    /// Whether a region is wanted. A provider that quotes one price for all
    /// regions is always in scope.
    pub fn asks_region(&self, provider: &str, region: Option<&str>) -> bool {
        let Some(region) = region else { return true };
        if self.regions.is_empty() {
            return match provider {
                AWS => region == self.home_region,
                "gcp" => region == "us-central1",
                "azure" => region == "eastus",
                _ => true,
            };
        }
        self.regions.iter().any(|pattern| pattern == "all" || matches_pattern(pattern, region))
    }
}

/// Providers of the catalog.
pub fn providers() -> BTreeSet<String> {
    other_clouds().map(|offer| offer.provider).chain([AWS.to_owned()]).collect()
}

/// Names that a question asks for and that neither the catalog nor what was
/// gathered knows, each with the nearest that is known.
pub fn unknown_names(question: &Question, prices: &Prices<'_>) -> Vec<UnknownName> {
    let mut unknown = Vec::new();
    let known = providers();
    for provider in question.providers.difference(&known) {
        unknown.push(UnknownName::new("provider", provider, known.iter().map(String::as_str)));
    }
    let types = types_of(|_| true);
    let asked = types_of(|provider| question.providers.contains(provider));
    for name in &question.instance_types {
        let is_known = types.iter().any(|known| known.eq_ignore_ascii_case(name))
            || !bundled_regions(Some(&name.to_ascii_lowercase())).is_empty()
            || !prices.gathered_regions_of(&name.to_ascii_lowercase()).is_empty();
        if !is_known {
            unknown.push(UnknownName::new("instance type", name, asked.iter().map(String::as_str)));
        }
    }
    let is_plain = |name: &&String| !name.contains('*') && *name != "all";
    let plain_regions: Vec<&String> = question.regions.iter().filter(is_plain).collect();
    if !plain_regions.is_empty() {
        let others = other_clouds().filter(|offer| question.providers.contains(&offer.provider));
        let mut known: BTreeSet<String> = others.filter_map(|offer| offer.region).collect();
        if question.providers.contains(AWS) {
            known.extend(prices.regions().into_iter().map(str::to_owned));
        }
        for name in plain_regions.into_iter().filter(|name| !known.contains(*name)) {
            unknown.push(UnknownName::new("region", name, known.iter().map(String::as_str)));
        }
    }
    if let Some(filter) = &question.gpu
        && let Some(model) = &filter.model
    {
        let models: BTreeSet<String> = shapes()
            .filter(|shape| shape.accelerator != AcceleratorKind::Cpu)
            .filter_map(|shape| Some(shape.gpu.as_ref()?.model.name().to_owned()))
            .chain(other_clouds().map(|offer| offer.gpu_model.name().to_owned()))
            .collect();
        let any_size = GpuFilter { at_least_gb: None, at_most_gb: None, ..filter.clone() };
        if !models.iter().any(|known| any_size.matches(known, None)) {
            unknown.push(UnknownName::new("GPU", model, models.iter().map(String::as_str)));
        }
    }
    unknown
}

/// Machines of some providers, by name.
fn types_of(is_asked: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let of_aws = shapes().filter(|_| is_asked(AWS));
    let others = other_clouds().filter(|offer| is_asked(&offer.provider));
    let of_aws = of_aws.map(|shape| shape.instance_type.clone());
    of_aws.chain(others.map(|offer| offer.instance_type)).collect()
}

/// Instance types of AWS with a GPU that somebody names in place of one, three at most.
pub fn types_with_gpu(model: &str) -> Vec<String> {
    let named =
        GpuFilter { model: Some(model.trim().to_owned()), at_least_gb: None, at_most_gb: None };
    let has_it = |gpu: &GpuOffer| named.matches(gpu.model.name(), None);
    let types = shapes().filter(|shape| shape.gpu.as_ref().is_some_and(has_it));
    let types: BTreeSet<&str> = types.map(|shape| shape.instance_type.as_str()).collect();
    types.into_iter().take(3).map(str::to_owned).collect()
}

/// A name that the catalog does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// What it would name.
    pub what: &'static str,
    pub name: String,
    /// The nearest known ones, best first; empty when none is near.
    pub nearest: Vec<String>,
}

impl UnknownName {
    fn new<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        Self { what, name: name.to_owned(), nearest: nearest_names(name, known) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::PriceBook;
    use std::collections::BTreeMap;

    fn filter(text: &str) -> GpuFilter {
        GpuFilter::parse(text).expect("valid")
    }

    #[test]
    fn sizes_on_labels_find_what_lists_state() {
        assert!(filter("A100:80GB").matches("A100", Some(81_920)));
        assert!(!filter("A100:80GB").matches("A100", Some(40_960)));
        // 24 GB as 24 × 10^9 bytes and as 24 GiB.
        assert!(filter("24GB..").matches("L4", Some(22_888)));
        assert!(filter("..24GB").matches("A10", Some(24_576)));
        assert!(!filter("24GB..").matches("T4", Some(16_384)));
        assert!(filter("24gb..48gb").matches("L40S", Some(45_776)));
        assert!(!filter("24GB..").matches("L4", None));
    }

    #[test]
    fn a_model_finds_its_variants_and_not_its_neighbours() {
        assert!(filter("h100").matches("H100 PCIe", None));
        assert!(filter("rtx-pro-6000").matches("RTX PRO 6000", None));
        assert!(!filter("A10").matches("A10G", None));
        assert!(!filter("A10").matches("A100", None));
        assert!(!filter("L4").matches("L40S", None));
    }

    #[test]
    fn what_is_no_gpu_is_refused() {
        for bad in [
            "", ":80GB", "A100:", "A100:80", "A100:..", "..", "0GB", "-1GB..", "A100:big",
            "24GB..12GB", "nanGB", "infGB..",
        ] {
            assert!(GpuFilter::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("eu-*", "eu-west-1", true),
            ("eu-*", "us-east-1", false),
            ("*-1", "eu-west-1", true),
            ("*west*", "us-west-2", true),
            ("us-*-1", "us-east-1", true),
            ("us-*-1", "us-east-2", false),
            ("us-east-1", "us-east-1", true),
            ("us-east", "us-east-1", false),
            ("*", "anything", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_gpu_in_place_of_a_type_names_types_that_have_it() {
        assert_eq!(types_with_gpu("h100"), ["p5.48xlarge", "p5.4xlarge"]);
        assert_eq!(types_with_gpu("p5.48xlrage"), [""; 0]);
    }

    #[test]
    fn slips_get_the_nearest_name() {
        let question = Question {
            instance_types: vec!["p5.48xlrage".to_owned()],
            gpu: Some(filter("H10")),
            count: None,
            regions: vec!["us-east1".to_owned(), "eu-*".to_owned(), "all".to_owned()],
            home_region: "us-east-1".to_owned(),
            providers: BTreeSet::from(["aws".to_owned(), "asure".to_owned()]),
            operating_system: OperatingSystem::Linux,
            sort: SortBy::Price,
        };
        let (book, no_discount) = (PriceBook::default(), BTreeMap::new());
        let prices = Prices::new(&book, &no_discount);
        let nearest: Vec<(String, Option<String>)> = unknown_names(&question, &prices)
            .into_iter()
            .map(|unknown| (unknown.name, unknown.nearest.into_iter().next()))
            .collect();
        let pair = |name: &str, near: &str| (name.to_owned(), Some(near.to_owned()));
        assert_eq!(
            nearest,
            [
                pair("asure", "azure"),
                pair("p5.48xlrage", "p5.48xlarge"),
                pair("us-east1", "us-east-1"),
                pair("H10", "H100")
            ]
        );
    }
}
