use super::*;
use crate::domain::{Rejected, ResourceId};
use crate::prometheus::devices::Scope;
use crate::prometheus::lab::{before, days, row, ten_minutes};
use crate::prometheus::metric_map::{Exporter, MappedMetric};
use crate::prometheus::plan::HostTargets;

const UTILIZATION: (Metric, Statistic) = (Metric::GpuUtilization, Statistic::Average);
const MAXIMUM: (Metric, Statistic) = (Metric::GpuUtilization, Statistic::Maximum);
const MEMORY: (Metric, Statistic) = (Metric::GpuMemoryUsed, Statistic::Average);

fn slice(number: &str, profile: &str) -> Slice {
    Slice { number: number.to_owned(), profile: profile.to_owned() }
}

/// A card of seven slices that holds `3g`, `1g` and, at other times, `7g`.
fn division() -> Division {
    Division {
        slices: BTreeMap::from([
            (slice("2", "3g.20gb"), Some(3)),
            (slice("9", "1g.5gb"), Some(1)),
            (slice("0", "7g.40gb"), Some(7)),
        ]),
        card_slices: 7,
        unseen: None,
    }
}

fn cells(values: &[Option<f64>]) -> Vec<Cell> {
    values
        .iter()
        .map(|value| {
            let mut cell = Cell::default();
            if let Some(value) = value {
                cell.add(*value, Statistic::Average);
            }
            cell
        })
        .collect()
}

#[test]
fn slices_take_part_by_their_share_of_the_card() {
    let parts = BTreeMap::from([
        (Part::Slice(slice("2", "3g.20gb")), cells(&[Some(70.0), Some(100.0)])),
        (Part::Slice(slice("9", "1g.5gb")), cells(&[Some(35.0), Some(50.0)])),
    ]);
    // 3/7 of 70 and 1/7 of 35 are 30 and 5; 300/7 and 50/7 are 50.
    for what in [UTILIZATION, MAXIMUM] {
        assert_eq!(combined(&parts, &division(), what), [Some(35.0), Some(50.0)]);
    }
    assert_eq!(combined(&parts, &division(), MEMORY), [Some(105.0), Some(150.0)]);
}

#[test]
fn a_card_that_is_divided_anew_has_no_value_in_that_period() {
    let parts = BTreeMap::from([
        (Part::Slice(slice("2", "3g.20gb")), cells(&[Some(7.0), Some(7.0), None])),
        (Part::Slice(slice("0", "7g.40gb")), cells(&[None, Some(7.0), Some(7.0)])),
    ]);
    assert_eq!(combined(&parts, &division(), UTILIZATION), [Some(3.0), None, Some(7.0)]);
    assert_eq!(combined(&parts, &division(), MEMORY), [Some(7.0), None, Some(7.0)]);
}

#[test]
fn the_whole_card_counts_only_while_it_is_not_divided() {
    // Its own utilization reads 0 as long as it is.
    let whole = [Some(80.0), Some(0.0), Some(0.0), Some(0.0), Some(60.0)];
    let parts = BTreeMap::from([
        (Part::Gpu, cells(&whole)),
        (Part::Slice(slice("0", "7g.40gb")), cells(&[None, Some(50.0), None, Some(50.0), None])),
    ]);
    assert_eq!(
        combined(&parts, &division(), UTILIZATION),
        [Some(80.0), Some(50.0), None, Some(50.0), Some(60.0)]
    );
}

#[test]
fn a_card_is_measured_when_each_of_its_slices_is() {
    let of = |measured: &[(&str, Option<f64>)]| {
        let parts = measured.iter().map(|(number, value)| {
            let profile = format!("{number}g");
            (Part::Slice(slice(number, &profile)), cells(&[None, *value]))
        });
        unmeasured_slices(&division(), &parts.collect())
    };
    let idle = Some(0.0);
    // Memory tells of the slices 0, 2 and 9, whatever their profiles are called there.
    assert_eq!(of(&[("0", idle), ("2", idle), ("9", idle)]), None);
    assert_eq!(of(&[("0", idle), ("2", idle), ("9", None)]), Some((1, 3)));
    assert_eq!(of(&[("2", idle)]), Some((2, 3)));
    assert_eq!(of(&[]), None, "nothing of it is measured at all");
    let whole = BTreeMap::from([(Part::Gpu, cells(&[idle]))]);
    assert_eq!(unmeasured_slices(&Division::default(), &whole), None);
}

#[test]
fn a_slice_that_falls_silent_leaves_its_card_unmeasured() {
    // Slices of 3 of 7: both idle, then one is silent for a period and at the end for good.
    let of = |left: &[Option<f64>], right: &[Option<f64>]| {
        let part = |number, values| (Part::Slice(slice(number, "3g.20gb")), cells(values));
        let parts = BTreeMap::from([part("1", left), part("2", right)]);
        let division = Division {
            slices: ["1", "2"].map(|number| (slice(number, "3g.20gb"), Some(3))).into(),
            card_slices: 7,
            unseen: None,
        };
        combined(&parts, &division, UTILIZATION)
    };
    let (idle, half) = (Some(0.0), Some(70.0));
    assert_eq!(
        of(&[idle, idle, idle, idle], &[half, None, half, None]),
        [Some(30.0), None, Some(30.0), None]
    );
    // One begins where the other ended: the card was divided anew.
    assert_eq!(of(&[half, half, None, None], &[None, None, half, half]), [Some(30.0); 4]);
}

#[test]
fn cores_take_part_by_their_mean_and_their_memory_adds_up() {
    let core = |name: &str, core: u16| Part::Core(name.to_owned(), core);
    let parts = BTreeMap::from([
        (core("ratio", 0), cells(&[Some(50.0), Some(10.0)])),
        (core("ratio", 1), cells(&[Some(10.0), None])),
    ]);
    let division = Division::default();
    assert_eq!(combined(&parts, &division, UTILIZATION), [Some(30.0), Some(10.0)]);
    assert_eq!(combined(&parts, &division, MAXIMUM), [Some(50.0), Some(10.0)]);
    assert_eq!(combined(&parts, &division, MEMORY), [Some(60.0), Some(10.0)]);
}

#[test]
fn a_ratio_of_one_is_a_hundred_percent() {
    let noisy = BTreeMap::from([(Part::Gpu, cells(&[Some(100.000_000_000_000_01), Some(100.2)]))]);
    let percents = combined(&noisy, &Division::default(), UTILIZATION);
    assert_eq!(percents, [Some(100.0), Some(100.2)]);
}

/// A request for GPU 3 of a machine, whose rows have `hostname="a",gpu="0"`.
fn of_one_gpu<'a>(id: &'a ResourceId, name: &str, quantity: Quantity, scale: f64) -> Request<'a> {
    let mapped = MappedMetric {
        name: name.to_owned(),
        quantity,
        scale,
        exporter: Exporter::Dcgm,
        index_label: None,
        uuid_label: None,
    };
    let target = Target { device: (id, 3), core: None, whole: true, slices: false };
    let targets = HostTargets {
        devices: BTreeMap::from([(vec!["0".to_owned()], target)]),
        ..HostTargets::default()
    };
    Request {
        metric: quantity.metric(),
        mapped,
        rest: Vec::new(),
        scope: Scope { cluster: None, host: "hostname".to_owned(), device: vec!["gpu".to_owned()] },
        slice_labels: Vec::new(),
        hosts: BTreeMap::from([("a".to_owned(), targets)]),
    }
}

#[test]
fn rows_are_of_the_gpus_that_were_asked_for_and_blanks_are_none() {
    let id = ResourceId::named("i-1");
    let request = of_one_gpu(&id, "DCGM_FI_DEV_FB_USED", Quantity::MemoryUsed, 2.0);
    let (first, second) = (before(86_700), before(87_000));
    let rows = vec![
        row(r#"hostname="a",gpu="0""#, &[(first, 10.0), (second, 2_147_483_632.0)]),
        row(r#"hostname="a",gpu="1""#, &[(first, 99.0)]),
        row(r#"hostname="b",gpu="0""#, &[(first, 99.0)]),
        row(r#"hostname="a",gpu="0",GPU_I_ID="1""#, &[(first, 99.0)]),
        // The same GPU under other labels, such as after an upgrade of the exporter.
        row(r#"hostname="a",gpu="0""#, &[(first, 30.0), (second, 9.2e18)]),
    ];
    let span = Span::of(ten_minutes(), 300);
    for (statistic, expected) in [(Statistic::Average, 40.0), (Statistic::Maximum, 60.0)] {
        let mut grids = Grids::new();
        take(&mut grids, &request, rows.clone(), (statistic, span));
        let grids: Vec<_> = grids.into_iter().collect();
        let [(device, parts)] = &grids[..] else {
            panic!("not one GPU");
        };
        assert_eq!(*device, (&id, 3));
        let what = (Metric::GpuMemoryUsed, statistic);
        let values = combined(parts, &Division::default(), what);
        assert_eq!(values, [Some(expected), None]);
    }
}

/// What is not a figure at all is counted, as it is of other sources; blanks are not.
#[test]
fn figures_beyond_any_blank_are_dropped_and_counted() {
    let id = ResourceId::named("i-1");
    let of = |quantity: Quantity, values: &[f64]| {
        let request = of_one_gpu(&id, "a_metric", quantity, 1.0);
        let window = days(1);
        let span = Span::of(window, 300);
        let ends = (1..).map(|period| before(86_400 + 300 * period));
        let points: Vec<_> = ends.zip(values.iter().copied()).collect();
        let mut grids = Grids::new();
        let rows = vec![row(r#"hostname="a",gpu="0""#, &points)];
        take(&mut grids, &request, rows, (Statistic::Average, span));
        let what = (quantity.metric(), Statistic::Average);
        let percents = combined(&grids[&(&id, 3)], &Division::default(), what);
        let counted = percents.into_iter().map(|value| (value, 1));
        let (points, rejected) = Points::regular(window.start, counted, what, window, 300);
        (points.iter().collect::<Vec<_>>(), rejected)
    };
    // NaN, two infinities and two too large; one negative; one percentage above 100. The
    // blanks of 32 and of 64 bits are none.
    let values = [
        10.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e308,
        1e25,
        -1e6,
        150.0,
        2_147_483_632.0,
        9.3e18,
        85.0,
    ];
    let (points, rejected) = of(Quantity::Utilization, &values);
    assert_eq!(points, [(0, 10.0), (10, 85.0)]);
    let expected = Rejected { not_a_number: 5, negative: 1, over_100: 1, ..Rejected::default() };
    assert_eq!(rejected, expected);
    // 1e25 MiB fit a single-precision number.
    let (points, rejected) = of(Quantity::MemoryUsed, &[1e25, 1_024.0]);
    assert_eq!(points, [(1, 1_024.0)]);
    assert_eq!((rejected.not_a_number, rejected.total()), (1, 1));
}

#[test]
fn samples_that_are_farther_apart_than_an_hour_are_seen() {
    let every = |step: usize| -> Vec<Option<f64>> {
        let value = |place: usize| place.is_multiple_of(step).then_some(1.0);
        (0..360).map(value).collect()
    };
    assert_eq!(spacing(&every(1), 300), None);
    assert_eq!(spacing(&every(3), 300), None, "a cadence of 15 minutes");
    assert_eq!(spacing(&every(12), 300), None, "a cadence of an hour");
    assert_eq!(spacing(&every(13), 300), Some(3_900));
    // A machine that is off at night is sampled as often as any while it is on.
    let mut nightly = every(1);
    nightly[20..50].fill(None);
    assert_eq!(spacing(&nightly, 300), None);
    assert_eq!(spacing(&every(40), 300), None, "nine values tell nothing");
    assert_eq!(time_span(900), "15m 00s");
    assert_eq!(time_span(3_725), "1h 02m 05s");
}
