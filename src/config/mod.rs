//! Settings and policies: raw TOML with places in, validated values out. Every
//! bad key is shown at once, with its line.

#[macro_use]
mod keys;

mod policy_file;
mod reader;
mod settings;

pub use crate::domain::parse_duration;
pub use policy_file::{
    POLICY_FILE, STARTING_POLICY, parse_policy, parse_rejected, policy_schema, read_policy,
    read_rejected, with_choice,
};
pub use reader::Problem;
pub use settings::{ConfigError, PriceSettings, SettingsFile, read_settings, settings_schema};
