//! What a managed service rents out under names and prices of its own, and what it knows beside:
//! inference components, which are models that share the instances of an endpoint and each copy of
//! which reserves GPUs that no other component can use; and training plans, capacity that is bought
//! for a while and paid for ahead, whether anything runs in it or not.

use super::named::named_enum;
use super::wire::{Amount, Counts, MOST_PARTS, Maybe, Parts, Time};
use super::{Currency, HourlyRate, Instance, Money, Provider};
use jiff::Timestamp;
use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

named_enum! {
    /// What a managed machine is rented for: each has a price of its own.
    Component {
        /// An instance of an endpoint.
        Hosting = "hosting",
        Notebook = "notebook",
        /// A Studio app with JupyterLab.
        JupyterLab = "studio-jupyterlab",
        /// A Studio app with an editor.
        CodeEditor = "studio-codeeditor",
        /// A kernel of Studio Classic.
        KernelGateway = "studio-notebook",
        /// A node of a HyperPod cluster.
        Cluster = "cluster",
        /// An instance of a training job.
        Training = "training",
    }
}

impl Component {
    /// The name in the price list, such as `ml.g5.xlarge-hosting`, of the type of EC2 inside.
    pub fn type_name(self, inside: &str) -> String {
        format!("ml.{inside}-{self}")
    }

    /// The type of EC2 inside, and what it is rented for; absent for a type of another name.
    pub fn of_type(name: &str) -> Option<(&str, Self)> {
        let rest = name.strip_prefix("ml.")?;
        // A family may have a hyphen of its own; no size of a managed machine has.
        let (_, size) = rest.split_once('.')?;
        let (_, component) = size.split_once('-')?;
        let inside = rest.strip_suffix(component)?.strip_suffix('-')?;
        Some((inside, Self::from_name(component)?))
    }
}

/// What a managed service knows beside its machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managed {
    pub hosts: Vec<ComponentHost>,
    /// Those that have not ended.
    pub plans: Vec<TrainingPlan>,
}

impl Managed {
    /// Adds what another place knows.
    pub fn add(&mut self, other: Self) {
        self.hosts.extend(other.hosts);
        self.plans.extend(other.plans);
    }

    /// Puts hosts in order of their groups, and plans in order of their ids.
    pub fn sort(&mut self) {
        self.hosts.sort_by(|left, right| left.key().cmp(&right.key()));
        self.plans.sort_by(|left, right| left.key().cmp(&right.key()));
    }
}

/// Copies of a component on instances of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `count` and `gpus_each`")]
pub struct Copies {
    /// Such as `ml.g5.12xlarge-hosting`; absent where all instances are of one type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_type: Option<String>,
    pub count: u32,
    /// GPUs that each copy reserves, up to 1,000: zero for one on CPUs; absent if unknown, as for a
    /// part of a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    pub gpus_each: Option<Decimal>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an inference component with `name` and `copies`")]
pub struct InferenceComponent {
    /// Unique in its account and region.
    pub name: String,
    /// Desired copies; others are being started or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_copies: Option<u32>,
    /// Current copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<Copies>")]
    pub copies: Vec<Copies>,
}

/// A variant of a `SageMaker` endpoint whose instances have no model of their own: inference
/// components are placed on them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `group` and `components`")]
pub struct ComponentHost {
    pub account: String,
    pub region: String,
    /// The `auto_scaling_group` of its instances, such as `endpoint/chat/main`.
    pub group: String,
    /// In order of name; none where its instances wait for the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "Parts::<InferenceComponent>")]
    pub components: Vec<InferenceComponent>,
}

impl InferenceComponent {
    pub fn current_copies(&self) -> u64 {
        self.copies.iter().map(|copies| u64::from(copies.count)).sum()
    }

    /// GPUs that its copies reserve on instances of a type, on all without one; absent where
    /// those of a copy are not known.
    pub fn reserved_gpus(&self, instance_type: Option<&str>) -> Option<Decimal> {
        let is_there = |copies: &&Copies| {
            let own = copies.instance_type.as_deref();
            copies.count > 0 && (own.is_none() || instance_type.is_none() || own == instance_type)
        };
        self.copies.iter().filter(is_there).try_fold(Decimal::ZERO, |sum, of_copy| {
            let own = of_copy.gpus_each?.checked_mul(Decimal::from(of_copy.count))?;
            sum.checked_add(own)
        })
    }
}

impl ComponentHost {
    /// Whether an instance is one of it.
    pub fn has(&self, instance: &Instance) -> bool {
        instance.id.provider() == Provider::SageMaker
            && instance.auto_scaling_group.as_ref() == Some(&self.group)
            && instance.account == self.account
            && instance.region == self.region
    }

    /// GPUs that its components reserve on instances of a type; absent where those of one
    /// are not known.
    pub fn reserved_gpus(&self, instance_type: &str) -> Option<Decimal> {
        self.components.iter().try_fold(Decimal::ZERO, |sum, component| {
            sum.checked_add(component.reserved_gpus(Some(instance_type))?)
        })
    }

    /// Whether every component has the copies that were asked for: others may need GPUs that
    /// are free now.
    pub fn is_settled(&self) -> bool {
        self.components.iter().all(|component| {
            component
                .desired_copies
                .is_some_and(|count| u64::from(count) == component.current_copies())
        })
    }

    /// What hosts are sorted by; no two have the same.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.account, &self.region, &self.group)
    }
}

named_enum! {
    PlanStatus {
        Pending = "pending",
        Active = "active",
        Scheduled = "scheduled",
    }
}

/// A training plan of `SageMaker`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a training plan object")]
pub struct TrainingPlan {
    // Jobs, endpoints and clusters name it.
    /// ARN of the plan.
    pub id: String,
    pub account: String,
    pub region: String,
    // Absent where the service says something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<PlanStatus>,
    // Types such as `ml.p5.48xlarge`, each with the number of instances, ascending.
    /// By type.
    #[serde(with = "Counts::<MOST_PARTS>")]
    pub instances: Vec<(String, u32)>,
    /// Instances in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
    /// Those that something runs on now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_use: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub start: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Time>")]
    pub end: Option<Timestamp>,
    // How long it holds them, which is less than from start to end where it is in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_minutes: Option<u64>,
    // That of the fee, and absent without one.
    /// USD unless said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<Currency>,
    /// Paid once for all instances.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "Maybe::<Amount>")]
    pub upfront_fee: Option<Decimal>,
}

impl TrainingPlan {
    /// What is paid once, for all instances and the whole time.
    pub fn fee(&self) -> Option<Money> {
        Some(Money::new(self.upfront_fee?, self.currency?))
    }

    /// What an hour of one instance costs, used or not:
    /// `upfront_fee ÷ (duration in hours × instances)`, unrounded.
    pub fn effective_hourly(&self) -> Option<HourlyRate> {
        let fee = self.fee()?;
        let minutes = Decimal::from(self.duration_minutes?);
        let all_minutes = minutes.checked_mul(Decimal::from(self.total?))?;
        let hourly = fee.amount().checked_div(all_minutes)?.checked_mul(Decimal::from(60))?;
        HourlyRate::new(hourly, fee.currency())
    }

    /// The end of the ARN, which is its name.
    pub fn name(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or(&self.id)
    }

    /// What plans are sorted by; no two have the same.
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.account, &self.region, &self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_are_read_back() {
        for component in Component::ALL {
            for inside in ["g5.xlarge", "p4d.24xlarge", "u7i-12tb.224xlarge"] {
                let name = component.type_name(inside);
                assert_eq!(Component::of_type(&name), Some((inside, *component)));
            }
        }
        let name = Component::Hosting.type_name("g5.xlarge");
        assert_eq!(name, "ml.g5.xlarge-hosting");
        for other in ["g5.xlarge", "ml.g5.xlarge", "ml.g5.xlarge-", "ml.g5.xlarge-processing"] {
            assert_eq!(Component::of_type(other), None, "{other}");
        }
    }

    fn component(
        desired: Option<u32>,
        copies: &[(Option<&str>, u32, Option<i64>)],
    ) -> ComponentHost {
        let copies = copies.iter().map(|(name, count, gpus)| Copies {
            instance_type: name.map(str::to_owned),
            count: *count,
            gpus_each: gpus.map(Decimal::from),
        });
        ComponentHost {
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            group: "endpoint/chat/main".to_owned(),
            components: vec![InferenceComponent {
                name: "llama".to_owned(),
                desired_copies: desired,
                copies: copies.collect(),
            }],
        }
    }

    #[test]
    fn copies_reserve_gpus_of_the_type_that_they_are_on() {
        let (large, small) = ("ml.g5.12xlarge-hosting", "ml.g5.xlarge-hosting");
        let host = component(Some(3), &[(Some(large), 1, Some(4)), (Some(small), 2, Some(1))]);
        assert_eq!(host.reserved_gpus(large), Some(Decimal::from(4)));
        // Two copies of one GPU.
        assert_eq!(host.reserved_gpus(small), Some(Decimal::TWO));
        assert_eq!(host.components[0].reserved_gpus(None), Some(Decimal::from(6)));
        assert_eq!(host.reserved_gpus("other"), Some(Decimal::ZERO));
        assert!(host.is_settled());

        let single = component(Some(3), &[(None, 3, Some(2))]);
        assert_eq!(single.reserved_gpus(large), Some(Decimal::from(6)));
        let mut empty = single;
        empty.components.clear();
        assert_eq!(empty.reserved_gpus(large), Some(Decimal::ZERO));
        assert!(empty.is_settled());
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let part = component(Some(1), &[(None, 1, None)]);
        assert_eq!(part.reserved_gpus("any"), None);
        // No copy of it is there.
        let none = component(Some(0), &[(None, 0, None)]);
        assert_eq!(none.reserved_gpus("any"), Some(Decimal::ZERO));
        assert!(none.is_settled());
        assert!(!component(Some(2), &[(None, 1, Some(1))]).is_settled());
        assert!(!component(None, &[(None, 1, Some(1))]).is_settled());
    }

    fn plan(fee: &str, minutes: u64, total: u32) -> TrainingPlan {
        TrainingPlan {
            id: "arn:aws:sagemaker:us-east-1:111122223333:training-plan/spring".to_owned(),
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            status: Some(PlanStatus::Active),
            instances: vec![("ml.p5.48xlarge".to_owned(), total)],
            total: Some(total),
            in_use: Some(0),
            start: None,
            end: None,
            duration_minutes: Some(minutes),
            currency: Some(Currency::Usd),
            upfront_fee: Some(fee.parse().expect("a decimal")),
        }
    }

    #[test]
    fn the_fee_is_spread_over_the_hours_of_all_instances() {
        // 10 days of 4 instances are 960 hours: 30,240 ÷ 960 = 31.5.
        let hourly = |plan: &TrainingPlan| plan.effective_hourly().map(|rate| rate.amount());
        let spring = plan("30240", 14_400, 4);
        assert_eq!(hourly(&spring), Some(Decimal::new(315, 1)));
        assert_eq!(spring.name(), "spring");
        // 90 minutes of one: 45 ÷ 1.5 = 30.
        assert_eq!(hourly(&plan("45", 90, 1)), Some(Decimal::from(30)));
        assert_eq!(hourly(&plan("45", 0, 1)), None);
        assert_eq!(hourly(&plan("45", 90, 0)), None);
        assert_eq!(hourly(&plan("0", 90, 1)), None);
    }
}
