//! `gpucost explain`.

use super::args::{DocFormat, EstateArgs, RISKS};
use super::redact::Masks;
use super::{Failure, Io, Outcome, audit, estate, flags, output, refusal};
use crate::analysis::{Audit, AuditedWorkload, audit as audit_estate};
use crate::domain::{Clusters, Risk, nearest_names};
use crate::report::text::fit;
use crate::report::{Derivation, NotFound, explain_doc, explainable_ids, find_explained};
use crate::usage::Estate;
use std::collections::BTreeMap;

flags! {
    /// `gpucost explain`.
    pub(super) struct ExplainArgs {
        /// ID of a finding, workload, instance or commitment, or name of a workload, as shown in
        /// the audit; `plan:WORKLOAD` for the workload's part of the plan
        id: String = arg(value_name = "ID");
        estate: EstateArgs = command(flatten);
        /// Maximum risk level of the plan [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
    }
}

/// IDs that are offered when one is not known.
const SHOWN_IDS: usize = 3;
/// Columns of an ID in a message.
const SHOWN_COLUMNS: usize = 100;

pub(super) fn run(args: &ExplainArgs, io: &mut Io<'_>) -> Outcome {
    let (settings, format) = audit::settings(args.format, &args.estate.out, io)?;
    let accepted = audit::risk(args.risk, &settings, io)?;
    let (estate, masks) = estate::last_estate((&args.estate, &settings), io)?;
    let audited = audit_estate(&estate, &settings.policy, accepted);
    let id = masked_id(&args.id, &masks, &estate, &audited);
    let explained = find_explained(&audited, &estate.clusters, &id)
        .map_err(|reason| not_found(&id, &reason, &audited, &estate.clusters))?;
    let derivation = Derivation {
        audit: &audited,
        policy: &settings.policy,
        commitments: &estate.commitments,
        accepted,
    };
    let doc = explain_doc(explained, &derivation);
    let out = &args.estate.out;
    // A row that is missing is evidence that is missing.
    output::print_rows(&doc, format, Some(usize::MAX), out, io)
}

/// The masked form of a real ID; the ID itself where nothing has it.
fn masked_id(id: &str, masks: &Masks, estate: &Estate, audited: &Audit) -> String {
    let mut known = explainable_ids(audited);
    known.extend(estate.commitments.ids().map(str::to_owned));
    known.extend(audited.findings.iter().map(|finding| finding.workload().to_owned()));
    for AuditedWorkload { workload, .. } in &audited.workloads {
        for instance in &workload.instances {
            known.extend([instance.as_str(), instance.native()].map(str::to_owned));
        }
        known.push(workload.name.clone());
    }
    let nodes = estate.clusters.nodes.iter().map(|node| node.name.clone());
    // A node may have the name of its machine, which is masked otherwise and comes first.
    let known = [known, nodes.collect()].map(|ids| masks.revealed(ids));
    let mask_of = |id: &str| {
        let only_mask = |known: &Vec<(String, String)>| {
            let mut masks = known.iter().filter(|(_, real)| real == id);
            let (first, _) = masks.next()?;
            masks.all(|(mask, _)| mask == first).then(|| first.clone())
        };
        known.iter().find_map(only_mask)
    };
    // `plan:` or a rule stands before the names.
    let of_part = || {
        let (before, name) = id.split_once(':')?;
        Some(format!("{before}:{}", mask_of(name)?))
    };
    mask_of(id).or_else(of_part).unwrap_or_else(|| id.to_owned())
}

fn not_found(id: &str, reason: &NotFound, audited: &Audit, clusters: &Clusters) -> Failure {
    let id = fit(id, SHOWN_COLUMNS);
    match reason {
        NotFound::Unknown => {
            let mut known = explainable_ids(audited);
            let workloads = audited.workloads.iter();
            known.extend(workloads.map(|workload| workload.workload.name.clone()));
            known.extend(clusters.nodes.iter().map(|node| node.name.clone()));
            let failure = Failure::input(format!("id `{id}` not found"));
            if known.is_empty() {
                return failure.with_hint("the estate has no GPU workloads");
            }
            let mut by_name: BTreeMap<&str, &String> =
                known.iter().map(|known| (known.as_str(), known)).collect();
            // Who mistypes what a finding is about leaves its rule out.
            for known in &known {
                if let Some((_, name)) = known.split_once(':') {
                    by_name.entry(name).or_insert(known);
                }
            }
            let nearest = nearest_names(&id, by_name.keys().copied());
            let nearest = nearest.iter().filter_map(|name| by_name.get(name.as_str()));
            let nearest: Vec<String> = nearest.map(|known| (*known).clone()).collect();
            let lists = "`gpucost audit --format json` lists";
            failure.with_hint(match nearest.as_slice() {
                [] => format!("{lists} every ID and name"),
                nearest => format!("closest matches: {}; {lists} all", listed(nearest)),
            })
        }
        NotFound::Ambiguous(ids) => refusal!("{} workloads are named `{id}`", ids.len();
            "use an id instead: {}", listed(ids)),
        NotFound::Several(ids) => refusal!("`{id}` matches {} ids", ids.len();
            "use one of them: {}", listed(ids)),
    }
}

/// The first few of some IDs.
fn listed(ids: &[String]) -> String {
    let shown: Vec<String> = ids.iter().take(SHOWN_IDS).map(|id| fit(id, SHOWN_COLUMNS)).collect();
    let rest = ids.len() - shown.len();
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    format!("{}{more}", shown.join(", "))
}
