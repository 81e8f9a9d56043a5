//! The columns of the tables of a history, in order. A test holds them to what gpucost writes.

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Always there.
    Text,
    /// May be absent.
    Whole,
    /// May be absent.
    Real,
}

/// A table of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    Asked,
    Series,
    Grid,
    Hist,
    /// Hours of each series. gpucost does not read it.
    Hour,
}

type Columns = &'static [(&'static str, Kind)];

macro_rules! columns {
    ($($kind:ident $($name:literal)*;)*) => { &[$($(($name, Kind::$kind),)*)*] };
}

const ASKED: Columns = columns! {
    Text "account" "region" "instance" "asked"; Whole "period_seconds";
};
const SERIES: Columns = columns! {
    Text "account" "region" "instance" "metric"; Whole "gpu";
    Text "statistic" "source" "joined_by"; Whole "is_empty" "n" "period_seconds";
    Real "min" "max";
    Whole "sum" "n_active" "first" "last" "not_a_number" "negative" "over_100" "duplicate" "future";
};
const GRID: Columns = columns! {
    Text "account" "region" "instance" "metric" "source";
    Whole "period" "n" "sum" "max" "n_max" "works";
};
const HIST: Columns = columns! {
    Text "account" "region" "instance" "metric"; Whole "gpu"; Text "statistic";
    Whole "bucket" "n";
};
const HOUR: Columns = columns! {
    Text "account" "region" "instance" "metric"; Whole "gpu" "hour" "n" "sum"; Real "min" "max";
    Whole "n_active";
};

impl Table {
    pub const ALL: [Self; 5] = [
        Self::Asked,
        Self::Series,
        Self::Grid,
        Self::Hist,
        Self::Hour,
    ];

    /// Those that gpucost reads.
    pub const READ: [Self; 4] = [Self::Asked, Self::Series, Self::Grid, Self::Hist];

    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "usage_asked",
            Self::Series => "usage_series",
            Self::Grid => "usage_grid",
            Self::Hist => "usage_hist",
            Self::Hour => "usage_hour",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Its columns. A statement gives one more at the end: `dt`, the day as text.
    pub fn columns(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Asked => ASKED,
            Self::Series => SERIES,
            Self::Grid => GRID,
            Self::Hist => HIST,
            Self::Hour => HOUR,
        }
    }
}
