//! Counts calls and retries where they happen, so that the report's figures are what went over
//! the wire; and bounds what comes back, and how many calls a second go to a service in a region.

use crate::count_call;
use crate::domain::ApiUsage;
use crate::secrets::Secrets;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeDeserializationInterceptorContextMut, BeforeSerializationInterceptorContextRef,
    BeforeTransmitInterceptorContextRef,
};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::ConfigBag;
use http_body_util::Limited;
use rust_decimal::Decimal;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

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

/// A rate below the published limit of a service.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rate {
    /// Calls a second in the long run.
    per_second: f64,
    /// Calls at once after a pause.
    burst: f64,
}

impl Rate {
    /// That of a service, by the prefix of its actions; absent for one that is called once.
    fn of(service: &str) -> Option<Self> {
        let (per_second, burst) = match service {
            "sts" => return None,
            // Describe calls: 20 a second, 100 at once.
            "ec2" => (15.0, 50.0),
            // ListMetrics 25 a second, GetMetricData 50.
            "cloudwatch" => (20.0, 20.0),
            // The price list has no published limit.
            "pricing" => (10.0, 10.0),
            // Services that are asked for a few lists. ListAccounts may be called 8 times a
            // second; the savings plans have no published limit.
            _ => (5.0, 5.0),
        };
        Some(Self { per_second, burst })
    }
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

/// A token bucket for each service and region. The SDK's adaptive mode waits a quarter of a minute
/// a call after one throttle; a steady rate below the published limits with standard retries
/// behaves better.
#[derive(Debug, Default)]
pub(super) struct RateLimiter {
    buckets: Mutex<HashMap<(&'static str, String), Bucket>>,
}

impl RateLimiter {
    /// Waits until the call of an action in a region is due.
    pub(super) async fn acquire(&self, action: &'static str, region: &str) {
        let service = action.split_once(':').map_or(action, |(service, _)| service);
        let Some(rate) = Rate::of(service) else { return };
        let wait = self.reserve(service, region, rate, Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes a token, on credit if need be, and says how long to wait for it.
    fn reserve(&self, service: &'static str, region: &str, rate: Rate, now: Instant) -> Duration {
        let buckets = self.buckets.lock();
        let mut buckets = buckets.unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets
            .entry((service, region.to_owned()))
            .or_insert(Bucket { tokens: rate.burst, filled: now });
        let elapsed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.tokens = (bucket.tokens + elapsed * rate.per_second).min(rate.burst) - 1.0;
        bucket.filled = now;
        if bucket.tokens >= 0.0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(-bucket.tokens / rate.per_second)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_metrics_cost_a_cent() {
        assert_eq!(metric_cost_usd(1_000), Decimal::new(1, 2));
        assert_eq!(metric_cost_usd(1), Decimal::new(1, 5));
    }

    #[test]
    fn a_burst_is_free_and_then_calls_are_spaced() {
        let limiter = RateLimiter::default();
        let rate = Rate { per_second: 10.0, burst: 3.0 };
        let now = Instant::now();
        let waits: Vec<u128> =
            (0..5).map(|_| limiter.reserve("ec2", "us-east-1", rate, now).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200]);
        let elsewhere = limiter.reserve("ec2", "eu-west-1", rate, now);
        assert_eq!(elsewhere, Duration::ZERO);
        let later = now + Duration::from_secs(10);
        assert_eq!(limiter.reserve("ec2", "us-east-1", rate, later), Duration::ZERO);
    }
}
