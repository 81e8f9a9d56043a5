//! Commands that print something about the program itself.

use super::exit::{ExitCode, Failure};
use super::{Io, command};
use crate::sources::aws;
use clap_complete::Shell;

pub(super) fn iam_policy(io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    print(aws::iam_policy().as_bytes(), io)
}

pub(super) fn completions(shell: Shell, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "gpucost", &mut text);
    print(&text, io)
}

pub(super) fn man(io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command())
        .render(&mut page)
        .map_err(|error| Failure::write("the manual page", error))?;
    print(&page, io)
}

fn print(text: &[u8], io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    io.stdout
        .write_all(text)
        .and_then(|()| io.stdout.flush())
        .map_err(|error| Failure::write("to stdout", error))?;
    Ok(ExitCode::Done)
}
