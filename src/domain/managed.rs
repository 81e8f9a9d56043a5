//! Instance types that a managed service rents out under names and prices of its own, and
//! what it knows of them beside.

use super::named::named_enum;
use super::{ComponentHost, TrainingPlan};

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
}
