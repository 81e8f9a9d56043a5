//! `gpucost-engine`, which does what needs an SQL engine. It is built and installed apart, and
//! found on the path.

use crate::cli::{ExitCode, Failure, Io, Outcome, flags, refusal};
use crate::domain::{safe, shown};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

flags! {
    /// `gpucost history rollup` and `gpucost history bill`.
    pub(in crate::cli) struct CompanionArgs {
        /// Arguments of `gpucost-engine`
        arguments: Vec<OsString> = arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS");
    }
}

const NAME: &str = "gpucost-engine";
const HINT: &str = "run `cargo install --locked --path engine` in a checkout of gpucost, and \
                    add the folder that it installs to to PATH";

/// Runs a command of the companion in place of this process, where that is possible.
pub(super) fn run(command: &str, arguments: &[OsString], io: &mut Io<'_>) -> Outcome {
    let Some(program) = found(io) else {
        return Err(refusal!("`{NAME}` is not on PATH"; "{HINT}"));
    };
    let version = version(&program, io)?;
    let own = env!("CARGO_PKG_VERSION");
    if version != own {
        return Err(refusal!(
            "{} is version {}, and gpucost is version {own}", shown(&program), safe(&version);
            "{HINT}"));
    }
    let mut started = Command::new(&program);
    started.arg(command).args(arguments);
    replace(started).map_err(|error| not_started(&program, error))
}

/// The first file of the name in the folders of PATH. A folder that is not absolute would be
/// another one wherever gpucost runs.
fn found(io: &Io<'_>) -> Option<PathBuf> {
    let path = io.variable("PATH")?;
    let file = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|program| program.is_file())
}

/// What it says its version is.
fn version(program: &Path, io: &Io<'_>) -> Outcome<String> {
    let output = Command::new(program)
        .arg("--version")
        .env_clear()
        .envs(&io.env)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_started(program, error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().strip_prefix(NAME).map(str::trim);
    match version.filter(|_| output.status.success()) {
        Some(version) => Ok(version.to_owned()),
        None => Err(refusal!("{} does not say its version", shown(program); "{HINT}")),
    }
}

#[cfg(unix)]
fn replace(mut command: Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replace(mut command: Command) -> std::io::Result<ExitCode> {
    Ok(ExitCode::Command(u8::try_from(command.status()?.code().unwrap_or(1)).unwrap_or(1)))
}

fn not_started(program: &Path, error: std::io::Error) -> Failure {
    Failure::unexpected(
        anyhow::Error::new(error).context(format!("cannot start {}", shown(program))),
    )
    .with_hint(HINT)
}
