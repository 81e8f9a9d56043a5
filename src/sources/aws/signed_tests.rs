use super::*;
use crate::sources::aws::organization::ORGANIZATIONS as SERVICE;
use crate::sources::aws::scaling::AUTO_SCALING;

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const ACTION: &str = "organizations:ListAccounts";

/// 2026-11-15T08:30:00Z
fn at() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_731_400)
}

fn signed(token: Option<&str>, region: &str, url: &str, body: &str) -> Vec<Header> {
    let token = token.map(str::to_owned);
    let credentials = Credentials::new("AKIDEXAMPLE", SECRET, token, None, "tests");
    let call = Call {
        service: &SERVICE,
        action: ACTION,
        region,
        url: url.to_owned(),
        target: SERVICE.protocol.target("ListAccounts"),
        body: body.to_owned(),
    };
    let mut headers = signature(&call, &credentials, at()).expect("it can be signed");
    headers.sort();
    headers
}

// The signatures of `botocore.auth.SigV4Auth` (botocore 1.44.5) with its clock set to that
// time, on `AWSRequest("POST", URL, data=BODY, headers={"Content-Type": …,
// "X-Amz-Target": …})`.
#[test]
fn a_call_has_the_signature_that_botocore_gives_it() {
    let expected = "AWS4-HMAC-SHA256 \
                    Credential=AKIDEXAMPLE/20261115/us-east-1/organizations/aws4_request, \
                    SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
                    Signature=\
                    bad1b55a11f1956ad555dc9f03b9b7c3010553f6dc358af3ec9d6acf39f90e7e";
    let expected =
        [("authorization", expected.to_owned()), ("x-amz-date", "20261115T083000Z".to_owned())];
    let url = "https://organizations.us-east-1.amazonaws.com/";
    let headers = signed(None, "us-east-1", url, r#"{"MaxResults":20}"#);
    assert_eq!(headers, expected);
}

#[test]
fn a_session_token_is_sent_and_signed() {
    let expected = "AWS4-HMAC-SHA256 \
                    Credential=AKIDEXAMPLE/20261115/cn-northwest-1/organizations/aws4_request, \
                    SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, \
                    Signature=\
                    fffc10fc60c1a40ab26221330620daac58edf2143a9fada545d68cd819e54cba";
    let expected = [
        ("authorization", expected.to_owned()),
        ("x-amz-date", "20261115T083000Z".to_owned()),
        ("x-amz-security-token", "a-session-token".to_owned()),
    ];
    let url = "https://organizations.cn-northwest-1.amazonaws.com.cn/";
    let body = r#"{"MaxResults":20,"NextToken":"t"}"#;
    let headers = signed(Some("a-session-token"), "cn-northwest-1", url, body);
    assert_eq!(headers, expected);
}

#[test]
fn a_form_is_signed_without_a_target() {
    let name = ("AutoScalingGroupNames.member.1".to_owned(), "a b".to_owned());
    let call = Call {
        service: &AUTO_SCALING,
        action: ACTION,
        region: "us-east-1",
        url: "https://autoscaling.us-east-1.amazonaws.com/".to_owned(),
        target: AUTO_SCALING.protocol.target("DescribeAutoScalingGroups"),
        body: AUTO_SCALING.protocol.form("DescribeAutoScalingGroups", &[name]),
    };
    let form = "Action=DescribeAutoScalingGroups&Version=2011-01-01\
                &AutoScalingGroupNames.member.1=a+b";
    assert_eq!(call.body, form);
    let credentials = Credentials::new("AKIDEXAMPLE", SECRET, None, None, "tests");
    let mut headers = signature(&call, &credentials, at()).expect("it can be signed");
    headers.sort();
    let expected = "AWS4-HMAC-SHA256 \
                    Credential=AKIDEXAMPLE/20261115/us-east-1/autoscaling/aws4_request, \
                    SignedHeaders=content-type;host;x-amz-date, \
                    Signature=\
                    63c4e0315dbf56f8d4ec03787d3e1f648129cfb62c04777c03b48d622ac1bc29";
    let expected =
        [("authorization", expected.to_owned()), ("x-amz-date", "20261115T083000Z".to_owned())];
    assert_eq!(headers, expected);
}

/// What a refusal amounts to: its kind, its code and its words.
fn refused(status: u16, error_type: Option<&str>, body: &str) -> (FailureKind, String, String) {
    let status = StatusCode::try_from(status).expect("a status");
    let error_type = error_type.map(str::to_owned);
    let failed = refusal(ACTION, status, error_type, body.as_bytes().to_vec(), &Secrets::default());
    assert_eq!(failed.error.action, Some(ACTION));
    (failed.error.kind, failed.error.code, failed.error.said)
}

#[test]
fn refusals_are_sorted_by_their_code_wherever_it_stands() {
    let denied = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}"#;
    let expected = (FailureKind::Denied, "AccessDeniedException".to_owned(), "no".to_owned());
    assert_eq!(refused(400, None, denied), expected);
    let header = Some("AccessDeniedException:http://internal.amazon.com/coral/");
    assert_eq!(refused(403, header, r#"{"message":"no"}"#), expected);
    let (kind, code, said) = refused(400, Some("TooManyRequestsException"), "");
    assert_eq!(kind, FailureKind::Throttled);
    assert_eq!((code.as_str(), said.as_str()), ("TooManyRequestsException", "no message"));
    let denied = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error>\
                  </ErrorResponse>";
    let expected = (FailureKind::Denied, "AccessDenied".to_owned(), "no".to_owned());
    assert_eq!(refused(403, None, denied), expected);
    let expired = r#"{"__type":"ExpiredTokenException"}"#;
    assert_eq!(refused(400, None, expired).0, FailureKind::ExpiredCredentials);
}

#[test]
fn a_page_in_between_shows_how_it_begins() {
    let (kind, code, said) = refused(404, None, "<html>\n <p>down</p>");
    assert_eq!((kind, code.as_str()), (FailureKind::Unsupported, UNREADABLE));
    assert_eq!(said, "status 404, begins with `<html> <p>down</p>`");
    assert_eq!(refused(429, None, "").0, FailureKind::Throttled);
    assert_eq!(refused(503, None, "").0, FailureKind::Other);
}
