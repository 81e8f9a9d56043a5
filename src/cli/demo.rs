//! `--demo`: which of the estates inside the program, and what they are called.

use super::choices::{listed, name_of};
use crate::sources::files::Demo;
use clap::{ArgMatches, Command, ValueEnum};
use std::ffi::OsString;

/// The flag without a name behind it, in full.
const UNNAMED: &str = "--demo=starter";

/// What the word after `--demo` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DemoChoice {
    /// One example of each situation, with the recommended action
    Starter,
    /// A fleet using a quarter of its GPUs, and the capacity it needs
    QuarterUsed,
    /// A mixed fleet, most of it best left unchanged
    MixedFleet,
    /// List the demo names only
    List,
}

impl DemoChoice {
    /// The estate that is named. The list is printed before one is asked for.
    pub(super) fn demo(self) -> Demo {
        match self {
            Self::Starter | Self::List => Demo::Starter,
            Self::QuarterUsed => Demo::QuarterUsed,
            Self::MixedFleet => Demo::MixedFleet,
        }
    }
}

/// Whether a command line only asks for the names of the estates.
pub(super) fn is_list(matches: &ArgMatches) -> bool {
    let own = matches.try_get_one::<DemoChoice>("demo").ok().flatten();
    let inner = matches.subcommand();
    own == Some(&DemoChoice::List) || inner.is_some_and(|(_, inner)| is_list(inner))
}

/// The name of every estate, one a line, with what it shows.
pub(super) fn list() -> String {
    listed(DemoChoice::value_variants().iter().filter(|choice| **choice != DemoChoice::List))
}

/// Tells the name of a demo from a word of the command: where a command takes words
/// of its own, as in `explain --demo ID`, one that is not a name stays such a word, and where it
/// has commands below it, their names do.
/// Elsewhere it is left for the parser to refuse, which lists the names.
pub(super) fn tell_apart(arguments: Vec<OsString>, program: &Command) -> Vec<OsString> {
    let command = arguments.get(1).and_then(|name| program.find_subcommand(name));
    let Some(command) = command else { return arguments };
    let is_own = |word: &OsString| {
        let is_name = DemoChoice::value_variants().iter().any(|choice| *word == *name_of(*choice));
        let takes_words = command.get_positionals().next().is_some();
        !is_name && (takes_words || command.find_subcommand(word).is_some())
    };
    let mut reported = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        let is_last_flag = argument == "--";
        if argument == "--demo" && rest.peek().is_none_or(is_own) {
            reported.push(OsString::from(UNNAMED));
        } else {
            reported.push(argument);
        }
        if is_last_flag {
            break;
        }
    }
    reported.extend(rest);
    reported
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(words: &[&str]) -> Vec<String> {
        let arguments = words.iter().copied().map(OsString::from).collect();
        tell_apart(arguments, &crate::cli::command())
            .into_iter()
            .map(|word| word.into_string().expect("UTF-8"))
            .collect()
    }

    #[test]
    fn every_estate_can_be_named() {
        for demo in Demo::ALL {
            let choice = DemoChoice::from_str(demo.name(), false);
            assert_eq!(choice.map(DemoChoice::demo), Ok(*demo));
        }
        assert_eq!(UNNAMED, format!("--demo={}", Demo::Starter));
    }

    #[test]
    fn a_word_that_is_no_name_belongs_to_the_command() {
        for (command, word) in [("explain", "word"), ("check", "init")] {
            assert_eq!(
                reported(&["gpucost", command, "--demo", word]),
                ["gpucost", command, "--demo=starter", word]
            );
            assert_eq!(
                reported(&["gpucost", command, "--demo"]),
                ["gpucost", command, "--demo=starter"]
            );
            for same in [
                &["gpucost", command, "--demo", "quarter-used", word][..],
                &["gpucost", command, "--demo=quarter-used", word],
                &["gpucost", command, "--", "--demo", word],
            ] {
                assert_eq!(reported(same), same);
            }
        }
        for command in ["audit", "check", "setup"] {
            let same = ["gpucost", command, "--demo", "word"];
            assert_eq!(reported(&same), same);
        }
        assert_eq!(reported(&["gpucost"]), ["gpucost"]);
    }
}
