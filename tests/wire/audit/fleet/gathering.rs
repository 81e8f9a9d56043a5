//! Launching the fleet and auditing it, once for all tests of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::account::Account;
use super::super::command::{Gpucost, Run};
use super::super::days::Days;
use super::super::signals::Subject;
use super::price_list;
use super::roster::{ADDRESSED, ROSTER};
use crate::wire::clients::ACCESS_KEY;
use crate::wire::fleet::{Ec2, Launch, launch};
use crate::wire::loopback::Operation;
use crate::wire::process::Server;

/// Calls by operation and region, as the endpoint counted them.
pub type Counts = BTreeMap<Operation, usize>;

/// Everything that came out of the audits.
pub struct Gathered {
    pub account: String,
    /// Names from the roster by instance id.
    pub names: BTreeMap<String, String>,
    /// The three regions by name, recorded with `--save`.
    pub live: Audited,
    /// Every region that the account has enabled.
    pub everywhere: Audited,
    /// The three regions over 13 days of whole hours: on the full grid, and by the hour
    /// first.
    pub by_resolution: [Audited; 2],
    /// `--from` the recording, twice.
    pub replayed: [Run; 2],
    /// `--from` the recording with another origin beside every price in it.
    pub relabelled: Run,
    /// Calls that the replays made.
    pub replay_calls: Counts,
    /// Calls of a refresh of the price cache, of one region.
    pub refresh_calls: Counts,
}

/// One audit of the account.
pub struct Audited {
    pub report: Value,
    pub stderr: String,
    pub calls: Counts,
    pub took: Duration,
}

/// The audited fleet; `None`, with the reason recorded, without moto.
pub fn gathered() -> Option<&'static Gathered> {
    static GATHERED: LazyLock<Option<Gathered>> = LazyLock::new(gather);
    // Every test says for itself that it is skipped.
    Server::find("moto_server", "GPUCOST_TEST_MOTO")?;
    GATHERED.as_ref()
}

fn gather() -> Option<Gathered> {
    let account = Account::open()?;
    let days = Days::ahead();
    let names = start(&account, days);
    price_list::publish(&account.loopback, days);

    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let recording = folder.path().join("est.json.gz");
    let recording = recording.to_str().expect("scratch folders have plain names");
    let live = audited(
        &account,
        Gpucost::audit(days)
            .args(&["--region", "us-east-1,us-west-2,eu-west-1"])
            .args(&["--save", recording]),
    );
    account.loopback.reset_calls();
    let replay = |recording: &str, more: &[&str]| {
        Gpucost::new(&["audit", "--format", "json", "--from", recording])
            .args(more)
            .of(&account)
            .run()
    };
    let plain = folder.path().join("est.json");
    let plain = plain.to_str().expect("scratch folders have plain names");
    let replayed = [replay(recording, &[]), replay(recording, &["--save", plain])];
    relabel_prices(Path::new(plain));
    let relabelled = replay(plain, &[]);
    let replay_calls = account.loopback.call_counts();
    let everywhere = audited(&account, Gpucost::audit(days));
    let by_resolution = ["full", "auto"].map(|resolution| {
        let command = ["audit", "--format", "json", "--lookback", "13d"];
        let regions = ["--region", "us-east-1,us-west-2,eu-west-1"];
        let command = Gpucost::new(&command)
            .args(&["--as-of", &days.on_the_hour(), "--resolution", resolution])
            .args(&regions);
        audited(&account, command)
    });
    account.loopback.reset_calls();
    let refresh = Gpucost::new(&["pricing", "refresh", "--region", "us-east-1"]).of(&account).run();
    assert_eq!(refresh.code, 0, "{}", refresh.stderr);
    Some(Gathered {
        names,
        live,
        everywhere,
        by_resolution,
        replayed,
        relabelled,
        replay_calls,
        refresh_calls: account.loopback.call_counts(),
        account: account.number,
    })
}

/// Says of every hourly price of an estate that a cache told it, so that what the
/// estate lacks and the bundled catalog has can be distinguished from it.
fn relabel_prices(estate: &Path) {
    let text = std::fs::read(estate).expect("it was saved");
    let mut document: Value = serde_json::from_slice(&text).expect("an estate is JSON");
    for price in document["prices"].as_array_mut().expect("a list") {
        price["origin"] = "cache".into();
    }
    std::fs::write(estate, document.to_string()).expect("our own folder");
}

fn audited(account: &Account, command: Gpucost) -> Audited {
    account.loopback.reset_calls();
    let begin = Instant::now();
    let run = command.of(account).run();
    let took = begin.elapsed();
    Audited { report: run.json(0), stderr: run.stderr, calls: account.loopback.call_counts(), took }
}

/// Launches the roster and puts its metrics.
fn start(account: &Account, days: Days) -> BTreeMap<String, String> {
    let tags: Vec<_> = ROSTER.iter().map(|role| role.all_tags()).collect();
    let plan: Vec<Launch<'_>> =
        ROSTER.iter().zip(&tags).flat_map(|(role, tags)| role.launches(tags)).collect();
    let mut launched = launch(&account.loopback, &plan).into_iter();
    let mut names = BTreeMap::new();
    for role in ROSTER {
        for launched in launched.by_ref().take(role.instances) {
            let subject = Subject {
                region: role.region(),
                instance_type: role.instance_type,
                gpus: role.gpus,
                launched: &launched,
            };
            subject.measure(&account.loopback, days, role.cpu, role.signal);
            if role.hears_little {
                subject.hear_little(&account.loopback, days);
            }
            if role.name == ADDRESSED {
                give_address(account, role.region(), &launched.instance_id);
            }
            names.insert(launched.instance_id, role.name.to_owned());
        }
    }
    names
}

/// Allocates an Elastic IP address and associates it with an instance.
fn give_address(account: &Account, region: &str, instance: &str) {
    let url = account.loopback.url();
    let ec2 = Ec2 { url: &url, region, access_key: ACCESS_KEY };
    let address = ec2.call("AllocateAddress", &[("Domain", "vpc")]).text(&["allocationId"]);
    let fields = [("AllocationId", address.as_str()), ("InstanceId", instance)];
    ec2.call("AssociateAddress", &fields);
}
