use super::*;

/// The alert after samples one second apart, each with its value.
fn after(kind: AlertKind, values: impl IntoIterator<Item = f64>) -> Option<Alert> {
    let mut watch = Watch::new(kind, None);
    let mut at_seconds = 0.0;
    for value in values {
        watch.see(moment(at_seconds, at_seconds > 0.0), Some(value));
        at_seconds += 1.0;
    }
    watch.alert()
}

fn moment(at_seconds: f64, is_covered: bool) -> Moment {
    Moment { at_seconds, covered_seconds: is_covered.then_some(1.0) }
}

fn times(value: f64, count: usize) -> impl Iterator<Item = f64> + Clone {
    std::iter::repeat_n(value, count)
}

#[test]
fn a_mean_below_40_for_half_an_hour_is_underused() {
    // 1 801 samples cover 1 800 s.
    let alert = after(AlertKind::Underused, times(39.9, 1_801)).expect("it fires");
    assert_eq!((alert.began_seconds, alert.ended_seconds), (0.0, None));
    assert_eq!((alert.episodes, alert.total_seconds), (1, 1_800.0));
    assert_eq!(after(AlertKind::Underused, times(39.9, 1_800)), None, "a second is missing");
    assert_eq!(after(AlertKind::Underused, times(40.0, 4_000)), None, "40 is not below 40");
    // Single peaks do not hide a low mean: 10% of 100 and 90% of 20 make 28.
    let peaks = (0..1_801).map(|at| if at % 10 == 0 { 100.0 } else { 20.0 });
    let alert = after(AlertKind::Underused, peaks).expect("it fires");
    assert!((alert.worst - 28.0).abs() < 0.5, "{}", alert.worst);
}

#[test]
fn it_ends_when_the_mean_recovers_and_begins_again() {
    let back = times(10.0, 1_801).chain(times(100.0, 1_801)).chain(times(10.0, 3_600));
    let alert = after(AlertKind::Underused, back.clone()).expect("it fires");
    assert_eq!((alert.episodes, alert.ended_seconds), (2, None));
    let recovered = after(AlertKind::Underused, back.take(3_602)).expect("it fires");
    // From 10 to 100 the sliding mean passes 40 a third of the way: at 600 s.
    let ended = recovered.ended_seconds.expect("it is over");
    assert!((2_400.0..=2_461.0).contains(&ended), "{ended}");
    assert!((recovered.total_seconds - ended).abs() < 61.0);
}

#[test]
fn time_without_samples_does_not_count() {
    for kind in [AlertKind::Underused, AlertKind::VramNearlyFull] {
        let value = if kind == AlertKind::Underused { 1.0 } else { 99.0 };
        let mut watch = Watch::new(kind, None);
        let half = kind.seconds() as u32 / 2 + 10;
        for at in 0..half {
            watch.see(moment(f64::from(at), at > 0), Some(value));
        }
        for at in 0..half {
            watch.see(moment(9_000.0 + f64::from(at), at > 0), Some(value));
        }
        assert_eq!(watch.alert(), None, "{kind}");
        watch.see(moment(9_999.0, true), None);
        for at in 0..half {
            watch.see(moment(10_000.0 + f64::from(at), true), Some(value));
        }
        assert_eq!(watch.alert(), None, "{kind}: a sample without a value");
    }
}

#[test]
fn a_gap_ends_what_held_before_it() {
    let mut watch = Watch::new(AlertKind::VramNearlyFull, Some(2));
    for at in 0..=600 {
        watch.see(moment(f64::from(at), at > 0), Some(90.0));
    }
    let alert = watch.alert().expect("it fires");
    assert_eq!((alert.gpu, alert.began_seconds, alert.is_active()), (Some(2), 0.0, true));
    watch.see(moment(5_000.0, false), Some(90.0));
    assert_eq!(watch.alert().expect("it fired").ended_seconds, Some(5_000.0));
}

#[test]
fn memory_must_be_full_at_every_sample_of_ten_minutes() {
    let full = after(AlertKind::VramNearlyFull, times(85.1, 601)).expect("it fires");
    assert_eq!((full.began_seconds, full.total_seconds), (0.0, 600.0));
    assert_eq!(after(AlertKind::VramNearlyFull, times(85.1, 600)), None);
    assert_eq!(after(AlertKind::VramNearlyFull, times(85.0, 2_000)), None);
    let interrupted = times(99.0, 590).chain(times(80.0, 1)).chain(times(99.0, 590));
    assert_eq!(after(AlertKind::VramNearlyFull, interrupted), None);
}

#[test]
fn saturated_takes_an_hour() {
    assert!(after(AlertKind::Saturated, times(95.1, 3_601)).is_some());
    assert_eq!(after(AlertKind::Saturated, times(95.1, 3_600)), None);
    assert_eq!(after(AlertKind::Saturated, times(95.0, 4_000)), None);
}

#[test]
fn heat_and_power_need_one_sample_even_the_first() {
    for kind in [AlertKind::Hot, AlertKind::PowerNearLimit] {
        let threshold = kind.threshold().expect("it has one");
        let alert = after(kind, [threshold + 0.5]).expect("it fires");
        assert_eq!((alert.began_seconds, alert.total_seconds), (0.0, 0.0));
        assert_eq!(after(kind, times(threshold, 10)), None);
        let values = [20.0, threshold + 1.0, threshold + 3.0, 20.0, threshold + 2.0, 20.0];
        let alert = after(kind, values).expect("it fires");
        assert_eq!((alert.began_seconds, alert.ended_seconds), (1.0, Some(5.0)));
        assert_eq!((alert.episodes, alert.worst), (2, threshold + 3.0));
    }
}

#[test]
fn errors_never_cease() {
    let mut watch = Watch::new(AlertKind::Xid, Some(0));
    watch.see(moment(0.0, false), None);
    watch.error(3.0, 79);
    watch.error(4.0, 31);
    watch.see(moment(9.0, false), None);
    let alert = watch.alert().expect("an error came");
    assert_eq!((alert.began_seconds, alert.ended_seconds), (3.0, None));
    assert_eq!((alert.episodes, alert.worst), (2, 79.0));
}

#[test]
fn ten_samples_a_second_cover_the_same_time() {
    let mut watch = Watch::new(AlertKind::Underused, None);
    for at in 0..=18_000 {
        let covered_seconds = (at > 0).then_some(0.1);
        watch.see(Moment { at_seconds: f64::from(at) / 10.0, covered_seconds }, Some(3.0));
    }
    assert!(watch.alert().is_some(), "18 000 times 0.1 s are half an hour");
    assert!(watch.size_bytes() < 2_000, "{}", watch.size_bytes());
}
