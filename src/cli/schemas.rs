//! `gpucost setup schema`: the JSON schemas of `docs/schema`, so that editors and programs have those
//! of the version that runs.

use super::exit::{Failure, Outcome};
use super::{Io, output};
use crate::config::{POLICY_FILE, policy_schema, settings_schema};
use crate::report::{
    answer_schema, audit_schema, diff_schema, doctor_schema, explain_schema, fix_schema,
    gate_schema, inventory_schema, metrics_schema, price_status_schema, pricing_schema,
    profile_schema, reserved_schema, rightsize_schema, schema_document, spot_schema,
    terraform_schema,
};
use crate::sources::files::{commitments_schema, estate_schema};
use clap::ValueEnum;

/// A document or a file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SchemaName {
    /// Answers of planners, key figures, bills and histories as JSON
    Answer,
    /// Report of `gpucost audit --format json`, which is also a baseline and one side of a diff
    Audit,
    /// Report of `gpucost check --format json`
    Check,
    /// Commitments file, of `--commitments`
    Commitments,
    /// Comparison of two audits or of two profiled runs as JSON
    Diff,
    /// Checks of `gpucost doctor --format json`
    Doctor,
    /// Estate file, which `--save` writes and `--from` reads
    Estate,
    /// Derivations of figures, with `--format json`
    Explain,
    /// Steps of `gpucost fix --format json`
    Fix,
    /// Inventory of instances, with `--format json`
    Inventory,
    /// GPU utilization per instance, with `--format json`
    Metrics,
    /// Policy file, gpucost-policy.toml
    Policy,
    /// Prices of `gpucost pricing --format json`
    Pricing,
    /// Ages of prices, of `gpucost pricing status --format json`
    PricingStatus,
    /// Summary of `gpucost profile --format json`, also one side of a diff
    Profile,
    /// Commitments against on-demand prices, with `--format json`
    Reserved,
    /// Types that workloads could move to, with `--format json`
    Rightsize,
    /// Settings file, gpucost.toml
    Settings,
    /// Spot net of interruptions, with `--format json`
    Spot,
    /// Report of `gpucost check --terraform-plan FILE --format json`
    TerraformCheck,
}

impl SchemaName {
    /// The schema as a JSON document.
    pub(super) fn text(self) -> Result<String, serde_json::Error> {
        Ok(match self {
            Self::Answer => answer_schema()?,
            Self::Doctor => doctor_schema()?,
            Self::PricingStatus => price_status_schema()?,
            Self::Pricing => pricing_schema()?,
            Self::Fix => fix_schema()?,
            Self::Explain => explain_schema()?,
            Self::Inventory => inventory_schema()?,
            Self::Metrics => metrics_schema()?,
            Self::Audit => audit_schema()?,
            Self::Profile => profile_schema()?,
            Self::Reserved => reserved_schema()?,
            Self::Diff => diff_schema()?,
            Self::Check => gate_schema()?,
            Self::TerraformCheck => terraform_schema()?,
            Self::Rightsize => rightsize_schema()?,
            Self::Spot => spot_schema()?,
            Self::Policy => {
                let about = "What `gpucost check` demands. A rule that is not there demands \
                             nothing; docs/check.md says what each key means.";
                schema_document("policy", POLICY_FILE, about, policy_schema())?
            }
            Self::Settings => {
                let about = "Settings of gpucost; docs/configuration.md says what each key means.";
                schema_document("settings", "gpucost.toml", about, settings_schema())?
            }
            Self::Commitments => {
                let about = "A file for --commitments, which holds what an estate holds under \
                             commitments; docs/estate.md says what each key means. Amounts are \
                             decimal numbers as text.";
                let title = "Commitments file of gpucost";
                schema_document("commitments", title, about, commitments_schema())?
            }
            Self::Estate => {
                let about = "All the input of one audit, as --save records it and --from reads \
                             it; docs/estate.md says how to write one. Only a few keys are \
                             required. Amounts of money are decimal numbers as text.";
                schema_document("estate", "Estate file of gpucost", about, estate_schema())?
            }
        })
    }
}

/// Prints a schema, or the name of each with what it describes.
pub(super) fn print(name: Option<SchemaName>, io: &mut Io<'_>) -> Outcome {
    let text = match name {
        Some(name) => name.text().map_err(Failure::unexpected)?,
        None => list(),
    };
    output::print(text.as_bytes(), io)
}

fn list() -> String {
    let values = SchemaName::value_variants().iter();
    let values: Vec<_> = values.filter_map(ValueEnum::to_possible_value).collect();
    let width = values.iter().map(|value| value.get_name().len()).max().unwrap_or(0);
    let line = |value: &clap::builder::PossibleValue| {
        let about = value.get_help().map(ToString::to_string);
        format!("{:width$}  {}\n", value.get_name(), about.unwrap_or_default())
    };
    values.iter().map(line).collect()
}
