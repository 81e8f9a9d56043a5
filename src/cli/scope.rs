//! What of an estate is evaluated, and the flags that say so.

use super::args::{EstateArgs, MetricsSource, Resolution};
use super::choices::name_of;
use super::demo::DemoChoice;
use super::{Outcome, refusal, refused};
use crate::domain::{
    Instance, PurchaseOption, ResourceId, Risk, TagFilter, nearest_names, region_of,
};
use crate::report::Invocation;
use crate::sources::files::Demo;
use crate::sources::store::Place;
use crate::usage::Estate;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Which instances a command reads.
#[derive(Debug)]
pub(super) struct Scope {
    /// Recorded regions to keep; `None` for all.
    regions: Option<BTreeSet<String>>,
    /// Recorded accounts to keep; empty for all.
    accounts: BTreeSet<String>,
    /// Tags that select instances.
    tags: Vec<TagFilter>,
}

impl Scope {
    /// Reads the flags; `--region` and `--account` select in what was recorded only, because
    /// they are all that is read of what is live.
    pub(super) fn of(args: &EstateArgs) -> Outcome<Self> {
        let is_recorded = args.demo.is_some() || args.from.is_some();
        // A cluster is not asked for regions either.
        let is_whole = is_recorded || args.kubernetes.is_given();
        let names = args.aws.region.as_deref().filter(|_| is_whole);
        let accounts = args.organization.account.iter().filter(|_| is_recorded);
        Ok(Self {
            accounts: accounts.cloned().collect(),
            regions: names.map(regions).transpose()?.flatten().map(BTreeSet::from_iter),
            tags: [tags("--tag", &args.tag)?, tags("--exclude-tag", &args.exclude_tag)?].concat(),
        })
    }

    /// Fails where one of several names matches nothing that was read: the others would answer for
    /// it. A scope that is empty altogether is told by what it leaves.
    pub(super) fn check(&self, estate: &Estate) -> Outcome<()> {
        let instances = || estate.instances.iter();
        let regions = instances().map(|instance| &instance.region).chain(&estate.regions);
        let accounts = instances().map(|instance| &instance.account).chain(&estate.accounts);
        one_of_several("--region", self.regions.iter().flatten(), regions.collect())?;
        one_of_several("--account", self.accounts.iter(), accounts.collect())
    }

    /// Drops what is out of scope, with its series and gaps. What commitments may
    /// pay for stays beside the instances as far as that needs it: an hour that
    /// they give to one instance they do not give to another.
    pub(super) fn keep(&self, estate: &mut Estate) {
        let of_region = |name: &str| self.regions.as_ref().is_none_or(|r| r.contains(name));
        let of_account = |id: &str| self.accounts.is_empty() || self.accounts.contains(id);
        let mut dropped = BTreeSet::new();
        estate.regions.retain(|region| of_region(region));
        let (kept, others): (Vec<String>, _) =
            std::mem::take(&mut estate.accounts).into_iter().partition(|id| of_account(id));
        estate.accounts = kept;
        dropped.extend(others);
        estate.commitments.retain_accounts(of_account);
        estate.commitments.retain_regions(of_region);
        estate.tag_filters.extend_from_slice(&self.tags);
        estate.tag_filters.sort();
        estate.tag_filters.dedup();
        let owned = &estate.commitments;
        let may_be_paid_for = |instance: &Instance| {
            of_region(&instance.region)
                && instance.purchase_option() == PurchaseOption::OnDemand
                && !(owned.reserved_instances.is_empty() && owned.savings_plans.is_empty())
        };
        let mut out_of_scope = std::mem::take(&mut estate.out_of_scope);
        estate.instances.retain(|instance| {
            let kept = of_region(&instance.region)
                && of_account(&instance.account)
                && self.tags.iter().all(|filter| filter.keeps(&instance.tags));
            if !kept {
                dropped.insert(instance.id.to_string());
                out_of_scope.push(anonymous(instance));
            }
            kept
        });
        let is_dropped = |id: &ResourceId| dropped.contains(id.as_str());
        estate.profiles.retain(|run| !is_dropped(&run.instance));
        let clusters = &mut estate.clusters;
        clusters.nodes.retain(|node| !is_dropped(&node.machine));
        clusters.claims.retain(|claim| !claim.machine.as_ref().is_some_and(is_dropped));
        clusters.uses.retain(|gpu_use| !is_dropped(&gpu_use.machine));
        estate.jobs.retain(|job| of_region(&job.region) && of_account(&job.account));
        estate.managed.plans.retain(|plan| of_region(&plan.region) && of_account(&plan.account));
        let instances = &estate.instances;
        estate.managed.hosts.retain(|host| instances.iter().any(|instance| host.has(instance)));
        estate.scaling_groups.retain(|group| instances.iter().any(|instance| group.has(instance)));
        let opinions = std::mem::take(&mut estate.opinions).into_iter();
        let kept = opinions.filter_map(|opinion| opinion.keeping(|id| !is_dropped(id)));
        estate.opinions = kept.collect();
        out_of_scope.retain(may_be_paid_for);
        let kept: BTreeSet<String> =
            estate.instances.iter().map(|instance| instance.id.to_string()).collect();
        let beside: BTreeSet<String> =
            out_of_scope.iter().map(|instance| instance.id.to_string()).collect();
        estate.out_of_scope = out_of_scope;
        let is_beside = |id: &ResourceId| beside.contains(id.as_str());
        let is_kept = |id: &ResourceId| kept.contains(id.as_str());
        estate.usage.retain(|id| is_kept(id) || is_beside(id));
        estate.usage.keep_running(is_beside);
        estate.metrics.retain(|series| {
            let id = &series.instance;
            is_kept(id) || is_beside(id) && series.shows_running()
        });
        estate.gaps.retain(|gap| {
            let region = region_of(&gap.place);
            let elsewhere = is_region(region) && !of_region(region);
            let account = gap.place.split('/').next().unwrap_or_default();
            !elsewhere && !dropped.contains(&gap.place) && !dropped.contains(account)
        });
    }
}

/// What of an instance decides which commitments pay for it, and nothing about
/// whose it is.
fn anonymous(instance: &Instance) -> Instance {
    Instance {
        tags: BTreeMap::new(),
        auto_scaling_group: None,
        private_dns_name: None,
        capacity_reservation_id: None,
        volumes: Vec::new(),
        addresses: Vec::new(),
        ..instance.clone()
    }
}

/// Whether a word is a region's name, such as `us-gov-west-1` or `eusc-de-east-1`: a gap
/// names the place where it was met, which can be a region or a thing in it.
pub(super) fn is_region(place: &str) -> bool {
    let parts: Vec<&str> = place.split('-').collect();
    let [area, middle @ .., number] = parts.as_slice() else { return false };
    let is_word = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase());
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    (area.len() == 2 || *area == "eusc")
        && is_number
        && !middle.is_empty()
        && is_word(area)
        && middle.iter().all(is_word)
}

fn one_of_several<'a>(
    flag: &str,
    asked: impl Iterator<Item = &'a String>,
    known: BTreeSet<&'a String>,
) -> Outcome<()> {
    let (matched, missing): (Vec<_>, Vec<_>) = asked.partition(|name| known.contains(name));
    let Some(name) = missing.first().filter(|_| !matched.is_empty()) else { return Ok(()) };
    let nearest = nearest_names(name, known.into_iter().map(String::as_str));
    let instead = nearest.first().map_or_else(
        || format!("leave it out of `{flag}`, or pass `--allow-empty`"),
        |near| format!("did you mean {near}? `--allow-empty` accepts that nothing was read of it"),
    );
    Err(refusal!("`{flag} {name}`: nothing was read of it"; "{instead}"))
}

/// Names of regions separated by commas; `None` for `all`.
pub(super) fn regions(names: &str) -> Outcome<Option<Vec<String>>> {
    if names == "all" {
        return Ok(None);
    }
    let is_name = |name: &String| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
    match names.iter().find(|name| !is_name(name)) {
        Some(bad) => Err(refusal!("`{bad}` is not a region name";
            "use `--region us-east-1,eu-west-1`, or `--region all`")),
        None => Ok(Some(names)),
    }
}

fn tags(flag: &str, texts: &[String]) -> Outcome<Vec<TagFilter>> {
    let tag = |text: &String| {
        text.split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .map(|(key, value)| TagFilter {
                key: key.to_owned(),
                value: value.to_owned(),
                is_excluded: flag == "--exclude-tag",
            })
            .ok_or_else(refused!("`{flag} {text}` is not in the form KEY=VALUE";
                "pass a key and a value, such as `{flag} team=search`"))
    };
    texts.iter().map(tag).collect()
}

/// The flags that led to a report, for the commands that it advises. A report
/// that is redacted leaves the house: what the user typed is not shown in it.
pub(super) fn invocation(args: &EstateArgs, risk: Option<Risk>) -> Invocation {
    let mut scope = Words::new(args.redact);
    let demo = args.demo.map(DemoChoice::demo);
    // Without a name it says the same.
    scope.flag("--demo", demo == Some(Demo::Starter));
    let named_demo = demo.filter(|demo| *demo != Demo::Starter);
    scope.open("--demo", named_demo.map(|demo| demo.name().to_owned()));
    let path = |path: &PathBuf| path.to_string_lossy().into_owned();
    scope.named("--config", args.out.config.as_ref().map(path), "FILE");
    scope.named("--from", args.from.as_ref().map(path), "FILE");
    let cluster = &args.kubernetes;
    scope.flag("--kubernetes", cluster.kubernetes);
    scope.named("--context", cluster.context.clone(), "NAME");
    scope.named("--from-kubectl", joined(cluster.from_kubectl.iter().map(path)), "FILE");
    scope.flag("--with-aws", cluster.with_aws);
    scope.named("--profile-data", args.profile_data.iter().map(path), "FILE");
    scope.named("--commitments", args.commitments.as_ref().map(path), "FILE");
    let aws = &args.aws;
    scope.named("--profile", aws.profile.clone(), "NAME");
    scope.open("--region", aws.region.clone());
    scope.named("--endpoint-url", aws.endpoint_url.clone(), "URL");
    let organization = &args.organization;
    scope.flag("--org", organization.org);
    scope.named("--account", joined(organization.account.iter().cloned()), "ID,ID");
    scope.named("--role", organization.role.clone(), "NAME");
    scope.flag("--aws-opinion", organization.aws_opinion);
    scope.flag("--no-commitment-sharing", organization.no_commitment_sharing);
    scope.open("--deadline", aws.deadline.map(|time| format!("{}s", time.as_secs())));
    scope.named("--metrics-namespace", args.metrics_namespace.clone(), "NAME");
    scope.open("--services", joined(args.services.iter().map(|service| service.name().to_owned())));
    let source = Some(args.metrics_source).filter(|source| *source != MetricsSource::Auto);
    scope.open("--metrics-source", source.map(name_of));
    let resolution = Some(args.resolution).filter(|step| *step != Resolution::Full);
    scope.open("--resolution", resolution.map(name_of));
    scope.named("--history", args.history.as_ref().map(Place::word), "DIR");
    let servers = &args.prometheus;
    scope.named("--prometheus-url", servers.prometheus_url.clone(), "URL");
    for (flag, file) in [
        ("--prometheus-ca-file", &servers.prometheus_ca_file),
        ("--prometheus-client-cert", &servers.prometheus_client_cert),
        ("--prometheus-client-key", &servers.prometheus_client_key),
    ] {
        scope.named(flag, file.as_ref().map(path), "FILE");
    }
    scope.open("--as-of", args.as_of.map(|time| time.to_string()));
    scope.open("--lookback", args.lookback.clone());
    scope.open("--max-api-cost", args.max_api_cost.map(|usd| usd.to_string()));
    scope.named("--tag", args.tag.clone(), "K=V");
    scope.named("--exclude-tag", args.exclude_tag.clone(), "K=V");
    scope.flag("--offline", args.offline);
    scope.flag("--redact", args.redact);
    let mut quoted = servers.secret_words(args.redact);
    // Whoever may assume roles from elsewhere must not learn it from a report.
    if organization.external_id.is_some() {
        quoted.push("--external-id \"$EXTERNAL_ID\"".to_owned());
    }
    let mut audit = Words::new(args.redact);
    audit.open("--risk", risk.map(|risk| risk.to_string()));
    Invocation { scope: scope.words, audit: audit.words, quoted }
}

/// Values of a flag that takes them in one word, if there are any.
fn joined(values: impl Iterator<Item = String>) -> Option<String> {
    let values: Vec<String> = values.collect();
    (!values.is_empty()).then(|| values.join(","))
}

/// Words of a command line.
struct Words {
    words: Vec<String>,
    redacted: bool,
}

impl Words {
    fn new(redacted: bool) -> Self {
        Self { words: Vec::new(), redacted }
    }

    fn flag(&mut self, flag: &str, is_given: bool) {
        self.words.extend(is_given.then(|| flag.to_owned()));
    }

    /// A flag with each value, which contains no name.
    fn open(&mut self, flag: &str, values: impl IntoIterator<Item = String>) {
        for value in values {
            if value.starts_with('-') {
                // Apart from its flag it would be taken for one.
                self.words.push(format!("{flag}={value}"));
            } else {
                self.words.extend([flag.to_owned(), value]);
            }
        }
    }

    /// A flag with each value, which may name somebody.
    fn named(&mut self, flag: &str, values: impl IntoIterator<Item = String>, placeholder: &str) {
        let is_redacted = self.redacted;
        let shown = |value| {
            if is_redacted { placeholder.to_owned() } else { value }
        };
        self.open(flag, values.into_iter().map(shown));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_differ_from_other_places() {
        for region in
            ["us-east-1", "us-gov-west-1", "ap-southeast-12", "eu-isoe-west-1", "eusc-de-east-1"]
        {
            assert!(is_region(region), "{region}");
        }
        for place in ["account", "i-0123456789", "us-east-1a", "us-1", "gpu-fleet-7", "-a-1"] {
            assert!(!is_region(place), "{place}");
        }
    }
}
