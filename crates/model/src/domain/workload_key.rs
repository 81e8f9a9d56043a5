//! What makes instances one workload, and its id.

use super::resource::segment;
use super::{Component, Provider, PurchaseOption, ResourceId};

/// What makes instances one workload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkloadKey {
    pub provider: Provider,
    pub account: String,
    pub region: String,
    pub instance_type: String,
    pub purchase_option: PurchaseOption,
    /// Whether its instances run, now or again: one that is up half of the time is
    /// the same workload at every hour. What has ended is apart.
    pub running: bool,
    /// Which members of the group it has.
    pub members: MemberSet,
    pub group: Group,
}

/// Members of one group that are a workload apart from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemberSet {
    Main,
    /// Their GPUs are idle and their CPUs work: they move by themselves to a type without a GPU.
    OnCpu,
    /// Their hours have no price, and hide no dollar of the others.
    Unpriced,
}

/// What groups instances into a workload.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    AutoScaling(String),
    /// The value of the workload tag.
    Tag(String),
    Alone(ResourceId),
}

impl WorkloadKey {
    /// What its machines are rented for, where a managed service runs them.
    pub fn component(&self) -> Option<Component> {
        let of_type = Component::of_type(&self.instance_type);
        let (_, component) = of_type.filter(|_| self.provider == Provider::SageMaker)?;
        Some(component)
    }

    /// Whether its machines are there or deleted, and never stopped.
    pub fn is_never_stopped(&self) -> bool {
        self.component().is_some_and(|kind| matches!(kind, Component::Hosting | Component::Cluster))
    }

    /// Whether it runs and every hour of it is billed on demand.
    pub fn is_on_demand(&self) -> bool {
        self.running && self.purchase_option == PurchaseOption::OnDemand
    }

    /// What stays the same while its machines change type, way of paying and state: of a
    /// lone instance its id, of a group its name and place. A record of several nights is
    /// joined by it.
    pub fn job(&self) -> String {
        let (prefix, name) = match &self.group {
            Group::Alone(instance) => return instance.to_string(),
            Group::AutoScaling(name) => ("asg", name),
            Group::Tag(name) => ("tag", name),
        };
        let (account, region) = (segment(&self.account), segment(&self.region));
        format!("{}/{account}/{region}/{prefix}:{name}", self.provider)
    }

    /// The id: of a lone instance its own, of a group the whole key, in which nothing changes
    /// when commitments begin or end.
    pub fn id(&self) -> String {
        let (prefix, name) = match &self.group {
            Group::Alone(instance) => return instance.to_string(),
            Group::AutoScaling(name) => ("asg", name),
            Group::Tag(name) => ("tag", name),
        };
        let state = match (self.running, self.members) {
            (false, _) => "/stopped",
            (true, MemberSet::Main) => "",
            (true, MemberSet::OnCpu) => "/on-cpu",
            (true, MemberSet::Unpriced) => "/unpriced",
        };
        let provider = match self.provider {
            Provider::Aws => String::new(),
            other => format!("{other}/"),
        };
        format!(
            "{provider}{}/{}/{}/{}/{prefix}:{name}{state}",
            segment(&self.account),
            segment(&self.region),
            self.instance_type,
            self.purchase_option.rented()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_readable_and_unique_per_key() {
        let key = |group, running| WorkloadKey {
            provider: Provider::Aws,
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            instance_type: "p3.8xlarge".to_owned(),
            purchase_option: PurchaseOption::OnDemand,
            running,
            members: MemberSet::Main,
            group,
        };
        assert_eq!(key(Group::Alone(ResourceId::named("i-7")), true).id(), "i-7");
        assert_eq!(
            key(Group::Tag("train".to_owned()), true).id(),
            "111122223333/us-east-1/p3.8xlarge/on-demand/tag:train"
        );
        assert_ne!(
            key(Group::Tag("train".to_owned()), true).id(),
            key(Group::Tag("train".to_owned()), false).id()
        );
        for running in [true, false] {
            let job = key(Group::Tag("train".to_owned()), running).job();
            assert_eq!(job, "aws/111122223333/us-east-1/tag:train");
            let job = key(Group::AutoScaling("train".to_owned()), running).job();
            assert_eq!(job, "aws/111122223333/us-east-1/asg:train");
        }
        assert_eq!(key(Group::Alone(ResourceId::named("i-7")), true).job(), "i-7");
    }
}
