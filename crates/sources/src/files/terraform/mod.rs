//! Terraform plans, as `terraform show -json` writes them.

mod address;
mod document;
mod instances;
mod kinds;
mod parts;
mod sieve;
mod templates;
mod view;

use self::document::{Change, Document, LAUNCH_CONFIGURATION, LAUNCH_TEMPLATE, RUNNING};
use self::instances::instances;
use self::kinds::{Bill, ENDPOINT_CONFIGURATION as CONFIGURATION, KINDS};
use self::parts::Part;
use self::sieve::Node;
use self::templates::{Index, Side, Templates, launched};
use self::view::{Configuration, View};
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, Missing, PlanAction, Planned, PlannedInstances,
    PlannedResource, TerraformPlan,
};
use crate::files::shared::bounded::plain_text;
use crate::files::shared::json::json_text;
use serde::Deserialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

/// Why a plan could not be used.
#[derive(Debug, thiserror::Error)]
pub enum TerraformError {
    /// It could not be read.
    #[error("cannot read the plan {name}")]
    Io {
        /// The file, as the user named it.
        name: String,
        source: io::Error,
    },
    #[error("{name} is {found}, not a JSON plan")]
    Other {
        /// The file, as the user named it.
        name: String,
        found: &'static str,
    },
    /// It is not JSON, ends early, or is not laid out as a plan.
    #[error("{name} is not a readable Terraform plan")]
    Malformed {
        /// The file, as the user named it.
        name: String,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
}

/// Bytes of one text: a plan repeats whole files.
const LONGEST_TEXT: usize = 64 << 20;

/// Reads a plan, plain or gzip-compressed. `name` is what messages call it; `region` stands in where the
/// plan names none. Memory grows with the resources that run instances, not with
/// the plan.
///
/// # Errors
/// When it cannot be read or is not a plan.
pub fn read_terraform_plan(
    input: impl Read,
    name: &str,
    region: Option<&str>,
) -> Result<TerraformPlan, TerraformError> {
    let read_error = |source| TerraformError::Io { name: name.to_owned(), source };
    let other = |found| TerraformError::Other { name: name.to_owned(), found };
    let mut input = plain_text(input).map_err(read_error)?;
    let start = input.fill_buf().map_err(read_error)?;
    if let Some(found) = other_file(start) {
        return Err(other(found));
    }
    let mut deserializer = serde_json::Deserializer::from_reader(json_text(input, LONGEST_TEXT));
    let read = Document::deserialize(&mut deserializer)
        .and_then(|document| deserializer.end().map(|()| document));
    let document = read.map_err(|source| match source.io_error_kind() {
        Some(_) => read_error(source.into()),
        None => TerraformError::Malformed { name: name.to_owned(), source },
    })?;
    match (document.is_plan, document.is_state, &document.format_version) {
        (true, _, Some(_)) => Ok(plan(&document, region)),
        (false, true, Some(_)) => Err(other("a Terraform state")),
        _ => Err(other("a different JSON document")),
    }
}

/// What a file is that is not JSON, by how it begins.
fn other_file(start: &[u8]) -> Option<&'static str> {
    match start {
        [] => Some("empty"),
        [b'P', b'K', ..] => Some("a binary Terraform plan file"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16 text"),
        _ => None,
    }
}

fn plan(document: &Document, fallback: Option<&str>) -> TerraformPlan {
    let configuration = &Configuration::of(document);
    let index = Index::of(&document.changes);
    let used = [RefCell::default(), RefCell::default()];
    let [today, then] = [Side::Before, Side::After].map(|side| {
        let used = &used[usize::from(side == Side::After)];
        Templates { index: &index, configuration, side, used }
    });
    let mut resources: Vec<PlannedResource> = Vec::new();
    for change in &document.changes {
        let Some(action) = action(&change.change) else { continue };
        let is_running = RUNNING.contains(&change.resource_type.as_str());
        let place = |view: &View<'_>| region(change, view, configuration, fallback);
        let parts = Part::all_of(change, is_running).into_iter();
        let parts: Vec<_> = parts
            .map(|part| {
                let before = instances(change, part, &today, place);
                (part, before, instances(change, part, &then, place))
            })
            // A launching resource is listed even where the plan has no values of it.
            .filter(|(_, before, after)| is_running || before.is_some() || after.is_some())
            .collect();
        let is_only = parts.len() == 1;
        let actions = change.change.get("actions").elements();
        let is_forgotten = actions.iter().any(|action| action.text() == Some("forget"));
        for (part, before, mut after) in parts {
            let mut action = action;
            if action == PlanAction::Forget {
                after = before.clone();
            }
            // What it launches from may change without it.
            if action == PlanAction::NoOp && before != after {
                action = PlanAction::Update;
            }
            let suffix = if is_only { String::new() } else { part.suffix() };
            let mut resource = PlannedResource {
                address: format!("{}{suffix}", change.address),
                resource_type: change.resource_type.clone(),
                native: native(change).filter(|_| is_running),
                type_reference: type_reference(change, configuration),
                action,
                before,
                after,
            };
            // What a replacement forgets goes on beside it.
            if action == PlanAction::Replace && is_forgotten {
                let kept = resource.before.take();
                resource.action = PlanAction::Create;
                resources.push(PlannedResource {
                    address: format!("{} (forgotten)", resource.address),
                    type_reference: None,
                    action: PlanAction::Forget,
                    before: kept.clone(),
                    after: kept,
                    ..resource.clone()
                });
            }
            resources.push(resource);
        }
    }
    let used = used.each_ref().map(RefCell::take);
    settle_endpoints(&mut resources, &used);
    settle_reservations(&mut resources);
    resources.sort_by(|left, right| left.address.cmp(&right.address));
    let unused_templates = unused_templates(document, &used, [&today, &then]);
    TerraformPlan {
        terraform_version: document.terraform_version.clone(),
        resources: document.resources,
        other_providers: document.other_providers.clone(),
        instances: resources,
        unused_templates,
        gaps: gaps(document),
    }
}

/// What a configuration of endpoints states runs once for each of them.
fn settle_endpoints(resources: &mut [PlannedResource], used: &[BTreeMap<String, u64>; 2]) {
    let configurations = resources.iter_mut();
    for resource in configurations.filter(|resource| resource.resource_type == CONFIGURATION) {
        let (before, after) = (&mut resource.before, &mut resource.after);
        for (instances, used) in [before, after].into_iter().zip(used) {
            let mut links = used.iter().filter(|(address, _)| {
                let rest = resource.address.strip_prefix(address.as_str());
                rest.is_some_and(|suffix| suffix.is_empty() || suffix.starts_with('.'))
            });
            if let (Some(instances), Some((_, endpoints))) = (instances, links.next()) {
                instances.repeat(*endpoints);
            }
        }
        if resource.action == PlanAction::NoOp && resource.before != resource.after {
            resource.action = PlanAction::Update;
        }
    }
}

/// Instances that run in a reservation are not billed beside it. Which do, a plan seldom
/// says: where it runs any of the type, what the reservation adds is not known.
fn settle_reservations(resources: &mut [PlannedResource]) {
    let reserves = |resource: &PlannedResource| {
        KINDS.iter().any(|kind| {
            kind.bill == Bill::Reservation && kind.resource_type == resource.resource_type
        })
    };
    let sides: [fn(&mut PlannedResource) -> &mut Option<PlannedInstances>; 2] =
        [|resource| &mut resource.before, |resource| &mut resource.after];
    for side in sides {
        let mut types: BTreeSet<String> = BTreeSet::new();
        for resource in resources.iter_mut().filter(|candidate| !reserves(candidate)) {
            let on_demand = side(resource).iter().filter(
                |planned| !matches!(&planned.payment, Ok(payment) if payment.on_demand == 0),
            );
            types.extend(on_demand.flat_map(|planned| planned.types.iter().cloned()));
        }
        for resource in resources.iter_mut().filter(|candidate| reserves(candidate)) {
            if let Some(instances) = side(resource)
                && instances.types.iter().any(|name| types.contains(name))
            {
                let reason = "instances of its type in the plan may run in it, and are then not \
                              billed in addition";
                instances.payment = Err(Missing::elsewhere(reason));
            }
        }
    }
}

/// What AWS calls a resource that is there.
fn native(change: &Change) -> Option<String> {
    let key = match change.resource_type.as_str() {
        "aws_autoscaling_group" => "name",
        _ => "id",
    };
    change.change.get("before").get(key).text().map(str::to_owned)
}

fn type_reference(change: &Change, configuration: &Configuration<'_>) -> Option<String> {
    let expressions = configuration.expressions(&change.parts)?;
    expressions.get("instance_type").get("references").elements().first()?.text().map(str::to_owned)
}

/// What happens to a resource, of which an action that nobody knows changes something; `None`
/// for what is only read.
fn action(change: &Node) -> Option<PlanAction> {
    let actions = change.get("actions").elements();
    let has = |name: &str| actions.iter().any(|action| action.text() == Some(name));
    if has("create") && (has("delete") || has("forget")) {
        return Some(PlanAction::Replace);
    }
    let known = [
        ("create", PlanAction::Create),
        ("delete", PlanAction::Delete),
        ("update", PlanAction::Update),
        ("forget", PlanAction::Forget),
        ("no-op", PlanAction::NoOp),
    ];
    let known = known.into_iter().find(|(name, _)| has(name)).map(|(_, action)| action);
    known.or_else(|| (!actions.is_empty() && !has("read")).then_some(PlanAction::Update))
}

/// Where a resource works: what it says itself, then what it is called today,
/// then its provider, then what the user says.
fn region(
    change: &Change,
    view: &View<'_>,
    configuration: &Configuration<'_>,
    fallback: Option<&str>,
) -> Planned<String> {
    if let Some(other) = change.other_provider.as_deref() {
        return Err(Missing::Elsewhere(format!("regions of {other} are not read")));
    }
    if let Some(region) = view.values.get("region").text() {
        return Ok(region.to_owned());
    }
    let zones = view.values.get("availability_zones").elements();
    let zone = view.values.get("availability_zone").text();
    let zone = zone.or_else(|| zones.first().and_then(Node::text));
    if let Some(region) = zone.and_then(region_of_zone) {
        return Ok(region);
    }
    let arns = [view.values, change.change.get("before")];
    if let Some(region) = arns.iter().find_map(|side| region_of_arn(side.get("arn"))) {
        return Ok(region);
    }
    let configured = configuration.region(&change.parts);
    match (configured, fallback) {
        (Ok(Some(region)), _) => Ok(region),
        (_, Some(region)) => Ok(region.to_owned()),
        (Err(missing), None) => Err(missing),
        (Ok(None), None) => {
            Err(Missing::unspecified("a region; Terraform takes it from its environment"))
        }
    }
}

fn region_of_arn(arn: &Node) -> Option<String> {
    let region = arn.text()?.split(':').nth(3)?;
    (!region.is_empty()).then(|| region.to_owned())
}

/// `us-east-1` of `us-east-1a`, and of the local zone `us-east-1-atl-1a`.
fn region_of_zone(zone: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in zone.split('-') {
        let digits = part.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let is_last = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        parts.push(if is_last { digits } else { part });
        if is_last {
            return (parts.len() > 2).then(|| parts.join("-"));
        }
    }
    None
}

/// What of the plan as a whole was not read.
fn gaps(document: &Document) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let is_unwritten = matches!(document.configuration, Node::Null) && !document.changes.is_empty();
    for (is_there, kind) in [
        (document.errored, CauseKind::PlanErrored),
        (document.deferred, CauseKind::PlanDeferred),
        (is_unwritten, CauseKind::PlanWithoutConfiguration),
    ] {
        if is_there {
            gaps.push(Gap::of(GapSubject::Plan, "everything", Cause::of(kind, [])));
        }
    }
    gaps.extend(document.unchanged.iter().map(|address| {
        Gap::of(GapSubject::Plan, address.as_str(), Cause::of(CauseKind::PlanCut, []))
    }));
    gaps
}

/// Launch templates that get another type, or one that the plan does not show, which nothing in the
/// plan runs.
fn unused_templates(
    document: &Document,
    used: &[BTreeMap<String, u64>; 2],
    sides: [&Templates<'_>; 2],
) -> BTreeMap<String, Planned<String>> {
    let launches = [LAUNCH_CONFIGURATION, LAUNCH_TEMPLATE];
    let templates =
        document.changes.iter().filter(|change| launches.contains(&change.resource_type.as_str()));
    let unused =
        templates.filter(|change| !used.iter().any(|used| used.contains_key(&change.address)));
    unused
        .filter_map(|change| {
            let [before, after] = sides.map(|templates| {
                let launched = launched(&templates.view(change)?);
                let name = launched.instance_type.transpose()?;
                Some((name, launched.market, launched.tenancy, launched.tags))
            });
            let (name, ..) = after.as_ref().filter(|after| before.as_ref() != Some(after))?;
            Some((change.address.clone(), name.clone()))
        })
        .collect()
}

#[cfg(test)]
mod resource_tests;
#[cfg(test)]
mod tests;
