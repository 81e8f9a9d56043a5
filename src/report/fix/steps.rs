//! Every step of an action in one list, for documents that other programs read.

use super::command::Command;
use super::planned::FixItem;
use super::procedure::{Step, What};

/// Why the way back is by hand.
const NOT_RUN: &str = "the script prints the way back and does not run it";
const WATCHED: &str = "a person watches";

/// A step with what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedStep<'a> {
    /// `check`, `change`, `undo` or `watch`.
    pub(super) kind: &'static str,
    pub(super) about: &'a str,
    /// As it is typed, on one line.
    pub(super) command: Option<String>,
    /// What the command must print for the next one to be run.
    pub(super) must_print: Option<&'a str>,
    /// The variable that holds what the command prints.
    pub(super) keeps: Option<&'static str>,
    /// Why a person does it; absent where the script does.
    pub(super) by_hand: Option<&'static str>,
}

/// What must hold, the steps, the way back, and what to watch, in this order.
pub(super) fn listed<'a>(item: &'a FixItem<'_>) -> Vec<ListedStep<'a>> {
    let procedure = &item.procedure;
    let checks = procedure.before.iter();
    let checks = checks.map(|step| of_step("check", step, item.by_hand));
    let changes = procedure.steps.iter();
    let changes = changes.map(|step| {
        let kind = match step.what {
            What::Read(_) | What::Expect(..) => "check",
            _ => "change",
        };
        of_step(kind, step, item.by_hand)
    });
    let undo = procedure.back.iter();
    let undo = undo.map(|step| of_step("undo", step, Some(NOT_RUN)));
    let watched = procedure.watch.iter().map(|line| ListedStep {
        kind: "watch",
        about: line,
        command: None,
        must_print: None,
        keeps: None,
        by_hand: Some(WATCHED),
    });
    checks.chain(changes).chain(undo).chain(watched).collect()
}

/// A step with its own reason to be by hand, or else that of all steps beside it.
fn of_step<'a>(
    kind: &'static str,
    step: &'a Step,
    otherwise: Option<&'static str>,
) -> ListedStep<'a> {
    let own = match step.what {
        What::ByHand => Some("a person decides or does it"),
        What::Erases => Some("it erases data: the script needs --erase-instance-stores for it"),
        What::Interrupts => Some("it interrupts work: the script needs --interrupt-work for it"),
        What::Typed(_) => Some("it runs on a host, or needs values that a person sets"),
        What::Read(_) | What::Expect(..) | What::Run(_) | What::Keep(..) => None,
    };
    ListedStep {
        kind,
        about: &step.about,
        command: step.command().map(Command::text),
        must_print: match &step.what {
            What::Expect(_, expected) => Some(expected.as_str()),
            _ => None,
        },
        keeps: match step.what {
            What::Keep(name, _) => Some(name),
            _ => None,
        },
        by_hand: own.or(otherwise),
    }
}
