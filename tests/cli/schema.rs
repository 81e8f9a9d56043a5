//! What a JSON document must be like, and walking one against it.

use serde_json::Value;

/// The shape of a value.
pub enum Shape {
    /// Any text.
    Text,
    /// Text that is not empty.
    Name,
    /// One of these words.
    Word(&'static [&'static str]),
    /// RFC 3339 in UTC.
    Time,
    /// YYYY-MM-DD.
    Date,
    /// True or false.
    Flag,
    /// A whole number from zero.
    Count,
    /// Money with at most two decimals, from zero.
    Money,
    /// An hourly rate with at most six decimals, from zero.
    Rate,
    /// From 0 to 1.
    Share,
    /// From 0 to 100.
    Percent,
    /// Any number from zero.
    Figure,
    /// Nothing, or this.
    Maybe(Box<Shape>),
    /// A list.
    List(Box<Shape>),
    /// Any keys.
    Map(Box<Shape>),
    /// At least these keys; more are free.
    Object(Vec<(&'static str, Shape)>),
}

pub fn maybe(shape: Shape) -> Shape {
    Shape::Maybe(Box::new(shape))
}

pub fn list(shape: Shape) -> Shape {
    Shape::List(Box::new(shape))
}

pub fn map(shape: Shape) -> Shape {
    Shape::Map(Box::new(shape))
}

/// Everything in a value that is not as its shape says, with its place.
pub fn problems(shape: &Shape, value: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    walk(shape, value, "$", &mut problems);
    problems
}

fn walk(shape: &Shape, value: &Value, path: &str, problems: &mut Vec<String>) {
    match shape {
        Shape::Maybe(inner) => {
            if !value.is_null() {
                walk(inner, value, path, problems);
            }
        }
        Shape::List(inner) => match value.as_array() {
            None => problems.push(format!("{path}: not a list but {value}")),
            Some(all) => {
                for (index, item) in all.iter().enumerate() {
                    walk(inner, item, &format!("{path}[{index}]"), problems);
                }
            }
        },
        Shape::Map(inner) => match value.as_object() {
            None => problems.push(format!("{path}: not an object but {value}")),
            Some(all) => {
                for (key, member) in all {
                    walk(inner, member, &format!("{path}.{key}"), problems);
                }
            }
        },
        Shape::Object(keys) => match value.as_object() {
            None => problems.push(format!("{path}: not an object but {value}")),
            Some(all) => {
                for (key, shape) in keys {
                    match all.get(*key) {
                        None => problems.push(format!("{path}.{key} is missing")),
                        Some(one) => walk(shape, one, &format!("{path}.{key}"), problems),
                    }
                }
            }
        },
        leaf => {
            if !holds(leaf, value) {
                problems.push(format!("{path}: {value} is not {}", name(leaf)));
            }
        }
    }
}

fn holds(leaf: &Shape, value: &Value) -> bool {
    let text = value.as_str();
    let number = value.as_f64().filter(|number| *number >= 0.0);
    match leaf {
        Shape::Text => text.is_some(),
        Shape::Name => text.is_some_and(|text| !text.is_empty()),
        Shape::Word(words) => text.is_some_and(|text| words.contains(&text)),
        Shape::Time => {
            text.is_some_and(|text| text.ends_with('Z') && text.parse::<jiff::Timestamp>().is_ok())
        }
        Shape::Date => {
            text.is_some_and(|text| text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok())
        }
        Shape::Flag => value.is_boolean(),
        Shape::Count => value.is_u64(),
        Shape::Money => number.is_some_and(|number| has_decimals(number, 2)),
        Shape::Rate => number.is_some_and(|number| has_decimals(number, 6)),
        Shape::Share => number.is_some_and(|number| number <= 1.0),
        Shape::Percent => number.is_some_and(|number| number <= 100.0),
        Shape::Figure => number.is_some(),
        Shape::Maybe(_) | Shape::List(_) | Shape::Map(_) | Shape::Object(_) => false,
    }
}

/// Whether a number has at most so many decimals: its shortest decimal form.
fn has_decimals(number: f64, most: usize) -> bool {
    let text = format!("{number}");
    text.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= most)
}

fn name(leaf: &Shape) -> String {
    match leaf {
        Shape::Text => "text".to_owned(),
        Shape::Name => "text that is not empty".to_owned(),
        Shape::Word(words) => format!("one of {}", words.join(", ")),
        Shape::Time => "a time in UTC".to_owned(),
        Shape::Date => "a date".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::Count => "a count".to_owned(),
        Shape::Money => "money with cents".to_owned(),
        Shape::Rate => "a rate with at most six decimals".to_owned(),
        Shape::Share => "a share from 0 to 1".to_owned(),
        Shape::Percent => "a percentage from 0 to 100".to_owned(),
        Shape::Figure => "a number from zero".to_owned(),
        Shape::Maybe(_) | Shape::List(_) | Shape::Map(_) | Shape::Object(_) => String::new(),
    }
}

#[test]
fn a_slip_is_found_with_its_place() {
    let shape = Shape::Object(vec![
        ("sums", list(Shape::Money)),
        ("share", maybe(Shape::Share)),
        ("kind", Shape::Word(&["a", "b"])),
        ("gone", Shape::Text),
    ]);
    let value =
        serde_json::json!({"sums": [1.25, "2", 0.001], "share": 80, "kind": "c", "more": 1});
    assert_eq!(
        problems(&shape, &value),
        [
            "$.sums[1]: \"2\" is not money with cents", "$.sums[2]: 0.001 is not money with cents",
            "$.share: 80 is not a share from 0 to 1", "$.kind: \"c\" is not one of a, b",
            "$.gone is missing",
        ]
    );
}
