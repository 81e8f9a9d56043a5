//! `check --format github`: workflow commands, which GitHub Actions shows beside the lines of a
//! pull request.

use super::brief::{GateBrief, Remark, file_of, level, verdict_words};
use crate::analysis::gate::GateReport;
use crate::report::shared::markdown::escape::{SENTENCE_WIDTH, bounded};
use crate::report::shared::text::{counted, safe};

/// Annotations of one kind that GitHub shows of one step; it drops the rest without a word.
const MOST_OF_A_KIND: usize = 10;
/// Columns of a title.
const TITLE_WIDTH: usize = 120;
/// Levels with the kinds of annotation, gravest first.
const KINDS: [(&str, &str); 3] = [("error", "error"), ("warning", "warning"), ("note", "notice")];

/// The gate's report as workflow commands: what fails is an error. Of more than ten of a kind,
/// nine are written and a tenth counts the rest.
pub fn gate_github(report: &GateReport, brief: &GateBrief) -> String {
    let mut remarks = brief.remarks(report);
    let violations = report.violations.iter();
    remarks.extend(violations.map(|violation| Remark::of(violation, "error")));
    let notices = report.notices.iter();
    remarks.extend(notices.map(|notice| Remark::of(notice, level(notice.severity))));
    if remarks.iter().all(|remark| remark.level != "error") {
        let about = [Some(brief.subject.as_str()), brief.cost(report)];
        let about: Vec<&str> = about.into_iter().flatten().collect();
        let verdict = verdict_words(report, brief);
        let line = format!("{verdict} ({})", about.join(", "));
        remarks.push(Remark::whole("note", "gpucost", vec![line]));
    }
    let mut lines = String::new();
    for (level, kind) in KINDS {
        let of_kind = remarks.iter().filter(|remark| remark.level == level);
        let of_kind: Vec<&Remark<'_>> = of_kind.collect();
        let shown = match of_kind.len() {
            number if number > MOST_OF_A_KIND => MOST_OF_A_KIND - 1,
            number => number,
        };
        lines.extend(of_kind[..shown].iter().map(|remark| command(remark, kind)));
        let hidden = (of_kind.len() - shown) as u64;
        if hidden > 0 {
            let more = counted(hidden, &format!("more {kind}"), &format!("more {kind}s"));
            let line = format!(
                "{more} not shown because GitHub shows at most {MOST_OF_A_KIND} of a kind per \
                 step: run `{}`",
                brief.again
            );
            lines.push_str(&command(&Remark::whole(level, "gpucost", vec![line]), kind));
        }
    }
    lines
}

fn command(remark: &Remark<'_>, kind: &str) -> String {
    let mut properties: Vec<String> = Vec::new();
    if let Some((file, line)) = file_of(remark.place) {
        let file = file.strip_prefix("./").unwrap_or(file);
        properties.push(format!("file={}", property(&safe(file))));
        properties.extend(line.map(|line| format!("line={line}")));
    }
    let title = bounded(&remark.title, TITLE_WIDTH);
    properties.push(format!("title={}", property(&title)));
    let message = data(&remark.text(|line| bounded(line, SENTENCE_WIDTH)));
    format!("::{kind} {}::{message}\n", properties.join(","))
}

/// The message of a command, as GitHub's own toolkit escapes it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
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
