//! Blocks of a message for Slack. Words from outside are shown and never read as markup, links
//! or mentions.

use super::markdown::escape::{SENTENCE_WIDTH, bounded};
use serde::Serialize;
use serde_json::{Value, json};

/// Blocks of one message.
pub const MOST_BLOCKS: usize = 50;
/// Characters of one text.
const MOST_IN_TEXT: usize = 3_000;
/// Characters of all blocks together. Slack states no such limit and refuses
/// messages beyond about 13 000.
pub const MOST_IN_MESSAGE: usize = 10_000;

#[derive(Serialize)]
pub struct Message {
    /// What a notification shows.
    pub text: String,
    pub blocks: Vec<Value>,
}

/// A paragraph.
pub fn section(text: &str) -> Value {
    json!({"type": "section", "text": mrkdwn(text)})
}

/// A line in small letters.
pub fn context(text: &str) -> Value {
    json!({"type": "context", "elements": [mrkdwn(text)]})
}

/// Text in which nothing but what is written becomes a link or a mention.
fn mrkdwn(text: &str) -> Value {
    json!({"type": "mrkdwn", "verbatim": true, "text": cut(text, MOST_IN_TEXT)})
}

/// A text from outside, bounded.
pub fn sentence(text: &str) -> String {
    escape(&bounded(text, SENTENCE_WIDTH))
}

/// A text as code. A backtick would end it, and cannot be escaped.
pub fn command(shown: &str) -> String {
    format!("`{}`", escape(&shown.replace('`', "'")))
}

/// The three characters that Slack gives a meaning.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// At most so many characters, and never half of an entity.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(most - 1).collect();
    if let Some(start) = shown.rfind('&').filter(|start| !shown[*start..].contains(';')) {
        shown.truncate(start);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_person_is_called() {
        assert_eq!(sentence("<!channel> & <@U1>"), "&lt;!channel&gt; &amp; &lt;@U1&gt;");
        assert_eq!(command("a`b<c>"), "`a'b&lt;c&gt;`");
    }

    #[test]
    fn an_entity_is_cut_whole() {
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcde", 4), "abc…");
        assert_eq!(cut("a&amp;bcd", 5), "a…");
    }
}
