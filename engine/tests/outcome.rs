//! A run of the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the program.
pub fn run(arguments: &[&str]) -> Output {
    run_with(arguments, &[])
}

/// Runs it with more in its environment.
pub fn run_with(arguments: &[&str], environment: &[(&str, String)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpucost-engine"))
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .output()
        .expect("it starts")
}

/// Runs it, and asserts that it did what was asked.
pub fn done(arguments: &[&str]) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{arguments:?}\n{stderr}");
    assert!(output.stdout.is_empty());
    stderr
}

/// Runs it, and asserts that it failed with a code and left nothing that counts.
pub fn failed(arguments: &[&str], code: i32, out: &Path) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{stderr}");
    assert!(stderr.contains("error: "), "{stderr}");
    assert!(stderr.contains("\nhint: "), "{stderr}");
    for list in ["v1/usage_run", "archive/v1/bill_run"] {
        assert!(!out.join(list).exists(), "{stderr}");
    }
    stderr
}

/// gpucost itself, where it is built.
pub fn gpucost() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let built = ["release", "debug"].map(|profile| target.join(profile).join("gpucost"));
    built.into_iter().find(|program| program.is_file())
}
