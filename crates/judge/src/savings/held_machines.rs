//! Who holds devices of machines on which nothing is computed. An idle time speaks for those
//! alone that held their devices through it, and they are moved before their machine ends.

use crate::domain::{
    Claim, ClaimState, Clusters, Member, Node, Policy, ResourceId, Scheduler, first_names,
};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Machines of clusters with the claims on their devices.
#[derive(Debug)]
pub struct HeldMachines<'a> {
    nodes: BTreeMap<&'a ResourceId, &'a Node>,
    claims: BTreeMap<&'a ResourceId, Vec<&'a Claim>>,
    policy: &'a Policy,
    window_end: Timestamp,
}

impl<'a> HeldMachines<'a> {
    pub fn of(clusters: &'a Clusters, window_end: Timestamp, policy: &'a Policy) -> Self {
        let mut claims: BTreeMap<&ResourceId, Vec<&Claim>> = BTreeMap::new();
        for claim in clusters.claims.iter().filter(|claim| claim.state == ClaimState::Running) {
            if let Some(machine) = &claim.machine {
                claims.entry(machine).or_default().push(claim);
            }
        }
        let nodes = clusters.nodes.iter();
        Self {
            nodes: nodes.map(|node| (&node.machine, node)).collect(),
            claims,
            policy,
            window_end,
        }
    }

    /// Whether somebody has held devices of a machine for less than the days that idleness
    /// takes, up to the end of the window, or for an unknown time.
    pub fn is_taken_lately(&self, machine: &ResourceId) -> bool {
        let grace = self.policy.idle_grace();
        self.claims(machine).iter().any(|claim| {
            let held = claim.since.map(|since| self.window_end.duration_since(since));
            held.is_none_or(|held| held < grace)
        })
    }

    /// What would stop an engineer from ending members: whose savings do not count, and whose
    /// devices are held.
    pub fn caveats(&self, members: &[Member]) -> Vec<String> {
        let is_taken = |member: &&Member| self.is_taken_lately(&member.id);
        let (taken, others): (Vec<&Member>, Vec<&Member>) = members.iter().partition(is_taken);
        let held: Vec<&Member> = others.into_iter().filter(|member| self.is_held(member)).collect();
        let mut caveats = Vec::new();
        if !taken.is_empty() {
            caveats.push(format!(
                "GPUs of {} have been held for less than {} days or for an unknown time, by {}: \
                 the idle time was before that, savings not included",
                ids(&taken),
                self.policy.idle_min_days,
                self.holders(&taken)
            ));
        }
        if !held.is_empty() {
            caveats.push(format!(
                "GPUs of {} are held by {}: drain first",
                ids(&held),
                self.holders(&held)
            ));
        }
        caveats
    }

    /// How those that hold devices of members leave them, before the members end.
    pub fn drain_steps(&self, members: &[&Member]) -> Vec<String> {
        let mut steps = Vec::new();
        for scheduler in Scheduler::ALL {
            let is_own = |member: &&&Member| {
                let node = self.nodes.get(&member.id);
                let own = node.map_or(Scheduler::Kubernetes, |node| node.scheduler);
                own == *scheduler && self.is_held(member)
            };
            let held: Vec<&Member> = members.iter().filter(is_own).copied().collect();
            if held.is_empty() {
                continue;
            }
            let nodes = held.iter().map(|member| {
                let node = self.nodes.get(&member.id);
                node.map_or_else(|| member.id.to_string(), |node| node.name.clone())
            });
            let (nodes, holders) = (listed(nodes.collect()), self.holders(&held));
            steps.push(match scheduler {
                Scheduler::Kubernetes => {
                    format!("cordon and drain {nodes} first: {holders} hold GPUs there")
                }
                Scheduler::Ecs => format!(
                    "set the container instance {nodes} to DRAINING first: {holders} hold GPUs \
                     there"
                ),
            });
        }
        steps
    }

    /// Those who hold devices of members, by name.
    pub fn holders(&self, members: &[&Member]) -> String {
        let claims = members.iter().flat_map(|member| self.claims(&member.id));
        listed(claims.map(|claim| claim.holder.in_words()).collect())
    }

    fn is_held(&self, member: &Member) -> bool {
        !self.claims(&member.id).is_empty()
    }

    fn claims(&self, machine: &ResourceId) -> &[&'a Claim] {
        self.claims.get(machine).map_or(&[], Vec::as_slice)
    }
}

fn ids(members: &[&Member]) -> String {
    listed(members.iter().map(|member| member.id.to_string()).collect())
}

/// Names in order, the first of many.
fn listed(names: BTreeSet<String>) -> String {
    first_names(&Vec::from_iter(names))
}
