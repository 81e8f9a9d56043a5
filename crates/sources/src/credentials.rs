//! What proves who asks: SigV4 signatures of requests that no SDK crate sends, which are those of
//! AWS services without one here and of the Prometheus endpoints of Amazon, and the output of
//! programs that give credentials.

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SigningParams, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use std::error::Error;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::SystemTime;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// A header that this program sets.
pub(super) type Header = (&'static str, String);

/// Why a request cannot be signed.
pub(super) type Unsigned = Box<dyn Error + Send + Sync>;

/// A POST to a service in a region.
pub(super) struct Post<'a> {
    pub service: &'a str,
    pub region: &'a str,
    pub url: &'a str,
    /// Headers that are signed beside the host and the time, and must be sent as they are.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a str,
}

impl Post<'_> {
    /// The headers that sign it at a time.
    ///
    /// # Errors
    /// When the URL or the credentials cannot be part of a request.
    pub(super) fn signature(
        &self,
        credentials: &Credentials,
        at: SystemTime,
    ) -> Result<Vec<Header>, Unsigned> {
        let identity: Identity = credentials.clone().into();
        let params: SigningParams<'_> = v4::SigningParams::builder()
            .identity(&identity)
            .region(self.region)
            .name(self.service)
            .time(at)
            .settings(SigningSettings::default())
            .build()?
            .into();
        let request = SignableRequest::new(
            "POST",
            self.url,
            self.headers.iter().copied(),
            SignableBody::Bytes(self.body.as_bytes()),
        )?;
        let (instructions, _signature) = sign(request, &params)?.into_parts();
        let (headers, _query) = instructions.into_parts();
        Ok(headers.iter().map(|header| (header.name(), header.value().to_owned())).collect())
    }
}

/// How the output of a program that gives credentials begins, at most so many bytes, and how the program ends. It ends
/// with whoever waits for it.
pub(super) async fn output(
    program: &mut Command,
    most_bytes: u64,
) -> io::Result<(Vec<u8>, ExitStatus)> {
    let mut child = program.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(most_bytes).read_to_end(&mut text).await?;
    }
    Ok((text, child.wait().await?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const URL: &str =
        "https://aps-workspaces.us-east-1.amazonaws.com/workspaces/ws-1/api/v1/query_range";
    const BODY: &str = "query=max+by+%28UUID%29+%28DCGM_FI_DEV_GPU_UTIL%29&start=1793491200.000\
                        &end=1794700800.000&step=300";

    const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

    fn signed_with(token: Option<&str>, service: &str) -> Vec<Header> {
        let token = token.map(str::to_owned);
        let credentials = Credentials::new("AKIDEXAMPLE", SECRET, token, None, "tests");
        let post = Post { service, region: "us-east-1", url: URL, headers: &[FORM], body: BODY };
        // 2026-11-15T08:30:00Z
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_794_731_400);
        let mut headers = post.signature(&credentials, at).expect("it can be signed");
        headers.sort();
        headers
    }

    // The signatures of `botocore.auth.SigV4Auth` (botocore 1.43.11) with its clock set to
    // that time, on `AWSRequest("POST", URL, data=BODY, headers={"Content-Type": …})`. The
    // five lines of HMAC of the AWS documentation, in Python, give the same.
    #[test]
    fn a_form_has_the_signature_that_botocore_gives_it() {
        let expected = "AWS4-HMAC-SHA256 \
                        Credential=AKIDEXAMPLE/20261115/us-east-1/aps/aws4_request, \
                        SignedHeaders=content-type;host;x-amz-date, \
                        Signature=\
                        d8476db3dd044f689684d4eeb820847da9184a3d8e91a7153e055baf619b0f07";
        let expected =
            [("authorization", expected.to_owned()), ("x-amz-date", "20261115T083000Z".to_owned())];
        assert_eq!(signed_with(None, "aps"), expected);
    }

    #[test]
    fn a_session_token_is_sent_and_signed() {
        let expected = "AWS4-HMAC-SHA256 \
                        Credential=AKIDEXAMPLE/20261115/us-east-1/monitoring/aws4_request, \
                        SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, \
                        Signature=\
                        5641d3c8dc5fed8ea07b98529afa050ed389d437474e39f7643bdb3730f25814";
        let expected = [
            ("authorization", expected.to_owned()),
            ("x-amz-date", "20261115T083000Z".to_owned()),
            ("x-amz-security-token", "a-session-token".to_owned()),
        ];
        assert_eq!(signed_with(Some("a-session-token"), "monitoring"), expected);
    }
}
