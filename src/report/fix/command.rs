//! Commands, of which each word is quoted as a shell reads it.

use crate::domain::shell_word;
use serde_json::Value;

/// How the AWS CLI marks a value that it reads from a file or an address.
const READ_ELSEWHERE: [&str; 4] = ["file://", "fileb://", "http://", "https://"];

/// A value from outside: one word of a command, or one for each of several.
pub(super) trait Words {
    fn words(&self) -> Vec<String>;
}

macro_rules! one_word {
    ($($value:ty)*) => {$(
        impl Words for $value {
            fn words(&self) -> Vec<String> {
                vec![ToString::to_string(self)]
            }
        }
    )*};
}
one_word!(&str &String String u32 usize Value);

impl<T: ToString> Words for Vec<T> {
    fn words(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// As a shell reads them.
    words: Vec<String>,
    /// Whether a value from outside would not be taken as a value.
    is_refused: bool,
}

impl Command {
    /// A command by its words, of which those with blanks stand in `'…'`: `{}` is the next value,
    /// or all of them where it is a word, and `$NAME` is what an earlier command printed. Nothing
    /// in a value is read as either.
    pub(super) fn of(template: &'static str, values: &[&dyn Words]) -> Self {
        let mut command = Self { words: Vec::new(), is_refused: false };
        let mut values = values.iter().map(|value| value.words());
        let mut rest = template;
        while !rest.is_empty() {
            let (word, after) = match rest.strip_prefix('\'') {
                Some(quoted) => quoted.split_once('\'').unwrap_or((quoted, "")),
                None => rest.split_once(' ').unwrap_or((rest, "")),
            };
            rest = after.trim_start();
            if word == "{}" {
                for value in values.next().unwrap_or_default() {
                    command.value(&value);
                }
            } else if word.contains("{}") {
                command.value(&filled(word, &mut values));
            } else {
                command.words.push(own_word(word));
            }
        }
        command
    }

    fn value(&mut self, value: &str) {
        let is_elsewhere = READ_ELSEWHERE.iter().any(|mark| value.starts_with(mark));
        self.is_refused |= value.is_empty() || value.starts_with('-') || is_elsewhere;
        self.words.push(shell_word(value));
    }

    /// Whether a value from outside would be taken as a flag or a file.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// As it is typed, on one line.
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// A word with its next values in their places.
fn filled(word: &str, values: &mut impl Iterator<Item = Vec<String>>) -> String {
    let mut parts = word.split("{}");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        filled.extend(values.next().into_iter().flatten());
        filled.push_str(part);
    }
    filled
}

/// A word of our own with its variables: what an earlier command printed.
fn own_word(word: &str) -> String {
    let quoted = |text: &str| if text.is_empty() { String::new() } else { shell_word(text) };
    let mut parts = word.split('$');
    let mut shown = quoted(parts.next().unwrap_or_default());
    for part in parts {
        let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
        let (name, text) = part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len()));
        shown += &format!("\"${name}\"{}", quoted(text));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(id: &str) -> Command {
        let template = "aws ec2 stop-instances --region {} --instance-ids {}";
        Command::of(template, &[&"us-east-1", &vec![id]])
    }

    #[test]
    fn a_shell_reads_every_word_back() {
        for id in ["i-1", "i-1; rm -rf ~", "a'b\"c`d$e", "two\nlines", "ü\u{202e}"] {
            let text = stop(id).text();
            assert!(!text.contains('\n'), "{text}");
            assert!(!stop(id).is_refused(), "{id}");
            // `shlex` does not know `$'…'`.
            if let Some(words) = shlex::split(&text).filter(|_| !text.contains("$'")) {
                assert_eq!(words.last().map(String::as_str), Some(id));
                assert_eq!(words.len(), 7);
            }
        }
    }

    #[test]
    fn a_value_that_is_a_flag_or_a_file_is_refused() {
        for id in ["", "--endpoint-url=http://evil", "-x", "file:///etc/passwd"] {
            assert!(stop(id).is_refused(), "{id}");
        }
        let nowhere = Command::of("aws ec2 describe-instances --region {}", &[&""]);
        assert!(nowhere.is_refused());
        let inside = Command::of("aws --filters Name=x,Values={}", &[&"-x"]);
        assert!(!inside.is_refused());
    }

    #[test]
    fn kept_values_are_variables_between_quoted_words() {
        let template = "aws --launch-template LaunchTemplateId=$TEMPLATE,Version={x}";
        let command = Command::of(template, &[]);
        let expected = "aws --launch-template LaunchTemplateId=\"$TEMPLATE\"',Version={x}'";
        assert_eq!(command.text(), expected);
    }

    #[test]
    fn no_value_is_read_as_a_variable_a_placeholder_or_two_words() {
        let values: [&dyn Words; 3] = [&"$HOME", &vec!["{}", "a b"], &7_usize];
        let command = Command::of("aws '{} {x}' {} --count {}", &values);
        assert_eq!(command.text(), "aws '$HOME {x}' '{}' 'a b' --count 7");
    }
}
