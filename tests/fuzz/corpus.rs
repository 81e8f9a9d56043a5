//! What mutations begin with: fixtures, and the examples of the documentation.

use crate::fuzz::oracles::run;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> Vec<u8> {
    fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<Vec<u8>> {
    let text = String::from_utf8(read(page)).expect("UTF-8");
    let open = format!("```{language}\n");
    let blocks = text.split(&open).skip(1);
    blocks.filter_map(|rest| Some(rest.split_once("\n```")?.0.as_bytes().to_vec())).collect()
}

/// Every estate of the rules' fixtures.
fn estate_paths() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(root().join("fixtures/rules"))
        .expect("a folder")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| {
            ["fires.json", "quiet.json", "missing.json"].map(|name| folder.join(name))
        })
        .filter(|path| path.exists())
        .collect();
    paths.sort();
    paths
}

pub fn estates() -> Vec<Vec<u8>> {
    let paths = estate_paths();
    paths.iter().map(|path| fs::read(path).expect("readable")).collect()
}

/// An estate that holds prices and nothing else.
pub fn price_caches() -> Vec<Vec<u8>> {
    let price = |instance_type: &str, option: &str, hourly: &str| {
        serde_json::json!({
            "region": "us-east-1", "instance_type": instance_type, "operating_system": "linux",
            "tenancy": "shared", "option": option, "currency": "USD", "hourly": hourly,
            "origin": "api", "effective_date": "2026-10-30", "seen_on": "2026-11-01",
            "source": "pricing:GetProducts",
        })
    };
    let mut reserved = price("g5.xlarge", "reserved-1yr-partial-upfront", "0.62");
    reserved["upfront"] = "2700".into();
    reserved["recurring_hourly"] = "0.31".into();
    let mut spot = price("g6.xlarge", "spot", "0.37");
    spot["zone"] = "us-east-1a".into();
    spot["spot_history"] = serde_json::json!({
        "now": "0.4", "min": "0.3", "max": "0.5", "p95": "0.45", "volatility_percent": "7",
    });
    let cache = serde_json::json!({
        "estate_version": "1", "as_of": "2026-11-01T00:00:00Z", "source": "aws",
        "prices": [price("g5.xlarge", "on-demand", "1.006"), reserved, spot],
        "storage_prices": [{
            "region": "us-east-1", "resource": "gp3", "currency": "USD", "unit_price": "0.08",
            "origin": "api", "effective_date": "2026-10-30", "source": "pricing:GetProducts",
        }],
    });
    vec![cache.to_string().into_bytes()]
}

/// Nodes, and the same with everything else of their cluster.
pub fn clusters() -> Vec<Vec<u8>> {
    let nodes = read("fixtures/kubernetes/nodes.json");
    let list = |text: &[u8]| -> serde_json::Value { serde_json::from_slice(text).expect("JSON") };
    let mut all = list(&nodes);
    let mut others = list(&read("fixtures/kubernetes/objects.json"));
    let others = others["items"].as_array_mut().expect("a list");
    all["items"].as_array_mut().expect("a list").append(others);
    vec![nodes, all.to_string().into_bytes()]
}

pub fn commitments() -> Vec<Vec<u8>> {
    let lists = blocks("docs/estate.md", "json").into_iter();
    lists.filter(|block| block.starts_with(b"[")).collect()
}

pub fn audits() -> Vec<Vec<u8>> {
    let paths = estate_paths();
    let some = paths.iter().step_by(4);
    some.map(|path| audit_of(path)).collect()
}

fn audit_of(estate: &Path) -> Vec<u8> {
    let estate = estate.to_str().expect("UTF-8");
    let (code, stdout, stderr) = run(&["audit", "--from", estate, "--format", "json"]);
    assert_eq!(code, 0, "{stderr}");
    stdout.into_bytes()
}

pub fn bills() -> Vec<Vec<u8>> {
    let names = ["cur2.csv", "legacy.csv", "focus12.csv"];
    let paths = names.map(|name| format!("fixtures/bills/{name}"));
    paths.iter().map(|path| read(path)).collect()
}

pub fn plans() -> Vec<Vec<u8>> {
    vec![read("fixtures/terraform/gpu-plan.json")]
}

pub fn policies() -> Vec<Vec<u8>> {
    let mut all = blocks("docs/check.md", "toml");
    all.truncate(1);
    all.push(gpucost::config::STARTING_POLICY.as_bytes().to_vec());
    all
}

pub fn settings() -> Vec<Vec<u8>> {
    blocks("docs/configuration.md", "toml")
}

pub fn prices() -> Vec<Vec<u8>> {
    let mut all = blocks("docs/pricing.md", "csv");
    all.push(
        b"instance_type,region,hourly,effective_date,operating_system,option\n\
          g5.xlarge,us-east-1,0.71,2026-10-01,linux,on-demand\n\
          g5.xlarge,us-east-1,0.31,2026-10-01,linux,spot\n\
          p5.48xlarge,eu-west-1,44.10,2026-09-01,windows,on-demand\n"
            .to_vec(),
    );
    all
}

/// Most rows have the time of a neighbor: one that is before the row above is refused.
pub fn arrivals() -> Vec<Vec<u8>> {
    let seconds = b"at_seconds,service_seconds\n\
        0,0.481250\n0,0.731250\n0,1.250125\n5,0.333125\n5,2.125000\n5,0.125125\n";
    let tokens = b"timestamp,input_tokens,output_tokens\n\
        0,480812,101234\n0,318012,851234\n7,110123,271234\n7,743312,141234\n";
    vec![seconds.to_vec(), tokens.to_vec()]
}

/// An answer of CloudWatch, one of Prometheus, and one in CSV.
pub fn request_counts() -> Vec<Vec<u8>> {
    let metric = blocks("docs/planners/capacity.md", "json").remove(0);
    let values: Vec<serde_json::Value> = (0..8)
        .map(|index| serde_json::json!([1_793_404_800 + index * 60, (100 + index).to_string()]))
        .collect();
    let series = serde_json::json!({"metric": {"pod": "a"}, "values": values});
    let matrix = serde_json::json!({
        "status": "success", "warnings": ["x"],
        "data": {"resultType": "matrix", "result": [series.clone(), series]},
    });
    vec![metric, matrix.to_string().into_bytes()]
}

pub fn request_rows() -> Vec<Vec<u8>> {
    let rows = b"time,requests\n\
        1,1048125073125\n2,12250125033312\n3,41250000125125\n4,00000000000000\n";
    vec![rows.to_vec()]
}

/// Rows of demand in order: most of their digits are those of the GPUs.
pub fn demand() -> Vec<Vec<u8>> {
    let seconds = b"time,gpus\n\
        1,0.481250731250\n2,12.2501250333125\n3,4.12500001251254\n4,0.0000000000000\n";
    let times = b"timestamp,pod,busy_gpus\n\
        2026-11-02T00:00:00Z,a,0.481250731250481250731250\n\
        2026-11-04T00:00:00Z,a,2.125000012512548125073125\n";
    vec![seconds.to_vec(), times.to_vec()]
}

pub fn jobs() -> Vec<Vec<u8>> {
    let mut all = blocks("docs/planners/place.md", "csv");
    all.push(
        b"name,gpu,gpus,hours,release,deadline,restartable,data_region,data_gb\n\
          a,A10G,1,10.5,,480h,yes,us-east-1,0\n\
          b,A10G,4,6.25,2h,360h,no,us-east-1,500\n\
          c,A10G,1,2.75,2026-11-02T08:00:00Z,,no,us-west-2,50\n\
          d,A100:40GB,8,1.25,,240h,yes,us-east-1,1000\n\
          e,L4,1,12.5,12h,,yes,,\n\
          f,L4,2,0.25,,,1,us-west-2,25.5\n\
          g,24GB..,1,3.125,,999h,0,,\n\
          h,T4,4,36.5,,,yes,us-east-1,0.5\n\
          i,H100,8,20.5,24h,,yes,us-east-2,12\n"
            .to_vec(),
    );
    all
}

pub fn units() -> Vec<Vec<u8>> {
    blocks("docs/kpis.md", "csv")
}

/// Two GPUs for a few samples.
pub fn samples() -> Vec<Vec<u8>> {
    let mut text = String::from(
        "{\"samples_version\":\"1\",\"gpucost_version\":\"0.1.0\",\"started\":\"2026-10-25T08:00:00Z\",\
         \"interval_seconds\":1.0,\"hostname\":\"box\",\"is_command\":false,\"gpus\":[{\"index\":0,\
         \"uuid\":\"GPU-a\",\"name\":\"NVIDIA L4\",\"vram_total_mib\":23034.0},{\"index\":1}]}\n",
    );
    for second in 0..6 {
        text.push_str(&format!(
            "{{\"at_seconds\":{second}.0,\"time\":\"2026-10-25T08:00:0{second}Z\",\"gpus\":[\
             {{\"utilization_percent\":4{second}.0,\"vram_used_mib\":900.0,\"power_w\":61.5}},\
             {{\"utilization_percent\":0.0}}],\"host\":{{\"cpu_percent\":12.5}}}}\n"
        ));
    }
    text.push_str(
        "{\"end\":{\"elapsed_seconds\":6.0,\"spot\":{\"interruption\":{\"action\":\"stop\",\
         \"time\":\"2026-10-25T08:02:00Z\",\"noticed_seconds\":5.0,\
         \"warned_by\":\"SIGTERM\",\"action_seconds\":120.0,\"deadline_seconds\":110.0}}}}\n",
    );
    vec![text.into_bytes()]
}

pub fn smi_csv() -> Vec<Vec<u8>> {
    let log = String::from_utf8(read("fixtures/logs/one-of-four.csv")).expect("UTF-8");
    let start: Vec<&str> = log.lines().take(41).collect();
    vec![(start.join("\n") + "\n").into_bytes()]
}

pub fn smi_xml() -> Vec<Vec<u8>> {
    let gpu = |index: u32| {
        format!(
            "<gpu id=\"00000000:0{index}:00.0\"><product_name>NVIDIA \
             L4</product_name>\n<uuid>GPU-{index}</uuid>\n<mig_mode><current_mig>N/A</current_mig></mig_mode>\n<fb_memory_usage><total>23034 \
             MiB</total><used>50 \
             MiB</used></fb_memory_usage>\n<utilization><gpu_util>1{index}%</gpu_util><encoder_util>7%</encoder_util></utilization>\n<temperature><gpu_temp>27 \
             C</gpu_temp></temperature>\n<clocks><sm_clock>1275 \
             MHz</sm_clock><mem_clock>1593 MHz</mem_clock></clocks></gpu>\n"
        )
    };
    let document = format!(
        "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n\
         <timestamp>Fri Aug  4 11:44:30 2023</timestamp>\n\
         <driver_version>535.54.03</driver_version>\n{}{}</nvidia_smi_log>\n",
        gpu(1),
        gpu(2)
    );
    vec![document.into_bytes()]
}
