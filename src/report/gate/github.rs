//! `check --format github`: workflow commands, which GitHub Actions shows beside
//! the lines of a pull request.

use super::brief::{GateBrief, file_of, settings_lines, since_baseline, verdict_words};
use crate::analysis::gate::{GateOutcome, GateReport, MissingData, Place, Violation};
use crate::domain::Severity;
use crate::report::shared::markdown::escape::{SENTENCE_WIDTH, bounded};
use crate::report::shared::text::{counted, safe};

/// Annotations of one kind that GitHub shows of one step; it drops the rest
/// without a word.
const MOST_OF_A_KIND: usize = 10;
/// Columns of a title.
const TITLE_WIDTH: usize = 120;

/// The kinds of annotation, gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    Warning,
    Notice,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Notice];

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

struct Annotation {
    kind: Kind,
    place: Place,
    title: String,
    message: Vec<String>,
}

/// The gate's report as workflow commands: what fails is an error. Of more than
/// ten of a kind, nine are written and a tenth says how many are left out.
pub fn gate_github(report: &GateReport, brief: &GateBrief) -> String {
    let mut annotations: Vec<Annotation> = Vec::new();
    annotations.extend(of_settings(report));
    annotations.extend(report.violations.iter().map(|one| of(one, Kind::Error)));
    let of_missing_data = |one| of_missing_data(one, report.outcome);
    annotations.extend(report.missing_data.iter().map(of_missing_data));
    let unread = brief.unread(report).map(str::to_owned);
    let unsaid = [
        ("not read", unread),
        ("not evaluated", brief.unjudged_words()),
    ];
    annotations.extend(unsaid.into_iter().filter_map(|(title, said)| {
        Some(Annotation {
            kind: Kind::Notice,
            place: Place::Nowhere,
            title: title.to_owned(),
            message: vec![said?],
        })
    }));
    annotations.extend(
        report
            .notices
            .iter()
            .map(|one| of(one, below(one.severity))),
    );
    if annotations.iter().all(|one| one.kind != Kind::Error) {
        let about = [Some(brief.subject.clone()), brief.cost_words(report)];
        let about: Vec<String> = about.into_iter().flatten().collect();
        annotations.push(Annotation {
            kind: Kind::Notice,
            place: Place::Nowhere,
            title: "gpucost".to_owned(),
            message: vec![format!(
                "{} ({})",
                verdict_words(report, brief),
                about.join(", ")
            )],
        });
    }
    let mut lines = String::new();
    for kind in Kind::ALL {
        let of_kind: Vec<&Annotation> = annotations.iter().filter(|one| one.kind == kind).collect();
        let shown = if of_kind.len() > MOST_OF_A_KIND {
            MOST_OF_A_KIND - 1
        } else {
            of_kind.len()
        };
        for one in &of_kind[..shown] {
            lines.push_str(&one.command());
        }
        if shown < of_kind.len() {
            lines.push_str(&left_out(kind, of_kind.len() - shown, brief).command());
        }
    }
    lines
}

/// What does not fail the gate is not an error.
fn below(severity: Severity) -> Kind {
    match severity {
        Severity::Critical | Severity::Warning => Kind::Warning,
        Severity::Info => Kind::Notice,
    }
}

fn of(violation: &Violation, kind: Kind) -> Annotation {
    let mut message = vec![safe(&violation.title)];
    message.extend(since_baseline(violation).map(|since| safe(&format!("baseline: {since}"))));
    message.extend(
        violation
            .steps
            .iter()
            .map(|step| format!("- {}", safe(step))),
    );
    Annotation {
        kind,
        place: violation.place.clone(),
        title: format!("{}: {}", violation.rule, violation.scope),
        message,
    }
}

/// What could not be judged fails the gate unless something worse does.
fn of_missing_data(missing_data: &MissingData, outcome: GateOutcome) -> Annotation {
    let kind = match outcome {
        GateOutcome::Incomplete => Kind::Error,
        _ => Kind::Warning,
    };
    Annotation {
        kind,
        place: Place::Nowhere,
        title: format!("not evaluated: {}", missing_data.rules.join(", ")),
        message: vec![
            safe(&format!(
                "{} of {}: {}",
                missing_data.what, missing_data.place, missing_data.reason
            )),
            format!("- {}", safe(&missing_data.hint)),
        ],
    }
}

/// Settings that decide amounts or findings: the first of the warnings.
fn of_settings(report: &GateReport) -> Option<Annotation> {
    let mut lines = settings_lines(report).into_iter();
    let title = lines.next()?;
    let changes = lines.map(|line| format!("- {line}"));
    Some(Annotation {
        kind: Kind::Warning,
        place: Place::Nowhere,
        title: "settings".to_owned(),
        message: std::iter::once(title).chain(changes).collect(),
    })
}

fn left_out(kind: Kind, number: usize, brief: &GateBrief) -> Annotation {
    let what = match kind {
        Kind::Error => ("more error", "more errors"),
        Kind::Warning => ("more warning", "more warnings"),
        Kind::Notice => ("more notice", "more notices"),
    };
    Annotation {
        kind,
        place: Place::Nowhere,
        title: "gpucost".to_owned(),
        message: vec![format!(
            "{} not shown because GitHub shows at most {MOST_OF_A_KIND} of a kind per step: \
             run `{}`",
            counted(number as u64, what.0, what.1),
            brief.again()
        )],
    }
}

impl Annotation {
    fn command(&self) -> String {
        let mut properties: Vec<String> = Vec::new();
        if let Some((file, line)) = file_of(&self.place) {
            let file = file.strip_prefix("./").unwrap_or(file);
            properties.push(format!("file={}", property(&safe(file))));
            properties.extend(line.map(|line| format!("line={line}")));
        }
        let title = bounded(&self.title, TITLE_WIDTH);
        properties.push(format!("title={}", property(&title)));
        let message: Vec<String> = self
            .message
            .iter()
            .map(|line| bounded(line, SENTENCE_WIDTH))
            .collect();
        format!(
            "::{} {}::{}\n",
            self.kind.name(),
            properties.join(","),
            data(&message.join("\n"))
        )
    }
}

/// The message of a command, as GitHub's own toolkit escapes it.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_cannot_be_forged() {
        assert_eq!(data("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a:b,c%3A"), "a%3Ab%2Cc%253A");
    }
}
