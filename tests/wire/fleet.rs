//! Fleets of instances in moto, launched through the loopback endpoint.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::wire::clients::ACCESS_KEY;
use crate::wire::loopback::Loopback;

/// A Linux image that moto knows in every region (its first is Windows).
const LINUX_IMAGE: &str = "ami-1e749f67";
/// A Windows image of moto.
const WINDOWS_IMAGE: &str = "ami-12c6146b";
/// Launches under way at once; moto gains nothing from more.
const PARALLEL: usize = 8;

/// EC2 in a region, as a caller has it. Neither the loopback nor moto checks signatures: only
/// the credential scope is read.
pub struct Ec2<'a> {
    pub url: &'a str,
    pub region: &'a str,
    pub access_key: &'a str,
}

/// The XML that EC2 answers with.
pub struct Answer(String);

impl Ec2<'_> {
    /// Makes a call of the query protocol; panics with the answer of a refusal.
    pub fn call<K, V>(&self, action: &str, fields: &[(K, V)]) -> Answer
    where
        K: AsRef<str>,
        V: AsRef<str>,
    {
        let Self { url, region, access_key } = self;
        let body = form_urlencoded::Serializer::new(String::new())
            .append_pair("Action", action)
            .append_pair("Version", "2016-11-15")
            .extend_pairs(fields)
            .finish();
        let host = url.strip_prefix("http://").expect("the loopback is without TLS");
        let request = format!(
            "POST / HTTP/1.1\r\n\
             host: {host}\r\n\
             connection: close\r\n\
             authorization: AWS4-HMAC-SHA256 \
             Credential={access_key}/20260101/{region}/ec2/aws4_request, \
             SignedHeaders=host, Signature=0\r\n\
             content-type: application/x-www-form-urlencoded\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(host).expect("the loopback listens");
        stream.write_all(request.as_bytes()).expect("the loopback reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the loopback answers in UTF-8");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{action}: {answer}");
        // Never in chunks: the loopback has an answer whole before it sends it.
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body follows the headers");
        Answer(body.to_owned())
    }
}

impl Answer {
    /// The text at the end of a path of elements, of each of which there is one.
    pub fn text(&self, path: &[&str]) -> String {
        let document = roxmltree::Document::parse(&self.0).expect("EC2 answers in XML");
        let mut node = document.root_element();
        for name in path {
            let named: Vec<_> =
                node.children().filter(|child| child.tag_name().name() == *name).collect();
            let [only] = &named[..] else {
                panic!("there is one {name}, moto answered {}", self.0);
            };
            node = *only;
        }
        node.text().expect("the last element has a text").to_owned()
    }
}

/// An instance to launch. [`Launch::on_demand`] is the usual one.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    pub zone: &'a str,
    pub instance_type: &'a str,
    pub tags: &'a [(&'a str, &'a str)],
    pub volumes: &'a [Volume<'a>],
    pub spot: bool,
    pub windows: bool,
    /// Stop it after the launch.
    pub stopped: bool,
}

/// An EBS volume besides what the image brings.
#[derive(Clone, Copy, Debug)]
pub struct Volume<'a> {
    /// `gp3`, `io2`, …
    pub volume_type: &'a str,
    pub gib: i32,
}

impl Volume<'_> {
    /// Whether its IOPS are bought apart.
    fn has_iops(self) -> bool {
        self.volume_type.starts_with("io")
    }
}

/// A launched instance, with what its metrics are found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    pub instance_id: String,
    pub private_dns_name: String,
}

impl<'a> Launch<'a> {
    /// A running On-Demand Linux instance without tags or extra volumes.
    pub fn on_demand(zone: &'a str, instance_type: &'a str) -> Self {
        Self {
            zone,
            instance_type,
            tags: &[],
            volumes: &[],
            spot: false,
            windows: false,
            stopped: false,
        }
    }

    /// The zone's name without its letter.
    fn region(&self) -> &'a str {
        self.zone.trim_end_matches(|c: char| c.is_ascii_lowercase())
    }

    /// The volumes with the names of their devices.
    fn devices(&self) -> impl Iterator<Item = (String, Volume<'a>)> {
        let named = ('f'..='p').zip(self.volumes);
        named.map(|(letter, volume)| (format!("/dev/sd{letter}"), *volume))
    }

    /// The fields of the request that launches it.
    fn fields(&self) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        let mut put = |name: &str, value: &str| fields.push((name.to_owned(), value.to_owned()));
        put("ImageId", if self.windows { WINDOWS_IMAGE } else { LINUX_IMAGE });
        put("InstanceType", self.instance_type);
        put("Placement.AvailabilityZone", self.zone);
        put("MinCount", "1");
        put("MaxCount", "1");
        if !self.tags.is_empty() {
            put("TagSpecification.1.ResourceType", "instance");
        }
        for (number, &(key, value)) in (1..).zip(self.tags) {
            let tag = format!("TagSpecification.1.Tag.{number}");
            put(&format!("{tag}.Key"), key);
            put(&format!("{tag}.Value"), value);
        }
        let disks = self.devices().filter(|(_, volume)| !volume.has_iops());
        for (number, (device, volume)) in (1..).zip(disks) {
            let mapping = format!("BlockDeviceMapping.{number}");
            put(&format!("{mapping}.DeviceName"), &device);
            put(&format!("{mapping}.Ebs.VolumeType"), volume.volume_type);
            put(&format!("{mapping}.Ebs.VolumeSize"), &volume.gib.to_string());
        }
        if self.spot {
            put("InstanceMarketOptions.MarketType", "spot");
        }
        fields
    }

    fn run(&self, url: &str, access_key: &str) -> Launched {
        let ec2 = Ec2 { url, region: self.region(), access_key };
        let answer = ec2.call("RunInstances", &self.fields());
        let of_instance = |name| answer.text(&["instancesSet", "item", name]);
        let launched = Launched {
            instance_id: of_instance("instanceId"),
            private_dns_name: of_instance("privateDnsName"),
        };
        let instance = launched.instance_id.as_str();
        for (device, volume) in self.devices().filter(|(_, volume)| volume.has_iops()) {
            self.attach(&ec2, instance, &device, volume);
        }
        if self.stopped {
            ec2.call("StopInstances", &[("InstanceId.1", instance)]);
        }
        launched
    }

    /// Makes a volume with provisioned IOPS and attaches it, because moto
    /// forgets the IOPS that a launch asks for and then refuses the volume.
    fn attach(&self, ec2: &Ec2<'_>, instance: &str, device: &str, volume: Volume<'_>) {
        let size = volume.gib.to_string();
        let made = ec2.call(
            "CreateVolume",
            &[
                ("AvailabilityZone", self.zone),
                ("VolumeType", volume.volume_type),
                ("Size", size.as_str()),
                ("Iops", "1000"),
            ],
        );
        let id = made.text(&["volumeId"]);
        let fields = [("VolumeId", id.as_str()), ("InstanceId", instance), ("Device", device)];
        ec2.call("AttachVolume", &fields);
    }
}

/// Launches every instance of the plan, one call each, and returns them in the
/// order of the plan. Blocks: the loopback has threads of its own.
pub fn launch(loopback: &Loopback, plan: &[Launch<'_>]) -> Vec<Launched> {
    launch_as(loopback, ACCESS_KEY, plan)
}

/// The same by a caller, whose account they are then in.
pub fn launch_as(loopback: &Loopback, access_key: &str, plan: &[Launch<'_>]) -> Vec<Launched> {
    let url = &loopback.url();
    let at_once = |batch: &[Launch<'_>]| -> Vec<Launched> {
        std::thread::scope(|scope| {
            let under_way: Vec<_> = batch
                .iter()
                .map(|launch| scope.spawn(move || launch.run(url, access_key)))
                .collect();
            let ended = under_way.into_iter().map(|launch| launch.join());
            ended.map(|launched| launched.expect("the launch panicked, see above")).collect()
        })
    };
    plan.chunks(PARALLEL).flat_map(at_once).collect()
}
