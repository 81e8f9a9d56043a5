//! Texts that several causes share, and long ones.

pub(super) const ANOTHER_PLACE: &str = "audit the account and region where the run was recorded; a run on \
                             EC2 includes its instance ID unless recorded with `--no-imds`, and \
                             a run in a container is matched by its GPUs to a run on the host";
pub(super) const ASK_FOR_PRICES: &str = "run without `--offline` to ask the Pricing API";
// Whether price lists were asked cannot be seen where this is said, and more asking may
// not help.
pub(super) const RECORD_PRICE: &str =
    "record the price in the estate file (`--save`), with the origin `user`";
pub(super) const RECORD_NIGHTS: &str = "`gpucost history record` stores an audit each night; pass its place with `--recorded-audits DIR`";
pub(super) const RECORD_ON: &str =
    "run `gpucost history record` every night, of all that is checked";
pub(super) const STATE_PRICE: &str =
    "state it in a file of your own prices, under `[prices]` in gpucost.toml";
pub(super) const REFRESH_PRICES: &str =
    "`gpucost pricing refresh` reads prices; you can set a custom price in the settings file";
pub(super) const REFRESH_RATES: &str = "`gpucost pricing refresh` reads savings plan rates";
pub(super) const RECORD_CLUSTER: &str = "record the whole cluster: `kubectl get nodes,pods,replicasets.apps,\
                              jobs.batch --all-namespaces -o json`";
pub(super) const SEE_BILL: &str = "see the purchase on the bill";
pub(super) const SET_UP_METRICS: &str =
    "`gpucost setup metrics` prints the CloudWatch agent configuration";
pub(super) const COMPARE_COUNTERS: &str = "run `nvidia-smi dmon -s pu` on the machine: where it shows work, restart the exporter or the \
     agent; where it shows none, check that the power is of the same GPU";
pub(super) const ADD_MAXIMA: &str =
    "request the statistic `maximum` in addition to `average`, or add it to the estate";
pub(super) const CONFIGURE: &str = "set it in the configuration, or add a suppression";
pub(super) const ADD_BUDGET: &str = "add a [[budget]] with `currency = \"{1}\"`";
pub(super) const NAME_COLUMNS: &str = "check that the column names match the query";
pub(super) const NAME_GPUS: &str = "read the log of each host separately, or also query `index` and `uuid`, so \
                         that every row identifies its GPU";
pub(super) const COPY_FILE: &str =
    "no action needed if the sampler was killed; otherwise copy the file again";
pub(super) const SAMPLES_MISSING: &str = "{,} of {,} expected samples are missing; the longest gap, {}, begins \
                               {} after the start";
pub(super) const HIDDEN_BY_MIG: &str = "{} does not report it for this GPU while MIG is enabled";
pub(super) const NO_SUCH_CALL: &str = "{} does not provide this call";
pub(super) const NOT_ALLOWED: &str = "{} does not allow it for this user";
pub(super) const WRAPS: &str =
    "its counter wraps after 4 GiB, which the link can transfer between two samples";
pub(super) const KNOW_SCOPE: &str =
    "check where the scope is known, or add a budget for everything";
pub(super) const UNMATCHED: &str = "{,} series of {host|hosts} match no audited instance, or several, such as \
                         those of {}";
pub(super) const NOTHING_TO_DO: &str = "no action possible on this host; verdicts are made without it and \
                             say so";
pub(super) const ROLL_UP_AGAIN: &str =
    "write the roll-ups of these days again, as docs/scale.md shows";
pub(super) const NAME_INSTANCES: &str = "no action needed if they were terminated or are of another account; otherwise name the \
     column that has the instances as `gpucost inventory` shows them, with `--columns`";
pub(super) const NO_ROLLUPS: &str = "no instance of the inventory has a roll-up of a whole day of the window; {run is|runs are} \
     of another account or region";
pub(super) const COMPARE_ROLLUPS: &str = "compare the accounts, regions, instances and days of `usage_asked` with those of \
     `gpucost inventory`; without `--account` and `--region`, a roll-up is of any of them";
pub(super) const KEEP_SAMPLING: &str =
    "check that the agent or exporter runs, at all hours in which the instance runs";
pub(super) const SAMPLES_SPARSE: &str =
    "samples of {GPU|GPUs} are about {} apart, which is more than an hour: coverage is low";
pub(super) const SCRAPE_MORE: &str = "scrape the exporter at least once every 5 minutes";
pub(super) const SLICES_UNMEASURED: &str = "{} of {MIG instance|MIG instances} report no utilization beside others of the same card: \
     these cards are unmeasured";
pub(super) const MEASURE_SLICES: &str =
    "check that the exporter reports the engine activity of every MIG instance";
