//! Machines whose GPUs do what the traces say, and the series in which a DCGM exporter of
//! each would tell it. No two tell it alike.

use super::traces::{Readings, Trace};
use crate::wire::fleet::Launched;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// 2022-09-11T00:00:00Z, 72 minutes before the first reading.
pub const START: i64 = 1_662_854_400;
/// The last reading is of this second, and so of no period.
pub const END: i64 = START + 86_400;
/// The exporter of no machine of the account.
pub const STRANGER: &str = "gpu-7.lab.example";

const UTILIZATION: &str = "DCGM_FI_DEV_GPU_UTIL";
const MEMORY_USED: &str = "DCGM_FI_DEV_FB_USED";
/// The ratio of time that the compute engine of a slice was active.
const ENGINE_ACTIVE: &str = "DCGM_FI_PROF_GR_ENGINE_ACTIVE";

/// A pod keeps a GPU for five hours and seven minutes, so that most change within a period.
const TURN_SECONDS: i64 = 18_420;
/// From here on three pods share a card instead of two; within a period, too.
const THIRD_TENANT: i64 = START + 50_000;

/// Name, type, what leads from the series to the machine, how labels are spelled, and a
/// letter for each GPU.
///
/// What leads to the machine is a `node`, of which `kube_node_info` says the provider's id;
/// its private DNS `name`; the `address` that is scraped, which `kube_node_info` knows too,
/// because the exporter names its own pod as the host; or `nothing`, because it is of no account. A `silent` one has no exporter.
///
/// `new` labels have `hostname`, and honorLabels is off: `pod` is the exporter's own, and the
/// one that holds the GPU is `exported_pod`. `old` ones have `Hostname`, and it is on.
///
/// A GPU is used by a container that was read the `w`hole time or with `h`oles. One is as
/// `b`usy as a container is not; one `r`ests while memory is held; `m` has three MIG slices
/// with a container each; `t` is time-sliced: several pods share what one container does.
const FLEET: &str = "
    holes      g5.xlarge     node     new  h
    busy       g5.xlarge     node     old  b
    resting    g5.xlarge     name     old  r
    usual      g5.xlarge     name     new  w
    addressed  g5.xlarge     address  old  w
    four       g5.12xlarge   name     new  whwh
    eight      p4d.24xlarge  node     new  whwhwhww
    sliced     p4d.24xlarge  node     new  mmmwwwww
    shared     g5.12xlarge   node     old  tttt
    silent     g5.xlarge     silent   new
    stranger   g5.xlarge     nothing  new  w
";

/// A line of the table.
pub struct Host {
    pub name: &'static str,
    pub instance_type: &'static str,
    joined: &'static str,
    is_old: bool,
    pub gpus: &'static str,
}

fn hosts() -> impl Iterator<Item = Host> {
    FLEET.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some(Host {
            name: words.next()?,
            instance_type: words.next()?,
            joined: words.next()?,
            is_old: words.next()? == "old",
            gpus: words.next().unwrap_or_default(),
        })
    })
}

/// Those of the account.
pub fn machines() -> impl Iterator<Item = Host> {
    hosts().filter(|host| host.joined != "nothing")
}

/// A card with what was published of it.
pub struct Card {
    pub host: &'static str,
    pub index: u16,
    pub parts: Vec<Part>,
}

/// A whole card, or a slice of one.
pub struct Part {
    /// Of the card's compute.
    pub share: f64,
    pub percents: Readings,
    pub mib: Readings,
    /// Utilization while a pod held it, by the pod.
    pub by_pod: BTreeMap<String, Readings>,
}

struct Slice {
    sevenths: f64,
    labels: &'static str,
}

static WHOLE_CARD: [Slice; 1] = [Slice { sevenths: 7.0, labels: "" }];
static SLICES: [Slice; 3] = [
    Slice { sevenths: 3.0, labels: ",GPU_I_PROFILE=\"3g.20gb\",GPU_I_ID=\"1\"" },
    Slice { sevenths: 2.0, labels: ",GPU_I_PROFILE=\"2g.10gb\",GPU_I_ID=\"3\"" },
    Slice { sevenths: 2.0, labels: ",GPU_I_PROFILE=\"2g.10gb\",GPU_I_ID=\"5\"" },
];

/// Second and value of samples, as they are written.
type Samples = Vec<(i64, String)>;
/// Samples by metric and labels.
pub type Published = BTreeMap<(&'static str, String), Samples>;

/// Everything that is published, and what it is worth card by card. Machines are those that
/// were launched, by name.
pub fn publish(launched: &BTreeMap<&str, Launched>, traces: &[Trace]) -> (Published, Vec<Card>) {
    let mut whole = traces.iter().filter(|trace| trace.is_whole());
    let mut with_holes = traces.iter().filter(|trace| !trace.is_whole());
    let (mut published, mut cards) = (Published::new(), Vec::new());
    for (number, host) in hosts().enumerate() {
        let machine = launched.get(host.name);
        let exporter = Exporter::of(&host, number, machine);
        if let ("node" | "address", Some(machine)) = (host.joined, machine) {
            let id = &machine.instance_id;
            let ip = exporter.instance.split(':').next().unwrap_or_default();
            let node = match host.joined {
                "address" => "worker-of-no-exporter",
                _ => exporter.host.as_str(),
            };
            let labels = format!(
                "node=\"{node}\",internal_ip=\"{ip}\",provider_id=\"aws:///us-east-1a/{id}\""
            );
            let seconds = (START..END).step_by(60);
            let samples = seconds.map(|second| (second, "1".to_owned()));
            published.insert(("kube_node_info", labels), samples.collect());
        }
        for (index, gpu) in (0_u16..).zip(host.gpus.chars()) {
            let seat = Seat { exporter: &exporter, gpu, index, serial: cards.len() as i64 + 1 };
            let slices: &[Slice] = if gpu == 'm' { &SLICES } else { &WHOLE_CARD };
            let mut parts = Vec::new();
            for slice in slices {
                let trace = match gpu {
                    'h' => with_holes.next(),
                    _ => whole.next(),
                };
                let trace = trace.expect("there are enough");
                parts.push(seat.publish(slice, trace, &mut published));
            }
            cards.push(Card { host: host.name, index, parts });
        }
    }
    (published, cards)
}

/// What is common to all series of a machine.
struct Exporter {
    is_old: bool,
    /// What stands in the place of the host.
    host: String,
    /// Address and port that are scraped.
    instance: String,
    pod: String,
    model: &'static str,
    /// MiB in use for each in use on a card of 80 GiB, so that all fits.
    memory_scale: f64,
}

impl Exporter {
    fn of(host: &Host, number: usize, machine: Option<&Launched>) -> Self {
        let name = machine.map_or(STRANGER, |machine| machine.private_dns_name.as_str());
        let label = name.split('.').next().unwrap_or(name);
        let address = match label.strip_prefix("ip-") {
            Some(octets) => octets.replace('-', "."),
            None => "192.0.2.7".to_owned(),
        };
        let pod = format!("nvidia-dcgm-exporter-{number}xk2p");
        let (model, memory_scale) = if host.instance_type.starts_with("p4d") {
            ("NVIDIA A100-SXM4-40GB", 0.5)
        } else {
            ("NVIDIA A10G", 0.28)
        };
        Self {
            is_old: host.is_old,
            host: match host.joined {
                "node" => format!("gpu-node-{number}"),
                "address" => pod.clone(),
                _ => name.to_owned(),
            },
            instance: format!("{address}:9400"),
            pod,
            model,
            memory_scale,
        }
    }
}

/// A card in its machine.
struct Seat<'a> {
    exporter: &'a Exporter,
    /// Its letter.
    gpu: char,
    index: u16,
    /// Counted over the fleet.
    serial: i64,
}

impl Seat<'_> {
    /// The labels of a series. `pod` is the one that holds the card, if any does.
    fn labels(&self, more: &str, pod: Option<&str>) -> String {
        let (index, serial) = (self.index, self.serial);
        let (host, own) = (&self.exporter.host, &self.exporter.pod);
        let (model, instance) = (self.exporter.model, &self.exporter.instance);
        let common = format!(
            "gpu=\"{index}\",UUID=\"GPU-{serial:08x}-0000-4000-8000-000000000000\",\
             device=\"nvidia{index}\",modelName=\"{model}\"{more},instance=\"{instance}\",\
             job=\"nvidia-dcgm-exporter\""
        );
        if self.exporter.is_old {
            // Without one in the sample, the pod of the target stays.
            let (namespace, pod) = pod.map_or(("gpu-operator", own.as_str()), |pod| ("ml", pod));
            return format!("{common},Hostname=\"{host}\",namespace=\"{namespace}\",pod=\"{pod}\"");
        }
        let labels = format!("{common},hostname=\"{host}\",pod=\"{own}\"");
        match pod {
            Some(pod) => format!("{labels},exported_pod=\"{pod}\",exported_namespace=\"ml\""),
            None => labels,
        }
    }

    /// The number of the pod that has its turn. Cards change hands at different times.
    fn turn(&self, second: i64) -> i64 {
        (second - START + self.serial * 733) / TURN_SECONDS
    }

    /// The pods that hold the card at a second.
    fn holders(&self, second: i64) -> Vec<String> {
        let serial = self.serial;
        if self.gpu == 't' {
            let tenants = if second < THIRD_TENANT { 2 } else { 3 };
            let pods = 0..tenants;
            return pods.map(|pod| format!("notebook-{serial}-{pod}")).collect();
        }
        let turn = self.turn(second);
        let pod = (turn % 4 != 3).then(|| format!("job-{serial}-{turn}"));
        pod.into_iter().collect()
    }

    /// Puts samples under the labels of who holds the card: one pod after the other, and in
    /// every fourth turn nobody.
    fn put(&self, metric: &'static str, more: &str, samples: &Samples, published: &mut Published) {
        for run in samples.chunk_by(|left, right| self.turn(left.0) == self.turn(right.0)) {
            let turn = self.turn(run[0].0);
            let pod = format!("job-{}-{turn}", self.serial);
            let labels = self.labels(more, Some(pod.as_str()).filter(|_| turn % 4 != 3));
            published.entry((metric, labels)).or_default().extend_from_slice(run);
        }
    }

    /// Puts a row of the same samples for each pod that shares the card.
    fn put_shared(&self, metric: &'static str, samples: &Samples, published: &mut Published) {
        for tenant in 0..3 {
            let since = if tenant < 2 { START } else { THIRD_TENANT };
            let pod = format!("notebook-{}-{tenant}", self.serial);
            let labels = self.labels(&format!(",vgpu=\"{tenant}\""), Some(&pod));
            let rows = samples.iter().filter(|(second, _)| *second >= since);
            published.insert((metric, labels), rows.cloned().collect());
        }
    }

    /// Publishes a card or a slice of it, in whole percent and MiB, as DCGM has them, or, of
    /// a slice, in the ratio that its engine was active.
    fn publish(&self, slice: &Slice, trace: &Trace, published: &mut Published) -> Part {
        let share = slice.sevenths / 7.0;
        let scale = self.exporter.memory_scale * share;
        let (metric, factor) = match self.gpu {
            'm' => (ENGINE_ACTIVE, 100.0),
            _ => (UTILIZATION, 1.0),
        };
        let percents = written(&trace.percents, |percent| match self.gpu {
            'b' => format!("{:.0}", 100.0 - percent),
            'r' => "0".to_owned(),
            'm' => format!("{:.6}", percent / 100.0),
            _ => format!("{percent:.0}"),
        });
        let mib = written(&trace.mib, |mib| format!("{:.0}", mib * scale));
        if self.gpu == 't' {
            // Each row has the utilization of the card, but the memory of its pod; that of
            // the card has a row of its own.
            let of_pods = written(&trace.mib, |mib| format!("{:.0}", mib * scale / 4.0));
            self.put_shared(metric, &percents, published);
            self.put_shared(MEMORY_USED, &of_pods, published);
            published.insert((MEMORY_USED, self.labels("", None)), mib.clone());
        } else {
            self.put(metric, slice.labels, &percents, published);
            self.put(MEMORY_USED, slice.labels, &mib, published);
        }
        let percents = read_back(&percents, factor);
        let mut by_pod: BTreeMap<String, Readings> = BTreeMap::new();
        for (second, percent) in &percents {
            for pod in self.holders(*second) {
                by_pod.entry(pod).or_default().push((*second, *percent));
            }
        }
        Part { share, percents, by_pod, mib: read_back(&mib, 1.0) }
    }
}

fn written(readings: &[(i64, f64)], text: impl Fn(f64) -> String) -> Samples {
    let samples = readings.iter();
    samples.map(|(second, value)| (*second, text(*value))).collect()
}

/// What was written, so that nothing is expected of a digit that was not.
fn read_back(samples: &[(i64, String)], factor: f64) -> Readings {
    let number = |text: &str| text.parse::<f64>().expect("a number") * factor;
    let readings = samples.iter();
    readings.map(|(second, text)| (*second, number(text))).collect()
}

/// Writes the samples in the text format, whose times are in milliseconds, for VictoriaMetrics;
/// or in OpenMetrics, whose times are in seconds, for `promtool`.
pub fn write(published: &Published, is_open_metrics: bool, to: &mut impl Write) -> io::Result<()> {
    let (end, last) = if is_open_metrics { ("", "# EOF\n") } else { ("000", "") };
    let mut described = "";
    for ((metric, labels), samples) in published {
        if *metric != described {
            writeln!(to, "# TYPE {metric} gauge")?;
            described = metric;
        }
        for (second, value) in samples {
            writeln!(to, "{metric}{{{labels}}} {value} {second}{end}")?;
        }
    }
    to.write_all(last.as_bytes())
}
