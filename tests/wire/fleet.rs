//! Fleets of instances in moto, launched through the loopback endpoint.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::{
    BlockDeviceMapping, EbsBlockDevice, InstanceMarketOptionsRequest, InstanceType, MarketType,
    Placement, ResourceType, Tag, TagSpecification, VolumeType,
};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::wire::clients::{ACCESS_KEY, Clients};
use crate::wire::loopback::Loopback;

/// A Linux image that moto knows in every region (its first is Windows).
const LINUX_IMAGE: &str = "ami-1e749f67";
/// A Windows image of moto.
const WINDOWS_IMAGE: &str = "ami-12c6146b";
/// Launches under way at once; moto gains nothing from more.
const PARALLEL: usize = 8;

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

    async fn run(&self, ec2: &Client) -> Result<Launched, aws_sdk_ec2::Error> {
        let image = if self.windows { WINDOWS_IMAGE } else { LINUX_IMAGE };
        let mut request = ec2
            .run_instances()
            .image_id(image)
            .instance_type(InstanceType::from(self.instance_type))
            .placement(Placement::builder().availability_zone(self.zone).build())
            .min_count(1)
            .max_count(1);
        if !self.tags.is_empty() {
            let tags =
                self.tags.iter().map(|&(key, value)| Tag::builder().key(key).value(value).build());
            request = request.tag_specifications(
                TagSpecification::builder()
                    .resource_type(ResourceType::Instance)
                    .set_tags(Some(tags.collect()))
                    .build(),
            );
        }
        for (letter, volume) in ('f'..='p').zip(self.volumes) {
            if volume.has_iops() {
                continue;
            }
            let disk = EbsBlockDevice::builder()
                .volume_type(VolumeType::from(volume.volume_type))
                .volume_size(volume.gib)
                .build();
            request = request.block_device_mappings(
                BlockDeviceMapping::builder()
                    .device_name(format!("/dev/sd{letter}"))
                    .ebs(disk)
                    .build(),
            );
        }
        if self.spot {
            request = request.instance_market_options(
                InstanceMarketOptionsRequest::builder().market_type(MarketType::Spot).build(),
            );
        }
        let reservation = request.send().await?;
        let [instance] = reservation.instances() else {
            panic!("one instance was asked for, moto launched {reservation:?}");
        };
        let launched = Launched {
            instance_id: instance.instance_id().expect("an instance has an id").to_owned(),
            private_dns_name: instance
                .private_dns_name()
                .expect("an instance in a VPC has a private name")
                .to_owned(),
        };
        for (letter, volume) in ('f'..='p').zip(self.volumes) {
            if volume.has_iops() {
                let device = format!("/dev/sd{letter}");
                self.attach(ec2, &launched, *volume, device).await?;
            }
        }
        if self.stopped {
            let stop = ec2.stop_instances();
            stop.instance_ids(&launched.instance_id).send().await?;
        }
        Ok(launched)
    }

    /// Makes a volume with provisioned IOPS and attaches it, because moto
    /// forgets the IOPS that a launch asks for and then refuses the volume.
    async fn attach(
        &self,
        ec2: &Client,
        launched: &Launched,
        volume: Volume<'_>,
        device: String,
    ) -> Result<(), aws_sdk_ec2::Error> {
        let made = ec2
            .create_volume()
            .availability_zone(self.zone)
            .volume_type(VolumeType::from(volume.volume_type))
            .size(volume.gib)
            .iops(1_000)
            .send()
            .await?;
        ec2.attach_volume()
            .set_volume_id(made.volume_id().map(str::to_owned))
            .instance_id(&launched.instance_id)
            .device(device)
            .send()
            .await?;
        Ok(())
    }
}

/// Launches every instance of the plan, one call each, and returns them in the
/// order of the plan. Blocks, on a runtime of its own: fit for tests of either
/// kind.
pub fn launch(loopback: &Loopback, plan: &[Launch<'_>]) -> Vec<Launched> {
    launch_as(loopback, ACCESS_KEY, plan)
}

/// The same by a caller, whose account they are then in.
pub fn launch_as(loopback: &Loopback, access_key: &str, plan: &[Launch<'_>]) -> Vec<Launched> {
    let url = loopback.url();
    let clients: BTreeMap<&str, Client> = plan
        .iter()
        .map(Launch::region)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|region| {
            let clients = Clients::with_access_key(&url, region, access_key);
            (region, clients.ec2)
        })
        .collect();
    let run = || {
        let launches = stream::iter(plan)
            .map(async |launch| launch.run(&clients[launch.region()]).await)
            .buffered(PARALLEL)
            .try_collect();
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be started")
            .block_on(launches)
            .expect("moto launches what the plan says")
    };
    std::thread::scope(|scope| scope.spawn(run).join().expect("the launch panicked, see above"))
}
