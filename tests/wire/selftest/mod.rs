//! Tests of the loopback endpoint itself, through the real SDK clients: what
//! the other tests conclude from its answers rests on these.

mod cloudwatch;
mod ec2;
mod faults;
mod forwarding;
mod pricing;
mod savings_plans;
