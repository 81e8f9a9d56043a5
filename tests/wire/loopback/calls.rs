//! Which operation a request asks for, by protocol.

use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::http::request::Parts;

use super::error::{ApiError, Protocol};
use super::form::Form;

/// An operation in a region, under which attempts are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// IAM prefix: `ec2`, `sts`, `cloudwatch`, `pricing`, …
    pub service: String,
    /// Operation name: `DescribeInstances`.
    pub operation: String,
    /// Region of the credential scope.
    pub region: String,
}

/// A request, recognised.
pub struct Call {
    pub operation: Operation,
    pub access_key: String,
    pub protocol: Protocol,
    pub body: Bytes,
}

/// Where CloudWatch's RPC v2 paths begin; the operation name follows.
const CBOR_PATH: &str = "/service/GraniteServiceVersion20100801/operation/";

impl Call {
    /// Reads the operation from the path, the target header or the form, and
    /// region, service and access key from the SigV4 credential scope.
    pub fn recognise(parts: &Parts, body: &Bytes) -> Result<Self, (Protocol, ApiError)> {
        let (mut protocol, mut operation) = operation(parts, body);
        let Some(scope) = Scope::read(&parts.headers) else {
            let missing = ApiError::new(
                403, "MissingAuthenticationToken", "the request has no SigV4 credential scope",
            );
            return Err((protocol, missing));
        };
        if scope.service == "ec2" {
            protocol = Protocol::Ec2;
        }
        if scope.service == "savingsplans" {
            protocol = Protocol::RestJson;
            operation = parts.uri.path().strip_prefix('/').map(str::to_owned);
        }
        if scope.service == "s3" {
            protocol = Protocol::RestXml;
            operation = s3_operation(parts).map(str::to_owned);
        }
        if scope.service == "batch" {
            protocol = Protocol::RestJson;
            operation = batch_operation(parts.uri.path()).map(str::to_owned);
        }
        let Some(operation) = operation else {
            let unknown = ApiError::invalid_action(&format!("{} {}", parts.method, parts.uri));
            return Err((protocol, unknown));
        };
        Ok(Self {
            operation: Operation {
                service: iam_prefix(scope.service).to_owned(),
                operation,
                region: scope.region.to_owned(),
            },
            access_key: scope.access_key.to_owned(),
            protocol,
            body: body.clone(),
        })
    }
}

fn operation(parts: &Parts, body: &[u8]) -> (Protocol, Option<String>) {
    let header = |name: &str| parts.headers.get(name)?.to_str().ok();
    if header("smithy-protocol") == Some("rpc-v2-cbor") {
        let operation = parts.uri.path().strip_prefix(CBOR_PATH);
        return (Protocol::Cbor, operation.map(str::to_owned));
    }
    if let Some(target) = header("x-amz-target") {
        let operation = target.rsplit_once('.').map(|(_, operation)| operation);
        return (Protocol::Json, operation.map(str::to_owned));
    }
    let operation = Form::parse(body).get("Action").map(str::to_owned);
    (Protocol::Query, operation)
}

/// The operation of a path of Batch, in which it is lower case.
fn batch_operation(path: &str) -> Option<&'static str> {
    match path {
        "/v1/describecomputeenvironments" => Some("DescribeComputeEnvironments"),
        "/v1/describejobqueues" => Some("DescribeJobQueues"),
        _ => None,
    }
}

/// The operation of a request of S3, whose paths begin with the bucket.
fn s3_operation(parts: &Parts) -> Option<&'static str> {
    let (_, key) = parts.uri.path()[1..].split_once('/').unwrap_or_default();
    match (parts.method.as_str(), key.is_empty(), parts.uri.query()) {
        ("GET", true, Some(_)) => Some("ListObjectsV2"),
        ("PUT", true, None) => Some("CreateBucket"),
        ("GET", false, None) => Some("GetObject"),
        ("HEAD", false, None) => Some("HeadObject"),
        ("PUT", false, None) => Some("PutObject"),
        ("DELETE", false, None) => Some("DeleteObject"),
        _ => None,
    }
}

/// The parts of `Credential=KEY/DATE/REGION/SERVICE/aws4_request`.
struct Scope<'a> {
    access_key: &'a str,
    region: &'a str,
    service: &'a str,
}

impl<'a> Scope<'a> {
    fn read(headers: &'a HeaderMap) -> Option<Self> {
        let authorization = headers.get("authorization")?.to_str().ok()?;
        let (_, credential) = authorization.split_once("Credential=")?;
        let mut parts = credential.split(',').next()?.split('/');
        let access_key = parts.next()?;
        let _date = parts.next()?;
        Some(Self { access_key, region: parts.next()?, service: parts.next()? })
    }
}

/// Services sign under one name and appear in policies under another.
fn iam_prefix(signing_name: &str) -> &str {
    match signing_name {
        "monitoring" => "cloudwatch",
        "tagging" => "tag",
        same => same,
    }
}
