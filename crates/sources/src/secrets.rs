//! Keeps credentials out of what this program says: services repeat signed
//! requests in their messages.

use std::collections::BTreeSet;
use std::fmt;

/// Instead of what is not shown.
const HIDDEN: &str = "(not shown)";
/// Session tokens, signatures and encoded messages are longer than any name.
const LONGEST_WORD: usize = 39;
/// A message is one line of a report.
const LONGEST_MESSAGE: usize = 500;
/// Where a message begins to repeat the request, in lower case.
const REQUEST_PARTS: [&str; 12] = [
    "accesskeyid", "authorization", "bearer ", "canonical string", "credential=",
    "secretaccesskey", "securitytoken", "security-token", "sessiontoken", "signature=",
    "string-to-sign", "x-amz-",
];

/// Values of fewer bytes are part of many words.
const SHORTEST_PART: usize = 8;

/// What requests were signed with, by value.
#[derive(Clone, Default)]
pub(super) struct Secrets(BTreeSet<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl Secrets {
    /// Adds a value that no message may hold: a short one as a word of its own, any other
    /// as a part of words too.
    pub(super) fn add(&mut self, value: &str) {
        if !value.is_empty() {
            self.0.insert(value.to_owned());
        }
    }

    /// A message without credentials: known values, what has their form, and
    /// all of it from where it repeats a request. At most a line long.
    pub(super) fn blank(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Longest first, because one can be a part of another.
        let mut values: Vec<&String> = self.0.iter().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        for value in values {
            text = if value.len() < SHORTEST_PART {
                without_word(&text, value)
            } else {
                text.replace(value.as_str(), HIDDEN)
            };
        }
        let lower = text.to_ascii_lowercase();
        if let Some(start) = REQUEST_PARTS.iter().filter_map(|part| lower.find(part)).min() {
            text.truncate(start);
            text.push_str(HIDDEN);
        }
        let mut clean = String::with_capacity(text.len());
        for word in text.split_inclusive(char::is_whitespace) {
            // The parts of an ARN are names, however long.
            if word.starts_with("arn:") {
                clean.push_str(word);
                continue;
            }
            for part in word.split_inclusive(|c: char| !is_of_token(c)) {
                let bare = part.trim_end_matches(|c: char| !is_of_token(c));
                clean.push_str(form_of_secret(bare).unwrap_or(bare));
                clean.push_str(&part[bare.len()..]);
            }
        }
        if let Some((end, _)) = clean.char_indices().nth(LONGEST_MESSAGE) {
            clean.truncate(end);
            clean.push('…');
        }
        clean
    }
}

/// A text without a word, which may be part of other words.
fn without_word(text: &str, word: &str) -> String {
    let continues = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(word) {
        clean.push_str(before);
        let is_part = continues(clean.chars().next_back()) || continues(after.chars().next());
        clean.push_str(if is_part { word } else { HIDDEN });
        rest = after;
    }
    clean.push_str(rest);
    clean
}

/// Whether a character can be part of a key, a token or a signature.
fn is_of_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+/=%_".contains(c)
}

/// What to show in place of a word that has the form of a secret.
fn form_of_secret(word: &str) -> Option<&'static str> {
    const KEY_PREFIXES: [&str; 2] = ["AKIA", "ASIA"];
    const KEY_LENGTH: usize = 20;
    let is_key = |start: usize| {
        let rest = &word[start..];
        rest.bytes().take_while(u8::is_ascii_alphanumeric).count() >= KEY_LENGTH
    };
    if KEY_PREFIXES.iter().filter_map(|prefix| word.find(prefix)).any(is_key) {
        return Some("(access key)");
    }
    let has = |is: fn(&char) -> bool| word.chars().any(|c| is(&c));
    // A path or a long name has no digits, or letters of one case only.
    let is_mixed =
        has(char::is_ascii_digit) && has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    (word.len() > LONGEST_WORD && (is_mixed || is_hex)).then_some(HIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blank(text: &str) -> String {
        Secrets::default().blank(text)
    }

    #[test]
    fn access_keys_never_reach_a_message() {
        assert_eq!(blank("key AKIAIOSFODNN7EXAMPLE is not valid"), "key (access key) is not valid");
        assert_eq!(blank("an ASIAN region"), "an ASIAN region");
        assert_eq!(blank("ASIAIOSFODNN7EXAMPLE,AKIAIOSFODNN7EXAMPLE"), "(access key),(access key)");
    }

    #[test]
    fn known_values_tokens_and_signatures_are_hidden() {
        let mut secrets = Secrets::default();
        secrets.add("hunter2-hunter2");
        assert_eq!(
            secrets.blank("token hunter2-hunter2 is refused"),
            "token (not shown) is refused"
        );
        let signature = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7";
        assert_eq!(
            blank(&format!("expected {signature}, got another")),
            "expected (not shown), got another"
        );
        let token = "IQoJb3JpZ2luX2VjEJr//////////wEaCXVzLWVhc3QtMSJHMEUCIQD+abc=";
        assert_eq!(blank(&format!("bad `{token}`")), "bad `(not shown)`");
    }

    #[test]
    fn short_values_are_hidden_where_they_are_words() {
        let mut secrets = Secrets::default();
        for value in ["", "7", "abc", "hunter2"] {
            secrets.add(value);
        }
        assert_eq!(
            secrets.blank("abc: 17 of 7 (hunter2), abcd, 7"),
            "(not shown): 17 of (not shown) ((not shown)), abcd, (not shown)"
        );
        assert_eq!(format!("{secrets:?}"), "Secrets(..)");
    }

    #[test]
    fn a_message_ends_where_it_repeats_the_request() {
        assert_eq!(
            blank(
                "The signature does not match. The Canonical String for this request should \
                 have been 'POST\n/\n\nhost:ec2.us-east-1.amazonaws.com\nx-amz-date:20261101T000000Z'"
            ),
            "The signature does not match. The (not shown)"
        );
        assert_eq!(blank("bad header X-Amz-Security-Token: abc"), "bad header (not shown)");
    }

    #[test]
    fn a_denial_keeps_what_it_says() {
        let words = "User: arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_ReadOnly_0123456789abcdef/jane \
                     is not authorized to perform: ec2:DescribeInstances";
        assert_eq!(blank(words), words);
        let request = "RequestID: 7a62c49f-347e-4fc4-9331-6e8e7a1b2c3d";
        assert_eq!(blank(request), request);
    }
}
