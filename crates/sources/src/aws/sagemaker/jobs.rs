//! Training jobs: what each was billed for is known to the second once it has ended. A search
//! gives a hundred of them in one call; what it does not give is described one by one.

use super::listed::{SAGEMAKER, instant};
use super::machine::is_accelerated;
use crate::Outcome;
use crate::aws::answers::{Part, all_pages, answers, part};
use crate::aws::session::RegionClients;
use crate::domain::{
    Cause, CauseKind, Component, Gap, GapSubject, Gathered, JobStatus, TrainingJob, Window,
};
use crate::error::or_gap;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Jobs of a region that are described, the newest of those that the search did not give: each
/// takes a call.
const MOST_DESCRIBED: usize = 200;

/// Jobs of a region that are searched for, the newest.
const MOST_FOUND: usize = 10_000;

/// Jobs on a page, the most that the search gives.
const ON_A_PAGE: u32 = 100;

/// Jobs that are described at once.
const AT_ONCE: usize = 4;

#[derive(Clone)]
pub(super) struct TrainingJobs {
    pub clients: RegionClients,
    pub account: String,
}

answers! { "PascalCase":
    struct JobSummary {
        training_job_name: String,
        training_job_status: Option<String>,
        warm_pool_status: Option<WarmPool>,
    }

    /// A result of the search.
    struct SearchResult {
        training_job: Option<Described>,
    }

    struct Described {
        training_job_name: String,
        training_job_status: Option<String>,
        resource_config: Option<ResourceConfig>,
        training_start_time: Option<f64>,
        training_end_time: Option<f64>,
        billable_time_in_seconds: Option<u32>,
        training_time_in_seconds: Option<u32>,
        warm_pool_status: Option<WarmPool>,
        enable_managed_spot_training: Option<bool>,
        checkpoint_config: Option<Value>,
    }

    struct ResourceConfig {
        instance_type: Option<String>,
        /// The one that was taken, where several were allowed.
        selected_instance_type: Option<String>,
        instance_count: Option<u32>,
        /// In place of one type, in a heterogeneous cluster.
        instance_groups: Option<Vec<Group>>,
        training_plan_arn: Option<String>,
    }

    struct Group {
        instance_type: Option<String>,
        instance_count: Option<u32>,
    }

    struct WarmPool {
        resource_retained_billable_time_in_seconds: Option<u32>,
    }
}

/// A job of which types or numbers of instances cannot be read.
#[derive(Debug, PartialEq)]
struct Unreadable;

impl TrainingJobs {
    pub async fn read(self, window: Window) -> Gathered<Vec<TrainingJob>> {
        let names = self.changed_in(window).await.map(once);
        let Gathered { value: names, mut gaps } =
            or_gap(names, GapSubject::TrainingJobs, &self.clients.region, "");
        let mut described = if names.is_empty() {
            BTreeMap::new()
        } else {
            // Whatever the search does not give, the same jobs are described.
            self.searched(window, names.len()).await.unwrap_or_default()
        };
        let (mut jobs, mut unfound) = (Vec::new(), Vec::new());
        let mut unreadable = 0;
        let mut add = |job: Described| match job.job(&self.account, &self.clients.region) {
            Ok(job) => jobs.extend(job),
            Err(Unreadable) => unreadable += 1,
        };
        for summary in &names {
            let job = described.remove(&summary.training_job_name);
            // The search may be behind the list.
            match job.filter(|job| job.training_job_status == summary.training_job_status) {
                Some(mut job) => {
                    if summary.warm_pool_status.is_some() {
                        job.warm_pool_status.clone_from(&summary.warm_pool_status);
                    }
                    add(job);
                }
                None => unfound.push(summary.training_job_name.as_str()),
            }
        }
        let older = unfound.len().saturating_sub(MOST_DESCRIBED);
        if older > 0 {
            let counts = [names.len() - older, older].map(|count| count.to_string());
            let counts = counts.each_ref().map(String::as_str);
            gaps.push(self.gap(Cause::of(CauseKind::OlderJobsOmitted, counts)));
        }
        let answers: Vec<_> = stream::iter(unfound.into_iter().take(MOST_DESCRIBED))
            .map(|name| self.described(name))
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut failed = Vec::new();
        for answer in answers {
            match answer {
                Ok(job) => add(job),
                Err(error) => failed.push(error),
            }
        }
        if let Some(first) = failed.first() {
            gaps.push(self.gap(first.cause_of(CauseKind::JobsNotRead, &failed.len().to_string())));
        }
        if unreadable > 0 {
            gaps.push(self.gap(Cause::of(CauseKind::JobsNotReadable, [&unreadable.to_string()])));
        }
        Gathered { value: jobs, gaps }
    }

    /// Jobs that last changed in the window as the search has them, by name: the newest, until
    /// there are so many. A job without what it is billed for is left out.
    async fn searched(&self, window: Window, most: usize) -> Outcome<BTreeMap<String, Described>> {
        let action = "sagemaker:Search";
        let bound = |operator: &str, time: Timestamp| {
            json!({
                "Name": "LastModifiedTime", "Operator": operator,
                "Value": time.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
            })
        };
        let bounds =
            [bound("GreaterThanOrEqualTo", window.start), bound("LessThanOrEqualTo", window.end)];
        let mut body = json!({
            "Resource": "TrainingJob",
            "SearchExpression": { "Filters": bounds },
            "SortBy": "CreationTime",
            "SortOrder": "Descending",
            "MaxResults": ON_A_PAGE,
        });
        let mut seen = 0;
        let results = all_pages(action, usize::MAX, async |token| {
            if let Some(token) = token {
                body["NextToken"] = token.into();
            }
            let page: Value = self.clients.ask(&SAGEMAKER, "Search", &body).await?;
            let (results, next): Part<SearchResult> =
                part((action, "Results"), &SAGEMAKER.paging, page)?;
            seen += results.len();
            Ok((results, next.filter(|_| seen < most.min(MOST_FOUND))))
        });
        let jobs = results.await?.into_iter().filter_map(|result| result.training_job);
        let whole = jobs.filter(Described::is_whole);
        Ok(whole.map(|job| (job.training_job_name.clone(), job)).collect())
    }

    /// Jobs that last changed in the window, newest first: a job that ended in it did.
    async fn changed_in(&self, window: Window) -> Outcome<Vec<JobSummary>> {
        let wanted = json!({
            "LastModifiedTimeAfter": window.start.as_second(),
            "LastModifiedTimeBefore": window.end.as_second(),
            "SortBy": "CreationTime",
            "SortOrder": "Descending",
        });
        let key = "TrainingJobSummaries";
        self.clients.ask_list(&SAGEMAKER, "ListTrainingJobs", key, wanted).await
    }

    async fn described(&self, name: &str) -> Outcome<Described> {
        let body = json!({ "TrainingJobName": name });
        self.clients.ask(&SAGEMAKER, "DescribeTrainingJob", &body).await
    }

    fn gap(&self, cause: Cause) -> Gap {
        Gap::of(GapSubject::TrainingJobs, &self.clients.region, cause)
    }
}

impl Described {
    /// Whether it says what it ran on and, once it has ended, what it is billed for.
    fn is_whole(&self) -> bool {
        let status = self.training_job_status.as_deref().and_then(status);
        let is_over =
            matches!(status, Some(JobStatus::Completed | JobStatus::Failed | JobStatus::Stopped));
        self.resource_config.is_some() && (!is_over || self.billable_time_in_seconds.is_some())
    }

    /// The job; `None` for one without an accelerator or without instances of its own.
    ///
    /// # Errors
    /// When what it ran on cannot be read.
    fn job(self, account: &str, region: &str) -> Result<Option<TrainingJob>, Unreadable> {
        let Some(config) = self.resource_config else { return Ok(None) };
        let groups = config.instance_groups.unwrap_or_default();
        let named: Vec<(Option<String>, Option<u32>)> = if groups.is_empty() {
            vec![(config.selected_instance_type.or(config.instance_type), config.instance_count)]
        } else {
            groups.into_iter().map(|group| (group.instance_type, group.instance_count)).collect()
        };
        let mut instances = Vec::new();
        let mut has_accelerators = false;
        for (name, count) in named {
            let inside = name.as_deref().and_then(|name| name.strip_prefix("ml."));
            let inside = inside.ok_or(Unreadable)?;
            has_accelerators |= is_accelerated(inside);
            instances.push((Component::Training.type_name(inside), count));
        }
        if !has_accelerators {
            return Ok(None);
        }
        let instances: Option<Vec<(String, u32)>> =
            instances.into_iter().map(|(name, count)| Some((name, count?))).collect();
        Ok(Some(TrainingJob {
            name: self.training_job_name,
            account: account.to_owned(),
            region: region.to_owned(),
            instances: instances.ok_or(Unreadable)?,
            status: self.training_job_status.as_deref().and_then(status),
            started: instant(self.training_start_time),
            ended: instant(self.training_end_time),
            billable_seconds: self.billable_time_in_seconds,
            training_seconds: self.training_time_in_seconds,
            warm_pool_seconds: self
                .warm_pool_status
                .and_then(|pool| pool.resource_retained_billable_time_in_seconds),
            is_spot: self.enable_managed_spot_training.unwrap_or_default(),
            has_checkpoints: self.checkpoint_config.is_some(),
            plan: config.training_plan_arn,
        }))
    }
}

/// One job of each name, in their order: one that is created while pages are read moves
/// others to the next page.
fn once(mut summaries: Vec<JobSummary>) -> Vec<JobSummary> {
    let mut seen = BTreeSet::new();
    summaries.retain(|summary| seen.insert(summary.training_job_name.clone()));
    summaries
}

/// A status as SageMaker writes it, such as `InProgress`, which is also how it is called here.
fn status(name: &str) -> Option<JobStatus> {
    JobStatus::ALL.iter().copied().find(|status| format!("{status:?}") == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: Value) -> Result<Option<TrainingJob>, Unreadable> {
        let described: Described = serde_json::from_value(answer).expect("as AWS describes it");
        described.job("111122223333", "us-east-1")
    }

    #[test]
    fn a_job_is_read_with_what_it_is_billed_for() {
        let job = read(json!({
            "TrainingJobName": "fit-7",
            "TrainingJobArn": "arn:aws:sagemaker:us-east-1:111122223333:training-job/fit-7",
            "TrainingJobStatus": "Completed",
            "SecondaryStatus": "Completed",
            "ResourceConfig": {
                "InstanceType": "ml.p4d.24xlarge", "InstanceCount": 4, "VolumeSizeInGB": 500,
                "KeepAlivePeriodInSeconds": 600,
            },
            "CreationTime": 1_790_000_000.25,
            "TrainingStartTime": 1_790_000_100.5,
            "TrainingEndTime": 1_790_010_100.5,
            "TrainingTimeInSeconds": 10_000,
            "BillableTimeInSeconds": 3_750,
            "EnableManagedSpotTraining": true,
            "CheckpointConfig": { "S3Uri": "s3://models/fit-7" },
            "WarmPoolStatus": {
                "Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 540,
            },
        }));
        let job = job.expect("it is readable").expect("it has GPUs");
        assert_eq!(job.instances, [("ml.p4d.24xlarge-training".to_owned(), 4)]);
        assert_eq!(
            (job.billable_seconds, job.warm_pool_seconds, job.plan.as_deref()),
            (Some(3_750), Some(540), None)
        );
        assert_eq!(job.spot_saving_percent(), Some(62.5));
        assert!(job.has_checkpoints);
        assert_eq!(job.status, Some(JobStatus::Completed));
        let ended = job.ended.map(|time| time.as_second());
        assert_eq!(ended, Some(1_790_010_100));
    }

    #[test]
    fn a_search_result_is_whole_with_what_an_ended_job_is_billed_for() {
        let is_whole = |status: &str, seconds: Value, config: Value| {
            let result: SearchResult = serde_json::from_value(json!({ "TrainingJob": {
                "TrainingJobName": "fit",
                "TrainingJobStatus": status,
                "ResourceConfig": config,
                "BillableTimeInSeconds": seconds,
            } }))
            .expect("as AWS describes it");
            result.training_job.is_some_and(|job| job.is_whole())
        };
        let config = json!({ "InstanceType": "ml.g5.xlarge", "InstanceCount": 1 });
        assert!(is_whole("Completed", json!(60), config.clone()));
        assert!(is_whole("InProgress", Value::Null, config.clone()));
        for status in ["Completed", "Failed", "Stopped"] {
            assert!(!is_whole(status, Value::Null, config.clone()), "{status}");
        }
        assert!(!is_whole("Completed", json!(60), Value::Null));
    }

    #[test]
    fn every_type_of_a_heterogeneous_cluster_is_billed_where_one_has_an_accelerator() {
        let of_groups = |groups: Value| {
            read(json!({
                "TrainingJobName": "fit",
                "TrainingJobStatus": "Failed",
                "ResourceConfig": { "VolumeSizeInGB": 50, "InstanceGroups": groups },
            }))
        };
        let group =
            |name: &str, count: u32| json!({ "InstanceType": name, "InstanceCount": count });
        let mixed = of_groups(json!([group("ml.g5.xlarge", 2), group("ml.m5.xlarge", 3)]));
        let expected =
            [("ml.g5.xlarge-training".to_owned(), 2), ("ml.m5.xlarge-training".to_owned(), 3)];
        let mixed = mixed.expect("it is readable").expect("it has GPUs");
        assert_eq!(mixed.instances, expected);
        assert_eq!(of_groups(json!([group("ml.m5.xlarge", 3)])), Ok(None));
        assert_eq!(read(json!({ "TrainingJobName": "serverless" })), Ok(None));
    }

    #[test]
    fn a_job_without_types_or_counts_is_not_readable_unless_it_has_no_accelerator() {
        let of =
            |config: Value| read(json!({ "TrainingJobName": "fit", "ResourceConfig": config }));
        for config in [
            json!({ "InstanceType": "ml.g5.xlarge" }),
            json!({ "InstanceType": "g5.xlarge", "InstanceCount": 1 }),
            json!({ "InstanceCount": 1 }),
            json!({ "InstanceGroups": [
                { "InstanceType": "ml.g5.xlarge", "InstanceCount": 1 },
                { "InstanceType": "ml.m5.xlarge" },
            ] }),
        ] {
            assert_eq!(of(config.clone()), Err(Unreadable), "{config}");
        }
        assert_eq!(of(json!({ "InstanceType": "ml.m5.xlarge" })), Ok(None));
    }

    #[test]
    fn a_job_on_two_pages_is_one_in_the_order_of_the_list() {
        let summary = |name: &str| JobSummary {
            training_job_name: name.to_owned(),
            training_job_status: None,
            warm_pool_status: None,
        };
        let summaries = once(["c", "a", "c", "b", "a"].map(summary).into());
        let names: Vec<&str> =
            summaries.iter().map(|kept| kept.training_job_name.as_str()).collect();
        assert_eq!(names, ["c", "a", "b"]);
    }
}
