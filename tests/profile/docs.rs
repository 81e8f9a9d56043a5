//! The page shows what the program prints.

use std::path::Path;
use std::process::Command;

#[test]
fn the_log_of_the_page_is_summarised_as_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/profile.md")).expect("the page");
    let (_, example) = page
        .split_once("```text\n$ gpucost profile --read")
        .expect("an example");
    let (example, _) = example.split_once("```").expect("its end");
    let (arguments, shown) = example.split_once('\n').expect("a command line");
    let output = Command::new(env!("CARGO_BIN_EXE_gpucost"))
        .args(["profile", "--read"])
        .args(arguments.split_whitespace())
        .current_dir(root)
        .env("GPUCOST_CACHE_DIR", "/nowhere")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .output()
        .expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), shown);
}
