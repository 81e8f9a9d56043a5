//! `gpucost check init`.

use super::check_args::InitArgs;
use super::exit::{ExitCode, Failure};
use super::schemas::SchemaName;
use super::{Io, output};
use crate::config::{POLICY_FILE, STARTING_POLICY};
use crate::domain::{shell_word, shown};
use crate::sources::files::write_whole;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

pub(super) fn run(args: &InitArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let path = match &args.output {
        Some(path) if path.as_os_str() == "-" && args.schema => {
            return Err(Failure::input(
                "`--schema` writes a file beside the policy, not to stdout",
            )
            .with_hint("run `gpucost setup schema policy` to print the schema"));
        }
        Some(path) if path.as_os_str() == "-" => {
            return output::print(STARTING_POLICY.as_bytes(), io);
        }
        Some(path) => path.clone(),
        None => io.folder.join(POLICY_FILE),
    };
    let name = args.output.as_ref().map_or(POLICY_FILE.to_owned(), |path| shown(path));
    let schema = args.schema.then(|| path.with_extension("schema.json"));
    let text = match schema.as_deref().and_then(Path::file_name) {
        Some(beside) => format!("#:schema ./{}\n{STARTING_POLICY}", shown(Path::new(beside))),
        None => STARTING_POLICY.to_owned(),
    };
    let unwritable = |name: &str, error| {
        Failure::write(name, error).with_hint("choose a file in an existing, writable directory")
    };
    write_new(&path, &text).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::input(format!("{name} already exists"))
            .with_hint("pass another file with `--output`, or `--output -` to print it"),
        _ => unwritable(&name, error),
    })?;
    if let Some(schema) = &schema {
        let text = SchemaName::Policy.text().map_err(Failure::unexpected)?;
        write_whole(schema, |out| out.write_all(text.as_bytes()))
            .map_err(|error| unwritable(&shown(schema), error))?;
    }
    if !args.quiet {
        let flag = args.output.as_ref().map_or(String::new(), |path| {
            format!(" --policy {}", shell_word(&path.to_string_lossy()))
        });
        let line = format!("wrote {name}; run `gpucost check --demo{flag}` to try it\n");
        // A closed stderr does not change what was written.
        let _ = io.stderr.write_all(line.as_bytes());
    }
    Ok(ExitCode::Done)
}

/// Writes a file that must not be there yet; half of one is removed.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let written = file.write_all(text.as_bytes());
    if written.is_err() {
        drop(file);
        fs::remove_file(path)?;
    }
    written
}
