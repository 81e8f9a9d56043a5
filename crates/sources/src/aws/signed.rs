//! Calls of every service but CloudWatch: a JSON document or a form in a signed POST, in the
//! protocols that AWS calls `awsJson1_0`, `awsJson1_1`, `awsQuery`, `ec2Query` and `restJson1`. The
//! few operations are written once here, in place of client crates with thousands. Retries, time
//! limits and the bound of an answer are those of CloudWatch's client.

use super::access::{ATTEMPT_WITHIN, CALL_WITHIN, dns_suffix};
use super::answers::{Part, all_pages, listed, members, parsed, result, text, xml_refusal};
use super::error::{NOT_IN_POLICY, TIMED_OUT, UNREADABLE, kind_of_code, unread};
use super::policy::known_action;
use super::service::{Fields, Service};
use super::session::{RegionClients, Session};
use crate::again::{self, RetryPolicy, seconds_of};
use crate::credentials::{Header, Post, Unsigned};
use crate::domain::{FailureKind, partition};
use crate::error::chain;
use crate::secrets::Secrets;
use crate::{Outcome, SourceError};
use aws_credential_types::Credentials;
use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::service_config::ServiceConfigKey;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use roxmltree::Node;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::error::Category;
use std::time::{Duration, SystemTime};

/// The first pause between the tries of one call; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The largest page of these services has a thousandth of it.
const MOST_BYTES_OF_AN_ANSWER: usize = 64 << 20;

impl Service {
    /// The action of an operation.
    ///
    /// # Errors
    /// When none of the policies allows it.
    fn action(&self, operation: &str) -> Outcome<&'static str> {
        known_action(self.id, operation).ok_or_else(|| SourceError {
            action: None,
            kind: FailureKind::Unsupported,
            code: NOT_IN_POLICY.to_owned(),
            said: format!("{}:{operation}", self.id),
            cause: None,
        })
    }
}

/// What one call sends each time.
struct Call<'a> {
    service: &'a Service,
    action: &'static str,
    region: &'a str,
    url: String,
    headers: Vec<Header>,
    body: String,
}

impl Call<'_> {
    /// The headers that sign it.
    fn signature(
        &self,
        credentials: &Credentials,
        at: SystemTime,
    ) -> Result<Vec<Header>, Unsigned> {
        let Self { service, region, url, body, .. } = self;
        let headers = self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<(&str, &str)> = headers.collect();
        let post = Post { service: service.signing_name, region, url, headers: &headers, body };
        post.signature(credentials, at)
    }

    /// A request that is signed at a time.
    fn request(&self, credentials: &Credentials, at: SystemTime) -> Result<HttpRequest, Unsigned> {
        let mut request = HttpRequest::new(SdkBody::from(self.body.as_str()));
        request.set_method("POST")?;
        request.set_uri(self.url.as_str())?;
        let signature = self.signature(credentials, at)?;
        for (name, value) in self.headers.iter().cloned().chain(signature) {
            request.headers_mut().try_insert(name, value)?;
        }
        Ok(request)
    }
}

/// An attempt without an answer, and whether there is to be another.
type Missed = again::Failed<SourceError>;

impl RegionClients {
    /// Asks a service in the region with a JSON document. Only an action of the policies is
    /// sent.
    ///
    /// # Errors
    /// When the service refuses or does not answer, or the answer cannot be read.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        service: &Service,
        operation: &str,
        body: &Value,
    ) -> Outcome<T> {
        let (action, answer) = self.answer(service, operation, body.to_string()).await?;
        serde_json::from_slice(&answer).map_err(|error| match error.classify() {
            Category::Data => self.session.unreadable(action, &error.to_string()),
            _ => self.session.unread(action, &answer),
        })
    }

    /// Asks a service in the region for everything in a list, which its pages have under a key.
    ///
    /// # Errors
    /// When a page cannot be asked for or read, or there is more than can be.
    pub(super) async fn ask_list<T: DeserializeOwned>(
        &self,
        service: &Service,
        operation: &str,
        key: &str,
        body: Value,
    ) -> Outcome<Vec<T>> {
        let ask = async |body: Value| self.ask::<Value>(service, operation, &body).await;
        listed((service.action(operation)?, key), &service.paging, body, ask).await
    }

    /// Asks a service in the region with the fields of a form. `read` takes the result of its XML.
    /// Only an action of the policies is sent.
    ///
    /// # Errors
    /// When the service refuses or does not answer, or the answer cannot be read.
    pub(super) async fn ask_form<T>(
        &self,
        service: &Service,
        operation: &str,
        fields: &Fields,
        read: impl FnOnce(Node<'_, '_>) -> Result<T, String>,
    ) -> Outcome<T> {
        let body = service.protocol.form(operation, fields);
        let (action, answer) = self.answer(service, operation, body).await?;
        let unread = || self.session.unread(action, &answer);
        let text = str::from_utf8(&answer).map_err(|_| unread())?;
        let document = parsed(text.trim_start()).map_err(|_| unread())?;
        let result = result(&document, operation).ok_or_else(unread)?;
        read(result).map_err(|why| self.session.unreadable(action, &why))
    }

    /// Asks a service in the region with the fields of a form for everything in a list. `read`
    /// takes a member of it.
    ///
    /// # Errors
    /// When a page cannot be asked for or read, or there is more than can be.
    pub(super) async fn ask_members<T>(
        &self,
        service: &Service,
        operation: &str,
        (fields, list): (Fields, &'static str),
        mut read: impl FnMut(Node<'_, '_>) -> Result<T, String>,
    ) -> Outcome<Vec<T>> {
        all_pages(service.action(operation)?, service.paging.most, async |token| {
            let token = token.map(|token| (service.paging.token_key.to_owned(), token));
            let fields = fields.iter().cloned().chain(token).collect();
            let page = |node: Node<'_, '_>| {
                let members: Result<Vec<T>, String> =
                    members(node, &[list]).map(&mut read).collect();
                // EC2 begins the names of an answer in small letters.
                let next = text(node, &["NextToken"]).or_else(|| text(node, &["nextToken"]));
                Ok((members?, next.map(str::to_owned)))
            };
            self.ask_form::<Part<T>>(service, operation, &fields, page).await
        })
        .await
    }

    /// The action of an operation, and what the service answers to it.
    async fn answer(
        &self,
        service: &Service,
        operation: &str,
        body: String,
    ) -> Outcome<(&'static str, Vec<u8>)> {
        let Self { session, region, .. } = self;
        let action = service.action(operation)?;
        let url = session.url_of(service, region, operation);
        let headers = service.protocol.headers(operation);
        let call = Call { service, action, region, url, headers, body };
        Ok((action, session.persistent(action, || session.tried(&call)).await?))
    }
}

impl Session {
    /// An answer that is not in the format of the service.
    fn unread(&self, action: &'static str, answer: &[u8]) -> SourceError {
        let answer = (200, Some(answer));
        unread(action, FailureKind::Unsupported, answer, &self.meter.secrets())
    }

    /// An answer that is not what the service documents.
    pub(super) fn unreadable(&self, action: &'static str, why: &str) -> SourceError {
        SourceError::own(
            action,
            FailureKind::Unsupported,
            UNREADABLE,
            self.meter.secrets().blank(why),
        )
    }

    /// The endpoint that the configuration names, for the service or for all, else that of AWS.
    fn url_of(&self, service: &Service, region: &str, operation: &str) -> String {
        let path = service.protocol.path(operation);
        let key = ServiceConfigKey::builder()
            .service_id(service.sdk_id)
            .env("AWS_ENDPOINT_URL")
            .profile("endpoint_url")
            .build();
        let config = &self.config;
        // A flag outranks what the environment and profiles say of the service.
        let is_by_flag = config.get_origin("endpoint_url").is_client_config();
        let own = key.ok().filter(|_| !is_by_flag);
        let own = own.and_then(|key| config.service_config()?.load_config(key));
        let named = own.as_deref().or(config.endpoint_url());
        let host = || {
            // Hosts of GovCloud have validated ciphers under their usual names.
            let is_fips = config.use_fips() == Some(true) && partition(region) != "aws-us-gov";
            let region_part =
                if is_fips { format!("-fips.{region}") } else { format!(".{region}") };
            let host = service.host.replace(".{region}", &region_part);
            let suffix = match (config.use_dual_stack(), dns_suffix(region)) {
                (Some(true), "amazonaws.com") => "api.aws",
                (_, suffix) => suffix,
            };
            format!("https://{host}.{suffix}")
        };
        let base = named.map_or_else(host, |url| url.trim_end_matches('/').to_owned());
        format!("{base}/{path}")
    }

    /// One call with its attempts.
    async fn tried(&self, call: &Call<'_>) -> Outcome<Vec<u8>> {
        self.limiter.acquire(call.action, call.region).await;
        self.meter.called(call.action);
        let whole = self.config.timeout_config().and_then(TimeoutConfig::operation_timeout);
        let tried = async {
            let mut tries = 1;
            loop {
                let Missed { error, again } = match self.once(call).await {
                    Ok(body) => return Ok(body),
                    Err(missed) => missed,
                };
                match again.pause(tries, FIRST_PAUSE) {
                    Some(pause) if self.paused(pause, error.kind).await => tries += 1,
                    _ => return Err(error),
                }
            }
        };
        let late =
            || SourceError::own(call.action, FailureKind::Unreachable, TIMED_OUT, String::new());
        let answer = tokio::time::timeout(whole.unwrap_or(CALL_WITHIN), tried).await;
        answer.unwrap_or_else(|_| Err(late()))
    }

    async fn once(&self, call: &Call<'_>) -> Result<Vec<u8>, Missed> {
        self.meter.attempted();
        let never = |error| Missed { error, again: RetryPolicy::Never };
        let credentials = self.credentials().await.map_err(never)?;
        self.meter.keep_secret(credentials.session_token().unwrap_or_default());
        let failure = |kind, code: &str, why: &str| {
            SourceError::own(call.action, kind, code, self.meter.secrets().blank(why))
        };
        let request = call.request(&credentials, SystemTime::now()).map_err(|error| {
            never(failure(FailureKind::InvalidSettings, "", &error.to_string()))
        })?;
        // Whatever may pass is tried as often as the SDK's standard mode tries here.
        let broken = |code: &str, why: &str| Missed {
            error: failure(FailureKind::Unreachable, code, why),
            again: RetryPolicy::Later(None),
        };
        let connector = self.connector();
        let exchange = async {
            let answer = connector.call(request).await;
            let response = answer.map_err(|error| broken("", &chain(&error)))?;
            let status = response.status();
            let headers = response.headers();
            let error_type = headers.get("x-amzn-errortype").map(str::to_owned);
            let wait = headers.get("retry-after").and_then(seconds_of);
            let body = Limited::new(response.into_body(), MOST_BYTES_OF_AN_ANSWER);
            let body = body.collect().await.map_err(|error| {
                let again = match error.is::<LengthLimitError>() {
                    true => RetryPolicy::Never,
                    false => RetryPolicy::Later(None),
                };
                let answer = (status.as_u16(), None);
                let kind = FailureKind::Unsupported;
                Missed { error: unread(call.action, kind, answer, &self.meter.secrets()), again }
            })?;
            Ok::<_, Missed>((status, error_type, wait, body.to_bytes().to_vec()))
        };
        let limits = self.config.timeout_config();
        let limit = limits.and_then(TimeoutConfig::operation_attempt_timeout);
        let exchange = tokio::time::timeout(limit.unwrap_or(ATTEMPT_WITHIN), exchange);
        let (status, error_type, wait, body) =
            exchange.await.unwrap_or_else(|_| Err(broken(TIMED_OUT, "")))?;
        if status.is_success() {
            return Ok(body);
        }
        let error = refusal(call.action, status, error_type, &body, &self.meter.secrets());
        let may_pass = status.as_u16() >= 500 || error.kind == FailureKind::Throttled;
        let again = if may_pass { RetryPolicy::Later(wait) } else { RetryPolicy::Never };
        Err(Missed { error, again })
    }
}

/// What a service says of a call that it does not carry out.
fn refusal(
    action: &'static str,
    status: StatusCode,
    error_type: Option<String>,
    body: &[u8],
    secrets: &Secrets,
) -> SourceError {
    let said: Option<Value> = serde_json::from_slice(body).ok();
    let text = |key: &str| Some(said.as_ref()?.get(key)?.as_str()?.to_owned());
    let named = error_type.or_else(|| text("__type")).map(|code| {
        let words = text("message").or_else(|| text("Message"));
        (code_of(&code).to_owned(), words)
    });
    if let Some((code, words)) = named.or_else(|| xml_refusal(body)) {
        let words = secrets.blank(words.as_deref().unwrap_or("no message"));
        return SourceError::own(action, kind_of_code(&code), &secrets.blank(&code), words);
    }
    let kind = match status.as_u16() {
        429 => FailureKind::Throttled,
        500.. => FailureKind::Other,
        _ => FailureKind::Unsupported,
    };
    unread(action, kind, (status.as_u16(), Some(body)), secrets)
}

/// The code of an error without what services write around it: a namespace before it, and
/// an address behind it.
fn code_of(text: &str) -> &str {
    let name = text.rsplit_once('#').map_or(text, |(_, name)| name);
    name.split_once(':').map_or(name, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::batch::BATCH;
    use crate::aws::commitments::SAVINGS_PLANS;
    use crate::aws::organization::ORGANIZATIONS as SERVICE;
    use crate::aws::prices::PRICING;
    use crate::aws::scaling::AUTO_SCALING;
    use crate::aws::service::{EC2, STS, numbered};
    use crate::aws::session::{Notice, Patience};
    use aws_config::SdkConfig;
    use aws_types::origin::Origin;
    use aws_types::service_config::LoadServiceConfig;
    use std::time::Instant;

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
            headers: SERVICE.protocol.headers("ListAccounts"),
            body: body.to_owned(),
        };
        let mut headers = call.signature(&credentials, at()).expect("it can be signed");
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
        let names = numbered("AutoScalingGroupNames.member", &["a b"]);
        let call = Call {
            service: &AUTO_SCALING,
            action: ACTION,
            region: "us-east-1",
            url: "https://autoscaling.us-east-1.amazonaws.com/".to_owned(),
            headers: AUTO_SCALING.protocol.headers("DescribeAutoScalingGroups"),
            body: AUTO_SCALING.protocol.form("DescribeAutoScalingGroups", &names),
        };
        let form = "Action=DescribeAutoScalingGroups&Version=2011-01-01\
                    &AutoScalingGroupNames.member.1=a+b";
        assert_eq!(call.body, form);
        let credentials = Credentials::new("AKIDEXAMPLE", SECRET, None, None, "tests");
        let mut headers = call.signature(&credentials, at()).expect("it can be signed");
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

    fn of(config: SdkConfig, service: &Service, region: &str, operation: &str) -> String {
        let patience = Patience { until: Instant::now(), notice: Notice::default() };
        Session::of(config, patience).url_of(service, region, operation)
    }

    /// Variables of the environment, by the names of services.
    #[derive(Debug)]
    struct Variables;

    impl LoadServiceConfig for Variables {
        fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
            (key.service_id() == "Auto Scaling").then(|| "http://groups".to_owned())
        }
    }

    #[test]
    fn an_endpoint_of_a_service_outranks_that_of_all_and_a_flag_both() {
        let all = || SdkConfig::builder().endpoint_url("http://all").service_config(Variables);
        let url = |service| of(all().build(), service, "us-east-1", "");
        assert_eq!(url(&AUTO_SCALING), "http://groups/");
        assert_eq!(url(&EC2), "http://all/");
        let mut flag = all();
        flag.insert_origin("endpoint_url", Origin::shared_config());
        assert_eq!(of(flag.build(), &AUTO_SCALING, "us-east-1", ""), "http://all/");
    }

    #[test]
    fn hosts_are_those_of_the_services_of_a_region() {
        let usual = || SdkConfig::builder().build();
        let url = |service, region, operation| of(usual(), service, region, operation);
        assert_eq!(
            url(&EC2, "eu-west-1", "DescribeRegions"),
            "https://ec2.eu-west-1.amazonaws.com/"
        );
        assert_eq!(url(&STS, "cn-north-1", ""), "https://sts.cn-north-1.amazonaws.com.cn/");
        let price_list = "https://api.pricing.us-east-1.amazonaws.com/";
        assert_eq!(url(&PRICING, "us-east-1", "GetProducts"), price_list);
        let plans = "https://savingsplans.amazonaws.com/DescribeSavingsPlans";
        assert_eq!(url(&SAVINGS_PLANS, "us-east-1", "DescribeSavingsPlans"), plans);
        let path = "https://batch.us-east-1.amazonaws.com/v1/describejobqueues";
        assert_eq!(url(&BATCH, "us-east-1", "DescribeJobQueues"), path);
        let fips = || SdkConfig::builder().use_fips(true).use_dual_stack(true).build();
        assert_eq!(of(fips(), &EC2, "us-west-2", ""), "https://ec2-fips.us-west-2.api.aws/");
        assert_eq!(of(fips(), &EC2, "us-gov-west-1", ""), "https://ec2.us-gov-west-1.api.aws/");
        let named = SdkConfig::builder().endpoint_url("http://127.0.0.1:1/").build();
        assert_eq!(of(named, &EC2, "us-west-2", ""), "http://127.0.0.1:1/");
    }

    /// What a refusal amounts to: its kind, its code and its words.
    fn refused(status: u16, error_type: Option<&str>, body: &str) -> (FailureKind, String, String) {
        let status = StatusCode::try_from(status).expect("a status");
        let error_type = error_type.map(str::to_owned);
        let error = refusal(ACTION, status, error_type, body.as_bytes(), &Secrets::default());
        assert_eq!(error.action, Some(ACTION));
        (error.kind, error.code, error.said)
    }

    #[test]
    fn refusals_are_sorted_by_their_code_wherever_it_stands() {
        let denied =
            r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}"#;
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
}
