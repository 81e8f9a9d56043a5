//! The page in a browser: it fits a phone, can be read in both themes, and prints. Skipped where
//! there is no Chromium.

use crate::cli::hostile;
use crate::cli::markup::text_of;
use crate::cli::world::World;
use crate::support::skip::skip;
use serde_json::{Value, json};
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];
const READER: &str = include_str!("html_browser.js");

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| BROWSERS.iter().map(move |name| folder.join(name)))
        .find(|program| program.is_file())
}

/// A browser without a window, of which nothing is left; `None` without a browser.
fn opened(world: &World) -> Option<Command> {
    let Some(browser) = browser() else {
        skip("no Chromium in the PATH");
        return None;
    };
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", world.path("browser")));
    Some(command)
}

/// Writes the report of an estate, else of the demo, and gives its path.
fn write_report(world: &World, estate: Option<&Value>) -> String {
    let report = world.path("report.html");
    let recorded = estate.map(|estate| world.estate("estate.json", estate));
    let of = match &recorded {
        Some(path) => ["audit", "--from", path].to_vec(),
        None => ["audit", "--demo"].to_vec(),
    };
    let arguments = [&of[..], &["--format", "html", "--output", &report]].concat();
    let outcome = world.run(&arguments);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    report
}

/// What a reader of a report finds with a theme; `None` without a browser. The report
/// is that of an estate, else of the demo.
fn read(estate: Option<&Value>, dark: bool) -> Option<Value> {
    let world = World::new();
    let mut browser = opened(&world)?;
    write_report(&world, estate);
    let reader = world.file(
        "reader.html",
        format!(
            "<!DOCTYPE html><meta charset=\"utf-8\"><pre id=\"result\"></pre>\
             <iframe src=\"report.html\" style=\"height: 900px\"></iframe><script>{READER}</script>"
        ),
    );
    let scheme = if dark { 0 } else { 1 };
    let output = browser
        .args([
            "--allow-file-access-from-files", "--enable-logging=stderr", "--window-size=1500,1000",
            "--virtual-time-budget=20000", "--dump-dom",
        ])
        .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
        .arg(format!("file://{reader}"))
        .output()
        .expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().filter(|line| line.contains(":CONSOLE")).collect();
    // The script that the reader puts into the page is refused, and nothing else happens.
    assert!(
        said.iter().all(|line| line.contains("Content Security Policy")) && said.len() <= 1,
        "{said:?}"
    );
    let (_, result) = dom
        .split_once("<pre id=\"result\">")
        .unwrap_or_else(|| panic!("{dom}\n{}", String::from_utf8_lossy(&output.stderr)));
    let (result, _) = result.split_once("</pre>").expect("its end");
    let result: Value = serde_json::from_str(&text_of(result)).expect("what was written down");
    assert_eq!(result["error"], Value::Null, "{result}");
    assert_eq!(result["dark"], dark, "the browser has the theme");
    Some(result)
}

/// What must hold in both themes.
fn assert_readable(result: &Value) {
    for width in ["320", "390", "768", "1280", "1440"] {
        let beyond = result["sideways"][width].as_i64().expect("a width");
        assert!(beyond <= 0, "at {width}: {beyond} pixels");
    }
    assert_eq!(result["beyond"], json!([]), "beyond its section");
    for (kind, drawn) in result["pictures"].as_object().expect("pictures") {
        assert_eq!((&drawn["flat"], &drawn["unpainted"]), (&json!(0), &json!(0)), "{kind}");
    }
    assert_eq!(result["styled"], "auto", "the style is allowed");
    assert_eq!(result["injected"], false, "no other script is");
    assert_eq!(result["faint"], json!([]), "contrast below 4.5");
}

#[test]
fn the_page_reads_well_in_the_dark() {
    if let Some(result) = read(None, true) {
        assert_readable(&result);
    }
}

#[test]
fn names_that_never_end_fit_as_well() {
    if let Some(result) = read(Some(&hostile::fleet()), false) {
        assert_readable(&result);
    }
}

#[test]
fn the_page_fits_a_phone() {
    let Some(result) = read(None, false) else { return };
    assert_readable(&result);
    for kind in ["days", "hatch"] {
        assert!(result["pictures"][kind]["all"].as_u64() > Some(0), "{kind}");
    }
}

/// The place of some bytes from another place on.
fn find(text: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let offset = text[from..].windows(wanted.len()).position(|part| part == wanted);
    offset.map(|place| from + place)
}

/// What each page of a PDF draws, unpacked.
fn pages(pdf: &[u8]) -> Vec<Vec<u8>> {
    let mut pages = Vec::new();
    let mut from = 0;
    while let Some(page) = find(pdf, b"/Type /Page\n", from) {
        from = page + 1;
        let contents = find(pdf, b"/Contents ", page).expect("contents") + 10;
        let digits: Vec<u8> =
            pdf[contents..].iter().copied().take_while(u8::is_ascii_digit).collect();
        let object = [&b"\n"[..], &digits, b" 0 obj\n"].concat();
        let object = find(pdf, &object, 0).expect("an object");
        let stream = find(pdf, b"stream\n", object).expect("a stream") + 7;
        let mut drawn = Vec::new();
        flate2::read::ZlibDecoder::new(&pdf[stream..]).read_to_end(&mut drawn).expect("packed");
        pages.push(drawn);
    }
    pages
}

#[test]
fn no_printed_page_is_blank() {
    let world = World::new();
    let Some(mut browser) = opened(&world) else { return };
    let report = write_report(&world, None);
    let printed = world.path("report.pdf");
    let status = browser
        .arg("--no-pdf-header-footer")
        .arg(format!("--print-to-pdf={printed}"))
        .arg(format!("file://{report}"))
        .output();
    assert!(status.expect("the browser starts").status.success());
    let pages = pages(&std::fs::read(&printed).expect("a PDF"));
    assert!((2..40).contains(&pages.len()), "{} pages", pages.len());
    for (number, drawn) in pages.iter().enumerate() {
        let texts = drawn.windows(2).filter(|part| *part == b"Tj").count();
        assert!(texts > 0, "page {number} is blank");
    }
}
