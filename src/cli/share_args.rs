//! Flags of `gpucost share`, and tenants as they are typed.

use super::args::{DocFormat, EstateArgs, RiskChoice, valid};
use super::planner_flags::estate_flags;
use super::rightsize_flags::{percent, size_mib};
use crate::planners::share::{Isolation, ShareTenant};
use clap::Args;
use std::path::PathBuf;

/// `gpucost share`.
#[derive(Debug, Args)]
pub(super) struct ShareArgs {
    /// Instance type whose GPUs are shared; `--region` sets its region [default with an
    /// estate: the type with most tenants]
    #[arg(long = "type", value_name = "TYPE", help_heading = "Tenants")]
    pub instance_type: Option<String>,
    /// Tenant with its VRAM peak, such as `chat:10GiB`, `chat:10GiB:33%` or
    /// `chat:10GiB:33%:search:trusted` (can be repeated); needs no account
    #[arg(long, value_name = "NAME:VRAM[:PEAK%][:OWNER][:CLASS]", value_parser = tenant, requires = "instance_type", conflicts_with_all = estate_flags(), help_heading = "Tenants")]
    pub tenant: Vec<TypedTenant>,
    /// CSV file of tenants with the columns name, vram, peak_percent, owner and class
    #[arg(long, value_name = "FILE", requires = "instance_type", conflicts_with_all = estate_flags(), help_heading = "Tenants")]
    pub tenants: Option<PathBuf>,
    /// Take the processes of a file of `gpucost profile --samples` as tenants
    #[arg(long, value_name = "FILE", requires = "instance_type", conflicts_with_all = estate_flags(), help_heading = "Tenants")]
    pub processes: Option<PathBuf>,
    /// Class of tenants that state none: production (MIG), trusted (MPS with the same
    /// owner), development (time-slicing with the same owner)
    #[arg(long, value_name = "CLASS", value_parser = class, default_value = "production", help_heading = "Tenants")]
    pub class: Isolation,
    /// Number of instances that may be lost at once with room left for every tenant
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100), default_value_t = 0, help_heading = "Tenants")]
    pub survive_nodes: u32,
    /// Maximum risk level of the plan that the cards are shown beside [default: medium]
    #[arg(long, value_enum, conflicts_with_all = ["tenant", "tenants", "processes"])]
    pub risk: Option<RiskChoice>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DocFormat>,
    #[command(flatten)]
    pub estate: EstateArgs,
}

impl ShareArgs {
    /// Whether the tenants are given, so that no estate is read.
    pub(super) fn are_given(&self) -> bool {
        !self.tenant.is_empty() || self.tenants.is_some() || self.processes.is_some()
    }
}

/// A tenant as it was typed; its class may be left to `--class`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypedTenant {
    name: String,
    vram_mib: f64,
    peak_percent: Option<f64>,
    owner: Option<String>,
    class: Option<Isolation>,
}

impl TypedTenant {
    /// The tenant, with where it was typed.
    pub(super) fn tenant(self, otherwise: Isolation, source: &str) -> ShareTenant {
        ShareTenant {
            name: self.name,
            owner: self.owner,
            isolation: self.class.unwrap_or(otherwise),
            vram_peak_mib: self.vram_mib,
            peak_percent: self.peak_percent,
            hours: Vec::new(),
            source: source.to_owned(),
        }
    }

    /// Reads the parts of a tenant; empty ones are not stated.
    pub(super) fn of(
        name: &str,
        vram: &str,
        [peak, owner, class_name]: [&str; 3],
    ) -> Result<Self, String> {
        let stated = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let name = stated(name).ok_or("a tenant needs a name")?;
        let vram_mib = size_mib(vram).map_err(|message| format!("VRAM: {message}"))?;
        if vram_mib <= 0.0 {
            return Err("VRAM: a tenant holds more than nothing".to_owned());
        }
        let peak = stated(peak).map(|text| percent(&text));
        let class_name = stated(class_name).map(|text| class(&text));
        Ok(Self {
            name,
            vram_mib,
            peak_percent: peak.transpose().map_err(|message| format!("PEAK: {message}"))?,
            owner: stated(owner),
            class: class_name.transpose().map_err(|message| format!("CLASS: {message}"))?,
        })
    }
}

/// `NAME:VRAM[:PEAK%][:OWNER][:CLASS]`.
fn tenant(text: &str) -> Result<TypedTenant, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let part = |place: usize| parts.get(place).copied().unwrap_or_default();
    if !(2..=5).contains(&parts.len()) {
        return Err(
            "expected NAME:VRAM[:PEAK%][:OWNER][:CLASS], such as chat:10GiB:33%; names with a \
             colon go into a file for `--tenants`"
                .to_owned(),
        );
    }
    TypedTenant::of(part(0), part(1), [part(2), part(3), part(4)])
}

fn class(text: &str) -> Result<Isolation, String> {
    valid(Isolation::from_name(text), Isolation::NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_read_as_they_are_typed() {
        let whole = tenant("chat:10GiB:33%:search:trusted").expect("whole");
        assert_eq!(
            whole,
            TypedTenant {
                name: "chat".to_owned(),
                vram_mib: 10_240.0,
                peak_percent: Some(33.0),
                owner: Some("search".to_owned()),
                class: Some(Isolation::Trusted),
            }
        );
        let short = tenant("chat:10GiB").expect("name and memory");
        assert_eq!((short.peak_percent, short.owner, short.class), (None, None, None));
        // What is left empty is not stated, which is not zero.
        let class_alone = tenant("chat:10GiB:::development").expect("a class");
        assert_eq!(class_alone.peak_percent, None);
        assert_eq!(class_alone.class, Some(Isolation::Development));
        for bad in [
            "",
            "chat",
            ":10GiB",
            "chat:0GiB",
            "chat:-1GiB",
            "chat:nanGiB",
            "chat:10",
            "chat:10GiB:NaN",
            "chat:10GiB:101%",
            "chat:10GiB:-5",
            "chat:10GiB:5:search:best-effort",
            "chat:10GiB:5:search:trusted:more",
        ] {
            assert!(tenant(bad).is_err(), "{bad}");
        }
    }
}
