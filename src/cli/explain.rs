//! `gpucost explain`.

use super::args::ExplainArgs;
use super::exit::{ExitCode, Failure};
use super::{Io, audit, estate, output};
use crate::analysis::audit as audit_estate;
use crate::report::{explainable_ids, explanation, find_explained};

/// Ids that are offered when one is not known.
const SHOWN_IDS: usize = 3;

pub(super) fn run(args: &ExplainArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let accepted = audit::risk(args.risk, &settings, io)?;
    let estate = estate::last_estate(&args.estate, &settings, io)?;
    let audited = audit_estate(&estate, &settings.policy, accepted);
    let Some(explained) = find_explained(&audited, &args.id) else {
        let mut known = explainable_ids(&audited);
        known.sort_by_cached_key(|id| {
            let likeness = strsim::jaro_winkler(id, &args.id);
            std::cmp::Reverse((likeness * 1e6) as u64)
        });
        known.truncate(SHOWN_IDS);
        return Err(
            Failure::input(format!("nothing has the id `{}`", args.id)).with_hint(format!(
                "the nearest are {}; `gpucost audit --format json` lists all",
                known.join(", ")
            )),
        );
    };
    let text = explanation(explained, &settings.policy);
    output::document(&text, &args.estate.out, io)?;
    Ok(ExitCode::Done)
}
