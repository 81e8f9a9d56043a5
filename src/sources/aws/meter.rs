//! Counts calls and retries where they happen, so that the report's figures are
//! what went over the wire; and bounds what comes back.

use super::query;
use crate::domain::ApiUsage;
use crate::sources::count_call;
use crate::sources::secrets::Secrets;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    AfterDeserializationInterceptorContextRef, BeforeDeserializationInterceptorContextMut,
    BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use http_body_util::Limited;
use rust_decimal::Decimal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Price of one metric asked for with GetMetricData: USD 0.01 per 1,000.
const USD_PER_METRIC: Decimal = Decimal::from_parts(1, 0, 0, false, 5);

/// Estimated price of asking for a number of metrics, in USD.
pub fn metric_cost_usd(metrics: u64) -> Decimal {
    Decimal::from(metrics) * USD_PER_METRIC
}

/// The largest page that a service sends, 1,000 instances, has a tenth of it.
const MOST_BYTES_OF_AN_ANSWER: usize = 64 << 20;

/// Shared by every client of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    usage: ApiUsage,
    attempts: u64,
    metrics: u64,
    secrets: Secrets,
}

impl Meter {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how many metrics a GetMetricData call asks for.
    pub(super) fn metrics_asked(&self, metrics: usize) {
        self.counts().metrics += metrics as u64;
    }

    /// Counts a call that no SDK client makes.
    pub(super) fn called(&self, action: &str) {
        count_call(&mut self.counts().usage, action);
    }

    /// Counts an attempt of such a call.
    pub(super) fn attempted(&self) {
        self.counts().attempts += 1;
    }

    /// Keeps a value that requests are signed with out of messages.
    pub(super) fn keep_secret(&self, value: &str) {
        self.counts().secrets.add(value);
    }

    /// Makes the call of an action that was made last one attempt more of the one before.
    pub(super) fn is_again(&self, action: &str) {
        let mut counts = self.counts();
        counts.usage.calls = counts.usage.calls.saturating_sub(1);
        if let Some(calls) = counts.usage.by_operation.get_mut(action) {
            *calls = calls.saturating_sub(1);
        }
    }

    /// What requests were signed with so far.
    pub(super) fn secrets(&self) -> Secrets {
        self.counts().secrets.clone()
    }

    pub(super) fn usage(&self) -> ApiUsage {
        let counts = self.counts();
        ApiUsage {
            retries: counts.attempts.saturating_sub(counts.usage.calls),
            estimated_cost_usd: metric_cost_usd(counts.metrics),
            ..counts.usage.clone()
        }
    }
}

impl Intercept for Meter {
    fn name(&self) -> &'static str {
        "Meter"
    }

    // Once a call. Before execution the operation is not known yet: its name
    // arrives with the operation's own settings.
    fn read_before_serialization(
        &self,
        _context: &BeforeSerializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        match bag.load::<Metadata>() {
            Some(metadata) => {
                let service = metadata.service().to_ascii_lowercase();
                self.called(&format!("{service}:{}", metadata.name()));
            }
            None => self.counts().usage.calls += 1,
        }
        Ok(())
    }

    // Before the body is read: an answer has an end.
    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        let body = std::mem::replace(response.body_mut(), SdkBody::taken());
        *response.body_mut() = body.map_preserve_contents(|body| {
            SdkBody::from_body_1_x(Limited::new(body, MOST_BYTES_OF_AN_ANSWER))
        });
        Ok(())
    }

    // The SDK takes the end of a cut document for the end of its lists.
    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(body) = context.response().body().bytes()
            && context.output_or_error().is_ok()
            && is_xml(body)
        {
            query::parsed(std::str::from_utf8(body)?.trim_start())?;
        }
        Ok(())
    }

    // What was signed is in the headers now.
    fn read_after_signing(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(token) = context.request().headers().get("x-amz-security-token") {
            self.counts().secrets.add(token);
        }
        Ok(())
    }

    fn read_before_attempt(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.counts().attempts += 1;
        Ok(())
    }
}

/// Whether an answer is meant to be XML, and not JSON or CBOR.
fn is_xml(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_metrics_cost_a_cent() {
        assert_eq!(metric_cost_usd(1_000), Decimal::new(1, 2));
        assert_eq!(metric_cost_usd(1), Decimal::new(1, 5));
    }
}
