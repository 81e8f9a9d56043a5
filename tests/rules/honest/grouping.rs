//! Grouping is for reading and changes no verdict.

use super::config;
use super::draft::{Box_, estate_of, fleet};
use crate::rules::builder::audited;
use gpucost::analysis::Audit;
use gpucost::domain::{Money, ResourceId, UsageState};
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

fn states(audit: &Audit) -> BTreeMap<&ResourceId, Option<UsageState>> {
    let members = audit.workloads.iter().flat_map(|workload| &workload.workload.members);
    members.map(|member| (&member.id, member.state)).collect()
}

fn waste(audit: &Audit) -> Decimal {
    audit.totals.monthly_waste.map_or(Decimal::ZERO, Money::amount)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn grouping_changes_no_state_and_hides_no_waste((boxes, bought) in fleet()) {
        let alone: Vec<Box_> = boxes
            .iter()
            .map(|drawn| Box_ { group: None, ..drawn.clone() })
            .collect();
        let (grouped, alone) = (estate_of(&boxes, &bought), estate_of(&alone, &bought));
        let (grouped, alone) = (audited(&grouped), audited(&alone));
        prop_assert_eq!(states(&grouped), states(&alone));
        // Of a training group, one that talks to the others is left to the engineer.
        let trains = grouped
            .workloads
            .iter()
            .any(|workload| workload.workload.kind.name() == "training");
        prop_assert!(trains || waste(&grouped) >= waste(&alone));
        // A group costs what its members cost.
        prop_assert_eq!(grouped.totals.monthly_cost, alone.totals.monthly_cost);
    }

    #[test]
    fn a_stop_takes_idle_members_by_name_and_no_other((boxes, bought) in fleet()) {
        let audit = audited(&estate_of(&boxes, &bought));
        for workload in &audit.workloads {
            let Some(stop) = workload.proposals.stop() else { continue };
            for id in &stop.members {
                let member = workload.workload.members.iter().find(|member| member.id == *id);
                prop_assert!(member.is_some_and(|member| member.is_idle() && member.ignored.is_none()));
            }
        }
    }
}
