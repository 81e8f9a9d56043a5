//! `gpucost doctor` for people.

use super::{Check, CheckArea, CheckStatus};
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{counted, wrap};

/// Columns of a status, with the blanks behind it.
const STATUS_WIDTH: usize = 9;
const INDENT: usize = 2;

/// The checks by what they are about. What works and has nothing further to say shares
/// lines, unless the table is wide.
pub fn doctor_table(checks: &[Check], style: TableStyle) -> String {
    let mut lines = vec![summary(checks), String::new()];
    for area in CheckArea::ALL {
        let own: Vec<&Check> = checks.iter().filter(|one| one.area == *area).collect();
        if own.is_empty() {
            continue;
        }
        lines.push(style.heading(&area.name().to_uppercase()));
        let shares =
            |one: &&&Check| !style.wide && one.status == CheckStatus::Ok && one.detail.is_empty();
        let names: Vec<&str> = own
            .iter()
            .filter(shares)
            .map(|one| one.name.as_str())
            .collect();
        if !names.is_empty() {
            entry(CheckStatus::Ok, &names.join(", "), &[], style, &mut lines);
        }
        for one in own.iter().filter(|one| !shares(one)) {
            let mut further = Vec::new();
            let head = if one.is_fine() && !one.detail.is_empty() {
                format!("{}: {}", one.name, one.detail)
            } else {
                further.extend((!one.detail.is_empty()).then(|| one.detail.clone()));
                one.name.clone()
            };
            further.extend(one.fix.as_ref().map(|fix| format!("fix: {fix}")));
            entry(one.status, &head, &further, style, &mut lines);
        }
        lines.push(String::new());
    }
    lines.join("\n")
}

/// How many checks came to what, in one line.
fn summary(checks: &[Check]) -> String {
    let all = counted(checks.len() as u64, "check", "checks");
    let parts = CheckStatus::ALL.iter().filter_map(|status| {
        let number = checks.iter().filter(|one| one.status == *status).count();
        (number > 0).then(|| format!("{number} {status}"))
    });
    format!("{all}: {}", parts.collect::<Vec<_>>().join(", "))
}

/// One status with its words, and what follows below them.
fn entry(
    status: CheckStatus,
    head: &str,
    further: &[String],
    style: TableStyle,
    lines: &mut Vec<String>,
) {
    let width = style.width.saturating_sub(INDENT + STATUS_WIDTH);
    let code = match status {
        CheckStatus::Ok => "32",
        CheckStatus::Skipped => "2",
        CheckStatus::Missing | CheckStatus::Denied | CheckStatus::Failed => "31",
    };
    let blanks = " ".repeat(STATUS_WIDTH.saturating_sub(status.name().len()));
    let indent = " ".repeat(INDENT);
    let below = " ".repeat(INDENT + STATUS_WIDTH);
    for (index, part) in wrap(head, width).iter().enumerate() {
        if index == 0 {
            let status = style.paint(code, status.name());
            lines.push(format!("{indent}{status}{blanks}{part}"));
        } else {
            lines.push(format!("{below}{part}"));
        }
    }
    for text in further {
        let parts = wrap(text, width.saturating_sub(INDENT));
        lines.extend(parts.iter().map(|part| format!("{below}{indent}{part}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(checks: &[Check], width: usize) -> String {
        let style = TableStyle {
            width,
            color: false,
            wide: false,
            limit: None,
            ascii: false,
        };
        doctor_table(checks, style)
    }

    #[test]
    fn what_works_shares_lines_and_what_does_not_has_its_fix() {
        let permission = CheckArea::Permissions;
        let checks = [
            Check::ok(CheckArea::Regions, "us-east-1", ""),
            Check::ok(permission, "a:B", ""),
            Check::not(
                permission,
                "c:D",
                CheckStatus::Denied,
                "not you",
                "allow c:D",
            ),
            Check::ok(permission, "e:F", ""),
            Check::ok(CheckArea::Prices, "price cache", "3 days old"),
        ];
        assert_eq!(
            shown(&checks, 60),
            "5 checks: 4 ok, 1 denied\n\
             \n\
             REGIONS\n  \
               ok       us-east-1\n\
             \n\
             PERMISSIONS\n  \
               ok       a:B, e:F\n  \
               denied   c:D\n             \
                          not you\n             \
                          fix: allow c:D\n\
             \n\
             PRICES\n  \
               ok       price cache: 3 days old\n"
        );
    }

    #[test]
    fn hostile_names_stay_in_their_lines() {
        let name = "us-\u{1b}[31m\n  ok       all is well";
        let status = CheckStatus::Failed;
        let check = Check::not(CheckArea::Regions, name, status, "x\u{7}y", "z");
        let text = shown(&[check], 100);
        assert!(!text.contains(['\u{1b}', '\u{7}']), "{text}");
        assert!(!text.contains("\n  ok "), "{text}");
        let long = "r".repeat(10_000);
        let check = Check::ok(CheckArea::Regions, long, "");
        assert!(shown(&[check], 80).lines().all(|line| line.len() <= 90));
    }
}
