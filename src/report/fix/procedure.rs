//! What carrying out an action takes: what must hold before, the steps, the way back, and what to
//! watch. Each word of a command is quoted as a shell reads it.

use crate::domain::shell_word;
use crate::report::doc::Printed;
use crate::report::shared::text::safe;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepKind {
    /// Only a person can do it.
    Manual,
    /// What the steps erase: a script goes on only where it was told that this may be.
    Destructive,
    /// The same for work that the steps interrupt.
    Disruptive,
    /// Reads something that a person evaluates.
    Read,
    /// Reads something that must be this.
    Expect(String),
    Run,
    /// The same, and what it prints is stored in a variable.
    Keep(&'static str),
    /// A command that a person types: on a GPU host, or once its variables are known.
    Typed,
}

/// A step: its kind, its words with what they name, and its command as a template of
/// [`Command::of`] with the values of it. In brackets behind the kind, what the command must
/// print or the variable that holds it.
macro_rules! step {
    (manual $about:literal) => {
        $crate::report::fix::procedure::Step::manual(std::fmt::format(format_args!($about)))
    };
    ($kind:ident $([$with:expr])? $about:literal, $template:expr $(, $value:expr)*) => {{
        let command = $crate::report::fix::procedure::Command::of($template, &[$(&$value),*]);
        let kind = $crate::report::fix::procedure::step!(@kind $kind $($with)?);
        let step = $crate::report::fix::procedure::Step::new(std::fmt::format(format_args!($about)), kind);
        $crate::report::fix::procedure::Step { command: Some(command), ..step }
    }};
    (@kind read) => { $crate::report::fix::procedure::StepKind::Read };
    (@kind run) => { $crate::report::fix::procedure::StepKind::Run };
    (@kind typed) => { $crate::report::fix::procedure::StepKind::Typed };
    (@kind expect $text:expr) => { $crate::report::fix::procedure::StepKind::Expect(ToString::to_string(&$text)) };
    (@kind keep $name:expr) => { $crate::report::fix::procedure::StepKind::Keep($name) };
}
pub(super) use step;

/// Adds steps to a list, a line each.
macro_rules! steps {
    ($list:expr; $( $kind:ident $([$with:expr])? $about:literal $(, $part:expr)*; )*) => {
        $list.extend([$( $crate::report::fix::procedure::step!($kind $([$with])? $about $(, $part)*) ),*])
    };
}
pub(super) use steps;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) about: String,
    pub(super) kind: StepKind,
    pub(super) command: Option<Command>,
}

impl Step {
    pub(super) fn manual(about: impl Into<String>) -> Self {
        Self::new(about, StepKind::Manual)
    }

    pub(super) fn new(about: impl Into<String>, kind: StepKind) -> Self {
        Self { about: about.into(), kind, command: None }
    }

    /// What its command must print for the next step to be run.
    pub(super) fn expected(&self) -> Option<&str> {
        if let StepKind::Expect(expected) = &self.kind { Some(expected) } else { None }
    }

    /// The variable that holds what its command prints.
    pub(super) fn variable(&self) -> Option<&'static str> {
        if let StepKind::Keep(name) = self.kind { Some(name) } else { None }
    }

    /// Its command as a person types it.
    pub(super) fn typed_line(&self) -> Option<String> {
        let command = self.command.as_ref()?.text();
        Some(match self.variable() {
            Some(name) => format!("{name}=$({command})"),
            None => command,
        })
    }

    /// Who does it, to stand before its words, and its own reason for a person to do it; empty for
    /// a command of the script.
    pub fn by_hand(&self) -> (&'static str, Option<&'static str>) {
        let (who, why) = match &self.kind {
            StepKind::Manual => ("manual: ", "a person decides or does it"),
            StepKind::Destructive => (
                "manual; the script goes on with `--erase-instance-stores` only: ",
                "it erases data: the script needs --erase-instance-stores for it",
            ),
            StepKind::Disruptive => (
                "manual; the script goes on with `--interrupt-work` only: ",
                "it interrupts work: the script needs --interrupt-work for it",
            ),
            StepKind::Typed => {
                ("to type: ", "it runs on a host, or needs values that a person sets")
            }
            _ => return ("", None),
        };
        (who, Some(why))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Procedure {
    /// What must hold; only reads.
    pub(super) before: Vec<Step>,
    pub(super) steps: Vec<Step>,
    pub(super) back: Vec<Step>,
    /// What to watch afterwards, and for how long.
    pub(super) watch: Vec<Step>,
    pub(super) files: Vec<Printed>,
}

/// A step with what it is for.
pub(super) struct Line<'a> {
    /// Its place among the steps of the action, from 1.
    pub(super) number: usize,
    /// `check`, `change`, `undo` or `watch`.
    pub(super) kind: &'static str,
    pub(super) step: &'a Step,
    /// Why a person does it; absent where the script does.
    pub(super) why_manual: Option<&'static str>,
}

impl Procedure {
    /// Every step in order; `why_manual` is the reason for a person to do all of it.
    pub(super) fn lines(&self, why_manual: Option<&'static str>) -> Vec<Line<'_>> {
        let parts = [
            ("check", &self.before, why_manual),
            ("change", &self.steps, why_manual),
            ("undo", &self.back, Some("the script prints the way back and does not run it")),
            ("watch", &self.watch, Some("a person watches")),
        ];
        let mut lines = Vec::new();
        for (part, steps, why) in parts {
            for step in steps {
                let reads = matches!(step.kind, StepKind::Read | StepKind::Expect(_));
                let own = step.by_hand().1.filter(|_| part != "watch");
                let kind = if part == "change" && reads { "check" } else { part };
                lines.push(Line { number: lines.len() + 1, kind, step, why_manual: own.or(why) });
            }
        }
        lines
    }

    /// The lists of a runbook, each with its heading.
    pub(super) fn lists(&self) -> [(&'static str, &[Step]); 3] {
        [("Check before", &self.before), ("Steps", &self.steps), ("Way back", &self.back)]
    }

    /// Its lists for a shell: everything but commands is a comment.
    pub(super) fn shell_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let comment = |text: &str| format!("# {}", safe(text));
        for (title, steps) in self.lists() {
            lines.extend([String::new(), format!("## {title}")]);
            for step in steps {
                lines.push(comment(&format!("{}{}", step.by_hand().0, step.about)));
                lines.extend(step.typed_line());
                let expected = step.expected();
                lines.extend(expected.map(|expected| comment(&format!("must print: {expected}"))));
            }
        }
        lines.extend([String::new(), "## Watch".to_owned()]);
        lines.extend(self.watch.iter().map(|step| comment(&step.about)));
        lines
    }

    /// Why a person carries it out; absent where every step is a command, which a script runs.
    pub(super) fn why_manual(&self) -> Option<&'static str> {
        let has = |is: fn(&StepKind) -> bool| self.steps.iter().any(|step| is(&step.kind));
        if self.steps.is_empty() || has(|kind| matches!(kind, StepKind::Manual)) {
            Some("a person decides or does a step of it")
        } else if has(|kind| matches!(kind, StepKind::Typed)) {
            Some("a step of it runs on a host, or needs values that a person sets")
        } else {
            None
        }
    }

    /// The same for a person who does all of it: what a script asks for first, a person decides.
    pub(super) fn without_script(mut self) -> Self {
        for step in self.before.iter_mut().chain(&mut self.steps) {
            if matches!(step.kind, StepKind::Destructive | StepKind::Disruptive) {
                step.kind = StepKind::Manual;
            }
        }
        self
    }

    /// The same without commands, where a name from outside would be taken for a flag or a
    /// file by one of them.
    pub(super) fn checked(mut self) -> Self {
        let lists = [&mut self.before, &mut self.steps, &mut self.back];
        let steps: Vec<&mut Step> = lists.into_iter().flatten().collect();
        if !steps.iter().filter_map(|step| step.command.as_ref()).any(|command| command.is_refused)
        {
            return self;
        }
        for step in steps {
            (step.kind, step.command) = (StepKind::Manual, None);
        }
        self.before.insert(0, step! { manual "a name here begins with `-`, is empty, or is the address of a file, which commands would read as something else" });
        self
    }
}

/// How the AWS CLI marks a value that it reads from a file or an address.
const READ_ELSEWHERE: [&str; 4] = ["file://", "fileb://", "http://", "https://"];

/// A value from outside: one word of a command, or one for each of several.
pub(super) trait Words {
    fn words(&self) -> Vec<String>;
}

macro_rules! one_word {
    ($($value:ty)*) => {$(
        impl Words for $value {
            fn words(&self) -> Vec<String> {
                vec![ToString::to_string(self)]
            }
        }
    )*};
}
one_word!(&str &String String u32 usize Value);

impl<T: ToString> Words for Vec<T> {
    fn words(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// As a shell reads them.
    words: Vec<String>,
    /// Whether a value from outside would not be taken as a value.
    is_refused: bool,
}

impl Command {
    /// A command by its words, of which those with blanks stand in `'…'`: `{}` is the next value,
    /// or all of them where it is a word, and `$NAME` is what an earlier command printed. Nothing
    /// in a value is read as either.
    pub(super) fn of(template: &'static str, values: &[&dyn Words]) -> Self {
        let mut command = Self { words: Vec::new(), is_refused: false };
        let mut values = values.iter().map(|value| value.words());
        let mut rest = template;
        while !rest.is_empty() {
            let (word, after) = match rest.strip_prefix('\'') {
                Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
                None => rest.split_once(' ').unwrap_or((rest, "")),
            };
            rest = after.trim_start();
            if word == "{}" {
                for value in values.next().unwrap_or_default() {
                    command.value(&value);
                }
            } else if word.contains("{}") {
                command.value(&filled(word, &mut values));
            } else {
                command.words.push(own_word(word));
            }
        }
        command
    }

    fn value(&mut self, value: &str) {
        let is_elsewhere = READ_ELSEWHERE.iter().any(|mark| value.starts_with(mark));
        self.is_refused |= value.is_empty() || value.starts_with('-') || is_elsewhere;
        self.words.push(shell_word(value));
    }

    /// As it is typed, on one line.
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// A word with its next values in their places.
fn filled(word: &str, values: &mut impl Iterator<Item = Vec<String>>) -> String {
    let mut parts = word.split("{}");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        filled.extend(values.next().into_iter().flatten());
        filled.push_str(part);
    }
    filled
}

/// A word of our own with its variables: what an earlier command printed.
fn own_word(word: &str) -> String {
    let quoted = |text: &str| if text.is_empty() { String::new() } else { shell_word(text) };
    let mut parts = word.split('$');
    let mut shown = quoted(parts.next().unwrap_or_default());
    for part in parts {
        let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
        let (name, text) = part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len()));
        shown += &format!("\"${name}\"{}", quoted(text));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(id: &str) -> Command {
        let template = "aws ec2 stop-instances --region {} --instance-ids {}";
        Command::of(template, &[&"us-east-1", &vec![id]])
    }

    #[test]
    fn a_shell_reads_every_word_back() {
        for id in ["i-1", "i-1; rm -rf ~", "a'b\"c`d$e", "two\nlines", "ü\u{202e}"] {
            let text = stop(id).text();
            assert!(!text.contains('\n'), "{text}");
            assert!(!stop(id).is_refused, "{id}");
            // `shlex` does not know `$'…'`.
            if let Some(words) = shlex::split(&text).filter(|_| !text.contains("$'")) {
                assert_eq!(words.last().map(String::as_str), Some(id));
                assert_eq!(words.len(), 7);
            }
        }
    }

    #[test]
    fn a_value_that_is_a_flag_or_a_file_is_refused() {
        for id in ["", "--endpoint-url=http://evil", "-x", "file:///etc/passwd"] {
            assert!(stop(id).is_refused, "{id}");
        }
        let nowhere = Command::of("aws ec2 describe-instances --region {}", &[&""]);
        assert!(nowhere.is_refused);
        let inside = Command::of("aws --filters Name=x,Values={}", &[&"-x"]);
        assert!(!inside.is_refused);
    }

    #[test]
    fn kept_values_are_variables_between_quoted_words() {
        let template = "aws --launch-template LaunchTemplateId=$TEMPLATE,Version={x}";
        let command = Command::of(template, &[]);
        let expected = "aws --launch-template LaunchTemplateId=\"$TEMPLATE\"',Version={x}'";
        assert_eq!(command.text(), expected);
    }

    #[test]
    fn no_value_is_read_as_a_variable_a_placeholder_or_two_words() {
        let values: [&dyn Words; 3] = [&"$HOME", &vec!["{}", "a b"], &7_usize];
        let command = Command::of("aws '{} {x}' {} --count {}", &values);
        assert_eq!(command.text(), "aws '$HOME {x}' '{}' 'a b' --count 7");
    }
}
