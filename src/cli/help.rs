//! What `-h` shows: the commands by what somebody wants, and of each the flags that matter most,
//! with two examples. `--help` shows everything.

use clap::Command;

/// Headings of flags that many commands share; `-h` shows those of [`FIRST`] alone.
const SHARED: [&str; 7] = [
    "AWS", "AWS organization", "Prometheus", "Kubernetes", "Estate", "Output", "Rows of the tables",
];

/// Flags of these headings that `-h` shows.
const FIRST: [&str; 5] = ["demo", "format", "from", "output", "region"];

/// Flags that only `--help` shows wherever they stand.
const SPARE: [&str; 3] = ["max-price-age", "offline", "os"];

/// How a command is shown: its heading, two examples, and the headings and flags of its own that
/// only `--help` shows.
pub(super) type Row = (&'static str, [&'static str; 2], &'static [&'static str]);

/// The command line with a short help; a row for each command, in their order.
pub(super) fn shortened(program: Command, rows: &[Row]) -> Command {
    let (mut rows, mut list, mut heading) = (rows.iter(), String::new(), "");
    let program = program.mut_subcommands(|command| {
        let Some((own, examples, hidden)) = rows.next() else { return command };
        if heading != *own {
            heading = own;
            list += &format!("{heading}:\n");
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        list += &format!("  {:<16} {about}\n", command.get_name());
        let examples = examples.map(|example| format!("  gpucost {example}"));
        shorten(command, hidden).after_help(format!("Examples:\n{}", examples.join("\n")))
    });
    program.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}\nOptions:\n{{options}}\n\n\
         -h after a command shows the flags that matter most, --help all of them.\n"
    ))
}

/// Hides flags from the short help of a command and of those below it.
fn shorten(command: Command, hidden: &[&str]) -> Command {
    let is_spare = |arg: &clap::Arg| {
        let flag = arg.get_long().unwrap_or_default();
        let is_shared = arg.get_help_heading().is_some_and(|heading| SHARED.contains(&heading));
        let mut names = arg.get_help_heading().into_iter().chain([flag]);
        names.any(|name| hidden.contains(&name))
            || SPARE.contains(&flag)
            || (is_shared && !FIRST.contains(&flag))
    };
    let command = command.mut_args(|arg| {
        let is_spare = is_spare(&arg);
        arg.hide_short_help(is_spare)
    });
    command.mut_subcommands(|below| shorten(below, hidden))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::ROWS;

    /// Every command below one, with its words.
    fn commands(command: &Command, words: &str) -> Vec<(String, Command)> {
        let below = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help");
        below
            .flat_map(|subcommand| {
                let words = format!("{words} {}", subcommand.get_name());
                let below = commands(subcommand, &words);
                std::iter::once((words, subcommand.clone())).chain(below)
            })
            .collect()
    }

    #[test]
    fn every_short_help_fits_a_screen() {
        let commands = commands(&crate::cli::command(), "gpucost").into_iter();
        let lines = commands.map(|(words, mut command)| {
            let text = command.render_help().to_string();
            (words, text.lines().count())
        });
        let long: Vec<_> = lines.filter(|(_, lines)| *lines > 40).collect();
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn the_examples_of_every_command_parse_and_what_it_hides_is_there() {
        let program = crate::cli::command();
        assert_eq!(program.get_subcommands().count(), ROWS.len());
        for (command, (_, examples, hidden)) in program.get_subcommands().zip(ROWS) {
            for example in examples {
                assert_eq!(example.split(' ').next(), Some(command.get_name()));
                let words = std::iter::once("gpucost").chain(example.split(' '));
                let words = words.map(|word| word.replace('\'', "").into()).collect();
                let words = crate::cli::demo::tell_apart(words, &program);
                if let Err(error) = program.clone().try_get_matches_from(words) {
                    let is_help = error.kind() == clap::error::ErrorKind::DisplayHelp;
                    assert!(is_help, "{example}: {error}");
                }
            }
            for name in hidden.iter().copied() {
                let below = command.get_subcommands().flat_map(Command::get_arguments);
                let mut flags = command.get_arguments().chain(below);
                let is_there = flags.any(|arg| {
                    arg.get_help_heading() == Some(name) || arg.get_long() == Some(name)
                });
                assert!(is_there, "{name} is neither a heading nor a flag");
            }
        }
    }
}
