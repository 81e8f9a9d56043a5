//! What to type next: commands that read the same things again.

use super::text::{joined, shell_word};
use crate::domain::EstateSource;

/// A command longer than this is shown without its flags where room is bounded.
const LONGEST_COMMAND: usize = 400;

/// What the user typed to choose what a report is about, in words of a command
/// line that are not quoted yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Flags that every command takes, such as `--from` and its file.
    pub scope: Vec<String>,
    /// Flags of `audit` alone, such as `--risk`.
    pub audit: Vec<String>,
    /// Flags that every command takes and that are quoted already: variables of a shell
    /// stand for their values, which are not shown.
    pub quoted: Vec<String>,
}

impl Invocation {
    /// The flags that lead to the same estate, each with a blank before it; none where they
    /// are very long.
    pub fn estate_flags(&self) -> String {
        let flags: String = self.words(false).map(|word| format!(" {word}")).collect();
        if flags.len() <= LONGEST_COMMAND { flags } else { String::new() }
    }

    /// A whole command, quoted for a shell.
    pub fn command(&self, name: &str, for_audit: bool, rest: &str) -> String {
        let parts = ["gpucost", name, &joined(self.words(for_audit), " "), rest];
        joined(parts.into_iter().filter(|part| !part.is_empty()), " ")
    }

    fn words(&self, for_audit: bool) -> impl Iterator<Item = String> {
        let audit = self.audit.iter().filter(move |_| for_audit);
        let words = self.scope.iter().chain(audit).map(|word| shell_word(word));
        words.chain(self.quoted.iter().cloned())
    }

    /// The same for a report of bounded size: without what the user typed when
    /// that is very long.
    pub fn short_command(&self, name: &str, rest: &str) -> String {
        let command = self.command(name, true, rest);
        let is_short = command.len() <= LONGEST_COMMAND;
        if is_short { command } else { Self::default().command(name, true, rest) }
    }
}

/// The command that prints what measures GPUs that nothing measures yet, for an audit from this
/// source: exporters that a Prometheus server scrapes, or the agent of CloudWatch.
pub fn setup_command(source: EstateSource, invocation: &Invocation) -> String {
    match source {
        EstateSource::Kubernetes => "gpucost setup metrics --prometheus".to_owned(),
        _ => invocation.command("setup metrics", false, ""),
    }
}
