//! Fuzzers of every reader, on stable: a corpus from the fixtures, mutations that know
//! the format, and oracles. Nothing may panic, whatever is read; what is read is
//! bounded in time; most of it must be read at all, or the mutations only reach the
//! door.
//!
//! `GPUCOST_FUZZ_CASES=100000 cargo test --test all fuzz:: -- --nocapture` is the long pass;
//! `GPUCOST_FUZZ_SEED` chooses other cases. A failing case is kept in
//! `target/fuzz-failures`.

mod corpus;
mod mutate;
mod oracles;
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use targets::Target;

/// One case may take this long, in an unoptimized build on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(20);

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().expect("an integer"))
}

/// Runs a target on mutations of its corpus.
fn fuzz(target: &Target) {
    let cases = number("GPUCOST_FUZZ_CASES", target.short_pass);
    let seed = number("GPUCOST_FUZZ_SEED", 20_261_122);
    let corpus = (target.corpus)();
    assert!(!corpus.is_empty(), "{}: no corpus", target.name);
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join(target.file);
    let try_out = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("a writable folder");
        catch_unwind(AssertUnwindSafe(|| (target.read)(&path)))
    };
    for bytes in &corpus {
        let is_read = try_out(bytes).expect("the corpus is harmless");
        assert!(is_read, "{}: the corpus is refused", target.name);
    }
    let began = Instant::now();
    let mut read = 0;
    for case in 0..cases {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(1_000_003) + case);
        let start = &corpus[random.usize(..corpus.len())];
        let bytes = (target.mutate)(start, &mut random);
        let case_began = Instant::now();
        let done = try_out(&bytes);
        let took = case_began.elapsed();
        if done.is_err() || took > MOST_TIME {
            let kept = keep(target, case, &bytes);
            panic!("{}: case {case} failed after {took:?}: {}", target.name, kept.display());
        }
        read += u64::from(done.is_ok_and(|is_read| is_read));
    }
    println!(
        "{:<14} {cases:>7} cases  {:>5.1}% read  {:>6.1} s",
        target.name,
        100.0 * read as f64 / cases as f64,
        began.elapsed().as_secs_f64()
    );
    assert!(
        read * 2 >= cases,
        "{}: {read} of {cases} cases were read: the mutations only reach the door",
        target.name
    );
}

fn keep(target: &Target, case: u64, bytes: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/fuzz-failures");
    fs::create_dir_all(&folder).expect("a writable folder");
    let path = folder.join(format!("{}-{case}-{}", target.name, target.file));
    fs::write(&path, bytes).expect("a writable folder");
    path
}

macro_rules! targets {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            fuzz(&targets::$name());
        })+
    };
}

targets! {
    estate
    price_cache
    commitments
    audit
    terraform
    kubectl
    samples
    nvidia_smi_csv
    nvidia_smi_xml
    policy
    settings
    prices
    arrivals
    request_counts
    request_rows
    demand
    jobs
    bills
    units
}
