//! Failures on demand.

use std::time::Duration;

use super::calls::{Call, Operation};
use super::error::{ApiError, Protocol};

/// A way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The service's throttling error, which clients retry.
    Throttle,
    /// An internal error (HTTP 500), which clients retry.
    ServerError,
    /// The connection is closed without an answer.
    DropConnection,
    /// The caller's policy does not allow the action.
    AccessDenied,
    /// The same in other words: a message may quote what somebody chose.
    AccessDeniedSaying(&'static str),
    /// The credentials are not valid here, as in a region that is not opted in.
    AuthFailure,
    /// The session token has expired.
    ExpiredToken,
    /// The right answer, late.
    Delay(Duration),
    /// No answer, on an open connection.
    Hang,
    /// An empty page whose token leads to itself.
    SamePage,
    /// A refusal whose message repeats what the request was signed with: values
    /// alone, or as headers with their names.
    Echo { with_names: bool },
    /// A page of something else that stands in between, with a status.
    Page(u16),
    /// This body, as if it were the right answer.
    Answer(&'static str),
    /// A body without an end.
    Endless,
    /// The right answer, but for the launch time of this instance.
    SpoilLaunchOf(&'static str),
    /// The right answer, to the end of these words and no further.
    CutBehind(&'static str),
}

/// What a proxy answers.
pub const PAGE: &str = "<html>\n<head><title>Sorry, we are down</title></head></html>";

impl Fault {
    /// The error to answer with; `None` for failures of the connection.
    pub fn error(self, protocol: Protocol, operation: &Operation) -> Option<ApiError> {
        use Protocol::{Cbor, Ec2, Json, Query, RestJson, RestXml};
        let Operation { service, operation, .. } = operation;
        let denied = match self {
            Self::AccessDeniedSaying(words) => words.to_owned(),
            _ => format!("User is not authorized to perform: {service}:{operation}"),
        };
        let fault = match self {
            Self::AccessDeniedSaying(_) => Self::AccessDenied,
            other => other,
        };
        let (status, code, message) = match (fault, protocol) {
            (Self::Throttle, Ec2) => (503, "RequestLimitExceeded", "Request limit exceeded."),
            (Self::Throttle, Query) => (400, "Throttling", "Rate exceeded"),
            (Self::Throttle, RestXml) => (503, "SlowDown", "Please reduce your request rate."),
            (Self::Throttle, Cbor | Json | RestJson) => {
                (400, "ThrottlingException", "Rate exceeded")
            }
            (Self::ServerError, Ec2 | RestXml) => {
                (500, "InternalError", "An internal error has occurred")
            }
            (Self::ServerError, Cbor) => (500, "InternalServiceFault", "An internal error"),
            (Self::ServerError, RestJson) => (500, "InternalServerException", "An internal error"),
            (Self::ServerError, Query | Json) => (500, "InternalFailure", "An internal error"),
            (Self::AccessDenied, Ec2) => (403, "UnauthorizedOperation", denied.as_str()),
            (Self::AccessDenied, Query | RestXml) => (403, "AccessDenied", denied.as_str()),
            (Self::AccessDenied, Cbor | RestJson) => {
                (403, "AccessDeniedException", denied.as_str())
            }
            (Self::AccessDenied, Json) => (400, "AccessDeniedException", denied.as_str()),
            (Self::AuthFailure, Ec2) => {
                (401, "AuthFailure", "AWS was not able to validate the provided access credentials")
            }
            (Self::AuthFailure, Query | Cbor) => (
                403, "InvalidClientTokenId",
                "The security token included in the request is invalid.",
            ),
            (Self::AuthFailure, RestXml) => (
                403,
                "InvalidAccessKeyId",
                "The AWS Access Key Id you provided does not exist in our records.",
            ),
            (Self::AuthFailure, Json) => (
                400, "UnrecognizedClientException",
                "The security token included in the request is invalid.",
            ),
            (Self::AuthFailure, RestJson) => (
                403, "UnrecognizedClientException",
                "The security token included in the request is invalid.",
            ),
            (Self::ExpiredToken, Ec2) => (400, "RequestExpired", "Request has expired."),
            (Self::ExpiredToken, Query | Cbor) => (403, "ExpiredToken", EXPIRED),
            (Self::ExpiredToken, RestXml) => (400, "ExpiredToken", EXPIRED),
            (Self::ExpiredToken, Json) => (400, "ExpiredTokenException", EXPIRED),
            (Self::ExpiredToken, RestJson) => (403, "ExpiredTokenException", EXPIRED),
            (
                Self::AccessDeniedSaying(_)
                | Self::DropConnection
                | Self::Delay(_)
                | Self::Hang
                | Self::SamePage
                | Self::Echo { .. }
                | Self::Page(_)
                | Self::Answer(_)
                | Self::Endless
                | Self::SpoilLaunchOf(_)
                | Self::CutBehind(_),
                _,
            ) => return None,
        };
        Some(ApiError::new(status, code, message))
    }
}

/// A page without results and with a token that is always the same.
pub fn same_page(protocol: Protocol, operation: &Operation) -> Vec<u8> {
    let name = &operation.operation;
    match protocol {
        Protocol::Ec2 => format!(
            "<{name}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">\
             <requestId>again</requestId><nextToken>again</nextToken></{name}Response>"
        )
        .into_bytes(),
        Protocol::Cbor => {
            let mut body = Vec::new();
            let page = std::collections::BTreeMap::from([("NextToken", "again")]);
            ciborium::into_writer(&page, &mut body).expect("a vector takes all");
            body
        }
        Protocol::Json => br#"{"PriceList":[],"NextToken":"again"}"#.to_vec(),
        Protocol::RestJson => br#"{"nextToken":"again"}"#.to_vec(),
        Protocol::Query | Protocol::RestXml => panic!("{name} has no pages here"),
    }
}

const EXPIRED: &str = "The security token included in the request is expired";

/// How long a fault lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// That many attempts, then never again.
    Count(usize),
    Always,
}

/// The calls that a fault befalls.
#[derive(Clone, Debug)]
pub struct Target {
    service: String,
    operation: Option<String>,
    region: Option<String>,
    access_key: Option<String>,
    words: Option<String>,
}

impl Target {
    /// One operation of a service, which goes by its IAM prefix.
    pub fn operation(service: &str, operation: &str) -> Self {
        Self { operation: Some(operation.to_owned()), ..Self::service(service) }
    }

    /// Every operation of a service.
    pub fn service(service: &str) -> Self {
        Self {
            service: service.to_owned(),
            operation: None,
            region: None,
            access_key: None,
            words: None,
        }
    }

    /// Only in this region.
    pub fn in_region(self, region: &str) -> Self {
        let region = Some(region.to_owned());
        Self { region, ..self }
    }

    /// Only for callers with this access key.
    pub fn for_access_key(self, access_key: &str) -> Self {
        let access_key = Some(access_key.to_owned());
        Self { access_key, ..self }
    }

    /// Only requests with these words in the body: what is asked about a region
    /// goes to an endpoint in another one.
    pub fn asking_for(self, words: &str) -> Self {
        let words = Some(words.to_owned());
        Self { words, ..self }
    }

    fn covers(&self, call: &Call) -> bool {
        let agrees = |wanted: &Option<String>, actual: &String| {
            wanted.as_ref().is_none_or(|wanted| wanted == actual)
        };
        self.service == call.operation.service
            && agrees(&self.operation, &call.operation.operation)
            && agrees(&self.region, &call.operation.region)
            && agrees(&self.access_key, &call.access_key)
            && self
                .words
                .as_ref()
                .is_none_or(|words| String::from_utf8_lossy(&call.body).contains(words))
    }
}

/// The rules in force.
#[derive(Default)]
pub struct Faults(Vec<(Target, Fault, Times)>);

impl Faults {
    pub fn add(&mut self, target: Target, fault: Fault, times: Times) {
        self.0.push((target, fault, times));
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The fault for this attempt, which is used up by it.
    pub fn take(&mut self, call: &Call) -> Option<Fault> {
        let (_, fault, times) = self
            .0
            .iter_mut()
            .find(|(target, _, times)| *times != Times::Count(0) && target.covers(call))?;
        if let Times::Count(left) = times {
            *left -= 1;
        }
        Some(*fault)
    }
}
