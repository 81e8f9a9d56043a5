//! `gpucost check --terraform-plan`: the gate before anything runs.

use super::check::{CheckArgs, check_files, ending, found_policy, policy, print};
use super::known_prices::{PriceAge, is_several};
use super::{Io, Outcome, estate, hinted, known_prices, output, refusal};
use crate::analysis::gate::{gate_plan, unjudged_by_plan};
use crate::analysis::price_plan;
use crate::catalog::Prices;
use crate::config::SettingsFile;
use crate::domain::{TerraformPlan, counted, safe, shown};
use crate::report::{terraform_brief, terraform_doc};
use crate::sources::files::{TerraformError, read_terraform_plan};
use std::fs::File;
use std::path::Path;

/// What a plan is called that comes over stdin.
const STDIN: &str = "stdin";

pub(super) fn run(path: &Path, args: &CheckArgs, io: &mut Io<'_>) -> Outcome {
    let out = &args.estate.out;
    let settings = estate::settings(out, io)?;
    // What a plan changes is worth reading before anybody writes a policy.
    let policy_found = found_policy(args, io);
    check_files(args, policy_found.as_ref().map(|(path, _)| path.as_path()))?;
    let policy = policy_found.as_ref().map(|(path, name)| policy(path, name)).transpose()?;
    let policy = policy.unwrap_or_default();
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let (plan, name) = read(path, region(args, &settings, io)?.as_deref(), "--terraform-plan")?;

    let book = known_prices::book(args.estate.offline, &settings, io)?;
    let terms = &settings.policy;
    let prices = Prices::new(&book, &terms.discount_percent);
    let change = price_plan(&plan, &prices, terms.hours_per_month);
    let warning = age.check(change.oldest_seen_on(), io.now)?;
    let mut report = gate_plan(&change, &policy, &name, io.now);
    report.settings = settings.money_settings(&io.folder);
    let unjudged = unjudged_by_plan(&policy);
    if policy_found.is_some() && report.checks.is_empty() && !change.rows.is_empty() {
        return Err(refusal!("no rule in the policy applies to a plan";
            "supported: budgets, tags, allowed types and regions, price age; see \
             docs/terraform.md"));
    }
    let brief = terraform_brief(&change, &unjudged, &name, io.now);
    print(terraform_doc(&change, &report, &brief, &name), (&report, &brief), args, &settings, io)?;
    output::warn(warning, out, io);
    let line = format!(
        "checked {} that {} GPU instances; {}",
        counted(change.rows.len(), "resource", "resources"),
        if change.rows.len() == 1 { "runs" } else { "run" },
        counted(change.gaps.len(), "gap", "gaps")
    );
    output::say(&line, out, io);
    let nothing = format!("nothing to check: {}", safe(&change.nothing().unwrap_or_default()));
    Ok(ending(&report, &change.gaps, &nothing, args, io))
}

/// The region of a plan that names none: of the flag or the settings, and not the default
/// of an AWS profile.
fn region(args: &CheckArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Option<String>> {
    if let Some(named) = &args.estate.aws.region {
        if is_several(named) {
            return Err(refusal!(
                "`--region {named}` is not a single region: with `--terraform-plan` it is the \
                 default where the plan sets none";
                "pass one, such as `--region us-east-1`"));
        }
        return Ok(Some(named.trim().to_owned()));
    }
    let usual = io.variable("GPUCOST_REGION").or(settings.region.as_ref());
    Ok(usual.filter(|name| !is_several(name)).cloned())
}

/// Reads the plan that a flag names; `region` stands in where the plan names none.
pub(super) fn read(
    path: &Path,
    region: Option<&str>,
    flag: &str,
) -> Outcome<(TerraformPlan, String)> {
    let (plan, name) = if path.as_os_str() == "-" {
        let stdin = std::io::stdin().lock();
        (read_terraform_plan(stdin, STDIN, region), STDIN.to_owned())
    } else {
        let name = shown(path);
        let plan = File::open(path)
            .map_err(|source| TerraformError::Io { name: name.clone(), source })
            .and_then(|file| read_terraform_plan(file, &name, region));
        (plan, name)
    };
    let plan = plan.map_err(|error| hinted! { error;
        TerraformError::Io { .. } => "check the path passed to `{flag}`";
        TerraformError::Other { .. } => "create one in UTF-8 with `terraform plan -out plan.bin && terraform show -json plan.bin > plan.json`";
        TerraformError::Malformed { .. } => "use a plan written by `terraform show -json`; see docs/terraform.md";
    })?;
    Ok((plan, name))
}
