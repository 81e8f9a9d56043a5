//! `pricing refresh --public`: the files that AWS publishes for everyone, from a server of this
//! test that sends what it is given, byte by byte. Excerpts have the names of the columns of the
//! real list and rows made by hand.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::{Cache, IRELAND, VIRGINIA, compressed, dollars};
use crate::support::skip::skip;
use crate::support::source::root;
use crate::wire::audit::command::Run;

const VERSION: &str = "20261118205955";
/// Columns of September 2025, the unread ones left out but for some between.
const HEADER: &str = "\"SKU\",\"OfferTermCode\",\"RateCode\",\"TermType\",\"PriceDescription\",\
    \"EffectiveDate\",\"Unit\",\"PricePerUnit\",\"Currency\",\"LeaseContractLength\",\
    \"PurchaseOption\",\"OfferingClass\",\"Product Family\",\"Instance Type\",\"Tenancy\",\
    \"Operating System\",\"License Model\",\"CapacityStatus\",\"MarketOption\",\
    \"Pre Installed S/W\",\"Region Code\",\"serviceName\"";

/// What is sent for a path: the status, more headers, the body as it is, and how long it is
/// said to be.
#[derive(Clone)]
struct Sent {
    status: &'static str,
    headers: String,
    body: Vec<u8>,
    length: usize,
    pause: Duration,
}

/// A server of files; it ends with the process of the tests.
struct Files {
    url: String,
    sent: Arc<Mutex<BTreeMap<String, Sent>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Files {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let address = listener.local_addr().expect("a bound socket");
        let files =
            Self { url: format!("http://{address}"), sent: Arc::default(), asked: Arc::default() };
        let (sent, asked) = (Arc::clone(&files.sent), Arc::clone(&files.asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sent, asked) = (Arc::clone(&sent), Arc::clone(&asked));
                thread::spawn(move || {
                    // Clients hang up when they please.
                    let _ = answer(&stream, &sent, &asked);
                });
            }
        });
        files
    }

    /// A server of the list of some regions, and of the feed of spot prices.
    fn of(regions: &[&str]) -> Self {
        let files = Self::start();
        let listed = regions.iter().map(|region| {
            format!(
                "\"{region}\": {{\"regionCode\": \"{region}\", \"currentVersionUrl\": \
                 \"/offers/v1.0/aws/AmazonEC2/{VERSION}/{region}/index.json\"}}"
            )
        });
        let listed: Vec<String> = listed.collect();
        let index =
            format!("{{\"formatVersion\": \"v1.0\", \"regions\": {{{}}}}}", listed.join(", "));
        let path = "/offers/v1.0/aws/AmazonEC2/current/region_index.json";
        files.put(path, "", index.into_bytes());
        let spot = "{\"vers\": 0.01, \"config\": {\"rate\": \"perhr\", \"regions\": [\
            {\"region\": \"us-east\", \"instanceTypes\": [{\"type\": \"gpu\", \"sizes\": [\
            {\"size\": \"g5.xlarge\", \"valueColumns\": [{\"name\": \"linux\", \
            \"prices\": {\"USD\": \"0.5170\"}}]}]}]}]}}";
        let changed = "Last-Modified: Tue, 17 Nov 2026 07:28:00 GMT\r\n";
        files.put("/spot.json", changed, spot.as_bytes().to_vec());
        files
    }

    fn put(&self, path: &str, headers: &str, body: Vec<u8>) {
        let length = body.len();
        let file = Sent {
            status: "200 OK",
            headers: headers.to_owned(),
            body,
            length,
            pause: Duration::ZERO,
        };
        self.sent.lock().expect("no panic").insert(path.to_owned(), file);
    }

    fn change(&self, path: &str, change: impl FnOnce(&mut Sent)) {
        change(self.sent.lock().expect("no panic").get_mut(path).expect("a path that was put"));
    }

    fn asked(&self, path: &str) -> usize {
        let asked = self.asked.lock().expect("no panic");
        asked.iter().filter(|asked_path| *asked_path == path).count()
    }

    fn refresh(&self, cache: &Cache, regions: &str) -> Run {
        cache
            .command(&["pricing", "refresh", "--public", "--region", regions])
            .args(&["--endpoint-url", &self.url])
            .run()
    }
}

fn answer(
    mut stream: &TcpStream,
    sent: &Mutex<BTreeMap<String, Sent>>,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = BufReader::new(stream).lines();
    let first = head.next().transpose()?.unwrap_or_default();
    while head.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let reply = sent.lock().expect("no panic").get(&path).cloned();
    asked.lock().expect("no panic").push(path);
    let Some(reply) = reply else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
        reply.status, reply.length, reply.headers
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&reply.body)?;
    stream.flush()?;
    thread::sleep(reply.pause);
    Ok(())
}

fn path_of(region: &str) -> String {
    format!("/offers/v1.0/aws/AmazonEC2/{VERSION}/{region}/index.csv")
}

/// A list with one type: on demand, for a year without upfront, and the row of Capacity Blocks
/// that shares its name.
fn list(region: &str, hourly: &str, reserved: &str) -> String {
    let row = |term: &str, sold: [&str; 3], price: &str, market: &str| {
        let [length, payment, class] = sold;
        format!(
            "\"SKU\",\"{term}\",\"x\",\"{term}\",\"Linux, g5.xlarge\",\"2026-11-01\",\"Hrs\",\
             \"{price}\",\"USD\",\"{length}\",\"{payment}\",\"{class}\",\"Compute Instance\",\
             \"g5.xlarge\",\"Shared\",\"Linux\",\"No License required\",\"Used\",\"{market}\",\
             \"NA\",\"{region}\",\"Amazon Elastic Compute Cloud\"\n"
        )
    };
    let none = ["", "", ""];
    let year = ["1yr", "No Upfront", "standard"];
    format!(
        "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"For information only\"\n\
         \"Publication Date\",\"2026-11-18T20:59:55Z\"\n\"Version\",\"{VERSION}\"\n\
         \"OfferCode\",\"AmazonEC2\"\n{HEADER}\n{}{}{}",
        row("OnDemand", none, hourly, "OnDemand"),
        row("Reserved", year, reserved, "OnDemand"),
        row("OnDemand", none, "0.1000000000", "CapacityBlock"),
    )
}

const IN_VIRGINIA: [(&str, &str); 4] = [
    ("us-east-1 g5.xlarge on-demand", "1.1"),
    ("us-east-1 g5.xlarge reserved-1yr-no-upfront", "0.693"),
    ("us-east-1 g5.xlarge spot", "0.517"),
    ("us-east-1 g5.xlarge ec2-instance-savings-plan-1yr-no-upfront", "0.693"),
];

/// A server of Virginia alone, and a cache of it.
fn virginia() -> (Files, Cache) {
    let files = Files::of(&[VIRGINIA, IRELAND]);
    let text = list(VIRGINIA, "1.1000000000", "0.6930000000");
    files.put(&path_of(VIRGINIA), "", text.into_bytes());
    let cache = Cache::none();
    let run = files.refresh(&cache, VIRGINIA);
    assert_eq!(run.code, 0, "{}", run.stderr);
    (files, cache)
}

#[test]
fn prices_are_read_without_an_account_and_dated_with_their_list() {
    let (files, cache) = virginia();
    assert_eq!(cache.prices(), dollars(&IN_VIRGINIA));
    assert_eq!(cache.names(), ["prices.json.gz"]);
    let document = cache.document();
    let prices = document["prices"].as_array().expect("a list");
    let of = |option: &str| {
        let price = prices.iter().find(|price| price["option"] == option);
        let price = price.expect("a price of the option");
        let seen = price["seen_on"].as_str().or(price["effective_date"].as_str());
        (seen.map(str::to_owned), price["source"].clone())
    };
    let (seen, source) = of("on-demand");
    assert_eq!(seen.as_deref(), Some("2026-11-18"));
    assert_eq!(source, format!("AWS price list {VERSION}"));
    assert_eq!(of("spot").0.as_deref(), Some("2026-11-17"));
    assert_eq!(cache.look_up("g5.xlarge", VIRGINIA)[0]["origin"], "cache");

    // The same list is not read twice.
    let again = files.refresh(&cache, VIRGINIA);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(files.asked(&path_of(VIRGINIA)), 1);
    assert_eq!(cache.prices(), dollars(&IN_VIRGINIA));
}

#[test]
fn a_packed_list_is_unpacked() {
    let files = Files::of(&[VIRGINIA]);
    let text = list(VIRGINIA, "1.1000000000", "0.6930000000");
    let packed = compressed(&text);
    let gzip = "Content-Encoding: gzip\r\n";
    files.put(&path_of(VIRGINIA), gzip, packed);
    let cache = Cache::none();
    let run = files.refresh(&cache, VIRGINIA);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(cache.prices(), dollars(&IN_VIRGINIA));
}

#[test]
fn what_is_wrong_with_a_list_leaves_the_last_prices() {
    let (files, cache) = virginia();
    let untouched = cache.bytes();
    let whole = list(IRELAND, "1.2", "0.756");
    let cut = |length: usize| whole.as_bytes()[..length].to_vec();
    let packed = compressed(&whole);
    let gzip = "Content-Encoding: gzip\r\n";
    let ireland = path_of(IRELAND);
    let refused = |headers: &str, body: Vec<u8>, says: &str| {
        files.put(&ireland, headers, body);
        let run = files.refresh(&cache, IRELAND);
        let error = run.error(1);
        assert!(
            error
                .starts_with("error: no region could be read (1 tried)\n  caused by: price-files:"),
            "{error}"
        );
        assert!(error.contains(says), "{error}");
        assert!(error.contains("\nhint: "), "{error}");
        assert_eq!(cache.bytes(), untouched, "{says}");
        assert_eq!(cache.names(), ["prices.json.gz"], "{says}");
    };
    refused("", cut(whole.len() - 60), "cells instead of 22");
    refused(gzip, packed[..packed.len() / 2].to_vec(), "the file cannot be used");
    let yuan = whole.replace("\"USD\"", "\"CNY\"");
    refused("", yuan.into_bytes(), "eu-west-1 is billed in USD");
    let renamed = whole.replace("\"MarketOption\"", "\"Market\"");
    refused("", renamed.into_bytes(), "column `MarketOption` is missing");
    let hostile = whole.replace("1.2", "=cmd|' /C calc'!A0");
    refused("", hostile.into_bytes(), "is not a price");
    let page = "<html>\u{1b}[31mgone</html>".as_bytes().to_vec();
    refused("", page, "it has no line with the names of its columns");

    // A connection that ends before the file does is tried three times.
    files.put(&ireland, "", cut(whole.len() / 2));
    files.change(&ireland, |sent| sent.length = whole.len());
    let before = files.asked(&ireland);
    let run = files.refresh(&cache, IRELAND);
    let error = run.error(1);
    assert!(error.contains("the response is incomplete"), "{error}");
    assert_eq!(files.asked(&ireland), before + 3);
    assert_eq!(cache.bytes(), untouched);
}

#[test]
fn a_region_without_files_is_named_and_others_are_read() {
    let (files, cache) = virginia();
    let run = files.refresh(&cache, "mars-north-1");
    assert_eq!(
        run.error(1),
        "error: no region could be read (1 tried)\n  \
         caused by: price-files:regions: the region has no public price files: \
         mars-north-1\n\
         hint: check the name of the region and `--endpoint-url`; `gpucost pricing refresh` \
         reads other regions with an AWS account\n"
    );
    // Ireland is listed, and its file is not there.
    let uncached = Cache::none();
    let run = files.refresh(&uncached, "us-east-1,eu-west-1");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.ends_with("refreshed 1 region; 1 gap\n"), "{}", run.stderr);
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("price-files:AmazonEC2: HTTP 404"), "{}", run.stdout);
    assert_eq!(uncached.prices(), dollars(&IN_VIRGINIA));
}

#[test]
fn a_region_that_was_read_stays_when_the_next_one_is_interrupted() {
    let files = Files::of(&[VIRGINIA, IRELAND]);
    let text = list(VIRGINIA, "1.1000000000", "0.6930000000");
    files.put(&path_of(VIRGINIA), "", text.into_bytes());
    files.put(&path_of(IRELAND), "", list(IRELAND, "1.2", "0.756").into_bytes());
    // Half of it, and then nothing.
    files.change(&path_of(IRELAND), |sent| {
        sent.body.truncate(sent.length / 2);
        sent.pause = Duration::from_secs(60);
    });
    let cache = Cache::none();
    let mut command = cache
        .command(&["pricing", "refresh", "--public"])
        .args(&["--region", "us-east-1,eu-west-1", "--endpoint-url", &files.url]);
    let mut child = command.start();
    let begin = Instant::now();
    while files.asked(&path_of(IRELAND)) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "not asked for");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("our own child can be killed");
    child.wait().expect("our own child can be asked");
    assert_eq!(cache.prices(), dollars(&IN_VIRGINIA));
    assert_eq!(cache.names(), ["prices.json.gz"]);
}

#[test]
fn without_a_region_one_is_read_and_a_profile_is_refused() {
    let (files, _) = virginia();
    let cache = Cache::none();
    let run = cache.command(&["pricing", "refresh", "--public"]).at(&files.url).run();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(cache.prices(), dollars(&IN_VIRGINIA));
    let refused = cache.command(&["pricing", "refresh", "--public", "--profile", "x"]).run();
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

/// Copies the files of a folder, and not the folders in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for entry in fs::read_dir(from).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_file() {
            let name = path.file_name().expect("a name");
            fs::copy(&path, to.join(name)).expect("writable");
        }
    }
}

#[test]
fn the_bundled_tables_are_brought_up_to_date() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("python3 is not installed");
    }
    let (files, _) = virginia();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let (from, tables) = (root().join("pricing-data"), scratch.path().join("tables"));
    copy(&from, &tables);
    copy(&from.join("generator"), &tables.join("generator"));
    let update = |region: &str| {
        Command::new("python3")
            .arg(tables.join("update.py"))
            .args(["--gpucost", env!("CARGO_BIN_EXE_gpucost"), "--region", region])
            .args(["--endpoint-url", &files.url])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", scratch.path())
            .current_dir(scratch.path())
            .output()
            .expect("python3 starts")
    };
    // The lines of a table that are not in the other.
    let changed = |name: &str| -> Vec<String> {
        let read = |folder: &Path| fs::read_to_string(folder.join(name)).expect("a table");
        let (old, new) = (read(&from), read(&tables));
        let known: std::collections::BTreeSet<&str> = old.lines().collect();
        let lines = new.lines().filter(|line| !known.contains(line));
        lines.map(str::to_owned).collect()
    };
    let refused = update(IRELAND);
    assert_eq!(refused.status.code(), Some(1));
    assert!(changed("prices.csv").is_empty() && changed("reserved.csv").is_empty());
    let done = update(VIRGINIA);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{stderr}");
    let prices = changed("prices.csv");
    let [price] = &prices[..] else {
        panic!("{prices:?}");
    };
    let start =
        "g5.xlarge,us-east-1,linux,shared,USD,1.1,2026-11-18,aws-price-list,0.517,2026-11-17,";
    assert!(price.starts_with(start), "{price}");
    assert_eq!(
        changed("reserved.csv"),
        ["g5.xlarge,us-east-1,linux,shared,1,no-upfront,USD,0,0.693,0.693,observed,2026-11-18"]
    );
}
