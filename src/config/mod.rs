//! Settings and policies: raw TOML with places in, validated values out. Every
//! bad key is shown at once, with its line.

mod changes;
mod metric_map;
mod policy_file;
mod reader;
mod settings;

pub use crate::domain::parse_duration;
pub use policy_file::{
    POLICY_FILE, POLICY_FILE_KEYS, STARTING_POLICY, parse_policy, parse_rejected, read_policy,
    read_rejected, with_choice,
};
pub use reader::Problem;
pub use settings::{ConfigError, PriceSettings, SettingsFile, read_settings};
