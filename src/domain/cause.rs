//! Why gathering left something out: a closed set of causes, each with its words
//! and with what its details name. A gap that keeps its cause can be redacted
//! without a search in its text.

use super::instance::named_enum;

named_enum! {
    /// What kind of failure a call to a service met.
    FailureKind {
        /// There are no credentials, or they cannot be loaded.
        NoCredentials = "no-credentials",
        /// The credentials have expired.
        ExpiredCredentials = "expired-credentials",
        /// The credentials are refused.
        RejectedCredentials = "rejected-credentials",
        /// The action is not allowed.
        Denied = "denied",
        /// The service throttles even after retries.
        Throttled = "throttled",
        /// The endpoint cannot be reached or does not answer.
        Unreachable = "unreachable",
        /// The service or the endpoint does not know the call, or its answer is
        /// not in the service's format.
        Unsupported = "unsupported",
        /// Anything else.
        Other = "other",
    }
}

impl FailureKind {
    /// What to do about it; the action is the one that failed, empty before the
    /// first call.
    pub fn hint(self, action: &str) -> String {
        match self {
            Self::NoCredentials => {
                "set AWS_PROFILE or pass `--profile NAME`; `gpucost audit --demo` needs no \
                 credentials"
            }
            Self::ExpiredCredentials => {
                "sign in again (`aws sso login`, or refresh the session token)"
            }
            Self::RejectedCredentials => {
                "check the access keys and whether the region is enabled for the account"
            }
            Self::Denied if action.is_empty() => "`gpucost iam-policy` prints the full policy",
            Self::Denied => {
                return format!("allow {action}; `gpucost iam-policy` prints the full policy");
            }
            Self::Throttled => {
                "run again later, audit fewer regions at once, or raise `--deadline`"
            }
            Self::Unreachable => "check the network, the region name, and `--endpoint-url`",
            Self::Unsupported | Self::Other => "run again with -v for details",
        }
        .to_owned()
    }
}

/// What a detail of a cause says, and so whether it may leave the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// An IAM action of this program, such as `ec2:DescribeInstances`; empty
    /// before the first call.
    Action,
    /// The name of a [`FailureKind`].
    Failure,
    /// A service's error code, or this program's own words for a failure.
    Code,
    /// What a service, the system or a file says, in its own words.
    Foreign,
    /// What is done without it.
    Fallback,
    /// A field of a service's answer.
    Field,
    /// A number.
    Count,
    /// A region.
    Region,
    /// Instance types, separated by `, `.
    Types,
    /// An instance's id.
    Instance,
    /// A host's name.
    Host,
    /// An instant, RFC 3339.
    Time,
}

/// Fields of answers that can be unreadable.
pub const ANSWER_FIELDS: &[&str] = &[
    "available count",
    "class",
    "commitment",
    "currency",
    "end",
    "fixed price",
    "hourly price",
    "launch time",
    "lifecycle",
    "number of instances",
    "platform",
    "start",
    "state",
    "term",
    "total",
    "type",
    "payment option",
    "zone",
    // Of earlier recordings.
    "way of payment",
];

/// What is done without what a call did not give.
pub const FALLBACKS: &[&str] = &[
    "",
    "it is omitted",
    "none are assumed",
    "the bundled catalog is used",
    "the price cache, or else the bundled price catalog, is used where a price is available",
    "the price cache, or else the bundled average, is used where available",
    // Of earlier recordings.
    "it is left out",
    "they are taken to be none",
    "the price cache, else the bundled book is used where it has a price",
    "the price cache, else the bundled average is used where there is one",
    "the bundled book is used",
];

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal [$($detail:ident)*] $words:literal, $hint:expr;)+) => {
        named_enum! {
            /// The causes.
            CauseKind { $($(#[$doc])* $variant = $name,)+ }
        }

        impl CauseKind {
            /// What its details are, in order.
            pub fn details(self) -> &'static [Detail] {
                match self { $(Self::$variant => &[$(Detail::$detail),*],)+ }
            }

            /// Its words, with `{}` for each detail that they show.
            fn words(self) -> &'static str {
                match self { $(Self::$variant => $words,)+ }
            }

            fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)+ }
            }
        }
    };
}

const ANOTHER_PLACE: &str = "audit the account and region where the run was recorded; a run on \
                             EC2 includes its instance ID unless recorded with `--no-imds`, and \
                             a run in a container is matched by its GPUs to a run on the host";

causes! {
    /// A call failed.
    CallFailed = "call-failed" [Action Failure Code Foreign Fallback]
        "{call}; {}", "";
    /// The list of regions could not be read.
    RegionsNotListed = "regions-not-listed" [Action Failure Code Foreign Region]
        "{call}; only {} is read", "";
    /// A batch of series could not be read.
    SeriesNotRead = "series-not-read" [Action Failure Code Foreign Count]
        "{call}; {} series are missing", "";
    /// Metrics were not asked for.
    MetricsNotAsked = "metrics-not-asked" []
        "not requested", "run without `--metrics-source none`";
    /// Prices were not asked for, and the bundled catalog has none.
    PricesNotAsked = "prices-not-asked" [Types]
        "not requested, and the bundled catalog has none for {}",
        "run without `--offline` to ask the Pricing API";
    /// The price list has none.
    PricesNotListed = "prices-not-listed" [Types]
        "the price list has none for {}; the bundled catalog is used where it has one",
        "the type may be available through Capacity Blocks only";
    /// The price cache cannot be read.
    CacheNotRead = "cache-not-read" [Foreign]
        "{}; the bundled catalog is used", "run `gpucost pricing refresh` to recreate it";
    /// An answer describes an instance without a field that can be read.
    InstanceNotReadable = "instance-not-readable" [Field]
        "the EC2 response has no readable {}", "report it with `gpucost inventory -v`";
    /// An instance was launched after the instant that is audited.
    InstanceLater = "instance-later" [Time]
        "launched {} after the audit's as-of time", "run the audit with a later time";
    /// An instance is being terminated.
    InstanceEnding = "instance-ending" []
        "shutting down: neither running nor stopped", "run the audit again after termination";
    /// An answer describes a commitment without a field that can be read.
    CommitmentNotReadable = "commitment-not-readable" [Field]
        "the response has no readable {}; it is omitted",
        "declare it in a file for `--commitments`";
    /// Only a value over all GPUs of an instance is published.
    OnlyRollUp = "only-roll-up" []
        "only an aggregate over its GPUs is published",
        "keep the `index` dimension in the agent's aggregation";
    /// A profiled run names an instance that is not audited.
    ProfileOfOther = "profile-of-other" [Instance]
        "instance {} is not in the audit", ANOTHER_PLACE;
    /// A profiled run does not say where it was taken.
    ProfileOfNobody = "profile-of-nobody" []
        "it has no instance ID or host name, and no file that has one covers all of its GPUs",
        ANOTHER_PLACE;
    /// Several instances have the name of the host of a profiled run.
    ProfileOfSeveral = "profile-of-several" [Host]
        "the host name {} matches several instances, no instance ID is given, and no file \
         that has one covers all of its GPUs", ANOTHER_PLACE;
    /// No instance has the name of the host of a profiled run.
    ProfileOfNone = "profile-of-none" [Host]
        "the host name {} matches no audited instance, no instance ID is given, and no file \
         that has one covers all of its GPUs", ANOTHER_PLACE;
    /// A profiled run was taken in another region.
    ProfileElsewhere = "profile-elsewhere" [Region Instance Region]
        "it was recorded in {}, but {} is in {}", ANOTHER_PLACE;
    /// A profiled run was taken on another type.
    ProfileOnOtherType = "profile-on-other-type" [Types Instance Types]
        "it was recorded on {}, but {} is now {}", "profile a run on the current type";
    /// Samples of a profiled run are outside the window.
    ProfileOutside = "profile-outside" [Count Count Count Count]
        "{} of {} samples are outside the window: {} before it, {} after it",
        "widen the window with `--lookback`, end it later with `--as-of`, or check the host clock";
}

/// A cause with its details.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    kind: CauseKind,
    details: Vec<String>,
}

impl Cause {
    /// A cause with the details that its kind has.
    pub fn of<const N: usize>(kind: CauseKind, details: [&str; N]) -> Self {
        debug_assert_eq!(N, kind.details().len(), "{kind}");
        Self {
            kind,
            details: details.map(str::to_owned).into(),
        }
    }

    /// A cause that was recorded; `None` unless there is a detail for each that its kind has.
    pub fn new(kind: CauseKind, details: Vec<String>) -> Option<Self> {
        (details.len() == kind.details().len()).then_some(Self { kind, details })
    }

    /// Which cause.
    pub fn kind(&self) -> CauseKind {
        self.kind
    }

    /// Its details with what each says.
    pub fn details(&self) -> impl Iterator<Item = (Detail, &str)> {
        let kinds = self.kind.details().iter().copied();
        kinds.zip(self.details.iter().map(String::as_str))
    }

    /// The same with other details.
    pub fn map(&self, mut change: impl FnMut(Detail, &str) -> String) -> Self {
        Self {
            kind: self.kind,
            details: self
                .details()
                .map(|(kind, text)| change(kind, text))
                .collect(),
        }
    }

    /// Action, kind of failure, code and words of a call that failed.
    fn call(&self) -> Option<[&str; 4]> {
        let is_call = self.kind.details().first() == Some(&Detail::Action);
        let mut details = self.details.iter().map(String::as_str);
        is_call.then(|| std::array::from_fn(|_| details.next().unwrap_or_default()))
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        let Some([action, failure, ..]) = self.call() else {
            return self.kind.hint().to_owned();
        };
        let hint = FailureKind::from_name(failure)
            .unwrap_or(FailureKind::Other)
            .hint(action);
        match self.kind {
            CauseKind::RegionsNotListed => format!("{hint}, or specify regions with `--region`"),
            _ => hint,
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut details = self.details.iter().map(String::as_str);
        let mut words = self.kind.words();
        if let Some([action, _, code, said]) = self.call() {
            let parts = [action, code, said];
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            f.write_str(&parts.collect::<Vec<_>>().join(": "))?;
            details.nth(3);
            words = words.strip_prefix("{call}").unwrap_or(words);
        }
        let mut parts = words.split("{}");
        let mut before = parts.next().unwrap_or_default();
        for (detail, after) in details.zip(parts) {
            // A call that failed without a fallback ends with its own words.
            if !detail.is_empty() {
                write!(f, "{before}{detail}")?;
            }
            before = after;
        }
        f.write_str(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_show_every_detail_in_order() {
        let outside = Cause::of(CauseKind::ProfileOutside, ["3", "40", "1", "2"]);
        assert_eq!(
            outside.to_string(),
            "3 of 40 samples are outside the window: 1 before it, 2 after it"
        );
        let details = [
            "ec2:DescribeVolumes",
            "denied",
            "UnauthorizedOperation",
            "no",
            "",
        ];
        let failed = Cause::of(CauseKind::CallFailed, details);
        assert_eq!(
            failed.to_string(),
            "ec2:DescribeVolumes: UnauthorizedOperation: no"
        );
        assert_eq!(
            failed.hint(),
            "allow ec2:DescribeVolumes; `gpucost iam-policy` prints the full policy"
        );
        let details = ["ec2:DescribeRegions", "denied", "", "", "us-east-1"];
        let regions = Cause::of(CauseKind::RegionsNotListed, details);
        assert_eq!(
            regions.to_string(),
            "ec2:DescribeRegions; only us-east-1 is read"
        );
        assert_eq!(Cause::new(CauseKind::OnlyRollUp, vec![String::new()]), None);
    }

    #[test]
    fn every_cause_has_a_place_for_each_detail_and_a_hint() {
        for kind in CauseKind::ALL {
            let words = kind.words();
            let shown = match words.starts_with("{call}") {
                true => words.matches("{}").count() + 4,
                false => words.matches("{}").count(),
            };
            assert_eq!(shown, kind.details().len(), "{kind}");
            assert_eq!(
                kind.hint().is_empty(),
                words.starts_with("{call}"),
                "{kind}"
            );
        }
    }
}
