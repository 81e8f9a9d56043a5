//! Lines of a derivation, and what they are worked out by.

use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{Commitments, Policy, Risk};
use crate::report::doc::columns;
use crate::savings::ScheduledHours;
use rust_decimal::Decimal;

/// Adds lines to a derivation, a row each: its name and its words, said once, for each of several
/// values, or on a condition.
macro_rules! steps {
    ($lines:ident;) => {};
    ($lines:ident; $name:tt => $words:literal $(, $value:expr)*; $($rest:tt)*) => {
        $lines.push($crate::report::explain::line::line($name, format_args!($words $(, $value)*)));
        steps!($lines; $($rest)*);
    };
    ($lines:ident; $name:tt if $condition:expr => $words:literal $(, $value:expr)*; $($rest:tt)*) => {
        if $condition {
            $lines.push($crate::report::explain::line::line($name, format_args!($words $(, $value)*)));
        }
        steps!($lines; $($rest)*);
    };
    ($lines:ident; $name:tt for $pattern:pat_param in $values:expr => $words:literal $(, $value:expr)*; $($rest:tt)*) => {
        $lines.extend(IntoIterator::into_iter($values).map(|$pattern| {
            $crate::report::explain::line::line($name, format_args!($words $(, $value)*))
        }));
        steps!($lines; $($rest)*);
    };
}

/// What figures were worked out by.
#[derive(Debug, Clone, Copy)]
pub struct Derivation<'a> {
    /// Of all workloads.
    pub audit: &'a Audit,
    pub policy: &'a Policy,
    /// What the account has bought.
    pub commitments: &'a Commitments,
    pub accepted: Risk,
}

/// A line of a derivation.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub name: &'static str,
    pub derivation: String,
}

pub(in crate::report) fn line(name: &'static str, derivation: std::fmt::Arguments<'_>) -> Line {
    Line { name, derivation: derivation.to_string() }
}

columns! {
    pub(super) fn lines(line: Line) {
        text "name", "what", Narrow(0), line.name.to_owned(), "What the line is about.";
        text "derivation", "derivation", Narrow(0), line.derivation.clone(), "How it follows, with its figures and their sources.";
    }
}

/// How a workload runs between two actions of the plan.
pub(super) struct PlanState<'a> {
    /// The workload with what was chosen from.
    pub audited: &'a AuditedWorkload,
    /// What is left per month, unrounded.
    pub monthly: Decimal,
    /// The hours that a schedule leaves on.
    pub hours: Option<&'a ScheduledHours>,
    pub instance_type: String,
}
