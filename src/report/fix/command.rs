//! Commands as words, which are quoted where they are printed.

use crate::domain::shell_word;
use serde_json::Value;

/// How the AWS CLI marks a value that it reads from a file or an address.
const READ_ELSEWHERE: [&str; 4] = ["file://", "fileb://", "http://", "https://"];

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// What an earlier command printed, by the name of its variable.
    Kept(&'static str),
}

impl Piece {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    words: Vec<Vec<Piece>>,
    /// Whether a value from outside would not be taken as a value.
    is_refused: bool,
}

impl Command {
    /// Of words of our own.
    pub(super) fn new(words: &[&str]) -> Self {
        let words = words.iter().map(|word| vec![Piece::text(word)]);
        Self {
            words: words.collect(),
            is_refused: false,
        }
    }

    pub(super) fn aws(service: &str, operation: &str, region: &str) -> Self {
        Self::new(&["aws", service, operation]).with("--region", region)
    }

    /// Adds a word of our own.
    pub(super) fn flag(mut self, flag: &str) -> Self {
        self.words.push(vec![Piece::text(flag)]);
        self
    }

    /// Adds a value from outside.
    pub(super) fn value(mut self, value: &str) -> Self {
        let is_elsewhere = READ_ELSEWHERE.iter().any(|mark| value.starts_with(mark));
        self.is_refused |= value.is_empty() || value.starts_with('-') || is_elsewhere;
        self.words.push(vec![Piece::text(value)]);
        self
    }

    pub(super) fn with(self, flag: &str, value: &str) -> Self {
        self.flag(flag).value(value)
    }

    pub(super) fn each<S: AsRef<str>>(
        self,
        flag: &str,
        values: impl IntoIterator<Item = S>,
    ) -> Self {
        let values = values.into_iter();
        values.fold(self.flag(flag), |command, value| {
            command.value(value.as_ref())
        })
    }

    pub(super) fn json(self, flag: &str, value: &Value) -> Self {
        self.with(flag, &value.to_string())
    }

    /// Adds a value that an earlier command printed.
    pub(super) fn kept(self, flag: &str, name: &'static str) -> Self {
        self.composed(flag, vec![Piece::Kept(name)])
    }

    pub(super) fn composed(self, flag: &str, pieces: Vec<Piece>) -> Self {
        let mut command = self.flag(flag);
        command.words.push(pieces);
        command
    }

    /// Prints no more than the answer to a query, as words.
    pub(super) fn prints(self, query: &str) -> Self {
        self.with("--query", query).flag("--output").flag("text")
    }

    /// Whether a value from outside would be taken as a flag or a file.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// As it is typed, on one line.
    pub(super) fn text(&self) -> String {
        let word = |pieces: &Vec<Piece>| -> String {
            let shown = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => shell_word(text),
                Piece::Kept(name) => format!("\"${name}\""),
            });
            shown.collect()
        };
        let words: Vec<String> = self.words.iter().map(word).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(id: &str) -> Command {
        Command::aws("ec2", "stop-instances", "us-east-1").each("--instance-ids", [id])
    }

    #[test]
    fn a_shell_reads_every_word_back() {
        for id in [
            "i-1",
            "i-1; rm -rf ~",
            "a'b\"c`d$e",
            "two\nlines",
            "ü\u{202e}",
        ] {
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
        let nowhere = Command::aws("ec2", "describe-instances", "");
        assert!(nowhere.is_refused());
    }

    #[test]
    fn kept_values_are_variables_between_quoted_words() {
        let pieces = vec![
            Piece::text("LaunchTemplateId="),
            Piece::Kept("TEMPLATE"),
            Piece::text(",Version={x}"),
        ];
        let command = Command::new(&["aws"]).composed("--launch-template", pieces);
        let expected = "aws --launch-template LaunchTemplateId=\"$TEMPLATE\"',Version={x}'";
        assert_eq!(command.text(), expected);
    }
}
