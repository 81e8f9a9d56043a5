//! The causes, each with what its details are, its words and what to do about it.

use super::words::{
    ANOTHER_PLACE, ASK_FOR_PRICES, COPY_FILE, Detail, HIDDEN_BY_MIG, KNOW_SCOPE, NAME_COLUMNS,
    NAME_GPUS, NO_SUCH_CALL, NOT_ALLOWED, NOTHING_TO_DO, RECORD_CLUSTER, RECORD_ON, RECORD_PRICE,
    REFRESH_PRICES, REFRESH_RATES, ROLL_UP_AGAIN, SAMPLES_MISSING, SEE_BILL, SET_UP_METRICS,
    STATE_PRICE, UNMATCHED, WRAPS, causes,
};
use crate::domain::named_enum;

causes! {
    CallFailed = "call-failed" [Action Failure Code Foreign Fallback]
        "{call}{?; }", "";
    /// The list of regions could not be read.
    RegionsNotListed = "regions-not-listed" [Action Failure Code Foreign Region]
        "{call}; only {} is read", "";
    /// The organization does not list an account that was asked for as an active one.
    AccountNotListed = "account-not-listed" []
        "the organization has no active account with this ID; it is omitted",
        "check the IDs passed to `--account`, or run without `--org` to read it by its role";
    /// The organization lists an account in a state that is not documented, or in none.
    AccountStateUnknown = "account-state-unknown" [Foreign]
        "its state is unknown{?: }; it is omitted",
        "name the accounts with `--account ID,ID` instead of `--org`";
    /// The organization does not list the caller's own account, which is in it.
    OwnAccountNotListed = "own-account-not-listed" []
        "the organization does not list this account, which is the caller's own, as active, so \
         that others may be missing too",
        "name the accounts with `--account ID,ID` instead of `--org`";
    /// Accounts call the zones of a region differently.
    ZonesDiffer = "zones-differ" []
        "the account has other spot prices than another account in zones of the same name; \
         those of the other account are used",
        "audit the account alone for the spot prices of its own zones";
    /// A batch of series could not be read.
    SeriesNotRead = "series-not-read" [Action Failure Code Foreign Count]
        "{call}; {} series are missing", "";
    /// Training jobs could not be described.
    JobsNotRead = "jobs-not-read" [Action Failure Code Foreign Count]
        "{call}; {training job is|training jobs are} omitted", "";
    /// Training jobs are described without a type or a number of instances.
    JobsNotReadable = "jobs-not-readable" [Count]
        "{training job has|training jobs have} no readable type or number of instances; omitted",
        "report it with `gpucost inventory -v`";
    /// More training jobs than are described.
    OlderJobsOmitted = "older-jobs-omitted" [Count Count]
        "only the newest {training job is|training jobs are} read; {older one is|older ones are} \
         omitted", "use a shorter window, such as `--lookback 1d`";
    MetricsNotAsked = "metrics-not-asked" [] "not requested", "run without `--metrics-source none`";
    /// Prices were not asked for, and the bundled catalog has none.
    PricesNotAsked = "prices-not-asked" [Types]
        "not requested, and the bundled catalog has none for {}", ASK_FOR_PRICES;
    /// The price list has none.
    PricesNotListed = "prices-not-listed" [Types]
        "the price list has none for {}; the bundled catalog is used where it has one",
        "the type may be available through Capacity Blocks only";
    /// The price list has no price of a managed machine, or several that differ.
    NoSinglePriceListed = "no-single-price-listed" [Types]
        "the price list has no single price for {}: unpriced", STATE_PRICE;
    /// The price cache cannot be read.
    CacheNotRead = "cache-not-read" [Foreign]
        "{}; the bundled catalog is used", "run `gpucost pricing refresh` to recreate it";
    /// What a history keeps of days cannot be used, and was not asked any more.
    HistoryNotRead = "history-not-read" [Foreign]
        "{}; what it keeps of that day is missing",
        "delete the file, and run the audit again to read the day anew";
    RollupNotRead = "rollup-not-read" [Foreign]
        "{}; what it has of that day is missing, unless an earlier one has it", ROLL_UP_AGAIN;
    RollupDaysMissing = "rollup-days-missing" [Count Time]
        "{day has|days have} no roll-up, the first from {}", ROLL_UP_AGAIN;
    RollupInstancesUnknown = "rollup-instances-unknown" [Count Instance]
        "{instance is|instances are} not in the inventory, such as {}; omitted",
        "no action needed if they were terminated or are of another account; otherwise name the \
         column that has the instances as `gpucost inventory` shows them, with `--columns`";
    /// No instance has a roll-up; runs of other accounts and regions are not read.
    NoRollups = "no-rollups" [Count]
        "no instance of the inventory has a roll-up of a whole day of the window; {run is|runs \
         are} of another account or region",
        "compare the accounts, regions, instances and days of `usage_asked` with those of `gpucost \
         inventory`; without `--account` and `--region`, a roll-up is of any of them";
    /// An answer describes an instance without a field that can be read.
    InstanceNotReadable = "instance-not-readable" [Field]
        "the EC2 response has no readable {}", "report it with `gpucost inventory -v`";
    /// An answer of SageMaker describes what runs without a field that can be read.
    MachineNotReadable = "machine-not-readable" [Field]
        "the SageMaker response has no readable {}; it is omitted",
        "report it with `gpucost inventory -v`";
    /// A Studio app of a type of which no price is known runs on an accelerator.
    AppTypeUnknown = "app-type-unknown" [Foreign]
        "Studio apps of the type {} are not supported; it is omitted",
        "report the type as an issue";
    /// Two entries of one list are the same thing, and differ.
    ListedTwice = "listed-twice" []
        "listed twice with different details: the newer entry is used",
        "run the audit again: it changed while it was read";
    /// There are more than are read.
    TooManyListed = "too-many-listed" [Count]
        "more than {,} are listed; the others are omitted", "report it with `gpucost inventory -v`";
    /// An instance was launched after the instant that is audited.
    InstanceLater = "instance-later" [Time]
        "launched {} after the audit's as-of time", "run the audit with a later time";
    /// An instance is being terminated.
    InstanceEnding = "instance-ending" []
        "shutting down: neither running nor stopped", "run the audit again after termination";
    /// A node was recorded without a field that can be read.
    NodeNotReadable = "node-not-readable" [Field]
        "the node has no readable {}; it is omitted", RECORD_CLUSTER;
    /// Pods hold devices of a node that was not recorded.
    NodeNotRecorded = "node-not-recorded" []
        "pods hold devices of this node, which was not recorded; they are omitted", RECORD_CLUSTER;
    /// The provider of a node's machine does not show it in a region that was read.
    NodeNotShown = "node-not-shown" [Region]
        "a node of a cluster that its provider does not show in {}: it is in another account, or \
         gone; it is omitted", "audit the account of the node, or record the cluster again";
    /// Two nodes are one machine, as after it has joined again under another name.
    NodeRepeated = "node-repeated" [Instance]
        "another node is the machine {} as well; this one is omitted",
        "delete the node that is gone, and record the cluster again";
    /// Pods of a cluster were not recorded, or not those of every namespace.
    PodsNotRecorded = "pods-not-recorded" []
        "there are none of the system's namespaces (kube-system, openshift-…), or they are of \
         one namespace only, so others may be missing: what is requested of each node is \
         unknown", RECORD_CLUSTER;
    /// Nodes of which nothing tells what pods hold.
    PodsUnknown = "pods-unknown" [Count Rules]
        "what pods request of {node|nodes} is unknown{?; silent: }", RECORD_CLUSTER;
    /// Nodes of which nothing tells which of their pods could run elsewhere.
    PodKindsUnknown = "pod-kinds-unknown" [Count Rules]
        "which pods of {node|nodes} request no GPU is unknown{?; silent: }", RECORD_CLUSTER;
    /// Nodes of which nothing tells how many devices they have.
    PhysicalUnknown = "physical-unknown" [Count Rules]
        "the number of physical GPUs of {node|nodes} is unknown{?; silent: }",
        "run GPU feature discovery, which sets the label `nvidia.com/gpu.count`";
    /// Pods hold devices of which nothing tells how they use them.
    PodUseUnknown = "pod-use-unknown" [Count Rules]
        "whether {pod uses|pods use} the GPUs that they hold is unknown{?; silent: }",
        "collect metrics of dcgm-exporter with the labels of pods, and read them with \
         `--prometheus-url`";
    /// Container instances of which it is not known what tasks hold.
    TasksUnknown = "tasks-unknown" [Count Rules]
        "what tasks request of {container instance|container instances} is unknown{?; silent: }",
        "allow ecs:ListTasks and ecs:DescribeTasks; if they are allowed, run the audit again: a \
         task that is stopping still holds its GPUs";
    /// Tasks hold devices of which it is not known how they use them.
    TaskUseUnknown = "task-use-unknown" [Count Rules]
        "whether {task uses|tasks use} the GPUs that they hold is unknown{?; silent: }",
        SET_UP_METRICS;
    /// Devices are allocated that no complete list of a node's devices has.
    DevicesNotListed = "devices-not-listed" [Count]
        "{allocated device is|allocated devices are} in no complete list of resource slices: \
         what is requested of their nodes is unknown",
        "record them as well: `kubectl get resourceslices.resource.k8s.io -o json`";
    /// Nodes offer, or pods ask for, resources of a vendor of accelerators that are not known.
    ResourcesForeign = "resources-foreign" [Count Foreign]
        "on {node|nodes}, resources of a GPU vendor are offered or requested that are not \
         understood, such as {}: what is requested there is unknown",
        "docs/kubernetes.md lists the resources that are understood";
    /// Pods have claims of devices that were not read.
    ClaimsNotRead = "claims-not-read" [Count]
        "{node has|nodes have} pods with resource claims that were not read: what is requested \
         there is unknown",
        "record them as well: `kubectl get resourceslices.resource.k8s.io,\
         resourceclaims.resource.k8s.io --all-namespaces -o json`";
    /// Pods wait for claims of devices whose number is unknown.
    ClaimsUnclear = "claims-unclear" [Count Foreign]
        "{pod waits|pods wait} for resource claims of unknown devices{?, of device classes such \
         as }",
        "record the claims: `kubectl get resourceclaims.resource.k8s.io --all-namespaces -o \
         json`; docs/kubernetes.md lists the device classes that are understood";
    /// An answer describes a commitment without a field that can be read.
    CommitmentNotReadable = "commitment-not-readable" [Field]
        "the response has no readable {}; it is omitted",
        "declare it in a file for `--commitments`";
    /// Only a value over all GPUs of an instance is published.
    OnlyRollUp = "only-roll-up" []
        "only an aggregate over its GPUs is published",
        "keep the `index` dimension in the agent's aggregation";
    /// One value over all GPUs and all instances of a group is published.
    SumsOnly = "sums-only" [Count Count]
        "published as one sum over {GPU|GPUs} of an instance, and as one mean over \
         {instance|instances}: each of them is evaluated with this mean",
        "no action possible: the service publishes nothing finer under these names";
    /// One value over instances of several types is published.
    SumOfTypes = "sum-of-types" []
        "published as one sum over instances of several types, which cannot be divided",
        "use one instance type for each variant";
    /// No metric of the GPUs of a machine exists.
    NoMetricPublished = "no-metric-published" []
        "the service publishes no GPU metric of it, and CPU and activity do not stand in for it",
        "profile what runs on it: `gpucost profile -- COMMAND`";
    /// A server of the Prometheus family has no series of GPUs.
    NoGpuSeries = "no-gpu-series" []
        "the server has no GPU metrics of a known exporter in this window",
        "check the tenant, the scrape configuration of the exporter, and how long the server \
         keeps samples";
    /// A server of the Prometheus family adds a warning to its answers.
    ServerWarned = "server-warned" [Foreign]
        "the server warns: {}", "check the server: its answers may be incomplete";
    /// Series of Kubernetes nodes cannot be matched to instances.
    NodesNotJoined = "nodes-not-joined" [Count Count Hosts]
        UNMATCHED,
        "add the label `node` in the scrape configuration, from \
         `__meta_kubernetes_pod_node_name`, and collect kube_node_info of kube-state-metrics, \
         which has the instance ID of each node";
    /// Series of hosts cannot be matched to instances.
    HostsNotJoined = "hosts-not-joined" [Count Count Hosts]
        UNMATCHED,
        "add the label `instance_id` in the scrape configuration, from `__meta_ec2_instance_id`";
    /// Series of a host cannot be assigned to its GPUs.
    SeriesNotAssigned = "series-not-assigned" [Count Hosts]
        "{,} series cannot be assigned to a GPU, such as those of {}: they have no index below \
         256, or divide a GPU in a way other than MIG",
        "publish the index of each GPU in the label `gpu`";
    /// Samples are farther apart than the periods of the audit.
    SamplesSparse = "samples-sparse" [Count Elapsed]
        "samples of {GPU|GPUs} are about {} apart, which is more than an hour: coverage is low",
        "scrape the exporter at least once every 5 minutes";
    SlicesUnmeasured = "slices-unmeasured" [Count Count]
        "{} of {MIG instance|MIG instances} report no utilization beside others of the same card: \
         these cards are unmeasured",
        "check that the exporter reports the engine activity of every MIG instance";
    /// How pods used the GPUs of some hosts could not be read.
    UsesNotRead = "uses-not-read" [Action Failure Code Foreign Count]
        "{call}; how each pod used the GPUs of {host|hosts} is unknown", "";
    /// Figures of pods are no percentages.
    UsesNotValid = "uses-not-valid" [Count]
        "{figure of how a pod used a GPU is|figures of how pods used GPUs are} not between 0% and \
         100%; omitted", "upgrade the exporter: early versions publish blank values as numbers";
    /// A profiled run names an instance that is not audited.
    ProfileOfOther = "profile-of-other" [Instance]
        "instance {} is not in the audit", ANOTHER_PLACE;
    /// A profiled run does not say where it was taken.
    ProfileWithoutHost = "profile-without-host" []
        "it has no instance ID or host name, and no file that has one covers all of its GPUs",
        ANOTHER_PLACE;
    /// Several instances have the name of the host of a profiled run.
    ProfileOfSeveral = "profile-of-several" [Host]
        "the host name {} matches several instances, no instance ID is given, and no file \
         that has one covers all of its GPUs", ANOTHER_PLACE;
    /// No instance has the name of the host of a profiled run.
    ProfileOfNone = "profile-of-none" [Host]
        "the host name {} matches no audited instance, no instance ID is given, and no file \
         that has one covers all of its GPUs", ANOTHER_PLACE;
    /// A profiled run was taken in another region.
    ProfileElsewhere = "profile-elsewhere" [Region Instance Region]
        "it was recorded in {}, but {} is in {}", ANOTHER_PLACE;
    /// A profiled run was taken on another type.
    ProfileOnOtherType = "profile-on-other-type" [Types Instance Types]
        "it was recorded on {}, but {} is now {}", "profile a run on the current type";
    /// Samples of a profiled run are outside the window.
    ProfileOutside = "profile-outside" [Count Count Count Count]
        "{} of {sample|samples} outside the window: {} before it, {} after it",
        "widen the window with `--lookback`, end it later with `--as-of`, or check the host clock";

    /// What was read of a region's prices is empty.
    PricesEmpty = "prices-empty" []
        "empty response; previous prices are kept", "check the region name and run again";

    /// A workload has too little data for a verdict.
    NoVerdict = "no-verdict" [Words Rules]
        "{}{?; silent: }", SET_UP_METRICS;
    MetricsContradict = "metrics-contradict" [Words Rules] "{}{?; silent: }",
        "run `nvidia-smi dmon -s pu` on the machine: where it shows work, restart the exporter or \
         the agent; where it shows none, check that the power is of the same GPU";
    /// A metric is not reported.
    NotReported = "not-reported" [Rules]
        "not reported or unknown{?; silent: }", SET_UP_METRICS;
    /// The maxima of a metric are not reported.
    MaximaNotReported = "maxima-not-reported" [Rules]
        "not reported or unknown{?; silent: }",
        "request the statistic `maximum` in addition to `average`, or add it to the estate";
    /// A measurement is missing without which no other type or share can be proposed.
    NotMeasured = "not-measured" [Demand]
        "{}; not evaluated: right-sizing, sharing, commitments", SET_UP_METRICS;
    /// A workload is measured by power alone.
    OnlyPower = "only-power" []
        "only power was measured", SET_UP_METRICS;
    /// Some instances of a workload report no GPU metric.
    GpuMetricsPartial = "gpu-metrics-partial" [Count Count]
        "{} of {instance|instances} without GPU metrics", SET_UP_METRICS;
    /// Nothing tells when some instances of a workload ran.
    RunningTimeAssumed = "running-time-assumed" [Count Count]
        "no CPUUtilization data for {} of {instance|instances}: assumed running since launch",
        "allow cloudwatch:GetMetricData, or add the series to the estate";
    /// A metric is too old to act on, or missing at the same hours of most days.
    SamplesOutage = "samples-outage" [Words] "{}: no action rests on it",
        "check that the agent or exporter runs, at all hours in which the instance runs";
    /// Points of series are not valid.
    PointsDropped = "points-dropped" [Count Rejections]
        "{point|points} dropped: {}", "check the agent's clock and configuration";
    /// Instances were observed for too short a time to commit to them.
    UsageShort = "usage-short" [Count Count Count Count]
        "{} of {instance|instances} observed for only about {full hour|full hours}; a commitment \
         requires {}", "run again after a longer period, or lower `commit_min_days` in the policy";

    /// A file has no tags of what SageMaker runs.
    TagsNotRecorded = "tags-not-recorded" []
        "the estate does not state the tags of what SageMaker runs: they are unknown",
        "record the estate again, or state `tags` for each of its instances";
    TagNotReadable = "tag-not-readable" [Tag Count Instance]
        "the tag {} of {instance|instances}, such as {}, cannot be read: it declares nothing",
        "write a date as 2027-06-30, a size as 8GiB, and a value as docs/tags.md lists it";
    /// No source knows the type of an instance.
    TypeUnknown = "type-unknown" [Types]
        "{} is not in the EC2 response or the bundled catalog",
        "report the type as an issue; it is listed as unknown and unpriced";
    /// A workload has no price, and nothing says why.
    PriceUnknown = "price-unknown" [Rules]
        "not reported or unknown{?; silent: }", RECORD_PRICE;
    /// No source has the price of an instance.
    NoPrice = "no-price" [Words Rules]
        "no price for {}: unpriced{?; silent: }", RECORD_PRICE;
    /// No source states the price of hardware elsewhere than on AWS.
    NoOwnPrice = "no-own-price" [Words Rules]
        "no price for {}: unpriced{?; silent: }", STATE_PRICE;
    /// The same where the Pricing API may have it.
    NoPriceRead = "no-price-read" [Words]
        "no price for {}: unpriced", ASK_FOR_PRICES;
    /// What pays for an instance ahead and its price have no rate in common.
    PriceNotCombined = "price-not-combined" [Rules]
        "its commitments and its price cannot be combined into one rate: unpriced{?; silent: }",
        RECORD_PRICE;
    /// The prices of instances have no sum.
    PricesNotAdded = "prices-not-added" [Rules]
        "its prices are in two currencies or exceed the supported range: unpriced{?; silent: }",
        RECORD_PRICE;
    /// An instance is paid for ahead.
    Prepaid = "prepaid" []
        "is prepaid and has no hourly price", SEE_BILL;
    /// A workload is paid for ahead as scheduled instances.
    ScheduledPrepaid = "scheduled-prepaid" [Rules]
        "a scheduled instance is prepaid and has no hourly price{?; silent: }", SEE_BILL;
    /// A workload is paid for ahead as a Capacity Block.
    BlockPrepaid = "block-prepaid" [Rules]
        "a Capacity Block is prepaid and has no hourly price{?; silent: }", SEE_BILL;
    /// No source has the price of a volume or an address.
    NoStoragePrice = "no-storage-price" [Words Region]
        "no price for {} in {}", RECORD_PRICE;
    /// The same where the Pricing API may have it.
    NoStoragePriceRead = "no-storage-price-read" [Words Region]
        "no price for {} in {}", ASK_FOR_PRICES;
    /// What is paid for and not used has no price.
    UnusedUnpriced = "unused-unpriced" [Words Words]
        "{}: {}", RECORD_PRICE;
    /// A cost is in another currency than the sums.
    NotInSum = "not-in-sum" [Currency Currency]
        "costs {} and is excluded from the {} sums", "audit accounts of each currency separately";
    /// Nothing that is audited has a price.
    NothingPriced = "nothing-priced" []
        "no instance is priced",
        "`gpucost pricing refresh` reads prices where the account is allowed to";

    /// A savings plan may cover a type, at a rate that is not known.
    RateUnknown = "rate-unknown" [Commitment Types]
        "the savings plan {} has no known rate for {}: it may cover it, so no additional \
         commitment is planned", REFRESH_RATES;
    /// A type has no rate under the savings plans that are compared.
    NoRate = "no-rate" [Words]
        "no price for {}: its usage is excluded from savings plans of the family", REFRESH_RATES;

    /// Workloads of a budget cost in a currency that no budget of the scope is in.
    CostsNotInBudget = "costs-not-in-budget" [Count Currency Currency]
        "{workload costs|workloads cost} {} but its budget is in {}",
        "add a [[budget]] with `currency = \"{1}\"`";
    /// A forecast has no recorded days to rest on.
    NoHistory = "no-history" []
        "no recorded days were read",
        "`gpucost history record` stores an audit each night; pass its place with \
         `--recorded-audits DIR`";
    /// Too few days were recorded for a forecast.
    HistoryShort = "history-short" [Count Count]
        "{day was recorded whole|days were recorded whole}, and {} are needed", RECORD_ON;
    HistoryStale = "history-stale" [Words]
        "the last day that was recorded whole is {}", RECORD_ON;
    /// No run of the last day read an account or a region, or it was denied.
    HistoryUnread = "history-unread" [Words]
        "no run read it for {}", RECORD_ON;
    HistoryUnpriced = "history-unpriced" [Count]
        "{hour|hours} of recorded days have no price", REFRESH_PRICES;
    /// A planned resource costs in another currency than its budget.
    PlannedNotInBudget = "planned-not-in-budget" [Currency Currency]
        "costs are in {} but the budget is in {}", "add a [[budget]] with `currency = \"{0}\"`";
    /// Idle GPUs whose stop would be certain if more of GPU, CPU and network were measured.
    StopNotCertain = "stop-not-certain" []
        "idle GPUs; not certain without full metrics of GPU, CPU and network", SET_UP_METRICS;
    /// The waste is in another currency than its limit.
    WasteNotInLimit = "waste-not-in-limit" [Currency]
        "the sum is in {}", "set the limit with `currency = \"{0}\"`";

    PlanErrored = "plan-errored" []
        "planning ended with an error; resources may be missing", "fix the error and plan again";
    /// A plan leaves changes to another run.
    PlanDeferred = "plan-deferred" []
        "some changes are deferred to another run and are not in the plan",
        "also check the plan of that run";
    /// A plan does not say what its resources refer to.
    PlanWithoutConfiguration = "plan-without-configuration" []
        "it has no `configuration`; what resources leave to others is not known",
        "check a plan that `terraform show -json` wrote, as a whole";
    /// An instance is among the planned values of a plan, and not among its changes.
    PlanCut = "plan-cut" []
        "it is in `planned_values` and not in `resource_changes`; other changes may be missing",
        "check a plan that `terraform show -json` wrote, as a whole";
    /// A plan does not state something.
    NotPlanned = "not-planned" [Words]
        "{}", "set it in the configuration, or add a suppression";
    RegionNotPlanned = "region-not-planned" [Words]
        "{}", "set it with `--region`";
    /// The usual values stand in for what a plan does not show.
    UsualAssumed = "usual-assumed" [Words]
        "{}; priced with the usual values",
        "check a plan that includes its configuration and launch template";
    /// Nothing in a plan uses a launch template.
    TemplateUnused = "template-unused" [Types]
        "it launches {}, but nothing in the plan uses the template",
        "check what uses it: its instances are not included in these figures";
    HostBilled = "host-billed" []
        "a dedicated host is billed per host", "check the price of the host separately";
    /// A Capacity Block has a price of its own.
    BlockBilled = "block-billed" []
        "a Capacity Block is prepaid per block", "check the price of the block";
    /// A service bills a planned resource at prices of its own.
    ServiceBilled = "service-billed" [Words]
        "the {} are not in the catalog", "check the price separately, or add a suppression";
    /// No source has the price of a planned resource.
    NoPlannedPrice = "no-planned-price" [Words]
        "no price for {}", REFRESH_PRICES;
    /// The catalog does not know a planned type.
    TypeNotBundled = "type-not-bundled" [Types]
        "{} is not in the bundled catalog", REFRESH_PRICES;
    /// The same of a type that is accelerated by its name.
    AcceleratedNotBundled = "accelerated-not-bundled" [Types]
        "{} is not in the bundled catalog, and appears to be accelerated", REFRESH_PRICES;
    /// A plan does not tell whether the account of a scope holds a resource.
    AccountNotPlanned = "account-not-planned" []
        "the plan does not specify its account", KNOW_SCOPE;
    /// The same of the region of a scope.
    ScopeRegionNotPlanned = "scope-region-not-planned" [Words]
        "its region is unknown: {}", KNOW_SCOPE;
    /// The same of the tag of a scope.
    ScopeTagNotPlanned = "scope-tag-not-planned" [Tag]
        "the tag {} is known only after apply", KNOW_SCOPE;
    /// A plan does not tell the value of a tag that is required.
    TagNotPlanned = "tag-not-planned" [Tag]
        "the tag {} is known only after apply", "set the tag on the resource itself";

    /// The instance metadata service does not answer.
    MetadataNotRead = "metadata-not-read" [Foreign]
        "{}", "pass `--type` and `--region` to get a price";
    /// Notices for a spot instance are not asked for.
    SpotNoticesNotAsked = "spot-notices-not-asked" [Words]
        "not read: {}", "run it on a spot instance of EC2, or omit `--spot-guard`";
    /// The instance metadata service did not always answer.
    SpotNoticesNotRead = "spot-notices-not-read" [Count Count Foreign]
        "{,} of {,} queries failed: {}",
        "`--spot-guard` needs the instance metadata service; in a container, a hop limit of 2";
    /// The GPUs of a run are not those of its type.
    OtherGpus = "other-gpus" [Words]
        "{}",
        "pass the instance type of the run with `--type`; the price of another type does not \
         apply";
    /// A run has some GPUs of its type only.
    GpusNotProfiled = "gpus-not-profiled" [Count Count]
        "only {} of {} in this run; the price covers all of them",
        "profile all GPUs of the host to evaluate other types; in a container, start it with \
         `--gpus all`";
    /// The region of a run is not known.
    RegionAssumed = "region-assumed" [Region]
        "unknown; prices are for {}", "pass `--region`";
    /// The type of a run is not in the catalog.
    TypeNotListed = "type-not-listed" []
        "the price catalog has no GPU type with this name", "pass `--type`";
    /// No source has the price of the type of a run.
    NoRunPrice = "no-run-price" [Words]
        "no price for {}", "set a custom price in gpucost.toml, see docs/pricing.md";

    /// A driver does not report a metric of a divided GPU.
    MetricHiddenByMig = "metric-hidden-by-mig" [Foreign]
        HIDDEN_BY_MIG,
        "memory and processes of each MIG instance are reported; for more, disable MIG or use a \
         GPU with GPM (Hopper or newer)";
    /// A GPU does not have a metric.
    MetricNotSupported = "metric-not-supported" [Foreign]
        "{} does not support it on this GPU", NOTHING_TO_DO;
    /// A driver is too old for a metric.
    MetricOfNewerDriver = "metric-of-newer-driver" [Foreign]
        NO_SUCH_CALL, "update the NVIDIA driver";
    /// A driver does not allow the user to read a metric.
    MetricNotAllowed = "metric-not-allowed" [Foreign]
        NOT_ALLOWED, "run as root, or request the permission";
    /// As [`Self::MetricHiddenByMig`], of counters that no driver reports of the model.
    CountersHiddenByMig = "counters-hidden-by-mig" [Foreign]
        HIDDEN_BY_MIG, NOTHING_TO_DO;
    /// As [`Self::MetricOfNewerDriver`], of counters that no driver reports of the model.
    CountersOfNewerDriver = "counters-of-newer-driver" [Foreign]
        NO_SUCH_CALL, NOTHING_TO_DO;
    /// As [`Self::MetricNotAllowed`], of counters that no driver reports of the model.
    CountersNotAllowed = "counters-not-allowed" [Foreign]
        NOT_ALLOWED, NOTHING_TO_DO;
    /// A counter can wrap between samples that are further apart than so many milliseconds.
    CounterWraps = "counter-wraps" [Count]
        WRAPS, "sample more often: `--interval {0}ms`";
    /// A counter can wrap between samples at any interval.
    CounterWrapsAlways = "counter-wraps-always" []
        WRAPS, NOTHING_TO_DO;
    /// A counter can wrap between samples, and how fast is not known.
    CounterWrapsPerhaps = "counter-wraps-perhaps" []
        "its counter wraps after 4 GiB, and the link capacity is unknown", NOTHING_TO_DO;

    SamplerPaused = "sampler-paused" [Count Count Elapsed Elapsed]
        SAMPLES_MISSING,
        "the sampler was stopped, or its host was overloaded; profile a run without interruptions";
    /// A log of another program has a hole.
    LogPaused = "log-paused" [Count Count Elapsed Elapsed]
        SAMPLES_MISSING,
        "if the log covers several runs, read each separately; if its samples are meant to be \
         that far apart, pass --interval";
    /// No sample of a file reports some figures.
    FiguresNotReported = "figures-not-reported" [Figures]
        "no sample reports {}",
        "no action needed where the driver has no value; the sampler's messages from that run \
         give the reason";
    LineTruncated = "line-truncated" [Count]
        "the last line ({}) is truncated", COPY_FILE;
    FileTruncated = "file-truncated" []
        "the compressed file is truncated", COPY_FILE;
    /// A file of samples has columns of others.
    ForeignColumns = "foreign-columns" [Foreign]
        "unknown: {}", "no action needed for columns that you added";

    /// The times of a log have no time zone.
    NoTimeZone = "no-time-zone" []
        "timestamps have no time zone and are read as UTC",
        "set the time zone with --read-zone, such as Europe/Berlin";
    /// The clock of a log goes back.
    ClockGoesBack = "clock-goes-back" [Count]
        "the clock goes back {time|times}; reading continues as if it had not",
        "if daylight saving time ended, set the time zone with --read-zone";
    LinesNotOfLog = "lines-not-of-log" [Count Count Foreign]
        "{line is|lines are} not part of the log; the first is line {}: `{}`",
        "keep warnings out of the log: 2>warnings.txt";
    /// Cells of a log do not fit their columns.
    CellsNotValid = "cells-not-valid" [Count]
        "{cell is|cells are} not valid for the column", NAME_COLUMNS;
    /// Figures of a log cannot be.
    FiguresNotPossible = "figures-not-possible" [Count]
        "{figure|figures} out of range, such as a share above 100%; omitted", NAME_COLUMNS;
    /// Rows of a log contradict each other.
    RowsConflict = "rows-conflict" [Count Count]
        "{row is|rows are} omitted: the log has another row with the same time and GPU; the first \
         is on line {}", NAME_GPUS;
    /// Rows of a log are of a time that it had before.
    RowsRepeat = "rows-repeat" [Count Count]
        "{row is|rows are} omitted: the clock goes back to a time already logged for the same \
         GPU; the first is on line {}",
        "if the log covers several hosts or runs, read each separately; if daylight saving time \
         ended, set the time zone with --read-zone";
    /// Rows of a log do not say of which GPU they are.
    RowsAmbiguous = "rows-ambiguous" [Count Count]
        "{row is|rows are} omitted: several GPUs have the same index, and nothing else identifies \
         them; the first is on line {}", NAME_GPUS;
    /// Samples of a log do not have a row for each GPU.
    SamplesUneven = "samples-uneven" [Count]
        "{sample has|samples have} a different number of rows than the others; omitted",
        "also query `index` or `uuid`, so that every row identifies its GPU";
    /// A log ends within a sample.
    LogTruncated = "log-truncated" [Count]
        "the log ends within the sample that begins on line {}; the sample is omitted",
        "no action needed if nvidia-smi was killed; otherwise copy the log again";
    ColumnMissing = "column-missing" []
        "the log has no such column", "add it to --query-gpu";
    ColumnsMissing = "columns-missing" []
        "the log has no such columns", "add them to --query-gpu";
    /// The column of times is missing in a log.
    TimestampMissing = "timestamp-missing" []
        "the log has no such column; the sample interval comes only from --interval, and the date \
         is unknown", "add it to --query-gpu";
    ColumnsUnknown = "columns-unknown" [Foreign]
        "unknown: {}", "use the names of --query-gpu, or omit them";
    /// The columns of a log have no names.
    HeaderMissing = "header-missing" [Foreign]
        "the log has no header; inferred from the values: {}",
        "pass them with --read-columns, as given to --query-gpu";
    IndexShared = "index-shared" []
        "several GPUs have the same one; they are distinguished by uuid, bus id, serial number or \
         host, and numbered in order",
        "one host per log is expected; read the log of each host separately";
}
