//! Reading the pages in `docs/`, to hold them against what the program prints.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

pub fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    fs::read_to_string(docs.join(name)).expect("a page")
}

/// The blocks of code in a language.
pub fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    page.split(&fence)
        .skip(1)
        .map(|rest| {
            let (block, _) = rest.split_once("```").expect("the block ends");
            block.to_owned()
        })
        .collect()
}

/// What stands in backticks.
pub fn quoted(text: &str) -> BTreeSet<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// What a page shows is what the program prints. Under `UPDATE_DOCS=1` the page is
/// rewritten to show that.
pub fn assert_shows(path: &str, shown: &str, printed: &str) {
    static WRITING: Mutex<()> = Mutex::new(());
    if shown != printed && std::env::var_os("UPDATE_DOCS").is_some() {
        let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let text = fs::read_to_string(&path).expect("a page");
        fs::write(&path, text.replacen(shown, printed, 1)).expect("a page that can be written");
        return;
    }
    assert_eq!(shown, printed, "{path}");
}

/// Every key of a document, but not those of free maps.
pub fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(all) => {
            for (key, member) in all {
                into.insert(key.clone());
                if !["tags", "by_operation", "values", "labels", "kpis"].contains(&key.as_str()) {
                    keys(member, into);
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|item| keys(item, into)),
        _ => {}
    }
}

/// Keys that the schema of every answer describes, with those of the rows of its lists.
fn keys_of_every_answer() -> BTreeSet<String> {
    let schema: Value = serde_json::from_str(&page("schema/answer.schema.json")).expect("JSON");
    let lists = schema["properties"].as_object().expect("keys");
    let rows = lists.values().filter_map(|list| list["items"]["properties"].as_object());
    let keys = rows.flat_map(|row| row.keys()).chain(lists.keys());
    keys.cloned().collect()
}

/// Every key of a document stands in a page, but for those of the schema of every answer.
pub fn assert_explains(name: &str, document: &Value) {
    let text = page(name);
    let quoted = quoted(&text);
    let common = keys_of_every_answer();
    let mut unexplained = BTreeSet::new();
    keys(document, &mut unexplained);
    unexplained.retain(|key| !quoted.contains(key.as_str()) && !common.contains(key));
    assert!(unexplained.is_empty(), "not in {name}: {unexplained:?}");
}
