//! AWS error answers, in the shape of each wire protocol.

use http_body_util::{BodyExt, Full};
use hyper::Response;

use super::cbor;
use super::form::escape_xml;

pub use crate::support::http::Reply;

/// How a service talks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Smithy RPC v2 CBOR: CloudWatch.
    Cbor,
    /// AWS JSON 1.1: the Price List service.
    Json,
    /// JSON over REST: Savings Plans.
    RestJson,
    /// EC2's variant of the query protocol.
    Ec2,
    /// The query protocol proper: STS, Auto Scaling.
    Query,
    /// XML over REST: S3.
    RestXml,
}

impl Protocol {
    fn content_type(self) -> &'static str {
        match self {
            Self::Cbor => "application/cbor",
            Self::Json => "application/x-amz-json-1.1",
            Self::RestJson => "application/json",
            Self::RestXml => "application/xml",
            Self::Ec2 | Self::Query => "text/xml;charset=UTF-8",
        }
    }

    /// A successful answer.
    pub fn ok(self, body: Vec<u8>) -> Reply {
        self.reply(200, body)
    }

    /// An answer with a status.
    pub fn reply(self, status: u16, body: Vec<u8>) -> Reply {
        let mut reply = Response::builder()
            .status(status)
            .header("content-type", self.content_type())
            .header("x-amzn-requestid", REQUEST_ID);
        if self == Self::Cbor {
            // The SDK rejects a CBOR answer without it.
            reply = reply.header("smithy-protocol", "rpc-v2-cbor");
        }
        reply.body(Full::from(body).boxed()).expect("status and headers are valid")
    }
}

/// Requests are distinguished by the counters, not by their ids.
const REQUEST_ID: &str = "00000000-0000-4000-8000-000000000000";

/// An error as AWS reports it.
#[derive(Debug)]
pub struct ApiError {
    status: u16,
    code: &'static str,
    message: String,
}

impl ApiError {
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// Refuses what neither this endpoint nor moto implements. A client
    /// error, because the SDK retries server errors.
    pub fn invalid_action(what: &str) -> Self {
        Self::new(400, "InvalidAction", format!("the loopback endpoint does not implement {what}"))
    }

    /// Refuses a parameter, as CloudWatch words it.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(400, "ValidationError", message)
    }

    pub fn render(&self, protocol: Protocol) -> Reply {
        let mut reply = protocol.reply(self.status, self.body(protocol));
        if protocol == Protocol::Cbor {
            // CloudWatch once spoke the query protocol: the code that clients
            // of that time know travels in this header.
            let value = format!("{};{}", self.code, self.side())
                .parse()
                .expect("an error code is a valid header value");
            reply.headers_mut().insert("x-amzn-query-error", value);
        }
        if protocol == Protocol::RestJson {
            let code = self.code.parse().expect("a code is a valid header value");
            reply.headers_mut().insert("x-amzn-errortype", code);
        }
        reply
    }

    /// Whose fault it is, in the words of the query protocol.
    fn side(&self) -> &'static str {
        if self.status < 500 { "Sender" } else { "Receiver" }
    }

    fn body(&self, protocol: Protocol) -> Vec<u8> {
        let Self { code, message, .. } = self;
        match protocol {
            Protocol::Cbor => {
                let mut body = cbor::Writer::default();
                body.map(2);
                body.text("__type");
                body.text(&format!("com.amazonaws.cloudwatch#{code}"));
                body.text("message");
                body.text(message);
                body.into_bytes()
            }
            Protocol::Json => {
                let body = serde_json::json!({ "__type": code, "message": message });
                body.to_string().into_bytes()
            }
            Protocol::RestJson => {
                let body = serde_json::json!({ "message": message });
                body.to_string().into_bytes()
            }
            Protocol::Ec2 => format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>\
                 <Code>{code}</Code><Message>{}</Message></Error></Errors>\
                 <RequestID>{REQUEST_ID}</RequestID></Response>",
                escape_xml(message)
            )
            .into_bytes(),
            Protocol::RestXml => format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code>\
                 <Message>{}</Message><RequestId>{REQUEST_ID}</RequestId></Error>",
                escape_xml(message)
            )
            .into_bytes(),
            Protocol::Query => format!(
                "<ErrorResponse><Error><Type>{}</Type><Code>{code}</Code>\
                 <Message>{}</Message></Error><RequestId>{REQUEST_ID}</RequestId></ErrorResponse>",
                self.side(),
                escape_xml(message)
            )
            .into_bytes(),
        }
    }
}
