//! What the details of causes are, and the words of which some are made.

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
