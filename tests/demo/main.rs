//! The demo estate: it is what its generator makes, it has the figures that it
//! promises, and its audit says what a person would work out by hand.

mod audited;
mod document;
mod figures;

// Writing the files is the example's own business.
#[path = "../../examples/generate_demo/main.rs"]
#[expect(dead_code, reason = "`main` writes the file that is tested here")]
mod generate_demo;

use gpucost::domain::{Estate, Instance};
use std::sync::LazyLock;

/// The estate as generated now.
static DEMO: LazyLock<Estate> = LazyLock::new(generate_demo::demo);

/// The instances whose name begins with a word, at least one.
fn named(prefix: &str) -> Vec<&'static Instance> {
    let found: Vec<&Instance> = DEMO
        .instances
        .iter()
        .filter(|instance| instance.name().is_some_and(|name| name.starts_with(prefix)))
        .collect();
    assert!(!found.is_empty(), "no instance is named {prefix}");
    found
}
