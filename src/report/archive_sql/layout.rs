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

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident = $name:literal { $($kind:ident $($column:literal)*;)* })*) => {
        /// A table of a history.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Table {
            $($(#[$doc])* $table),*
        }

        impl Table {
            pub const ALL: [Self; 5] = [$(Self::$table),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$table => $name),* }
            }

            /// Its columns. A statement gives one more at the end: `dt`, the day as text.
            pub fn columns(self) -> &'static [(&'static str, Kind)] {
                match self { $(Self::$table => &[$($(($column, Kind::$kind),)*)*]),* }
            }
        }
    };
}

tables! {
    Asked = "usage_asked" {
        Text "account" "region" "instance" "asked"; Whole "period_seconds";
    }
    Series = "usage_series" {
        Text "account" "region" "instance" "metric"; Whole "gpu";
        Text "statistic" "source" "joined_by"; Whole "is_empty" "n" "period_seconds";
        Real "min" "max";
        Whole "sum" "n_active" "first" "last" "not_a_number" "negative" "over_100" "duplicate" "future";
    }
    Grid = "usage_grid" {
        Text "account" "region" "instance" "metric" "source";
        Whole "period" "n" "sum" "max" "n_max" "works";
    }
    Hist = "usage_hist" {
        Text "account" "region" "instance" "metric"; Whole "gpu"; Text "statistic";
        Whole "bucket" "n";
    }
    /// Hours of each series. gpucost does not read it.
    Hour = "usage_hour" {
        Text "account" "region" "instance" "metric"; Whole "gpu" "hour" "n" "sum";
        Real "min" "max"; Whole "n_active";
    }
}

impl Table {
    /// Those that gpucost reads.
    pub const READ: [Self; 4] = [Self::Asked, Self::Series, Self::Grid, Self::Hist];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }
}
