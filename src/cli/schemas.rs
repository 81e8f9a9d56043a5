//! `gpucost setup schema`: the JSON schemas of `docs/schema`, so that editors and programs have those
//! of the version that runs.

use super::{Failure, Io, Outcome, output};
use crate::config::{POLICY_FILE, policy_schema, settings_schema};
use crate::report::{
    audit_schema, diff_schema, doctor_schema, explain_schema, fix_schema, gate_schema,
    inventory_schema, metrics_schema, planners::answer_schema, price_status_schema, pricing_schema,
    profile_schema, reserved_schema, rightsize_schema, schema_document, spot_schema,
    terraform_schema,
};
use crate::sources::files::{commitments_schema, estate_schema};
use clap::ValueEnum;

/// Declares what has a schema, a line each: its name, what it is, and the schema as a JSON document.
macro_rules! schemas {
    ($($(#[$about:meta])* $name:ident = $text:expr;)*) => {
        /// A document or a file that has a schema.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub(super) enum SchemaName { $($(#[$about])* $name,)* }

        impl SchemaName {
            /// The schema as a JSON document.
            pub(super) fn text(self) -> Result<String, serde_json::Error> {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

schemas! {
    /// Answers of planners, key figures, bills and histories as JSON
    Answer = answer_schema();
    /// Report of `gpucost audit --format json`, which is also a baseline and one side of a diff
    Audit = audit_schema();
    /// Report of `gpucost check --format json`
    Check = gate_schema();
    /// Commitments file, of `--commitments`
    Commitments = schema_document(
        "commitments", "Commitments file of gpucost", "A file for --commitments, which holds what an \
         estate holds under commitments; docs/estate.md says what each key means. Amounts are decimal \
         numbers as text.", commitments_schema());
    /// Comparison of two audits or of two profiled runs as JSON
    Diff = diff_schema();
    /// Checks of `gpucost doctor --format json`
    Doctor = doctor_schema();
    /// Estate file, which `--save` writes and `--from` reads
    Estate = schema_document(
        "estate", "Estate file of gpucost", "All the input of one audit, as --save records it and \
         --from reads it; docs/estate.md says how to write one. Only a few keys are required. Amounts \
         of money are decimal numbers as text.", estate_schema());
    /// Derivations of figures, with `--format json`
    Explain = explain_schema();
    /// Steps of `gpucost fix --format json`
    Fix = fix_schema();
    /// Inventory of instances, with `--format json`
    Inventory = inventory_schema();
    /// GPU utilization per instance, with `--format json`
    Metrics = metrics_schema();
    /// Policy file, gpucost-policy.toml
    Policy = schema_document(
        "policy", POLICY_FILE, "What `gpucost check` demands. A rule that is not there demands nothing; \
         docs/check.md says what each key means.", policy_schema());
    /// Prices of `gpucost pricing --format json`
    Pricing = pricing_schema();
    /// Ages of prices, of `gpucost pricing status --format json`
    PricingStatus = price_status_schema();
    /// Summary of `gpucost profile --format json`, also one side of a diff
    Profile = profile_schema();
    /// Commitments against on-demand prices, with `--format json`
    Reserved = reserved_schema();
    /// Types that workloads could move to, with `--format json`
    Rightsize = rightsize_schema();
    /// Settings file, gpucost.toml
    Settings = schema_document(
        "settings", "gpucost.toml",
        "Settings of gpucost; docs/configuration.md says what each key means.", settings_schema());
    /// Spot net of interruptions, with `--format json`
    Spot = spot_schema();
    /// Report of `gpucost check --terraform-plan FILE --format json`
    TerraformCheck = terraform_schema();
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
