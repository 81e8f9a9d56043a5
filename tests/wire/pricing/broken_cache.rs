//! Caches that cannot be read, and places where none can be written.

use super::{Cache, IN_VIRGINIA, VIRGINIA, compressed, dollars, publish};
use crate::wire::audit::command::Gpucost;
use crate::wire::loopback::Loopback;

/// Looks a price up in this cache, in vain, and refreshes it.
fn is_said_and_replaced(content: &[u8], error: &str) {
    let cache = Cache::none();
    std::fs::write(cache.file(), content).expect("our own folder");
    let path = cache.file().display().to_string();
    let error = error.replace("PATH", &path);

    let run = cache.command(&["pricing", "g5.xlarge"]).run();
    let said = run.error(2);
    assert!(said.starts_with(&format!("error: {error}")), "{said}");
    assert!(
        said.ends_with(
            "\nhint: run `gpucost pricing refresh` to recreate it, or pass `--offline` to run without it\n"
        ),
        "{said}"
    );
    let run = cache.command(&["pricing", "status"]).run();
    let said = run.error(2);
    assert!(said.starts_with(&format!("error: {error}")), "{said}");
    assert!(said.ends_with("\nhint: run `gpucost pricing refresh` to recreate it\n"), "{said}");
    let run = cache
        .command(&["pricing", "g5.xlarge", "--offline", "--format", "json"])
        .args(&["--region", VIRGINIA])
        .run();
    assert_eq!(run.json(0)["prices"][0]["origin"], "bundled");
    assert_eq!(cache.bytes(), content, "looking changes nothing");

    let loopback = Loopback::start(None);
    publish(&loopback);
    let run = cache.refresh(&loopback, VIRGINIA);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(cache.prices(), dollars(&IN_VIRGINIA));
}

#[test]
fn of_a_newer_version() {
    is_said_and_replaced(
        &compressed(r#"{"estate_version":"7","as_of":"2027-01-01T00:00:00Z","new":[]}"#),
        "PATH has estate version 7; this program reads version 1\n",
    );
}

#[test]
fn of_which_the_end_is_missing() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let whole = Cache::refreshed(&loopback, VIRGINIA).bytes();
    is_said_and_replaced(&whole[..whole.len() / 2], "PATH is not a complete estate\n  caused by: ");
}

#[test]
fn of_something_else() {
    is_said_and_replaced(b"not a cache", "PATH is not a complete estate\n  caused by: ");
}

#[test]
fn of_nothing() {
    is_said_and_replaced(b"", "PATH is not a complete estate\n  caused by: ");
}

#[test]
fn with_a_price_below_zero() {
    is_said_and_replaced(
        &compressed(
            r#"{"estate_version":"1","as_of":"2026-11-20T00:00:00Z","prices":[{
                "region":"us-east-1","instance_type":"g5.xlarge","operating_system":"linux",
                "tenancy":"shared","option":"on-demand","currency":"USD","hourly":"-1",
                "origin":"api","effective_date":"2026-11-01","source":"test"}]}"#,
        ),
        "invalid estate PATH at `prices[0]`\n  caused by: the price of g5.xlarge us-east-1",
    );
}

#[test]
fn on_a_full_disk_the_last_cache_stays() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let cache = Cache::refreshed(&loopback, VIRGINIA);
    let untouched = cache.bytes();
    let run = Gpucost::on_a_full_disk(&["pricing", "refresh", "--region", VIRGINIA])
        .cache_in(cache.folder())
        .at(&loopback.url())
        .with_credentials()
        .run();
    let said = run.error(1);
    let path = cache.file().display().to_string();
    assert!(
        said.starts_with(&format!("error: cannot write {path}\n  caused by: File too large")),
        "{said}"
    );
    assert!(said.contains("\nhint: set GPUCOST_CACHE_DIR to a writable directory"), "{said}");
    assert_eq!(cache.bytes(), untouched);
    assert_eq!(cache.names(), ["prices.json.gz"]);
}

#[test]
fn a_folder_in_place_of_the_file_is_named() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let cache = Cache::none();
    let inside = cache.file().join("mine");
    std::fs::create_dir(cache.file()).expect("our own folder");
    std::fs::write(&inside, b"kept").expect("our own folder");
    let run = cache.refresh(&loopback, VIRGINIA);
    let said = run.error(1);
    let path = cache.file().display().to_string();
    assert!(said.starts_with(&format!("error: cannot write {path}\n")), "{said}");
    assert_eq!(std::fs::read(&inside).expect("it is there"), b"kept");
    assert_eq!(cache.names(), ["prices.json.gz"]);
}

#[test]
fn a_file_in_place_of_the_folder_is_named() {
    let loopback = Loopback::start(None);
    publish(&loopback);
    let scratch = tempfile::tempdir().expect("a scratch folder can be made");
    let folder = scratch.path().join("cache");
    std::fs::write(&folder, b"kept").expect("our own folder");
    let run = Gpucost::new(&["pricing", "refresh", "--region", VIRGINIA])
        .cache_in(&folder)
        .at(&loopback.url())
        .with_credentials()
        .run();
    let said = run.error(1);
    let path = folder.join("prices.json.gz").display().to_string();
    assert!(said.starts_with(&format!("error: cannot write {path}\n")), "{said}");
    assert_eq!(std::fs::read(&folder).expect("it is there"), b"kept");
}
