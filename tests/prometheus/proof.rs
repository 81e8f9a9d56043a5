//! Everything that these tests have audited, once for all of them: the same machines by an
//! estate, by each server, by several at once, and by servers that refuse.

use super::expected::{AS_OF, LAUNCHED_AT, estate};
use super::fleet::{Card, END, START, machines, publish};
use super::gate::{Gate, Request, Seen};
use super::places::cluster;
use super::pods;
use super::servers::{Programs, free_port};
use super::traces::traces;
use crate::wire::audit::account::Account;
use crate::wire::audit::command::{Gpucost, Run};
use crate::wire::fleet::{Launch, Launched, launch};
use crate::wire::loopback::{Fault, Loopback, Target, Times};
use crate::wire::process::Server;
use gpucost::domain::DeviceUse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub const TENANT: &str = "blue";
pub const TOKEN: &str = "gpucost-test-token-that-is-not-printed";
/// What CloudWatch says of the utilization of [`MEASURED_TWICE`].
pub const CLOUDWATCH_PERCENT: f64 = 40.0;
/// The machine that CloudWatch measures, too.
pub const MEASURED_TWICE: &str = "usual";
/// In the answer to what is asked too early.
pub const RETRY_AFTER_SECONDS: u64 = 2;

/// A trace is shorter than a day, and long enough for these tests.
const POLICY: &str = "[policy]\nmin_hours = 4\n";
/// Enough for the 5-minute grid of any one machine, not for that of all: the server holds
/// several samples for each point while it works.
const FEW_SAMPLES: &str = "--query.max-samples=12000";

/// What came of it.
pub struct Proof {
    pub cards: Vec<Card>,
    /// Instance ids by name.
    pub ids: BTreeMap<&'static str, String>,
    pub by_estate: Run,
    pub by_prometheus: Run,
    pub by_victoria_metrics: Run,
    /// By both, which hold the same series, as two replicas do.
    pub by_both: Run,
    /// What both say of pods.
    pub uses_by_prometheus: Vec<DeviceUse>,
    pub uses_by_victoria_metrics: Vec<DeviceUse>,
    /// By CloudWatch and both.
    pub by_everything: Run,
    /// By a server that wants a tenant, with it and without.
    pub with_tenant: Run,
    pub without_tenant: Refused,
    /// By a server that wants a token.
    pub with_token: Run,
    /// By a Prometheus that works on few samples at a time.
    pub with_few_samples: (Run, Vec<Seen>),
    /// By a server that is asked too early twice.
    pub throttled: (Run, Vec<Seen>),
    /// By a server that does not run.
    pub by_nobody: Refused,
    pub places: Places,
}

/// The machines as nodes of a cluster, by EC2 and a server at once.
pub struct Places {
    pub all: Run,
    /// EC2 refuses to show instances.
    pub without_ec2: Run,
    pub without_server: Run,
    /// The address and port of that server.
    pub absent: String,
    /// Pods of the system were not recorded.
    pub without_pods: Run,
}

/// An audit that was told nothing, and the address and port that it asked.
pub struct Refused {
    pub run: Run,
    pub address: String,
}

/// The audits; `None`, with the reason recorded, where a program is missing.
pub fn proof() -> Option<&'static Proof> {
    static PROOF: LazyLock<Option<Proof>> = LazyLock::new(gather);
    // Every test says for itself that it is skipped.
    Server::find("moto_server", "GPUCOST_TEST_MOTO")?;
    Programs::find()?;
    PROOF.as_ref()
}

fn gather() -> Option<Proof> {
    let programs = Programs::find()?;
    let account = Account::open()?;
    let launched_at = LAUNCHED_AT.parse().expect("a time");
    account.loopback.backdate_launches(launched_at);
    let launched = launch_machines(&account.loopback);
    let (published, cards) = publish(&launched, &traces());
    let by_estate = audit_estate(&estate(&account.number, &launched, &cards).to_string());
    measure_twice(&account.loopback, &launched[MEASURED_TWICE]);

    let blocks = tempfile::tempdir().expect("a scratch folder can be made");
    programs.write_blocks(&published, blocks.path());
    let victoria = programs.victoria_metrics(&published);
    let prometheus = programs.prometheus(blocks.path(), &[]);
    let both = [prometheus.url(), victoria.url()];
    let by_prometheus = audit(&account, &both[..1], &[]);
    let by_victoria_metrics = audit(&account, &both[1..], &[]);
    let by_both = audit(&account, &both, &[]);
    let by_everything = audit_with(&account, &both, &["--metrics-source", "auto"]);
    let uses_by_prometheus = pods::read(&both[0], &launched);
    let uses_by_victoria_metrics = pods::read(&both[1], &launched);
    drop(prometheus);

    let wants_tenant =
        Gate::before(&victoria.address, |_, request| unless(request, "x-scope-orgid", TENANT));
    let header = format!("X-Scope-OrgID: {TENANT}");
    let tenant = ["--prometheus-header", header.as_str()];
    let with_tenant = audit(&account, &[wants_tenant.url()], &tenant);
    let without_tenant = refused(&account, &wants_tenant.url());
    let wants_token = Gate::before(&victoria.address, |_, request| {
        unless(request, "authorization", &format!("Bearer {TOKEN}"))
    });
    let command = format!("/bin/echo {TOKEN}");
    let token = ["--prometheus-token-command", command.as_str()];
    let with_token = audit(&account, &[wants_token.url()], &token);
    let too_early = Gate::before(&victoria.address, |number, _| {
        let is_early = number == 0 || number == 4;
        is_early.then_some("429 Too Many Requests\r\nretry-after: 2\r\n")
    });
    let throttled = audit(&account, &[too_early.url()], &[]);

    let limited = programs.prometheus(blocks.path(), &[FEW_SAMPLES]);
    let watched = Gate::before(&limited.address, |_, _| None);
    let with_few_samples = audit(&account, &[watched.url()], &[]);
    let places = audit_places(&account, &launched, &victoria.url());
    let by_nobody = refused(&account, &format!("http://127.0.0.1:{}", free_port()));
    Some(Proof {
        cards,
        ids: launched.into_iter().map(|(name, machine)| (name, machine.instance_id)).collect(),
        by_estate,
        by_prometheus,
        by_victoria_metrics,
        by_both,
        uses_by_prometheus,
        uses_by_victoria_metrics,
        by_everything,
        with_tenant,
        without_tenant,
        with_token,
        with_few_samples: (with_few_samples, watched.take_seen()),
        throttled: (throttled, too_early.take_seen()),
        by_nobody,
        places,
    })
}

fn audit_places(
    account: &Account,
    launched: &BTreeMap<&'static str, Launched>,
    url: &str,
) -> Places {
    let audit = |url: &str, has_pods: bool| {
        let command = by_servers(&[url.to_owned()], &["--metrics-source", "prometheus"]);
        let command = command.args(&["--from-kubectl", "cluster.json", "--with-aws"]);
        let text = cluster(launched, has_pods).to_string();
        std::fs::write(command.folder().join("cluster.json"), text).expect("our own folder");
        run(command.of(account))
    };
    let nowhere = format!("http://127.0.0.1:{}", free_port());
    let everywhere = audit(url, true);
    let without_server = audit(&nowhere, true);
    let without_pods = audit(url, false);
    let denied = Target::operation("ec2", "DescribeInstances");
    account.loopback.inject(denied, Fault::AccessDenied, Times::Always);
    let without_ec2 = audit(url, true);
    account.loopback.clear_faults();
    Places {
        all: everywhere,
        without_ec2,
        without_server,
        absent: nowhere.trim_start_matches("http://").to_owned(),
        without_pods,
    }
}

/// Refuses a request that does not have this header with this value.
fn unless(request: &Request, name: &str, value: &str) -> Option<&'static str> {
    let is_given = request.headers.get(name).is_some_and(|own| own == value);
    (!is_given).then_some("401 Unauthorized\r\n")
}

/// Launches the machines of the account; by name.
fn launch_machines(loopback: &Loopback) -> BTreeMap<&'static str, Launched> {
    let tags: Vec<[(&str, &str); 1]> = machines().map(|host| [("Name", host.name)]).collect();
    let plan: Vec<Launch<'_>> = machines()
        .zip(&tags)
        .map(|(host, tags)| Launch { tags, ..Launch::on_demand("us-east-1a", host.instance_type) })
        .collect();
    let launched = launch(loopback, &plan);
    machines().map(|host| host.name).zip(launched).collect()
}

/// Has CloudWatch measure a machine with one GPU: CPU, and what its agent would read.
fn measure_twice(loopback: &Loopback, machine: &Launched) {
    let id = ("InstanceId", machine.instance_id.as_str());
    let of_agent = [
        ("index", "0"),
        ("name", "NVIDIA A10G"),
        ("arch", "Ampere"),
        ("host", machine.private_dns_name.as_str()),
        id,
        ("InstanceType", "g5.xlarge"),
        ("ImageId", "ami-1e749f67"),
    ];
    let put = |namespace: &str, name: &str, dimensions: &[(&str, &str)], value: f64| {
        let datums = (START..END).step_by(300).map(|second| (second + 60, value));
        loopback.put_metric("us-east-1", namespace, name, dimensions, datums);
    };
    put("AWS/EC2", "CPUUtilization", &[id], 5.0);
    put("CWAgent", "nvidia_smi_utilization_gpu", &of_agent, CLOUDWATCH_PERCENT);
    put("CWAgent", "nvidia_smi_memory_used", &of_agent, 3_000.0);
}

/// An audit by these servers alone.
fn audit(account: &Account, urls: &[String], more: &[&str]) -> Run {
    let more = [&["--metrics-source", "prometheus"][..], more].concat();
    audit_with(account, urls, &more)
}

/// An audit by a server that tells nothing.
fn refused(account: &Account, url: &str) -> Refused {
    Refused {
        run: audit(account, &[url.to_owned()], &[]),
        address: url.trim_start_matches("http://").to_owned(),
    }
}

fn audit_with(account: &Account, urls: &[String], more: &[&str]) -> Run {
    run(by_servers(urls, more).of(account))
}

/// The command that asks these servers.
fn by_servers(urls: &[String], more: &[&str]) -> Gpucost {
    let of_urls = urls.iter().flat_map(|url| ["--prometheus-url", url.as_str()]);
    let of_urls: Vec<&str> = of_urls.collect();
    // As the audit of the estate does, it takes the bundled prices: costs can be compared.
    Gpucost::new(&["audit", "--format", "json", "--offline"])
        .args(&["--region", "us-east-1", "--deadline", "10s"])
        .args(&["--as-of", AS_OF, "--lookback", "24h"])
        .args(&of_urls)
        .args(more)
}

fn audit_estate(text: &str) -> Run {
    let command = Gpucost::new(&["audit", "--format", "json", "--from", "estate.json"]);
    std::fs::write(command.folder().join("estate.json"), text).expect("our own folder");
    run(command)
}

fn run(mut command: Gpucost) -> Run {
    std::fs::write(command.folder().join("gpucost.toml"), POLICY).expect("our own folder");
    command.run()
}
