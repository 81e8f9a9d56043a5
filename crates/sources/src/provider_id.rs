//! Where a machine is, by the id that its provider gave it and its cluster repeats.

use crate::domain::{Provider, ResourceId};

/// A machine of a cloud, as far as its id tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub provider: Provider,
    /// Empty where the id does not tell.
    pub account: String,
    pub region: Option<String>,
    pub zone: Option<String>,
    pub native: String,
}

impl Place {
    /// Reads an id such as `aws:///us-east-1a/i-0123456789abcdef0`; `None` for one of a
    /// provider that is not known, and for own hardware.
    pub(super) fn of(provider_id: &str) -> Option<Self> {
        let (scheme, rest) = provider_id.split_once("://")?;
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        match scheme {
            "aws" => aws(&parts),
            "gce" => gcp(&parts),
            "azure" => azure(&parts),
            _ => None,
        }
    }

    /// The id of the machine, which is in a region that a label may have stated.
    pub(super) fn id(&self, region: &str) -> ResourceId {
        ResourceId::new(self.provider, &self.account, region, &self.native)
    }
}

fn aws(parts: &[&str]) -> Option<Place> {
    let (native, before) = parts.split_last()?;
    let zone = before.first().map(|zone| (*zone).to_owned());
    let node = hyperpod_node(native).filter(|_| before.ends_with(&["sagemaker", "cluster"]));
    Some(Place {
        provider: if node.is_some() { Provider::SageMaker } else { Provider::Aws },
        account: String::new(),
        region: zone.as_deref().and_then(region_of),
        zone,
        native: node.unwrap_or_else(|| (*native).to_owned()),
    })
}

/// The id of a node of HyperPod in a name such as `hyperpod-abc123-i-0123456789abcdef0`,
/// which has the id of its cluster before it and not the name.
fn hyperpod_node(name: &str) -> Option<String> {
    let (_, id) = name.strip_prefix("hyperpod-")?.rsplit_once("-i-")?;
    Some(format!("i-{id}"))
}

/// The region of a zone such as `us-east-1a`, `us-gov-west-1b`, or of the local zone
/// `us-west-2-lax-1a`; `None` for the id of a zone, such as `usw2-az2`.
fn region_of(zone: &str) -> Option<String> {
    let mut end = 0;
    for part in zone.split('-') {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        if end > 0 && digits > 0 {
            let is_zone = end + digits < zone.len();
            return is_zone.then(|| zone[..end + digits].to_owned());
        }
        end += part.len() + 1;
    }
    None
}

fn gcp(parts: &[&str]) -> Option<Place> {
    let [project, zone, name] = parts else { return None };
    Some(Place {
        provider: Provider::Gcp,
        account: (*project).to_owned(),
        region: zone.rsplit_once('-').map(|(region, _)| region.to_owned()),
        zone: Some((*zone).to_owned()),
        native: (*name).to_owned(),
    })
}

/// Azure's ids do not tell cases apart.
fn azure(parts: &[&str]) -> Option<Place> {
    let parts: Vec<String> = parts.iter().map(|part| part.to_ascii_lowercase()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let ["subscriptions", account, "resourcegroups", group, "providers", _, rest @ ..] =
        parts.as_slice()
    else {
        return None;
    };
    let names: Vec<&str> = match rest {
        ["virtualmachines", name] => vec![*group, *name],
        ["virtualmachinescalesets", set, "virtualmachines", number] => vec![*group, *set, *number],
        _ => return None,
    };
    Some(Place {
        provider: Provider::Azure,
        account: (*account).to_owned(),
        region: None,
        zone: None,
        native: names.join("/"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(provider_id: &str) -> Option<(String, Option<String>, Option<String>)> {
        let place = Place::of(provider_id)?;
        let region = place.region.clone().unwrap_or_else(|| "eastus".to_owned());
        Some((place.id(&region).to_string(), place.region, place.zone))
    }

    #[test]
    fn clouds_write_where_a_machine_is() {
        let some = |text: &str| Some(text.to_owned());
        for (provider_id, id, region, zone) in [
            ("aws:///us-east-1a/i-0a1", "i-0a1", some("us-east-1"), some("us-east-1a")),
            ("aws:///us-west-2-lax-1a/i-0a1", "i-0a1", some("us-west-2"), some("us-west-2-lax-1a")),
            ("aws:///us-gov-west-1b/i-0a1", "i-0a1", some("us-gov-west-1"), some("us-gov-west-1b")),
            (
                "aws:///us-east-1-wl1-bos-wlz-1/i-0a1",
                "i-0a1",
                some("us-east-1"),
                some("us-east-1-wl1-bos-wlz-1"),
            ),
            ("aws:///i-0a1", "i-0a1", None, None),
            (
                "aws:///usw2-az2/sagemaker/cluster/hyperpod-abc123-i-0a1",
                "sagemaker//eastus/i-0a1",
                None,
                some("usw2-az2"),
            ),
            (
                "aws:///usw2-az2/sagemaker/cluster/other-i-0a1",
                "other-i-0a1",
                None,
                some("usw2-az2"),
            ),
            (
                "gce://project-1/us-central1-a/gke-1",
                "gcp/project-1/us-central1/gke-1",
                some("us-central1"),
                some("us-central1-a"),
            ),
            (
                "azure:///subscriptions/S1/resourceGroups/MC_rg/providers/Microsoft.Compute/virtualMachineScaleSets/aks-gpu-vmss/virtualMachines/0",
                "azure/s1/eastus/mc_rg/aks-gpu-vmss/0",
                None,
                None,
            ),
            (
                "azure:///subscriptions/s1/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm",
                "azure/s1/eastus/rg/vm",
                None,
                None,
            ),
        ] {
            assert_eq!(told(provider_id), Some((id.to_owned(), region, zone)), "{provider_id}");
        }
        for other in ["", "gpu-1", "kind://docker/kind/node", "gce://a/b", "azure:///x", "aws://"] {
            assert_eq!(told(other), None, "{other}");
        }
    }
}
