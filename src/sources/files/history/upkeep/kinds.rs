//! What the files of a history are, by their names.

use crate::sources::files::history::columns::Schema;
use crate::sources::files::history::layout::{Named, RUN, USAGE_RUN};
use crate::sources::files::history::ledger::{ACTION, COST, HOUR};
use crate::sources::files::history::tables::ALL;
use crate::sources::store::Listed;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A list of what a run kept of a day.
    UsageRun,
    /// The file of an audit.
    Run,
    Table,
    /// What a write that did not end left.
    Temporary,
    /// Not written by this program.
    Foreign,
}

/// What a file is.
pub(super) fn kind_of(one: &Listed) -> Kind {
    if !one.is_regular {
        return Kind::Foreign;
    }
    let Some(named) = Named::of(&one.name) else {
        let is_temporary = is_temporary(&one.name).unwrap_or_default();
        return if is_temporary { Kind::Temporary } else { Kind::Foreign };
    };
    match named.table {
        _ if !named.has_own_id() => Kind::Foreign,
        USAGE_RUN => Kind::UsageRun,
        RUN => Kind::Run,
        table if schema_of(table).is_some() => Kind::Table,
        _ => Kind::Foreign,
    }
}

/// The columns of a table.
pub(super) fn schema_of(table: &str) -> Option<&'static Schema> {
    const LEDGER: [&Schema; 3] = [&COST, &ACTION, &HOUR];
    let mut schemas = ALL.into_iter().chain(LEDGER);
    schemas.find(|schema| schema.name == table)
}

/// Whether a name is that of a temporary file beside a file of a history,
/// `.FILE.PROCESS.NUMBER.tmp`; `None` where it has other parts.
fn is_temporary(name: &str) -> Option<bool> {
    let (folder, file) = name.rsplit_once('/')?;
    let rest = file.strip_prefix('.')?.strip_suffix(".tmp")?;
    let mut parts = rest.rsplitn(3, '.');
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    let (attempt, process, own) = (parts.next()?, parts.next()?, parts.next()?);
    if !is_number(attempt) || !is_number(process) {
        return None;
    }
    let name = format!("{folder}/{own}");
    let named = Named::of(&name)?;
    let is_list = [USAGE_RUN, RUN].contains(&named.table);
    Some(is_list || schema_of(named.table).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        let of = |name: &str| {
            let one = Listed { name: name.to_owned(), bytes: 1, is_regular: true };
            kind_of(&one)
        };
        let day = "dt=2026-11-02";
        let id = "20261103T040000Z-0123456789abcdef";
        for (name, kind) in [
            (format!("v1/usage_run/{day}/{id}.json"), Kind::UsageRun),
            (format!("v1/run/{day}/{id}.json"), Kind::Run),
            (format!("v1/usage_hist/{day}/{id}.parquet"), Kind::Table),
            (format!("v1/cost/{day}/{id}.parquet"), Kind::Table),
            (format!("v1/cost/{day}/.a.parquet.12.0.tmp"), Kind::Temporary),
            (format!("v1/run/{day}/.a.json.12.0.tmp"), Kind::Temporary),
        ] {
            assert_eq!(of(&name), kind, "{name}");
        }
        for name in [
            format!("v1/cost/{day}/a.json"),
            format!("v1/cost/{day}/.a.parquet.tmp"),
            format!("v1/cost/{day}/.a.parquet.x.0.tmp"),
            format!("v1/cost/{day}/.other.12.0.tmp"),
            "v1/cost/a.parquet".to_owned(),
            "v1/README.md".to_owned(),
        ] {
            assert_eq!(of(&name), Kind::Foreign, "{name}");
        }
        // Of the same ending beside ours.
        for name in [format!("v1/cost/{day}/report.parquet"), format!("v1/run/{day}/notes.json")] {
            assert_eq!(of(&name), Kind::Foreign, "{name}");
        }
        let kind = kind_of(&Listed {
            name: format!("v1/run/{day}/{id}.json"),
            bytes: 0,
            is_regular: false,
        });
        assert_eq!(kind, Kind::Foreign);
        assert_eq!(of(&format!("v1/other/{day}/{id}.parquet")), Kind::Foreign);
    }
}
