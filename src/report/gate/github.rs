//! `check --format github`: workflow commands, which GitHub Actions shows beside the lines of a
//! pull request.

use super::brief::{GateBrief, Remark, file_of, level, verdict_words};
use crate::analysis::gate::GateReport;
use crate::report::doc::rows;
use crate::report::shared::markdown::{SENTENCE_WIDTH, bounded};
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
    remarks.extend(report.violations.iter().map(|violation| Remark::of(violation, "error")));
    remarks.extend(report.notices.iter().map(|notice| Remark::of(notice, level(notice.severity))));
    if remarks.iter().all(|remark| remark.level != "error") {
        let cost = brief.cost(report).map_or(String::new(), |cost| format!(", {cost}"));
        let line = format!("{} ({}{cost})", verdict_words(report, brief), brief.subject);
        remarks.push(Remark::whole("note", "gpucost", vec![line]));
    }
    let mut lines = String::new();
    for (level, kind) in KINDS {
        let of_kind: Vec<_> = remarks.iter().filter(|remark| remark.level == level).collect();
        let number = of_kind.len();
        let shown = if number > MOST_OF_A_KIND { MOST_OF_A_KIND - 1 } else { number };
        lines.extend(of_kind[..shown].iter().map(|remark| command(remark, kind)));
        let hidden = (number - shown) as u64;
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
    let place = file_of(remark.place);
    let properties: Vec<String> = rows! {
        for (file, _) in place => format!("file={}", property(&safe(file.strip_prefix("./").unwrap_or(file))));
        for line in place.and_then(|(_, line)| line) => format!("line={line}");
        format!("title={}", property(&bounded(&remark.title, TITLE_WIDTH)));
    };
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
