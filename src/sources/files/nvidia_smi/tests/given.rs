//! Columns whose names were given: they outrank what stands above the rows.

use super::super::super::samples::ReadOptions;
use super::{gaps, read_with, reading, refusal, used};

const NAMES: [&str; 4] = ["timestamp", "index", "utilization.gpu", "memory.used"];
const ROWS: [&str; 2] =
    ["2026/01/03 15:36:53.500, 0, 10 %, 100 MiB", "2026/01/03 15:36:54.500, 0, 30 %, 300 MiB"];

fn given(names: &[&str]) -> ReadOptions {
    ReadOptions {
        columns: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..ReadOptions::default()
    }
}

#[test]
fn given_names_outrank_a_header() {
    for header in [
        // Most names are known, half of them, and none.
        "timestamp, index, my.load, memory.used [MiB]",
        "time, gpu, utilization.gpu [%], memory.used [MiB]", "time, gpu, load, memory",
        // Names in another order, and one that lists of processes have.
        "timestamp, index, memory.used [MiB], utilization.gpu [%]",
        "timestamp, pid, load, memory.used [MiB]",
    ] {
        let once = format!("{header}\n{}\n{}\n", ROWS[0], ROWS[1]);
        let each_time = format!("{header}\n{}\n{header}\n{}\n", ROWS[0], ROWS[1]);
        for log in [once, each_time] {
            let (reader, samples) = read_with(&log, &given(&NAMES));
            assert_eq!(used(&samples, 0), [100.0, 300.0].map(Some), "{log}");
            let busy = reading(&samples[1], 0).utilization_percent;
            assert_eq!(busy, Some(30.0), "{log}");
            let reported = gaps(&reader);
            let is_of_header = |gap: &String| gap.starts_with("lines") || gap.starts_with("col");
            assert!(!reported.iter().any(is_of_header), "{reported:?}");
        }
    }
}

#[test]
fn as_many_names_as_cells_are_needed() {
    let rows = ROWS.join("\n");
    for (above, line) in [
        ("", 1),
        ("timestamp, index, utilization.gpu, memory.used\n", 1),
        ("time, gpu, load, memory\n", 2),
    ] {
        let log = format!("{above}{rows}\n");
        for names in [&NAMES[..3], &["timestamp", "a", "b", "utilization.gpu", "memory.used"]] {
            let refused = refusal(&log, &given(names));
            assert_eq!(
                refused.to_string(),
                format!(
                    "smi.log:{line}: the columns have no names: --read-columns has {}, and this line \
                     4",
                    names.len()
                )
            );
            assert!(refused.hint().contains("every column"));
        }
    }
    // A warning between the rows may have any number of cells.
    let (reader, samples) = read_with(&format!("warning: slow, 3\n{rows}\n"), &given(&NAMES));
    assert_eq!(samples.len(), 2);
    let reported = gaps(&reader);
    assert!(reported.iter().any(|gap| gap.starts_with("lines: 1 line is not")), "{reported:?}");
}
