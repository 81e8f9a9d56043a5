//! The services that are called without a client crate, by what their requests carry.

use super::answers::{PASCAL_CASE, Paging};
use crate::credentials::Header;

/// How a service reads requests and writes answers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Protocol {
    /// JSON 1.1, with where the target header begins, such as `AWSOrganizationsV20161128`.
    Json(&'static str),
    /// The same in JSON 1.0.
    Json10(&'static str),
    /// A form that is answered in XML, with the version of the interface.
    Query(&'static str),
    /// JSON at the path of the operation.
    Rest(fn(&str) -> String),
}

impl Protocol {
    /// The headers that a service reads a request by: one names the operation, where neither body
    /// nor path does.
    pub(super) fn headers(self, operation: &str) -> Vec<Header> {
        let (content_type, target) = match self {
            Self::Json(prefix) => ("application/x-amz-json-1.1", Some(prefix)),
            Self::Json10(prefix) => ("application/x-amz-json-1.0", Some(prefix)),
            Self::Query(_) => ("application/x-www-form-urlencoded; charset=utf-8", None),
            Self::Rest(_) => ("application/json", None),
        };
        let target = target.map(|prefix| ("x-amz-target", format!("{prefix}.{operation}")));
        [("content-type", content_type.to_owned())].into_iter().chain(target).collect()
    }

    /// The path of the operation behind the host, where it has one.
    pub(super) fn path(self, operation: &str) -> String {
        match self {
            Self::Rest(path) => path(operation),
            Self::Json(_) | Self::Json10(_) | Self::Query(_) => String::new(),
        }
    }

    /// The body that names the operation and its fields.
    pub(super) fn form(self, operation: &str, fields: &Fields) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("Action", operation);
        if let Self::Query(version) = self {
            form.append_pair("Version", version);
        }
        for (name, value) in fields {
            form.append_pair(name, value);
        }
        form.finish()
    }
}

/// The fields of a form.
pub(super) type Fields = Vec<(String, String)>;

/// A field of a form.
pub(super) fn field(name: &str, value: &str) -> Fields {
    vec![(name.to_owned(), value.to_owned())]
}

/// The fields of a list in a form.
pub(super) fn numbered<S: AsRef<str>>(name: &str, values: &[S]) -> Fields {
    let values = (1..).zip(values);
    values
        .map(|(number, value): (usize, _)| (format!("{name}.{number}"), value.as_ref().to_owned()))
        .collect()
}

/// A service by what its requests carry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    pub signing_name: &'static str,
    /// What variables and profiles call it that name its endpoint, such as `Auto Scaling`.
    pub sdk_id: &'static str,
    /// The first part of its host, with the region, such as `organizations.{region}`.
    pub host: &'static str,
    pub protocol: Protocol,
    /// The prefix of its actions in policies, under which its calls are counted.
    pub id: &'static str,
    pub paging: Paging,
}

pub(super) const EC2: Service = Service {
    signing_name: "ec2",
    sdk_id: "EC2",
    host: "ec2.{region}",
    protocol: Protocol::Query("2016-11-15"),
    id: "ec2",
    paging: PASCAL_CASE,
};

pub(super) const STS: Service = Service {
    signing_name: "sts",
    sdk_id: "STS",
    host: "sts.{region}",
    protocol: Protocol::Query("2011-06-15"),
    id: "sts",
    paging: PASCAL_CASE,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_a_form_are_numbered() {
        let names = numbered("InstanceType", &["a", "b c"]);
        let fields = [names, field("DryRun", "true")].concat();
        let form = Protocol::Query("2016-11-15").form("DescribeInstanceTypes", &fields);
        let expected = "Action=DescribeInstanceTypes&Version=2016-11-15\
                        &InstanceType.1=a&InstanceType.2=b+c&DryRun=true";
        assert_eq!(form, expected);
    }
}
