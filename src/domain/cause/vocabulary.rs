//! The words of which some details of causes are made.

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
    "previous prices are kept",
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

/// Figures of a GPU that a file of samples may lack.
pub const FIGURES: &[&str] = &[
    "utilization",
    "memory utilization",
    "memory in use",
    "memory",
    "power",
    "power limit",
    "energy",
    "temperature",
    "SM clock",
    "memory clock",
    "throttle reasons",
    "PCIe throughput",
    "video encoder",
    "video decoder",
    "processes",
    "multiprocessor counters (GPM)",
];

/// Why points of a series are dropped.
pub const POINT_REJECTIONS: [&str; 5] = [
    "not a number",
    "negative",
    "over 100%",
    "duplicate",
    "in the future",
];
