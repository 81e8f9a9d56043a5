//! What recording audits, and checking what was recorded, say: in sentences, and in lines of one
//! file each.

use crate::domain::{BillKept, FileTrouble, FoundFile, VerifiedHistory, safe, separated};
use crate::report::shared::text::counted;
use jiff::civil::Date;
use std::fmt::Write;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// What came of recording a run, in a line: `days` were new, ascending, and `is_new` says whether
/// it was recorded now, and not before. `place` is the history, as it may be shown.
pub fn kept_run_text(
    (run_id, days): (&str, &[Date]),
    actions: usize,
    place: &str,
    is_new: bool,
) -> String {
    if !is_new {
        return format!("{run_id} was recorded in {place} before; nothing was changed");
    }
    let actions = counted(actions, "action", "actions");
    let number = counted(days.len(), "day", "days");
    let days = match days {
        [] => "no new day".to_owned(),
        [day] => day.to_string(),
        [first, .., last] => format!("{number} ({first} to {last})"),
    };
    format!("recorded {days} and {actions} as {run_id} in {place}")
}

/// That the bill of a month, by its first day, was kept in a history. `payer` is empty where the
/// bill does not say who pays.
pub fn kept_bill_text(
    month: Date,
    payer: &str,
    rows: usize,
    place: &str,
    kept: BillKept,
) -> String {
    let of_payer = if payer.is_empty() { String::new() } else { format!(" of {}", safe(payer)) };
    let month = format!("{}{of_payer}", month.strftime("%Y-%m"));
    let rows = counted(rows, "hour of a resource", "hours of resources");
    let smaller = match kept {
        BillKept::Known => {
            return format!(
                "the bill of {month} was recorded in {place} before; nothing was changed"
            );
        }
        BillKept::New => "",
        BillKept::Smaller => {
            "\nwarning: it is smaller than what was recorded of this month before, and takes its \
             place\nhint: a month is recorded as a whole: pass all files of it at once"
        }
    };
    format!("recorded {rows} of {month} in {place}{smaller}")
}

/// What was checked, and each file with which something is wrong.
pub fn verified_text(place: &str, verified: &VerifiedHistory) -> String {
    let (files, size) = (counted(verified.files, "file", "files"), size(verified.bytes));
    let mut text = format!("checked {files} with {size} in {place}\n");
    for trouble in FileTrouble::ALL {
        let is_own = |file: &&FoundFile| file.trouble == *trouble;
        let own: Vec<&FoundFile> = verified.found.iter().filter(is_own).collect();
        if own.is_empty() {
            continue;
        }
        let files = counted(own.len(), "file", "files");
        let _ = writeln!(text, "\n{files} {}", words(*trouble));
        for FoundFile { place, why, .. } in own {
            let _ = writeln!(text, "  {place}: {why}");
        }
    }
    if verified.are_bills_unread {
        text.push_str("bills are not checked: listing them is not permitted\n");
    }
    if verified.found.is_empty() {
        text.push_str("every file is as it was written\n");
    }
    text
}

fn words(trouble: FileTrouble) -> &'static str {
    match trouble {
        FileTrouble::Damaged => "damaged: not used",
        FileTrouble::Missing => "missing: what was in there is lost",
        FileTrouble::HalfWritten => "half-written: not counted, and safe to remove",
        FileTrouble::Unlisted => "of bills without a list: not counted, and never removed",
        FileTrouble::Foreign => "not of gpucost: not read, and never removed",
    }
}

fn size(bytes: u64) -> String {
    if bytes < MIB {
        return format!("{} KiB", separated(&bytes.div_ceil(1 << 10).to_string()));
    }
    format!("{:.1} MiB", bytes as f64 / MIB as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_says_what_was_kept_of_it() {
        let of = |payer, rows, kept| {
            kept_bill_text(Date::constant(2026, 10, 1), payer, rows, "history", kept)
        };
        assert_eq!(
            of("111122223333", 1_440, BillKept::New),
            "recorded 1,440 hours of resources of 2026-10 of 111122223333 in history"
        );
        assert_eq!(of("", 1, BillKept::New), "recorded 1 hour of a resource of 2026-10 in history");
        let smaller = of("", 1, BillKept::Smaller);
        assert!(smaller.contains("\nwarning: it is smaller than"), "{smaller}");
        assert_eq!(
            of("\u{1b}[2J", 1, BillKept::Known),
            format!(
                "the bill of 2026-10 of {} was recorded in history before; nothing was changed",
                safe("\u{1b}[2J")
            )
        );
    }

    #[test]
    fn a_run_says_which_days_were_new() {
        let days: Vec<Date> = (20..23).map(|day| Date::constant(2026, 11, day)).collect();
        let of = |days: &[Date], is_new| kept_run_text(("RUN", days), 1, "history", is_new);
        assert_eq!(
            of(&days, true),
            "recorded 3 days (2026-11-20 to 2026-11-22) and 1 action as RUN in history"
        );
        assert_eq!(of(&days[..1], true), "recorded 2026-11-20 and 1 action as RUN in history");
        assert_eq!(of(&[], true), "recorded no new day and 1 action as RUN in history");
        assert_eq!(of(&days, false), "RUN was recorded in history before; nothing was changed");
    }

    #[test]
    fn files_are_named_by_what_is_wrong_with_them() {
        let mut verified = VerifiedHistory {
            files: 1_234,
            bytes: 3 << 20,
            found: Vec::new(),
            ..VerifiedHistory::default()
        };
        assert_eq!(
            verified_text("history", &verified),
            "checked 1,234 files with 3.0 MiB in history\nevery file is as it was written\n"
        );
        for (trouble, place) in [(FileTrouble::Damaged, "a"), (FileTrouble::Foreign, "b")] {
            verified.found.push(FoundFile {
                trouble,
                place: place.to_owned(),
                why: "why".to_owned(),
            });
        }
        assert_eq!(
            verified_text("history", &verified),
            "checked 1,234 files with 3.0 MiB in history\n\n\
             1 file damaged: not used\n  a: why\n\n\
             1 file not of gpucost: not read, and never removed\n  b: why\n"
        );
    }

    #[test]
    fn sizes_are_in_units_that_show_them() {
        for (bytes, expected) in [
            (0, "0 KiB"),
            (1, "1 KiB"),
            (1_024, "1 KiB"),
            (116_394, "114 KiB"),
            (1_048_575, "1,024 KiB"),
            (1_048_576, "1.0 MiB"),
            (5_452_595, "5.2 MiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
