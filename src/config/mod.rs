//! Settings: raw TOML with places in, validated settings out. Every bad key is
//! shown at once, with its line.

mod settings;

pub use settings::{
    ConfigError, PriceSettings, Problem, SettingsFile, parse_duration, read_settings,
};
