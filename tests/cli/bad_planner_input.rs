//! Figures that cannot be, and names that are not known: every planner says which value of which
//! flag it is, in these words, and writes nothing to stdout.

use crate::cli::world::World;

/// What a flag's own parser says, or an error with its hint.
enum Says {
    Flag(&'static str),
    Error(&'static str, &'static str),
}

use Says::{Error, Flag};

const A_COUNT: &str = "expected a number of parameters from 1m to 100t, such as 7b, 70b or 1.5t";
const TOKENS: &str = "expected a number of tokens from 1 to 100,000,000, such as 4096 or 32k";
const A_RATE: &str = "expected a rate above zero, at most 1000000000 per second, such as 2/s, \
                      120/min or 7200/h";
const A_TIME: &str = "expected a time up to one hour, such as 20ms, 1.5s or 2m";
const A_SIZE: &str = "expected a size such as 18GiB, 18GB or 18432MiB";
const A_POINT: &str = "expected BATCH:ITEMS_PER_SECOND, such as 8:210";
const ABOVE_ZERO: &str = "expected a number above zero, such as 12.5";
const FROM_ZERO: &str = "expected a number of zero or more, such as 12.5";
const A_SHARE: &str = "expected a percentage above 0 and at most 100";
const GPUS: &str = "expected a number of GPUs from 1 to 256, or a part of one such as 0.125";
const DTYPES: &str = "valid values: fp32, fp16, bf16, fp8, int8, int4";
const MEASURE: &str = "measure batches of several sizes, and pass them as in `--curve \
                       1:35,8:210,32:520`";

/// Runs a command with a flag and its value, and holds what it says to these words.
fn refused(command: &[&str], flag: &str, value: &str, says: &Says) {
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let outcome = world.run(&[command, &[flag, value]].concat());
    let typed = format!("{command:?} {flag} {value}");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{typed}: {}", outcome.stderr);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    match says {
        Flag(reason) => {
            let (begins, ends) =
                (format!("error: invalid value '{value}' for '{flag} <"), format!(">': {reason}"));
            let first = lines[0];
            let is_said = first.starts_with(&begins) && first.ends_with(&ends);
            assert!(is_said, "{typed}: {first}");
        }
        Error(error, hint) => {
            let expected = [format!("error: {error}"), format!("hint: {hint}")];
            assert_eq!(lines, expected, "{typed}");
        }
    }
}

#[test]
fn models_that_cannot_be() {
    let model = ["select", "--params", "7b"];
    for (flag, value, says) in [
        ("--layers", "0", Flag("0 is not in 1..=1000")),
        ("--layers", "-1", Flag("-1 is not in 1..=1000")),
        ("--kv-heads", "0", Flag("0 is not in 1..=1024")),
        ("--kv-heads", "-8", Flag("-8 is not in 1..=1024")),
        ("--heads", "0", Flag("0 is not in 1..=1024")),
        (
            "--heads",
            "4",
            Error(
                "8 heads of keys and values are more than 4 heads of queries",
                "pass at most `--kv-heads 4`, or `--heads` with num_attention_heads of the \
                 config.json of the model",
            ),
        ),
        ("--head-dim", "1025", Flag("1025 is not in 1..=1024")),
        ("--head-dim", "nan", Flag("invalid digit found in string")),
        (
            "--kv-heads",
            "1024",
            Error(
                "keys and values of 32 layers with 1024 heads of 128 need at least 1099511627776 \
                 parameters; the model has 7000000000",
                "`--kv-heads` is num_key_value_heads of the config.json of the model, \
                 `--head-dim` its head_dim",
            ),
        ),
        ("--active-params", "0", Flag(A_COUNT)),
        ("--context", "0", Flag(TOKENS)),
        ("--context", "-5k", Flag(TOKENS)),
        ("--context", "nan", Flag(TOKENS)),
        ("--context", "1e30", Flag(TOKENS)),
        ("--concurrency", "0", Flag("0 is not in 1..=100000")),
        ("--concurrency", "-1", Flag("-1 is not in 1..=100000")),
        ("--dtype", "fp12", Flag(DTYPES)),
        ("--kv-dtype", "", Flag(DTYPES)),
        ("--headroom", "NaN", Flag("expected a factor from 1 to 10, such as 1.2")),
        ("--headroom", "0.9", Flag("expected a factor from 1 to 10, such as 1.2")),
        ("--runtime-gib", "-1", Flag("expected GiB from 0 to 100")),
        ("--runtime-gib", "inf", Flag("expected GiB from 0 to 100")),
        ("--efficiency", "101", Flag(A_SHARE)),
        ("--efficiency", "nan", Flag(A_SHARE)),
        ("--utilization", "0", Flag(A_SHARE)),
        (
            "--type",
            "p5.48xlage",
            Error(
                "no instance type `p5.48xlage` in the price catalog",
                "did you mean p5.48xlarge, p5e.48xlarge, p5.4xlarge?",
            ),
        ),
        // A GPU in place of a type: types that have it.
        (
            "--type",
            "h100",
            Error(
                "no instance type `h100` in the price catalog",
                "types with this GPU: p5.48xlarge, p5.4xlarge",
            ),
        ),
    ] {
        refused(&model, flag, value, &says);
    }
    for value in ["0", "-7b", "nan", "inf", "1e30", "999999t", ""] {
        refused(&["select"], "--params", value, &Flag(A_COUNT));
        let of_batches = ["capacity", "--rate", "5"];
        refused(&of_batches, "--params", value, &Flag(A_COUNT));
    }
    let active = Error(
        "50000000000 active parameters are more than all 47000000000",
        "pass at most `--active-params 47000000000`",
    );
    refused(&["select", "--params", "47b"], "--active-params", "50b", &active);
    let nearest = Error(
        "no published model is near 1000000 parameters; the nearest is qwen2.5-3b",
        "pass `--layers`, `--heads`, `--kv-heads` and `--head-dim`; qwen2.5-3b has 36, 16, 2 and \
         128",
    );
    refused(&["select"], "--params", "1m", &nearest);
}

#[test]
fn curves_rates_and_times_that_cannot_be() {
    for (value, says) in [
        (
            "1:35,8:210,32:180",
            Error(
                "throughput falls from 210 at batch 8 to 180 at batch 32",
                "leave out what is beyond batch 8",
            ),
        ),
        (
            "8:210,1:35",
            Error(
                "batch 1 follows batch 8: batches must ascend",
                "sort the points by batch, each once",
            ),
        ),
        (
            "1:35,1:60",
            Error(
                "batch 1 follows batch 1: batches must ascend",
                "sort the points by batch, each once",
            ),
        ),
        ("1:35", Error("a throughput curve needs at least two points, and has 1", MEASURE)),
        ("0:35,8:60", Error("a batch of 0 is not between 1 and 1,000,000", MEASURE)),
    ] {
        refused(&["capacity", "--rate", "5"], "--curve", value, &says);
    }
    for items in ["0", "-1", "nan", "inf", "1e300"] {
        let points = format!("1:35,8:{items}");
        let says = Error(
            "the throughput at batch 8 is not above 0 and at most 1,000,000,000 items per second",
            MEASURE,
        );
        refused(&["capacity", "--rate", "5"], "--curve", &points, &says);
    }
    for point in ["8", "8:", ":60", "-1:60", "1.5:60", "9999999999:60"] {
        refused(&["capacity", "--rate", "5"], "--curve", point, &Flag(A_POINT));
    }
    let curve = ["capacity", "--curve", "1:35,8:60"];
    for rate in ["0", "-5", "-1/s", "nan", "inf", "1e30", "2/day", ""] {
        refused(&curve, "--rate", rate, &Flag(A_RATE));
    }
    let served = ["capacity", "--rate", "5", "--curve", "1:35,8:60"];
    for time in ["nan", "infs", "-1s", "-5ms", "61m", "20"] {
        refused(&served, "--max-wait", time, &Flag(A_TIME));
    }
    for share in ["0", "-1", "101", "nan"] {
        refused(&served, "--target", share, &Flag(A_SHARE));
    }
}

#[test]
fn needs_and_budgets_that_cannot_be() {
    let hourly = "expected a price per hour above zero";
    for (flag, value, reason) in [
        ("--vram", "-1GiB", A_SIZE),
        ("--vram", "nanGiB", A_SIZE),
        ("--vram", "infGiB", A_SIZE),
        ("--vram", "40", A_SIZE),
        ("--vram", "0GiB", "expected a size above zero, such as 40GiB"),
        ("--vram-total", "-1GiB", A_SIZE),
        ("--memory", "-1GiB", A_SIZE),
        ("--gpus", "0", GPUS),
        ("--gpus", "-1", GPUS),
        ("--gpus", "1.5", GPUS),
        ("--budget-hourly", "0", hourly),
        ("--budget-hourly", "-1", hourly),
        ("--budget-hourly", "nan", hourly),
        ("--budget-hourly", "1e30", hourly),
        ("--budget-monthly", "inf", ABOVE_ZERO),
        ("--hours-per-month", "745", "expected hours per month, above 0 and at most 744"),
    ] {
        refused(&["select"], flag, value, &Flag(reason));
    }
    for rate in ["0", "-1", "-1/s", "nan"] {
        let asked = ["select", "--cpu-seconds", "0.1"];
        refused(&asked, "--rate", rate, &Flag(A_RATE));
    }
    for seconds in ["0", "-1", "nan", "1e30"] {
        let asked = ["select", "--rate", "2/s"];
        refused(&asked, "--cpu-seconds", seconds, &Flag(ABOVE_ZERO));
    }
    let range = Error(
        "the sizes of `24GB..12GB` end below where they begin",
        "use `--gpu MODEL`, `--gpu MODEL:SIZE` or a range of sizes",
    );
    refused(&["select"], "--gpu", "24GB..12GB", &range);
    let unknown =
        Error("no GPU `h10` in the price catalog", "did you mean H100, H100 NVL, H100 PCIe?");
    refused(&["select"], "--gpu", "h10", &unknown);
}

/// A server whose flags are complete without the one that is tried.
fn server(without: &str) -> Vec<&'static str> {
    let flags = [
        ("--type", "p5.48xlarge"),
        ("--purchase", "270000"),
        ("--watts", "8000"),
        ("--rack-monthly", "1500"),
        ("--staff-hours", "8"),
        ("--spares-percent", "5"),
        ("--residual-percent", "10"),
        ("--years", "4"),
        ("--utilization", "80"),
    ];
    let kept = flags.into_iter().filter(|(flag, _)| *flag != without);
    let words = kept.flat_map(|(flag, value)| [flag, value]);
    std::iter::once("rent-or-buy").chain(words).collect()
}

#[test]
fn servers_that_cannot_be() {
    let percent = "pass a percentage from 0 to 100, or a smaller amount";
    let pue = "PUE is the power of the facility over that of the server: `--pue 1.54` is average";
    for (flag, value, says) in [
        ("--purchase", "0", Flag(ABOVE_ZERO)),
        ("--purchase", "-1", Flag(ABOVE_ZERO)),
        ("--purchase", "nan", Flag(ABOVE_ZERO)),
        ("--purchase", "1e30", Flag(ABOVE_ZERO)),
        ("--watts", "0", Flag(ABOVE_ZERO)),
        ("--watts", "inf", Flag(ABOVE_ZERO)),
        ("--rack-monthly", "nan", Flag(FROM_ZERO)),
        ("--staff-hours", "-1", Flag(FROM_ZERO)),
        ("--electricity", "inf", Flag(FROM_ZERO)),
        ("--years", "0", Flag("0 is not in 1..=15")),
        ("--years", "-1", Flag("-1 is not in 1..=15")),
        ("--years", "1.5", Flag("invalid digit found in string")),
        ("--gpus", "-8", Flag("-8 is not in 1..=256")),
        ("--utilization", "nan", Flag(FROM_ZERO)),
        (
            "--utilization",
            "101",
            Error("utilization is 101: expected a number from 0 to 100", percent),
        ),
        (
            "--spares-percent",
            "101",
            Error("spares is 101: expected a number from 0 to 100", percent),
        ),
        (
            "--residual-percent",
            "200",
            Error("residual value is 200: expected a number from 0 to 100", percent),
        ),
        ("--pue", "0.9", Error("PUE is 0.9: expected a number from 1 to 10", pue)),
        ("--pue", "11", Error("PUE is 11: expected a number from 1 to 10", pue)),
        ("--on-demand-hourly", "0", Flag("expected a price per hour above zero")),
        (
            "--type",
            "p5.48xlage",
            Error(
                "no instance type `p5.48xlage` in the price catalog",
                "did you mean p5.48xlarge, p5e.48xlarge, p5.4xlarge?",
            ),
        ),
        (
            "--type",
            "h100",
            Error(
                "no instance type `h100` in the price catalog",
                "types with this GPU: p5.48xlarge, p5.4xlarge",
            ),
        ),
        (
            "--type",
            "g6f.large",
            Error(
                "g6f.large has 0.125 of a GPU, and servers have whole ones",
                "pass a type with whole GPUs; `gpucost pricing` lists them",
            ),
        ),
        (
            "--region",
            "us-east1",
            Error(
                "no region `us-east1` in the price catalog",
                "did you mean us-east-1, us-east-2, us-east-1-wl1?",
            ),
        ),
    ] {
        refused(&server(flag), flag, value, &says);
    }
    // Of a name that is like no other, all that are known.
    let mut world = World::new();
    world.set("GPUCOST_CACHE_DIR", &world.path("empty"));
    let outcome = world.run(&[&server("")[..], &["--provider", "qqqq"]].concat());
    let first =
        "error: no provider `qqqq` in the price catalog\nhint: valid values: akash, aws, azure, ";
    assert!(outcome.stderr.starts_with(first), "{}", outcome.stderr);
}

#[test]
fn runs_and_units_that_cannot_be() {
    let run = ["kpi", "--type", "g5.xlarge", "--offline"];
    let hours = "expected hours above 0 and at most 876000";
    for value in ["0", "-1", "nan", "inf", "1e30", "876001"] {
        refused(&run, "--hours", value, &Flag(hours));
    }
    let run = [&run[..], &["--hours", "1"]].concat();
    for (value, reason) in [("0", "0 is not in 1..=1000000"), ("-1", "-1 is not in 1..=1000000")] {
        refused(&run, "--count", value, &Flag(reason));
    }
    let form = "expected a name and a count, such as steps=12000";
    for (value, reason) in [
        ("steps=nan", "the count `nan` is not a number from 0 to 10^18"),
        ("steps=inf", "the count `inf` is not a number from 0 to 10^18"),
        ("steps=-5", "the count `-5` is not a number from 0 to 10^18"),
        ("steps=1e30", "the count `1e30` is not a number from 0 to 10^18"),
        ("steps=0", "expected a count above 0: no unit was done that has a price"),
        ("steps", form),
        ("=5", form),
    ] {
        refused(&run, "--unit", value, &Flag(reason));
    }
}
