//! Reading the nights that a history keeps, for the commands that add them up.

use super::places::{failed, place_of};
use crate::cli::args::OutputArgs;
use crate::cli::exit::Failure;
use crate::cli::{Io, live, output, usage_history};
use crate::report::text::{counted, safe};
use crate::sources::aws::{AwsOptions, Notice};
use crate::sources::files::{Recorded, Records};
use crate::sources::store::Place;
use jiff::civil::Date;
use std::collections::BTreeSet;

/// Problems that are named one by one.
const MOST_NAMED: usize = 3;

/// What a place keeps, and whether all of it could be read. A day of which a file cannot be
/// used counts as not recorded, and not as one without costs.
pub(in crate::cli) fn read_nights(
    named: Option<&Place>,
    aws: &AwsOptions,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Result<Recorded, Failure> {
    let place = place_of(named);
    if let Place::Folder(folder) = &place
        && !folder.is_dir()
    {
        return Err(Failure::input(format!("{place} is not a directory"))
            .with_hint("pass the directory or URL that `gpucost history record` wrote to"));
    }
    let access = usage_history::bucket_access(aws, io);
    let done = live::run(out, &Notice::default(), io, async |progress| {
        progress("history");
        let records = Records::open(&place, &access).await?;
        records.read(None).await
    });
    let mut found = done?.map_err(|error| failed(error, &place))?;
    let problems = found.problems.iter();
    let lost: BTreeSet<Date> = problems.filter_map(|one| day_of(&one.place)).collect();
    for run in &mut found.runs {
        run.days.retain(|day| !lost.contains(day));
    }
    for problem in found.problems.iter().take(MOST_NAMED) {
        let line = safe(&format!("warning: the history cannot use {problem}"));
        output::say(&line, out, io);
    }
    let further = found.problems.len().saturating_sub(MOST_NAMED);
    if further > 0 {
        let files = counted(further as u64, "more file", "more files");
        output::say(&format!("warning: the history cannot use {files}"), out, io);
    }
    Ok(found)
}

/// The day that a file is of, by its place.
fn day_of(place: &str) -> Option<Date> {
    let (_, rest) = place.rsplit_once("/dt=")?;
    rest.get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_day_of_its_folder() {
        let day = jiff::civil::date(2026, 11, 22);
        for place in [
            "history/v1/cost/dt=2026-11-22/20261123T030000Z-1.parquet",
            "s3://bucket/v1/cost/dt=2026-11-22/20261123T030000Z-1.parquet",
        ] {
            assert_eq!(day_of(place), Some(day));
        }
        for place in ["history/v1/compact/x.json", "a/dt=soon/x", "a/dt=2026", ""] {
            assert_eq!(day_of(place), None, "{place}");
        }
    }
}
