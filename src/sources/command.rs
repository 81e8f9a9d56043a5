//! Programs that give credentials.

use std::io;
use std::process::{ExitStatus, Stdio};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// How the output of a program begins, at most so many bytes, and how the program ends. It ends
/// with whoever waits for it.
pub(super) async fn output(
    program: &mut Command,
    most_bytes: u64,
) -> io::Result<(Vec<u8>, ExitStatus)> {
    let mut child = program.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(most_bytes).read_to_end(&mut text).await?;
    }
    Ok((text, child.wait().await?))
}
