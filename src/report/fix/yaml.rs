//! JSON values as YAML in blocks. Every text is quoted as JSON quotes it, which YAML reads
//! the same.

use crate::report::shared::text::{joined, json_escaped, written};
use serde_json::Value;
use std::fmt::Write;

/// A document. Keys of our own and names of a resource are plain; everything else is quoted.
pub(super) fn yaml(value: &Value) -> String {
    written(|out| block(value, 0, out))
}

fn block(value: &Value, depth: usize, out: &mut String) -> std::fmt::Result {
    let indent = " ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, entry) in map {
                write!(out, "{indent}{}:", shown_key(key))?;
                below(entry, depth + 2, out)?;
            }
        }
        Value::Array(list) => {
            for entry in list {
                let mut item = String::new();
                block(entry, depth + 2, &mut item)?;
                // The first key of an item stands beside its dash.
                writeln!(out, "{indent}- {}", item.trim())?;
            }
        }
        scalar => writeln!(out, "{indent}{}", shown(scalar))?,
    }
    Ok(())
}

fn below(value: &Value, depth: usize, out: &mut String) -> std::fmt::Result {
    let is_flat = |inner: &Value| !inner.is_object() && !inner.is_array();
    match value {
        Value::Array(list) if list.iter().all(is_flat) => {
            writeln!(out, " [{}]", joined(list.iter().map(shown), ", "))
        }
        Value::Object(map) if map.is_empty() => writeln!(out, " {{}}"),
        Value::Object(_) | Value::Array(_) => {
            out.push('\n');
            block(value, depth, out)
        }
        scalar => writeln!(out, " {}", shown(scalar)),
    }
}

fn shown(scalar: &Value) -> String {
    json_escaped(scalar.to_string())
}

/// A key that begins with a letter and holds nothing that YAML gives a meaning.
fn shown_key(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_/".contains(c);
    let is_text = !["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .contains(&key.to_ascii_lowercase().as_str());
    if key.starts_with(|c: char| c.is_ascii_alphabetic()) && is_text && key.chars().all(is_plain) {
        key.to_owned()
    } else {
        json_escaped(Value::from(key).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_are_indented_and_texts_quoted() {
        let value = json!({
            "version": "v1",
            "mig-configs": {"gpucost-1": [
                {"devices": [0, 1], "mig-enabled": true, "mig-devices": {"1g.5gb": 7}},
                {"devices": [2], "mig-enabled": false},
            ]},
        });
        // Keys in the order of the alphabet.
        let expected = "\
mig-configs:
  gpucost-1:
    - devices: [0, 1]
      mig-devices:
        \"1g.5gb\": 7
      mig-enabled: true
    - devices: [2]
      mig-enabled: false
version: \"v1\"
";
        assert_eq!(yaml(&value), expected);
    }

    #[test]
    fn no_name_leaves_its_quotes() {
        let value = json!({"metadata": {"name": "a\"\n# b: {c}\u{85}\u{2028}"}, "on": "no"});
        let expected = "metadata:\n  name: \"a\\\"\\n# b: {c}\\u0085\\u2028\"\n\"on\": \"no\"\n";
        assert_eq!(yaml(&value), expected);
    }
}
