//! Which resource of which account of which provider, and the partitions of AWS, which share
//! neither accounts nor endpoints.

use super::named::named_enum;
use std::fmt;

named_enum! {
    /// Who rents out or owns machines.
    Provider {
        Aws = "aws",
        Azure = "azure",
        Gcp = "gcp",
        /// Own hardware.
        OnPremises = "on-premises",
        /// AWS, where it rents out machines that it runs itself.
        SageMaker = "sagemaker",
    }
}

/// The id of a resource, the same wherever it is seen. AWS's ids and ARNs are unique in
/// the world and stand for themselves, such as `i-0123456789abcdef0`; names of other
/// providers are not, and stand behind where they hold, as in
/// `gcp/project/us-central1/vm-1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId(Box<str>);

impl ResourceId {
    /// From the provider's own id.
    pub fn new(provider: Provider, account: &str, region: &str, native: &str) -> Self {
        let of_aws = Self(native.into());
        if provider == Provider::Aws && of_aws.place().is_none() {
            return of_aws;
        }
        let [account, region] = [account, region].map(segment);
        Self(format!("{provider}/{account}/{region}/{native}").into())
    }

    /// From what [`Self::as_str`] says.
    pub fn named(name: impl Into<Box<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn provider(&self) -> Provider {
        self.place().map_or(Provider::Aws, |(provider, ..)| provider)
    }

    /// The provider's own id.
    pub fn native(&self) -> &str {
        match self.place() {
            Some(_) => self.0.splitn(4, '/').last().unwrap_or_default(),
            None => &self.0,
        }
    }

    /// The id of a machine that is a node of HyperPod. SageMaker puts its cluster before it,
    /// of which Kubernetes does not know the name.
    pub fn hyperpod_node(&self) -> Option<&str> {
        let (Provider::SageMaker, ..) = self.place()? else { return None };
        let native = self.native();
        let node = match native.strip_prefix("cluster/") {
            Some(rest) => rest.split_once('/')?.1,
            None => native,
        };
        node.starts_with("i-").then_some(node)
    }

    /// Provider, account and region as they stand in the id, where it holds only there.
    pub fn place(&self) -> Option<(Provider, &str, &str)> {
        let mut parts = self.0.splitn(4, '/');
        let provider = Provider::from_name(parts.next()?)?;
        let (account, region) = (parts.next()?, parts.next()?);
        parts.next().map(|_| (provider, account, region))
    }
}

/// A name as a part of an id that slashes divide.
pub(super) fn segment(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The partition of a region, as ARNs name it.
pub fn partition(region: &str) -> &'static str {
    match region {
        _ if region.starts_with("cn-") => "aws-cn",
        _ if region.starts_with("us-gov-") => "aws-us-gov",
        _ if region.starts_with("us-isob-") => "aws-iso-b",
        _ if region.starts_with("us-isof-") => "aws-iso-f",
        _ if region.starts_with("us-iso-") => "aws-iso",
        _ if region.starts_with("eu-isoe-") => "aws-iso-e",
        _ if region.starts_with("eusc-") => "aws-eusc",
        _ => "aws",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_in_two_accounts_is_two_resources() {
        let id = |account| ResourceId::new(Provider::Gcp, account, "us-central1", "vm/1");
        assert_eq!(id("a").as_str(), "gcp/a/us-central1/vm/1");
        assert_ne!(id("a"), id("b"));
        assert_ne!(id("a/us-central1"), id("a"));
        assert_ne!(id("a/b"), id("a%2Fb"));
        assert_eq!((id("a").provider(), id("a").native()), (Provider::Gcp, "vm/1"));
        assert_eq!(ResourceId::named("gcp/a/us-central1/vm/1"), id("a"));
    }

    #[test]
    fn an_instance_of_an_endpoint_stands_where_its_name_holds() {
        let native = "endpoint/chat/main/0";
        let id = ResourceId::new(Provider::SageMaker, "111122223333", "us-east-1", native);
        assert_eq!(id.as_str(), "sagemaker/111122223333/us-east-1/endpoint/chat/main/0");
        assert_eq!((id.provider(), id.native()), (Provider::SageMaker, native));
    }

    #[test]
    fn a_node_of_hyperpod_has_one_id_with_its_cluster_and_without() {
        let node = |account, native| {
            let id = ResourceId::new(Provider::SageMaker, account, "us-east-1", native);
            id.hyperpod_node().map(str::to_owned)
        };
        let own = Some("i-0a1".to_owned());
        assert_eq!(node("111122223333", "cluster/hp/i-0a1"), own);
        assert_eq!(node("", "i-0a1"), own);
        for other in ["cluster/hp", "endpoint/i-0a1/main/0", "notebook/i-0a1"] {
            assert_eq!(node("111122223333", other), None, "{other}");
        }
        assert_eq!(ResourceId::named("i-0a1").hyperpod_node(), None);
    }

    #[test]
    fn ids_of_aws_are_as_aws_writes_them() {
        let arn = "arn:aws:sagemaker:us-east-1:111122223333:endpoint/gcp/a/b/c";
        for native in ["i-0123456789abcdef0", arn] {
            let id = ResourceId::new(Provider::Aws, "111122223333", "us-east-1", native);
            assert_eq!(id.as_str(), native);
            assert_eq!((id.provider(), id.native()), (Provider::Aws, native));
        }
        assert_eq!(ResourceId::named("gcp/short").provider(), Provider::Aws);
        // No answer of AWS names a machine of somebody else.
        let id = ResourceId::new(Provider::Aws, "1", "us-east-1", "gcp/p/r/vm");
        assert_eq!((id.provider(), id.native()), (Provider::Aws, "gcp/p/r/vm"));
    }
}
