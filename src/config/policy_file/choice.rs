//! A choice of actions in the place of the one that a policy file has, beside its other tables.

use toml::Table;

const REJECT: &str = "reject";
/// Begins each of the tables that a choice takes the place of.
const HEADER: &str = "[[reject]]";

/// The text of a policy file in which the rejected actions of `choice`, which has no other
/// table, are in the place of its own: every other table and comment stays. Of a text that has no
/// other table, or is not TOML, nothing stays. `title` begins the comment above a choice.
///
/// `None` where the other tables cannot be kept, as with rejected actions in an unusual form.
pub fn with_choice(text: &str, choice: &str, title: &str) -> Option<String> {
    let Ok(mut others) = toml::from_str::<Table>(text) else { return Some(choice.to_owned()) };
    others.remove(REJECT);
    if others.is_empty() {
        return Some(choice.to_owned());
    }
    let rest = without_choice(text, title);
    // Whatever the lines meant, the tables are the same, or the file is left alone.
    let is_kept = toml::from_str::<Table>(&rest).is_ok_and(|kept| kept == others);
    is_kept.then(|| format!("{}\n\n{choice}", rest.trim_end()))
}

/// The lines that belong to no rejected action. Comments stay, but for those of a choice.
fn without_choice(text: &str, title: &str) -> String {
    let (mut is_rejection, mut is_of_choice) = (false, false);
    let mut rest = String::new();
    for line in text.lines() {
        let start = line.trim_start();
        let is_comment = start.starts_with('#');
        is_of_choice = is_comment && (is_of_choice || start.starts_with(title));
        if start.starts_with('[') {
            is_rejection = start.starts_with(HEADER);
        }
        if !is_of_choice && (is_comment || !is_rejection) {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &str = "# Actions that were chosen";
    const CHOICE: &str = "# Actions that were chosen\n#   stop i-1\n\n[[reject]]\n\
                          workload = \"i-2\"\naction = \"spot\"\nreason = \"new\"\n";

    #[test]
    fn every_rule_and_comment_stays_and_the_choice_is_replaced() {
        let policy = "# Limits\n[waste]\npercent_limit = 10\n\n# Ours\n[[reject]]\n\
                      workload = \"i-1\" # [waste]\naction = \"stop\"\nreason = \"old\"\n\n\
                      # Idle\n[[forbid]]\nrule = \"idle-gpu\"\n";
        let rules = "# Limits\n[waste]\npercent_limit = 10\n\n# Ours\n# Idle\n[[forbid]]\n\
                     rule = \"idle-gpu\"\n";
        let once = with_choice(policy, CHOICE, TITLE).expect("it has other tables");
        assert_eq!(once, format!("{rules}\n{CHOICE}"));
        // A second choice takes the place of the first.
        assert_eq!(with_choice(&once, CHOICE, TITLE), Some(once.clone()));
    }

    #[test]
    fn what_is_only_a_choice_is_replaced_whole() {
        for text in ["", "not TOML", "# Mine\n", CHOICE] {
            let written = with_choice(text, CHOICE, TITLE);
            assert_eq!(written.as_deref(), Some(CHOICE), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let rule = "[waste]\npercent_limit = 10\n";
        for odd in [
            format!("reject = []\n{rule}"),
            format!("{rule}[[reject]]\nreason = \"\"\"\n[deny]\ntypes = []\n\"\"\"\n"),
            format!("{rule}[[ reject ]]\nreason = \"r\"\n"),
        ] {
            assert_eq!(with_choice(&odd, CHOICE, TITLE), None, "{odd}");
        }
    }
}
