//! What carrying out an action takes: what must hold before, the steps, the way back, and
//! what to watch.

use super::command::Command;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Only a person can do it.
    ByHand,
    /// What the steps erase: a script goes on only where it was told that this may be.
    Erases,
    /// The same for work that the steps interrupt.
    Interrupts,
    /// Reads something that a person evaluates.
    Read(Command),
    /// Reads something that must be this.
    Expect(Command, String),
    Run(Command),
    /// The same, and what it prints is kept in a variable.
    Keep(&'static str, Command),
    /// A command that a person types: on a GPU host, or once its variables are known.
    Typed(Command),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) about: String,
    pub(super) what: What,
}

impl Step {
    pub(super) fn by_hand(about: impl Into<String>) -> Self {
        Self::new(about, What::ByHand)
    }

    pub(super) fn erases(about: impl Into<String>) -> Self {
        Self::new(about, What::Erases)
    }

    pub(super) fn interrupts(about: impl Into<String>) -> Self {
        Self::new(about, What::Interrupts)
    }

    pub(super) fn read(about: impl Into<String>, command: Command) -> Self {
        Self::new(about, What::Read(command))
    }

    pub(super) fn expect(
        about: impl Into<String>,
        command: Command,
        expected: impl ToString,
    ) -> Self {
        Self::new(about, What::Expect(command, expected.to_string()))
    }

    pub(super) fn run(about: impl Into<String>, command: Command) -> Self {
        Self::new(about, What::Run(command))
    }

    pub(super) fn keep(about: impl Into<String>, name: &'static str, command: Command) -> Self {
        Self::new(about, What::Keep(name, command))
    }

    pub(super) fn typed(about: impl Into<String>, command: Command) -> Self {
        Self::new(about, What::Typed(command))
    }

    fn new(about: impl Into<String>, what: What) -> Self {
        Self {
            about: about.into(),
            what,
        }
    }

    pub(super) fn command(&self) -> Option<&Command> {
        match &self.what {
            What::ByHand | What::Erases | What::Interrupts => None,
            What::Read(command)
            | What::Expect(command, _)
            | What::Run(command)
            | What::Keep(_, command)
            | What::Typed(command) => Some(command),
        }
    }

    fn is_refused(&self) -> bool {
        self.command().is_some_and(Command::is_refused)
    }
}

/// A file to apply; nothing of it was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FixFile {
    pub(super) name: String,
    /// The language of a block of code in Markdown.
    pub(super) language: &'static str,
    pub(super) about: String,
    pub(super) text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Procedure {
    /// What must hold; only reads.
    pub(super) before: Vec<Step>,
    pub(super) steps: Vec<Step>,
    pub(super) back: Vec<Step>,
    /// What to watch afterwards, and for how long.
    pub(super) watch: Vec<String>,
    pub(super) files: Vec<FixFile>,
}

impl Procedure {
    /// Why a person carries it out; absent where every step is a command, which a script runs.
    pub(super) fn why_by_hand(&self) -> Option<&'static str> {
        let has = |is: fn(&What) -> bool| self.steps.iter().any(|step| is(&step.what));
        if self.steps.is_empty() || has(|what| matches!(what, What::ByHand)) {
            Some("a person decides or does a step of it")
        } else if has(|what| matches!(what, What::Typed(_))) {
            Some("a step of it runs on a host, or needs values that a person sets")
        } else {
            None
        }
    }

    /// The same for a person who does all of it: what a script asks for first, a person decides.
    pub(super) fn left_to_a_person(mut self) -> Self {
        for step in self.before.iter_mut().chain(&mut self.steps) {
            if matches!(step.what, What::Erases | What::Interrupts) {
                step.what = What::ByHand;
            }
        }
        self
    }

    /// The same without commands, where a name from outside would be taken for a flag or a
    /// file by one of them.
    pub(super) fn checked(mut self) -> Self {
        let mut all = self.before.iter().chain(&self.steps).chain(&self.back);
        if !all.any(Step::is_refused) {
            return self;
        }
        for step in self
            .before
            .iter_mut()
            .chain(&mut self.steps)
            .chain(&mut self.back)
        {
            step.what = What::ByHand;
        }
        let why = "a name here begins with `-`, is empty, or is the address of a file, which \
                   commands would read as something else";
        self.before.insert(0, Step::by_hand(why));
        self
    }
}
