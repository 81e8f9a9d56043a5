use super::*;
use crate::domain::{CauseKind, Provider, ResourceId};

#[test]
fn the_same_name_gets_the_same_mask() {
    let mut masks = Masks::default();
    let mut texts = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
    texts.iter_mut().for_each(|text| masks.mask(Named::Name, text));
    assert_eq!(texts, ["name-1", "name-2", "name-1"]);
}

#[test]
fn a_gap_keeps_its_words_and_loses_what_they_name() {
    let mut masks = Masks::default();
    let details = [
        "ec2:DescribeVolumes", "denied", "UnauthorizedOperation",
        "User: arn:aws:iam::444455556666:user/mallory", "",
    ];
    let denied = Cause::of(CauseKind::CallFailed, details);
    let gap = masks.gap(&Gap::of(GapSubject::Volumes, "eu-west-1", denied));
    assert_eq!(
        (gap.place.as_str(), gap.reason.as_str(), gap.hint.as_str()),
        (
            "eu-west-1",
            "ec2:DescribeVolumes: UnauthorizedOperation: (masked)",
            "allow ec2:DescribeVolumes; `gpucost setup iam` prints the full policy"
        )
    );
    let cause = Cause::of(CauseKind::ProfileOfNone, ["falcon 7"]);
    let run = Gap::of(GapSubject::ProfileData, "/home/mallory/run.jsonl", cause);
    let gap = masks.gap(&run);
    assert_eq!(gap.place, "place-1");
    assert!(gap.reason.starts_with("the host name host-1 matches no"));
    let text = Gap::in_words(
        GapSubject::named("metrics of falcon"),
        "falcon",
        "mallory said so",
        "ask mallory",
    );
    let gap = masks.gap(&text);
    assert_eq!(gap.what.name(), MASKED);
    assert_eq!(gap.place, "place-2");
    assert!(!format!("{gap:?}").contains("mallory"));
}

#[test]
fn details_stay_only_where_they_are_of_their_sort() {
    let mut masks = Masks::default();
    let mut shown_as = |kind: CauseKind, text: &str| {
        let details = vec![text.to_owned(); kind.details().len()];
        let cause = Cause::new(kind, details).expect("as many details");
        masks.cause(&cause).to_string()
    };
    for (kind, text) in [
        (CauseKind::NotReported, "idle-gpu, unused-gpus"),
        (CauseKind::PodUseUnknown, "idle-claim, oversized-claim"),
        (CauseKind::FiguresNotReported, "power, video encoder"),
        (CauseKind::WasteNotInLimit, "EUR"),
        (CauseKind::SamplerPaused, "2m 05s"),
        (CauseKind::NotMeasured, "GPU utilization is not reported for all instances"),
        (CauseKind::PointsDropped, "3 negative, 1 over 100%"),
        (CauseKind::TagNotPlanned, "team"),
        (CauseKind::LineTruncated, "7"),
    ] {
        assert!(shown_as(kind, text).contains(text), "{kind}: {text}");
    }
    for kind in CauseKind::ALL {
        let shown = shown_as(*kind, "the falcon 7");
        assert!(!shown.contains("falcon"), "{kind}: {shown}");
    }
}

#[test]
fn every_subject_of_this_program_stays() {
    let mut masks = Masks::default();
    for (subject, stays) in [
        ("price", true),
        ("gpu_utilization", true),
        ("power draw", true),
        ("utilization.gpu, power.draw", true),
        ("GPU 0, GPU 1 slice 2", true),
        ("price of falcon", false),
        ("GPU 0, falcon", false),
    ] {
        let gap = Gap::in_words(GapSubject::named(subject), "falcon", "", "");
        let shown = masks.gap(&gap).what;
        assert_eq!(shown.name(), if stays { subject } else { MASKED });
    }
}

#[test]
fn the_mask_of_an_id_keeps_provider_and_kind_alone() {
    let mut masks = Masks::default();
    let mut masked = |account, native| {
        let mut id = ResourceId::new(Provider::Gcp, account, "us-central1", native);
        masks.all(Named::Instance, &mut id);
        id.to_string()
    };
    let first = masked("secret/project", "secret-vm");
    assert_eq!(masked("secret/project", "secret-vm"), first);
    let second = masked("other", "secret-vm");
    let third = masked("other", "secret-training-vm");
    for (id, prefix) in [(&first, "instance"), (&second, "instance"), (&third, "training")] {
        let name = format!("gcp/account/region/{prefix}-");
        let number = id.strip_prefix(&name).expect("a mask");
        assert!(number.parse::<u32>().is_ok(), "{id}");
    }
    assert_ne!(first, second);
}
