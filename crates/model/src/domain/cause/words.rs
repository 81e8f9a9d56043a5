//! What the details of causes are, the words of which some are made, the form in which a cause's
//! words and its hint are written, and texts that several causes share.

use crate::domain::separated;

/// What a detail of a cause says, and so whether it may leave the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What this program asks for, such as `ec2:DescribeInstances` or
    /// `kubernetes:nodes`; empty before the first call.
    Action,
    /// The name of a [`FailureKind`](super::FailureKind).
    Failure,
    /// A service's error code, or this program's own words for a failure.
    Code,
    /// What a service, the system or a file says, in its own words.
    Foreign,
    /// What is done without it.
    Fallback,
    /// A field of a service's answer.
    Field,
    Count,
    Region,
    /// Instance types, separated by `, `.
    Types,
    /// An instance's id.
    Instance,
    /// A host's name.
    Host,
    /// Names of hosts, separated by `, `.
    Hosts,
    /// An instant, RFC 3339.
    Time,
    /// What this program says of names and numbers, such as a price's key: the names
    /// are not distinguished from the words.
    Words,
    /// Rules that are silent, separated by `, `; empty where they are not asked for.
    Rules,
    /// A measurement that right-sizing is missing, as it names it.
    Demand,
    /// [`FIGURES`], separated by `, `.
    Figures,
    /// Counts, each with one of [`POINT_REJECTIONS`], separated by `, `.
    Rejections,
    /// A currency's code.
    Currency,
    /// A commitment's id.
    Commitment,
    /// A tag's key.
    Tag,
    /// A time span for people, such as `2m 05s`.
    Elapsed,
}

/// Fields of answers that can be unreadable.
pub const ANSWER_FIELDS: &[&str] = &[
    "available count", "class", "commitment", "currency", "end", "endpoint configuration",
    "fixed price", "hourly price", "launch time", "lifecycle", "number of instances", "platform",
    "start", "state", "term", "total", "type", "payment option", "variants", "zone",
    // Of earlier recordings.
    "way of payment",
];

/// What is done without what a call did not give.
pub const FALLBACKS: &[&str] = &[
    "",
    "it is omitted",
    "labels of namespaces are unknown",
    "none are assumed",
    "owners beyond these are unknown",
    "previous prices are kept",
    "the bundled catalog is used",
    "they are omitted",
    "the price cache, or else the bundled price catalog, is used where a price is available",
    "the price cache, or else the bundled average, is used where available",
    "what is requested of each node is unknown",
    "what is requested of nodes with resource claims is unknown",
    // Of earlier recordings.
    "it is left out",
    "they are taken to be none",
    "the price cache, else the bundled book is used where it has a price",
    "the price cache, else the bundled average is used where there is one",
    "the bundled book is used",
];

/// Figures of a GPU that a file of samples may lack.
pub const FIGURES: &[&str] = &[
    "utilization", "memory utilization", "memory in use", "memory", "power", "power limit",
    "energy", "temperature", "SM clock", "memory clock", "throttle reasons", "PCIe throughput",
    "video encoder", "video decoder", "processes", "multiprocessor counters (GPM)",
];

/// Why points of a series are dropped.
pub const POINT_REJECTIONS: [&str; 5] =
    ["not a number", "negative", "over 100%", "duplicate", "in the future"];

/// A text with its details, each where a form in braces stands for it:
///
/// - `{}`: the next one.
/// - `{,}`: the next one, a number, with thousands separators.
/// - `{row is|rows are}`: the next one, a number, and the words that it takes.
/// - `{?; }`: the next one after `; `; nothing where it is empty.
/// - `{call}`: the next four, action, kind of failure, code and words of a call.
/// - `{2}`: the third one, wherever the text is.
pub(super) fn filled(text: &str, details: &[String]) -> String {
    let mut next = details.iter().map(String::as_str);
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('{') {
        let Some((form, after)) = from.split_once('}') else { break };
        filled.push_str(before);
        if let Ok(place) = form.parse::<usize>() {
            filled.push_str(details.get(place).map_or("", String::as_str));
        } else if form == "call" {
            let call: [&str; 4] = std::array::from_fn(|_| next.next().unwrap_or_default());
            filled.push_str(&failed_call(call));
        } else {
            filled.push_str(&shown(form, next.next().unwrap_or_default()));
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// A call that failed; the kind of its failure shows in the hint.
fn failed_call([action, _, code, said]: [&str; 4]) -> String {
    let parts = [action, code, said].into_iter();
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

fn shown(form: &str, detail: &str) -> String {
    if let Some(before) = form.strip_prefix('?') {
        return match detail {
            "" => String::new(),
            _ => format!("{before}{detail}"),
        };
    }
    if let Some((singular, many)) = form.split_once('|') {
        let words = if detail == "1" { singular } else { many };
        return format!("{detail} {words}");
    }
    let is_number = detail.bytes().all(|byte| byte.is_ascii_digit());
    if form == "," && is_number { separated(detail) } else { detail.to_owned() }
}

/// Causes with their names, the details of each, its words and its hint.
macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal [$($detail:ident)*] $words:expr, $hint:expr;)+) => {
        named_enum! {
            CauseKind { $($(#[$doc])* $variant = $name,)+ }
        }

        impl CauseKind {
            /// What its details are, in order.
            pub fn details(self) -> &'static [Detail] {
                match self { $(Self::$variant => &[$(Detail::$detail),*],)+ }
            }

            /// Its words, in the form that [`super::words::filled`] reads.
            pub(super) fn words(self) -> &'static str {
                match self { $(Self::$variant => $words,)+ }
            }

            /// What to do about it, in the same form; empty for a call that failed.
            pub(super) fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)+ }
            }
        }
    };
}
pub(super) use causes;

pub(super) const ANOTHER_PLACE: &str = "audit the account and region where the run was recorded; a run on \
                             EC2 includes its instance ID unless recorded with `--no-imds`, and \
                             a run in a container is matched by its GPUs to a run on the host";
pub(super) const ASK_FOR_PRICES: &str = "run without `--offline` to ask the Pricing API";
// Whether price lists were asked cannot be seen where this is said, and more asking may
// not help.
pub(super) const RECORD_PRICE: &str =
    "record the price in the estate file (`--save`), with the origin `user`";
pub(super) const RECORD_ON: &str =
    "run `gpucost history record` every night, of all that is checked";
pub(super) const STATE_PRICE: &str =
    "state it in a file of your own prices, under `[prices]` in gpucost.toml";
pub(super) const REFRESH_PRICES: &str =
    "`gpucost pricing refresh` reads prices; you can set a custom price in the settings file";
pub(super) const REFRESH_RATES: &str = "`gpucost pricing refresh` reads savings plan rates";
pub(super) const RECORD_CLUSTER: &str = "record the whole cluster: `kubectl get nodes,pods,replicasets.apps,\
                              jobs.batch --all-namespaces -o json`";
pub(super) const SEE_BILL: &str = "see the purchase on the bill";
pub(super) const SET_UP_METRICS: &str =
    "`gpucost setup metrics` prints the CloudWatch agent configuration";
pub(super) const NAME_COLUMNS: &str = "check that the column names match the query";
pub(super) const NAME_GPUS: &str = "read the log of each host separately, or also query `index` and `uuid`, so \
                         that every row identifies its GPU";
pub(super) const COPY_FILE: &str =
    "no action needed if the sampler was killed; otherwise copy the file again";
pub(super) const SAMPLES_MISSING: &str = "{,} of {,} expected samples are missing; the longest gap, {}, begins \
                               {} after the start";
pub(super) const HIDDEN_BY_MIG: &str = "{} does not report it for this GPU while MIG is enabled";
pub(super) const NO_SUCH_CALL: &str = "{} does not provide this call";
pub(super) const NOT_ALLOWED: &str = "{} does not allow it for this user";
pub(super) const WRAPS: &str =
    "its counter wraps after 4 GiB, which the link can transfer between two samples";
pub(super) const KNOW_SCOPE: &str =
    "check where the scope is known, or add a budget for everything";
pub(super) const UNMATCHED: &str = "{,} series of {host|hosts} match no audited instance, or several, such as \
                         those of {}";
pub(super) const NOTHING_TO_DO: &str = "no action possible on this host; verdicts are made without it and \
                             say so";
pub(super) const ROLL_UP_AGAIN: &str =
    "write the roll-ups of these days again, as docs/scale.md shows";

#[cfg(test)]
mod tests {
    use super::*;

    fn filled_with<const N: usize>(text: &str, details: [&str; N]) -> String {
        filled(text, &details.map(str::to_owned))
    }

    #[test]
    fn every_form_shows_its_details() {
        assert_eq!(filled_with("{} of {}", ["3", "{}"]), "3 of {}");
        assert_eq!(filled_with("{,} rows", ["1234567"]), "1,234,567 rows");
        assert_eq!(filled_with("{,} rows", ["(masked)"]), "(masked) rows");
        let rows = "{row is|rows are} omitted";
        assert_eq!(filled_with(rows, ["1"]), "1 row is omitted");
        assert_eq!(filled_with(rows, ["0"]), "0 rows are omitted");
        assert_eq!(filled_with("why{?; silent: }", [""]), "why");
        assert_eq!(filled_with("why{?; silent: }", ["a, b"]), "why; silent: a, b");
        assert_eq!(filled_with("{call}.", ["a", "denied", "", "no"]), "a: no.");
        assert_eq!(filled_with("[[x]] {1}", ["a", "b"]), "[[x]] b");
        assert_eq!(filled_with("{}{", []), "{");
    }
}
