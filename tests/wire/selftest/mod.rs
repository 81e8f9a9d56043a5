//! Tests of the loopback endpoint itself, through official SDKs: what
//! the other tests conclude from its answers rests on these.

mod cloudwatch;
mod ec2;
mod faults;
mod forwarding;
mod pricing;
mod savings_plans;
