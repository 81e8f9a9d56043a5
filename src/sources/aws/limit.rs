//! A token bucket for each service and region. The SDK's adaptive mode waits a
//! quarter of a minute a call after one throttle; a steady rate below the
//! published limits with standard retries behaves better.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

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

/// Buckets by service and region.
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
