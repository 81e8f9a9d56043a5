//! Instances and what hangs on them: identity and facts only. Verdicts and
//! costs live elsewhere.

use super::ResourceId;
use super::named::named_enum;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The tag with the name of one instance.
pub const NAME_TAG: &str = "Name";

named_enum! {
    /// Whether an instance runs. Terminated ones are invisible to an inventory.
    InstanceState {
        /// Starting: billed from when it runs.
        Pending = "pending",
        /// Running and billed.
        Running = "running",
        /// On its way to stopped.
        Stopping = "stopping",
        /// Stopped: no compute cost, its storage still costs.
        Stopped = "stopped",
        ShuttingDown = "shutting-down",
    }
}

impl InstanceState {
    /// Whether compute is billed in this state.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Running | Self::Pending)
    }
}

named_enum! {
    /// EC2's `InstanceLifecycle`; its absence means on-demand.
    Lifecycle {
        /// Neither spot nor bought ahead.
        OnDemand = "on-demand",
        /// Interruptible at spot price.
        Spot = "spot",
        /// Part of a Capacity Block, paid for up front.
        CapacityBlock = "capacity-block",
        /// A scheduled reserved instance.
        Scheduled = "scheduled",
        /// Runs in an interruptible capacity reservation.
        InterruptibleReservation = "interruptible-capacity-reservation",
    }
}

named_enum! {
    /// How a workload's hours are paid for.
    PurchaseOption {
        /// List price by the hour.
        OnDemand = "on-demand",
        Spot = "spot",
        Reserved = "reserved",
        /// Covered by a savings plan.
        SavingsPlan = "savings-plan",
        /// Paid for in a Capacity Block.
        CapacityBlock = "capacity-block",
        /// More than one of these.
        Mixed = "mixed",
    }
}

impl PurchaseOption {
    /// How a machine is rented, whatever commitments pay of its hours.
    pub fn rented(self) -> Self {
        match self {
            Self::Reserved | Self::SavingsPlan | Self::Mixed => Self::OnDemand,
            Self::OnDemand | Self::Spot | Self::CapacityBlock => self,
        }
    }
}

named_enum! {
    /// The operating system that decides the price.
    OperatingSystem {
        /// Linux or UNIX without a licence fee.
        Linux = "linux",
        /// Windows Server with its licence.
        Windows = "windows",
        /// Red Hat Enterprise Linux.
        Rhel = "rhel",
        /// SUSE Linux Enterprise Server.
        Sles = "sles",
        UbuntuPro = "ubuntu-pro",
        /// A licensed platform that gpucost holds no price for, such as SQL
        /// Server images.
        OtherLicensed = "other-licensed",
    }
}

impl OperatingSystem {
    /// From EC2's `UsageOperation`, `PlatformDetails` and `Platform`, in that
    /// order of trust. All absent means Linux/UNIX.
    pub fn from_ec2(
        usage_operation: Option<&str>,
        platform_details: Option<&str>,
        platform: Option<&str>,
    ) -> Self {
        if let Some(operation) = usage_operation {
            return match operation {
                "RunInstances" => Self::Linux,
                "RunInstances:0002" => Self::Windows,
                // Windows with bring-your-own licence bills like Linux.
                "RunInstances:0800" => Self::Linux,
                "RunInstances:0010" => Self::Rhel,
                "RunInstances:000g" => Self::Sles,
                "RunInstances:0g00" => Self::UbuntuPro,
                _ => Self::OtherLicensed,
            };
        }
        if let Some(details) = platform_details {
            return match details {
                "Linux/UNIX" | "Windows BYOL" => Self::Linux,
                "Windows" => Self::Windows,
                "Red Hat Enterprise Linux" => Self::Rhel,
                "SUSE Linux" => Self::Sles,
                "Ubuntu Pro" => Self::UbuntuPro,
                _ => Self::OtherLicensed,
            };
        }
        match platform {
            Some(name) if name.eq_ignore_ascii_case("windows") => Self::Windows,
            _ => Self::Linux,
        }
    }
}

named_enum! {
    /// Whether the hardware is shared with other accounts.
    Tenancy {
        Shared = "shared",
        Dedicated = "dedicated",
        /// A dedicated host, billed by the host.
        Host = "host",
    }
}

/// A volume of a pebibyte is beyond what is sold.
pub const MOST_VOLUME_GIB: u64 = 1 << 20;

/// A block-storage volume attached to an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a volume such as {\"id\": \"vol-1\"}")]
pub struct Volume {
    pub id: String,
    /// Such as `gp3`; `null` if unknown.
    pub volume_type: Option<String>,
    /// Size in GiB; `null` if unknown.
    #[schemars(range(max = MOST_VOLUME_GIB))]
    pub size_gib: Option<u64>,
}

/// An address that is billed while it is allocated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an address such as {\"id\": \"eipalloc-1\"}")]
pub struct Address {
    /// Such as `eipalloc-0123`, or the address itself.
    pub id: String,
}

/// A GPU instance (or one with another accelerator) as the inventory saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub id: ResourceId,
    /// The account that owns it.
    pub account: String,
    pub region: String,
    /// Its availability zone by name, such as `us-east-1a`.
    pub zone: Option<String>,
    pub instance_type: String,
    pub state: InstanceState,
    /// How it was bought, as EC2 says.
    pub lifecycle: Lifecycle,
    /// The capacity reservation it runs in.
    pub capacity_reservation_id: Option<String>,
    /// The Capacity Block it runs in.
    pub capacity_block_id: Option<String>,
    /// The operating system that decides the price.
    pub operating_system: OperatingSystem,
    /// Whether the hardware is shared.
    pub tenancy: Tenancy,
    /// Last start; it resets at every start.
    pub launch_time: Timestamp,
    /// When its primary network interface was attached: the closest thing to
    /// a creation time that survives a stop.
    pub attached_time: Option<Timestamp>,
    /// Why and when it last changed state, as EC2 words it.
    pub state_transition_reason: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub auto_scaling_group: Option<String>,
    /// Its private DNS name, which the CloudWatch agent reports as `host`.
    pub private_dns_name: Option<String>,
    pub volumes: Vec<Volume>,
    /// Its public addresses that are billed while it is stopped.
    pub addresses: Vec<Address>,
}

impl Instance {
    /// The value of its `Name` tag.
    pub fn name(&self) -> Option<&str> {
        self.tags.get(NAME_TAG).map(String::as_str).filter(|name| !name.trim().is_empty())
    }

    /// First seen: attach time of the primary network interface, else the last
    /// start.
    pub fn first_seen(&self) -> Timestamp {
        self.attached_time.unwrap_or(self.launch_time)
    }

    /// When it stopped, as far as EC2 says: the time in a reason such as `User
    /// initiated (2026-09-20 08:00:00 GMT)`. Absent while it runs, and for
    /// reasons without a time.
    pub fn stopped_at(&self) -> Option<Timestamp> {
        if self.state.is_running() {
            return None;
        }
        let (_, time) = self.state_transition_reason.as_deref()?.rsplit_once('(')?;
        let (time, _) = time.split_once(')')?;
        let time = time.strip_suffix(" GMT").or_else(|| time.strip_suffix(" UTC"))?;
        let time = DateTime::strptime("%Y-%m-%d %H:%M:%S", time).ok()?;
        Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
    }

    /// Whether it may have run after a time: a box that works at night is stopped when an audit
    /// finds it by day.
    pub fn may_have_run_after(&self, start: Timestamp) -> bool {
        self.stopped_at().is_none_or(|at| at > start)
    }

    /// How its hours are paid for, as far as EC2's own fields tell. Coverage by
    /// reserved instances and savings plans needs their lists beside it.
    pub fn purchase_option(&self) -> PurchaseOption {
        if self.capacity_block_id.is_some() {
            return PurchaseOption::CapacityBlock;
        }
        match self.lifecycle {
            Lifecycle::Spot => PurchaseOption::Spot,
            Lifecycle::CapacityBlock => PurchaseOption::CapacityBlock,
            Lifecycle::Scheduled => PurchaseOption::Reserved,
            Lifecycle::OnDemand | Lifecycle::InterruptibleReservation => PurchaseOption::OnDemand,
        }
    }
}

impl Instance {
    /// A running machine with Linux, on demand and shared, of which nothing else is known.
    pub fn running(
        id: ResourceId,
        (account, region): (&str, &str),
        instance_type: String,
        launch_time: Timestamp,
    ) -> Self {
        Self {
            id,
            account: account.to_owned(),
            region: region.to_owned(),
            zone: None,
            instance_type,
            state: InstanceState::Running,
            lifecycle: Lifecycle::OnDemand,
            capacity_reservation_id: None,
            capacity_block_id: None,
            operating_system: OperatingSystem::Linux,
            tenancy: Tenancy::Shared,
            launch_time,
            attached_time: None,
            state_transition_reason: None,
            tags: BTreeMap::new(),
            auto_scaling_group: None,
            private_dns_name: None,
            volumes: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// One of a test.
    #[cfg(any(test, feature = "lab"))]
    pub fn sample(id: &str, instance_type: &str, launch_time: Timestamp) -> Self {
        let place = ("111122223333", "us-east-1");
        Self::running(ResourceId::named(id), place, instance_type.to_owned(), launch_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operating_system_trusts_usage_operation_first() {
        let read = OperatingSystem::from_ec2;
        assert_eq!(
            read(Some("RunInstances:0010"), Some("Linux/UNIX"), None),
            OperatingSystem::Rhel
        );
        assert_eq!(read(None, Some("SUSE Linux"), None), OperatingSystem::Sles);
        assert_eq!(read(None, None, Some("windows")), OperatingSystem::Windows);
        assert_eq!(read(None, None, None), OperatingSystem::Linux);
        assert_eq!(read(Some("RunInstances:0006"), None, None), OperatingSystem::OtherLicensed);
    }

    #[test]
    fn a_blank_name_is_none() {
        for (tag, expected) in [("", None), (" \t", None), (" a", Some(" a"))] {
            let mut instance = Instance::sample("i-1", "g5.xlarge", Timestamp::UNIX_EPOCH);
            instance.tags = [("Name".to_owned(), tag.to_owned())].into();
            assert_eq!(instance.name(), expected, "{tag:?}");
        }
    }

    #[test]
    fn the_time_of_a_stop_is_in_ec2s_words() {
        let stopped_at = |state, reason: Option<&str>| {
            let instance = Instance {
                state,
                state_transition_reason: reason.map(str::to_owned),
                ..Instance::sample("i-1", "g5.xlarge", Timestamp::UNIX_EPOCH)
            };
            instance.stopped_at().map(|time| time.to_string())
        };
        let time = Some("2026-10-30T23:55:00Z".to_owned());
        for reason in [
            "User initiated (2026-10-30 23:55:00 GMT)",
            "User initiated (2026-10-30 23:55:00 UTC)",
            "Server.ScheduledStop: Stopped due to scheduled retirement (2026-10-30 23:55:00 GMT)",
        ] {
            let stopped = stopped_at(InstanceState::Stopped, Some(reason));
            assert_eq!(stopped, time, "{reason}");
            assert_eq!(stopped_at(InstanceState::Running, Some(reason)), None);
        }
        for reason in [
            None,
            Some(""),
            Some("User initiated"),
            Some("User initiated (yesterday)"),
            Some("User initiated (2026-10-30 23:55:00 CET)"),
            Some("User initiated (2026-13-30 23:55:00 GMT)"),
            Some("Server.SpotInstanceShutdown: Spot instance shutdown"),
        ] {
            assert_eq!(stopped_at(InstanceState::Stopped, reason), None);
        }
    }
}
