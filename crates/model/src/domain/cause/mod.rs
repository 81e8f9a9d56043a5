//! Why something is not known: a closed set of causes, each with its words and with
//! what its details name. A gap that keeps its cause can be redacted without a search
//! in its text.

mod failure;
mod kinds;
mod words;

use super::wire::at_most;
pub use failure::FailureKind;
pub use kinds::CauseKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use words::filled;
pub use words::{ANSWER_FIELDS, Detail, FALLBACKS, FIGURES, POINT_REJECTIONS};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a cause with `kind` and `details`")]
pub struct Cause {
    /// Name of the cause.
    kind: CauseKind,
    /// As many as the kind has.
    #[serde(default, deserialize_with = "at_most::<_, _, 8>")]
    #[schemars(length(max = 8))]
    details: Vec<String>,
}

impl Cause {
    /// A cause with the details that its kind has.
    pub fn of<const N: usize>(kind: CauseKind, details: [&str; N]) -> Self {
        debug_assert_eq!(N, kind.details().len(), "{kind}");
        Self { kind, details: details.map(str::to_owned).into() }
    }

    /// A cause that was recorded; `None` unless there is a detail for each that its kind has.
    pub fn new(kind: CauseKind, details: Vec<String>) -> Option<Self> {
        let cause = Self { kind, details };
        cause.is_whole().then_some(cause)
    }

    /// Whether there is a detail for each that its kind has.
    pub fn is_whole(&self) -> bool {
        self.details.len() == self.kind.details().len()
    }

    pub fn kind(&self) -> CauseKind {
        self.kind
    }

    /// Its details with what each says.
    pub fn details(&self) -> impl Iterator<Item = (Detail, &str)> {
        self.kind.details().iter().copied().zip(self.details.iter().map(String::as_str))
    }

    /// The same with other details.
    pub fn map(&self, mut change: impl FnMut(Detail, &str) -> String) -> Self {
        Self {
            kind: self.kind,
            details: self.details().map(|(kind, text)| change(kind, text)).collect(),
        }
    }

    pub fn hint(&self) -> String {
        let [action, failure] = match (self.kind.details().first(), self.details.as_slice()) {
            (Some(Detail::Action), [action, failure, ..]) => [action, failure],
            _ => return filled(self.kind.hint(), &self.details),
        };
        let hint = FailureKind::from_name(failure).unwrap_or(FailureKind::Other).hint(action);
        match self.kind {
            CauseKind::RegionsNotListed => format!("{hint}, or specify regions with `--region`"),
            _ => hint,
        }
    }
}

impl CauseKind {
    /// How much was not seen, as the words of a reason say it; absent where they count what was
    /// seen, or nothing. Messages of servers have numbers of their own.
    pub fn unseen_in(self, reason: &str) -> Option<u64> {
        let reason = reason.replace(',', "");
        let numbers = reason.split(|c: char| !c.is_ascii_digit());
        let mut numbers = numbers.filter_map(|word| word.parse().ok());
        match self {
            Self::HistoryShort => None,
            Self::JobsNotRead | Self::OlderJobsOmitted => numbers.next_back(),
            _ if self.details().first() == Some(&Detail::Count) => numbers.next(),
            _ => None,
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&filled(self.kind.words(), &self.details))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_seen_is_counted_by_the_words() {
        let unseen = |kind: CauseKind, reason| kind.unseen_in(reason);
        let omitted = "only the newest 500 training jobs are read; 5,000 older ones are omitted";
        assert_eq!(unseen(CauseKind::OlderJobsOmitted, omitted), Some(5_000));
        let failed = "sagemaker:DescribeTrainingJob: HTTP 500; 12 training jobs are omitted";
        assert_eq!(unseen(CauseKind::JobsNotRead, failed), Some(12));
        let slices = "3 of 7 MIG instances have no utilization";
        assert_eq!(unseen(CauseKind::SlicesUnmeasured, slices), Some(3));
        assert_eq!(unseen(CauseKind::HistoryShort, "12 days of history"), None);
    }

    #[test]
    fn words_show_every_detail_in_order() {
        let outside = Cause::of(CauseKind::ProfileOutside, ["3", "40", "1", "2"]);
        assert_eq!(
            outside.to_string(),
            "3 of 40 samples outside the window: 1 before it, 2 after it"
        );
        let details = ["ec2:DescribeVolumes", "denied", "UnauthorizedOperation", "no", ""];
        let failed = Cause::of(CauseKind::CallFailed, details);
        assert_eq!(failed.to_string(), "ec2:DescribeVolumes: UnauthorizedOperation: no");
        assert_eq!(
            failed.hint(),
            "allow ec2:DescribeVolumes; `gpucost setup iam` prints the full policy"
        );
        let details = ["ec2:DescribeRegions", "denied", "", "", "us-east-1"];
        let regions = Cause::of(CauseKind::RegionsNotListed, details);
        assert_eq!(regions.to_string(), "ec2:DescribeRegions; only us-east-1 is read");
        assert_eq!(Cause::new(CauseKind::OnlyRollUp, vec![String::new()]), None);
    }

    #[test]
    fn every_detail_shows_in_the_words_or_the_hint() {
        for kind in CauseKind::ALL {
            let details: Vec<String> =
                (0..kind.details().len()).map(|place| format!("detail-{place}")).collect();
            let cause = Cause::new(*kind, details.clone()).expect("as many details");
            let text = format!("{cause}\n{}", cause.hint());
            for (detail, shown) in kind.details().iter().zip(&details) {
                // How a call failed decides its hint.
                let is_shown = *detail == Detail::Failure || text.contains(shown);
                assert!(is_shown, "{kind}: {shown}");
            }
            assert!(!text.contains(['{', '}']), "{kind}: {text}");
        }
    }

    #[test]
    fn every_cause_asks_for_no_more_than_its_details() {
        for kind in CauseKind::ALL {
            let is_call = kind.details().first() == Some(&Detail::Action);
            let words = kind.words();
            let asked = words.matches('{').count() + if is_call { 3 } else { 0 };
            assert!(asked <= kind.details().len(), "{kind}");
            assert_eq!(words.starts_with("{call}"), is_call, "{kind}");
            assert_eq!(kind.hint().is_empty(), is_call, "{kind}");
            for place in kind.hint().split('{').skip(1) {
                let (place, _) = place.split_once('}').expect("a whole form");
                let place: usize = place.parse().expect("a place");
                assert!(place < kind.details().len(), "{kind}");
            }
        }
    }

    #[test]
    fn names_round_trip() {
        for kind in CauseKind::ALL {
            assert_eq!(CauseKind::from_name(kind.name()), Some(*kind));
        }
    }

    #[test]
    fn numbers_take_their_words() {
        let cause = Cause::of(CauseKind::RowsConflict, ["1", "7"]);
        assert_eq!(
            cause.to_string(),
            "1 row is omitted: the log has another row with the same time and GPU; the first is \
             on line 7"
        );
        let hosts = Cause::of(CauseKind::NodesNotJoined, ["1234", "1", "a"]);
        assert_eq!(
            hosts.to_string(),
            "1,234 series of 1 host match no audited instance, or several, such as those of a"
        );
        let euros = Cause::of(CauseKind::CostsNotInBudget, ["2", "EUR", "USD"]);
        assert_eq!(
            (euros.to_string().as_str(), euros.hint().as_str()),
            (
                "2 workloads cost EUR but its budget is in USD",
                "add a [[budget]] with `currency = \"EUR\"`"
            )
        );
    }
}
