//! What became of advised actions.

use crate::domain::{Money, Target};
use crate::report::doc::{Table, columns, sentences};
use crate::report::shared::text::{counted, money};
use crate::trend::{Overview, Realised, SavedPart};

columns! {
    fn advised<'a>(row: &'a Realised) {
        text "name", "workload", Narrow(0), row.action.name.clone(), "";
        text "workload", "id", Wide, row.action.workload.clone(), "";
        text "action", "action", Narrow(0), row.action.kind.name().to_owned(), "";
        opt text "target", "to", Wide, row.action.target.as_ref().map(Target::to_string), "";
        text "status", "status", Narrow(0), row.status.name().to_owned(), "";
        opt date "since", "since", Narrow(0), row.since, "The first day on which it was carried out, at least in part.";
        opt date "undone_on", "undone", Wide, row.undone_on, "";
        count "days", "days", Narrow(0), row.days, "Days on which it was carried out and that can be compared.";
        money "expected", "expected", Narrow(0), row.expected, "What it was expected to save on these days.";
        opt money "saved", "saved", Narrow(0), row.saved.map(|(saved, _)| saved), "What it saved on them: its four parts add up to it.";
        opt money "missed", "not done cost", Narrow(0), row.missed, "What it was expected to save on the days on which it was not carried out.";
        opt money "saved_usage", "usage", Wide, part(row, SavedPart::Usage), "";
        opt money "saved_mix", "mix", Wide, part(row, SavedPart::Mix), "";
        opt money "saved_rate", "rate", Wide, part(row, SavedPart::Rate), "";
        opt money "saved_standing", "standing", Wide, part(row, SavedPart::Standing), "";
        count "days_not_comparable", "grew", Wide, row.days_not_comparable, "Days on which more ran than before.";
        count "days_unpriced", "unpriced", Wide, row.days_unpriced, "";
        text "risk", "risk", Wide, row.action.risk.name().to_owned(), "";
        text "action_id", "action id", Wide, row.action.action_id.clone(), "";
    }
}

fn part(action: &Realised, part: SavedPart) -> Option<Money> {
    let (saved, parts) = action.saved?;
    Some(Money::new(parts[part as usize], saved.currency()))
}

/// Every advised action.
pub(super) fn actions(overview: &Overview) -> Table {
    let realised = &overview.realised;
    let title = "ADVISED ACTIONS  saved so far, at the prices of each day";
    let noun = ("action", "actions");
    let mut table = Table::of("actions", title, noun, advised(), &realised.actions);
    if realised.actions.iter().any(|action| action.saved.is_some()) {
        let claimed = money(realised.claimed);
        let note = format!("Together they saved {claimed}, without price cuts of the cloud.");
        table.notes.push(note);
    }
    table
}

/// What may be read wrong in it.
pub(super) fn claims(overview: &Overview) -> Vec<String> {
    let realised = &overview.realised;
    if realised.actions.is_empty() {
        return Vec::new();
    }
    let amount = |amount: Money| (!amount.amount().is_zero()).then(|| money(amount));
    let days = |of: fn(&Realised) -> u32| {
        let actions = realised.actions.iter();
        let days: u64 = actions.map(|action| u64::from(of(action))).sum();
        (days > 0).then(|| counted(days, "day", "days"))
    };
    let mut claims = Vec::new();
    sentences! { claims;
        for price in amount(realised.price) => "price changes of the cloud took off {price}, which no action claims";
        for rest in amount(realised.unclaimed) => "{rest} of the difference is of changes that none of these actions brings about";
        for days in days(|action| action.days_not_comparable) => "{days} of actions cannot be compared, because more ran than before; `--units FILE` compares per unit of work";
        for days in days(|action| action.days_unpriced) => "{days} of actions have no public price of that day, so that nothing is claimed";
        if realised.other_currencies > 0 => "{} in another currency and skipped", counted(realised.other_currencies, "action is", "actions are");
    }
    claims
}
