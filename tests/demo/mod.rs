//! The demo estates: they are what their generator makes, they have the figures that
//! they promise, and their audits say what a person would work out by hand.

mod audited;
mod document;
mod figures;
mod kpis;
mod scenarios;

// Writing the files is the example's own business.
#[path = "../../examples/generate_demo/main.rs"]
#[expect(dead_code, reason = "`main` writes the file that is tested here")]
mod generate_demo;

use gpucost::domain::Instance;
use gpucost::usage::Estate;
use std::sync::LazyLock;

/// The demo without a name, as generated now.
static DEMO: LazyLock<Estate> = LazyLock::new(generate_demo::scenarios::starter::estate);

/// The instances whose name begins with a word, at least one.
fn named(prefix: &str) -> Vec<&'static Instance> {
    let instances: Vec<&Instance> = DEMO
        .instances
        .iter()
        .filter(|instance| instance.name().is_some_and(|name| name.starts_with(prefix)))
        .collect();
    assert!(!instances.is_empty(), "no instance is named {prefix}");
    instances
}
