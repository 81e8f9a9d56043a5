use super::*;
use crate::catalog::shape;
use crate::domain::{PriceBasis, PriceOrigin};
use std::collections::BTreeMap;

fn wanted() -> Wanted {
    Wanted {
        kind: WorkloadKind::Training,
        restartable: false,
        paying: None,
        gpus: Some(GpuShare::Whole(1)),
        models: Vec::new(),
        measured: None,
        names_accelerator: false,
        vram_mib: Some(40_960.0),
        vram_total_mib: None,
        memory_mib: None,
        vcpu: None,
        vcpu_without_gpu: None,
        architecture: Some(Architecture::X86_64),
        nvlink: false,
        efa: false,
        rate_per_second: None,
        budget: Budget::default(),
        hours: Decimal::from(730),
        hours_of_month: Decimal::from(730),
        today: None,
        sources: BTreeMap::new(),
    }
}

fn quote(rate: &str) -> PriceQuote {
    let date = jiff::civil::date(2026, 7, 20);
    PriceQuote {
        rate: HourlyRate::new(rate.parse().expect("a decimal"), Currency::Usd).expect("positive"),
        instalments: None,
        origin: PriceOrigin::Bundled,
        basis: PriceBasis::Observed,
        effective_date: date,
        seen_on: date,
        source: "test".to_owned(),
    }
}

fn offered(name: &str, on_demand: &str, spot: Option<&str>) -> OfferedType {
    OfferedType {
        shape: shape(name).expect("in the catalog"),
        region: Some("us-east-1".to_owned()),
        is_asked: true,
        on_demand: Some(quote(on_demand)),
        spot: spot.map(quote),
        interruption: None,
        spot_suits: false,
        reserved_1yr: None,
        reserved_3yr: None,
        capacity_block: None,
    }
}

fn names(selection: &Selection) -> Vec<&str> {
    let fits = selection.fits.iter();
    fits.map(|selected| selected.offered.shape.instance_type.as_str()).collect()
}

fn reason(wanted: Wanted, offered: OfferedType) -> Option<String> {
    let selection = select(wanted, vec![offered]);
    selection.refused.first().map(|refused| refused.reason.to_string())
}

#[test]
fn what_fits_is_ranked_by_the_price_that_suits() {
    let spot = OfferedType { spot_suits: true, ..offered("p5.4xlarge", "6.88", Some("1.5")) };
    let offers = || {
        vec![
            spot.clone(),
            offered("g6e.xlarge", "1.861", Some("0.1")),
            offered("g5.xlarge", "1.006", None),
        ]
    };
    let selection = select(wanted(), offers());
    assert_eq!(names(&selection), ["p5.4xlarge", "g6e.xlarge"]);
    assert_eq!(selection.fits[0].paying, Paying::Spot);
    // 1.5 × 730 and 1.861 × 730.
    let months: Vec<String> =
        selection.fits.iter().map(|selected| selected.monthly.to_string()).collect();
    assert_eq!(months, ["$1,095.00", "$1,358.53"]);
    let on_demand = Wanted { paying: Some(Paying::OnDemand), ..wanted() };
    assert_eq!(names(&select(on_demand, offers())), ["g6e.xlarge", "p5.4xlarge"]);
}

#[test]
fn commitments_bill_every_hour_of_the_month() {
    let reserved = OfferedType {
        reserved_1yr: Some(quote("1.17243")),
        ..offered("g6e.xlarge", "1.861", None)
    };
    let selection = select(
        Wanted { paying: Some(Paying::Reserved1yr), hours: Decimal::from(100), ..wanted() },
        vec![reserved, offered("g6e.2xlarge", "2.24208", None)],
    );
    // 1.17243 × 730.
    assert_eq!(selection.fits[0].monthly.to_string(), "$855.87");
    assert_eq!(selection.refused[0].reason.to_string(), "no reserved-1yr price");
}

#[test]
fn every_need_has_its_reason() {
    let offer = || offered("g6e.xlarge", "1.861", None);
    assert_eq!(reason(wanted(), offer()), None);
    let cases: [(Wanted, &str); 10] = [
        (
            Wanted { vram_mib: Some(46_069.0), ..wanted() },
            "VRAM of a GPU: 46069 MiB needed, 46068 MiB usable",
        ),
        (
            Wanted { vram_total_mib: Some(81_920.0), ..wanted() },
            "VRAM of all GPUs: 81920 MiB needed, 46068 MiB usable",
        ),
        (Wanted { gpus: Some(GpuShare::Whole(2)), ..wanted() }, "GPUs: 2 needed, 1 there"),
        (
            Wanted { memory_mib: Some(32_769.0), ..wanted() },
            "host memory: 32769 MiB needed, 32768 MiB there",
        ),
        (Wanted { vcpu: Some(4.5), ..wanted() }, "vCPUs: 4.50 needed, 4 there"),
        (Wanted { nvlink: true, ..wanted() }, "its GPUs have no NVLink"),
        (Wanted { efa: true, ..wanted() }, "it has no EFA"),
        (
            Wanted { architecture: Some(Architecture::Arm64), ..wanted() },
            "different CPU architecture",
        ),
        (
            Wanted {
                budget: Budget { hourly: Some(Decimal::new(155, 2)), monthly: None },
                ..wanted()
            },
            "$0.311 per hour over the budget",
        ),
        (
            Wanted {
                budget: Budget { hourly: None, monthly: Some(Decimal::from(1_300)) },
                ..wanted()
            },
            "$58.53 per month over the budget",
        ),
    ];
    for (wanted, expected) in cases {
        assert_eq!(reason(wanted, offer()).as_deref(), Some(expected));
    }
    let old = offered("p3.2xlarge", "3.06", None);
    let small = Wanted { vram_mib: Some(1_024.0), ..wanted() };
    assert_eq!(reason(small.clone(), old).as_deref(), Some("no longer available for launch"));
    let elsewhere = OfferedType { region: None, ..offer() };
    assert_eq!(
        reason(small.clone(), elsewhere).as_deref(),
        Some("not available or not priced in the region")
    );
    assert_eq!(
        reason(small.clone(), offered("inf2.xlarge", "0.76", None)).as_deref(),
        Some("not an NVIDIA GPU; name it with `--gpu`")
    );
    assert_eq!(
        reason(small, offered("c7i.large", "0.08925", None)).as_deref(),
        Some("a CPU type, and the work may need a GPU")
    );
}

#[test]
fn cpu_types_compete_where_the_work_is_small() {
    // 2 requests a second of 0.1 s each at 80%.
    let vcpu = vcpus_for(Decimal::TWO, Decimal::new(1, 1), 80.0).expect("a number");
    assert!((vcpu - 0.25).abs() < 1e-12);
    let small = Wanted {
        vram_mib: Some(2_048.0),
        vcpu_without_gpu: Some(vcpu),
        rate_per_second: Some(Decimal::TWO),
        ..wanted()
    };
    let selection = select(
        small,
        vec![
            offered("g4dn.xlarge", "0.526", None),
            offered("c7i.large", "0.08925", None),
            offered("t3.large", "0.0832", None),
        ],
    );
    assert_eq!(names(&selection), ["c7i.large", "g4dn.xlarge"]);
    let prices: Vec<String> = selection
        .fits
        .iter()
        .filter_map(|selected| selected.per_thousand_requests)
        .map(|price| price.amount().round_dp(6).to_string())
        .collect();
    // 0.08925 and 0.526 / 7,200 × 1,000: the four vCPUs of a g4dn.xlarge serve 0.25 as well.
    assert_eq!(prices, ["0.012396", "0.073056"]);
    assert_eq!(
        selection.refused[0].reason.to_string(),
        "the CPU share that a burstable type sustains is unknown"
    );
}

/// 10 requests a second of 10 CPU seconds keep 100 vCPUs busy, 125 at 80%. An m7i.48xlarge has
/// 192, a p4d.24xlarge 96; what eight A100 serve is unknown.
#[test]
fn a_rate_that_was_not_checked_is_not_served() {
    let busy = |memory_mib: Option<f64>| Wanted {
        vram_mib: None,
        memory_mib,
        vcpu_without_gpu: vcpus_for(Decimal::TEN, Decimal::TEN, 80.0),
        rate_per_second: Some(Decimal::TEN),
        ..wanted()
    };
    let offers = || {
        vec![
            offered("g4dn.xlarge", "0.526", None),
            offered("p4d.24xlarge", "21.957642", None),
            offered("g6e.48xlarge", "30.13118", None),
            offered("m7i.48xlarge", "9.6768", None),
        ]
    };
    let evaluation = |selection: &Selection| -> Vec<(String, bool)> {
        let fits = selection.fits.iter();
        let name = |selected: &SelectedType| selected.offered.shape.instance_type.clone();
        fits.map(|selected| (name(selected), selected.is_checked())).collect()
    };
    let expected = |served: &[&str], unknown: &[&str]| -> Vec<(String, bool)> {
        let served = served.iter().map(|name| ((*name).to_owned(), true));
        let unknown = unknown.iter().map(|name| ((*name).to_owned(), false));
        served.chain(unknown).collect()
    };
    // A g6e.48xlarge has 192 vCPUs: it would serve them without its GPUs.
    let selection = select(busy(None), offers());
    assert_eq!(
        evaluation(&selection),
        expected(&["m7i.48xlarge", "g6e.48xlarge"], &["g4dn.xlarge", "p4d.24xlarge"])
    );
    let price = |place: usize| selection.fits[place].per_thousand_requests;
    // 9.6768 / 36,000 × 1,000.
    let amount = price(0).map(|money: Money| money.amount().round_dp(4).to_string());
    assert_eq!(amount.as_deref(), Some("0.2688"));
    assert_eq!((price(2), price(3)), (None, None));
    // 1 TiB of host memory: an m7i.48xlarge has 768 GiB.
    let selection = select(busy(Some(1_048_576.0)), offers());
    assert_eq!(evaluation(&selection), expected(&["g6e.48xlarge"], &["p4d.24xlarge"]));
}

/// A g6f.large has an eighth of an L4.
#[test]
fn a_part_of_a_gpu_is_none_unless_it_is_asked_for() {
    let part = || offered("g6f.large", "0.202", None);
    let asks = |gpus: GpuShare| Wanted { gpus: Some(gpus), vram_mib: Some(2_048.0), ..wanted() };
    let of =
        |share: &str| GpuShare::from_count(share.parse().expect("a decimal")).expect("a share");
    assert_eq!(reason(asks(of("1")), part()).as_deref(), Some("GPUs: 1 needed, 0.125 there"));
    assert_eq!(reason(asks(of("0.25")), part()).as_deref(), Some("GPUs: 0.25 needed, 0.125 there"));
    assert_eq!(reason(asks(of("0.125")), part()), None);
    let whole = offered("g6.xlarge", "0.8048", None);
    assert_eq!(reason(asks(of("0.125")), whole), None);
}

/// What only its currency keeps out came nearer than what does not do the work.
#[test]
fn another_currency_is_nearer_than_another_architecture() {
    let yuan = |name: &str| {
        let rate = HourlyRate::new(Decimal::TEN, Currency::Cny).expect("positive");
        OfferedType {
            on_demand: Some(PriceQuote { rate, ..quote("1") }),
            ..offered(name, "1", None)
        }
    };
    let over = Wanted {
        vram_mib: None,
        budget: Budget { hourly: None, monthly: Some(Decimal::ONE_THOUSAND) },
        ..wanted()
    };
    let selection = select(over, vec![yuan("g5g.xlarge"), yuan("g5.xlarge")]);
    let reasons: Vec<&str> =
        selection.refused.iter().map(|refused| refused.reason.name()).collect();
    assert_eq!(reasons, ["currency", "architecture"]);
}

#[test]
fn reasons_are_counted_with_the_nearest_first() {
    let over = Wanted { budget: Budget { hourly: Some(Decimal::ONE), monthly: None }, ..wanted() };
    let selection = select(
        over,
        vec![
            offered("g5.xlarge", "1.006", None),
            offered("g6e.2xlarge", "2.24208", None),
            offered("g6e.xlarge", "1.861", None),
            offered("g4dn.xlarge", "0.526", None),
        ],
    );
    let reasons: Vec<(usize, &str, &str)> = selection
        .reasons()
        .iter()
        .map(|reason| {
            let name = reason.nearest.offered.shape.instance_type.as_str();
            (reason.count, reason.nearest.reason.name(), name)
        })
        .collect();
    // An A10G misses 40 GiB by less than a T4.
    assert_eq!(reasons, [(2, "budget-hourly", "g6e.xlarge"), (2, "vram", "g5.xlarge")]);
}
