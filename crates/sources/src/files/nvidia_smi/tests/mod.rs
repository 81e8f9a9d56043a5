//! Small logs, made up, of everything that people's logs have in them; those of `-q -x` stand here.

mod rows;
mod table;

use super::super::samples::{Input, ReadOptions, SampleReader, SamplesError, open_input};
use crate::domain::{GpuReading, Sample};

fn try_open(log: &[u8], options: &ReadOptions) -> Result<SampleReader, SamplesError> {
    open_input(Input::of_bytes("smi.log", log), options)
}

fn read_with(log: &str, options: &ReadOptions) -> (SampleReader, Vec<Sample>) {
    let mut reader = try_open(log.as_bytes(), options).expect("opens");
    let samples = reader.by_ref().collect::<Result<_, _>>().expect("reads");
    (reader, samples)
}

fn read(log: &str) -> (SampleReader, Vec<Sample>) {
    read_with(log, &ReadOptions::default())
}

fn reading(sample: &Sample, gpu: usize) -> &GpuReading {
    sample.gpus[gpu].reading().expect("it answered")
}

fn used(samples: &[Sample], gpu: usize) -> Vec<Option<f64>> {
    let used = |sample: &Sample| sample.gpus[gpu].reading()?.vram_used_mib;
    samples.iter().map(used).collect()
}

fn seconds(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.at_seconds).collect()
}

fn gaps(reader: &SampleReader) -> Vec<String> {
    let reported = |gap: crate::domain::Gap| format!("{}: {}", gap.what, gap.reason);
    reader.gaps().into_iter().map(reported).collect()
}

fn refusal(log: &str, options: &ReadOptions) -> SamplesError {
    try_open(log.as_bytes(), options).expect_err("a refusal")
}

const SLICED: &str = r#"<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <timestamp>Fri Aug  4 11:44:30 2023</timestamp>
  <driver_version>535.54.03</driver_version>
  <gpu id="00000000:01:00.0">
    <product_name>NVIDIA A100-SXM4-80GB</product_name>
    <uuid>GPU-a</uuid>
    <mig_mode><current_mig>Enabled</current_mig></mig_mode>
    <mig_devices>
      <mig_device>
        <index>0</index><gpu_instance_id>3</gpu_instance_id>
        <compute_instance_id>0</compute_instance_id>
        <fb_memory_usage><total>19968 MiB</total><used>12 MiB</used></fb_memory_usage>
      </mig_device>
    </mig_devices>
    <pci>
      <pci_gpu_link_info>
        <pcie_gen><max_link_gen>4</max_link_gen></pcie_gen>
        <link_widths><max_link_width>16x</max_link_width></link_widths>
      </pci_gpu_link_info>
      <tx_util>4000 KB/s</tx_util><rx_util>0 KB/s</rx_util>
    </pci>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
    </clocks_event_reasons>
    <fb_memory_usage><total>81920 MiB</total><used>50 MiB</used></fb_memory_usage>
    <utilization><gpu_util>N/A</gpu_util><encoder_util>7 %</encoder_util></utilization>
    <temperature><gpu_temp>27 C</gpu_temp></temperature>
    <gpu_power_readings>
      <power_draw>N/A</power_draw>
      <average_power_draw>67.03 W</average_power_draw>
      <instant_power_draw>70.00 W</instant_power_draw>
      <current_power_limit>500.00 W</current_power_limit>
      <default_power_limit>400.00 W</default_power_limit>
    </gpu_power_readings>
    <module_power_readings><power_draw>900.00 W</power_draw></module_power_readings>
    <clocks><sm_clock>1275 MHz</sm_clock><mem_clock>1593 MHz</mem_clock></clocks>
    <processes>
      <process_info>
        <gpu_instance_id>3</gpu_instance_id><pid>77</pid>
        <process_name>python</process_name><used_memory>9 MiB</used_memory>
      </process_info>
    </processes>
  </gpu>
  <gpu id="00000000:02:00.0">
    <product_name>NVIDIA A100-SXM4-80GB</product_name>
    <uuid>GPU-b</uuid>
    <utilization><gpu_util>55 %</gpu_util></utilization>
    <power_readings><power_draw>80.00 W</power_draw></power_readings>
    <processes>N/A</processes>
  </gpu>
</nvidia_smi_log>
"#;

#[test]
fn a_document_gives_gpus_slices_and_processes() {
    let (reader, samples) = read(SLICED);
    let gpus = &reader.facts().gpus;
    assert_eq!(reader.facts().driver_version.as_deref(), Some("535.54.03"));
    let indices: Vec<_> = gpus
        .iter()
        .map(|gpu| (gpu.index, gpu.mig.as_ref().and_then(|slot| slot.gpu_instance)))
        .collect();
    assert_eq!(indices, [(0, None), (0, Some(3)), (1, None)]);
    assert_eq!(gpus[0].power_limit_w, Some(500.0));
    assert_eq!(gpus[0].power_default_limit_w, Some(400.0));
    assert_eq!(gpus[1].vram_total_mib, Some(19_968.0));
    let whole = reading(&samples[0], 0);
    assert_eq!(whole.utilization_percent, None);
    assert_eq!(whole.encoder_percent, Some(7.0));
    assert_eq!(whole.power_w, Some(67.03));
    assert_eq!(whole.pcie_sent_bytes_per_second, Some(4e6));
    assert_eq!(whole.pcie_received_bytes_per_second, Some(0.0));
    assert_eq!(whole.throttle.expect("reasons").names(), ["power cap"]);
    assert_eq!(whole.processes, Some(Vec::new()));
    let slice = reading(&samples[0], 1);
    assert_eq!(slice.vram_used_mib, Some(12.0));
    assert_eq!(slice.power_w, None);
    let process = &slice.processes.as_ref().expect("a list")[0];
    assert_eq!((process.pid, process.vram_mib), (77, Some(9)));
    let other = reading(&samples[0], 2);
    assert_eq!((other.power_w, other.throttle), (Some(80.0), None));
    assert_eq!(other.processes, None);
}

#[test]
fn documents_follow_each_other_and_a_gpu_may_go() {
    let second = SLICED.replace("11:44:30", "11:44:32").replace("55 %", "60 %");
    let start = second.find("  <gpu id=\"00000000:02").expect("a second GPU");
    let third = format!("{}</nvidia_smi_log>\n", &second[..start]).replace(":32", ":34");
    let torn = &SLICED[..SLICED.len() / 2];
    let log = format!("warning: late\n{SLICED}{second}{third}{torn}");
    let (reader, samples) = read(&log);
    assert_eq!(seconds(&samples), [0.0, 2.0, 4.0]);
    assert_eq!(reading(&samples[1], 2).utilization_percent, Some(60.0));
    assert_eq!(samples[2].gpus[2].reading(), None);
    assert_eq!(reading(&samples[2], 1).vram_used_mib, Some(12.0));
    let reported = gaps(&reader);
    assert!(reported[1].ends_with("the first is line 1: `warning: late`"), "{reported:?}");
    assert!(reported[2].starts_with("the last sample: the log ends"), "{reported:?}");
    // All in one line, as some pipes leave it.
    let (_, flat) = read(&format!("{SLICED}{second}").replace('\n', ""));
    assert_eq!(flat.len(), 2);
}

#[test]
fn deep_and_hostile_documents_do_no_harm() {
    let deep = format!(
        "<nvidia_smi_log>{}{}</nvidia_smi_log>",
        "<a>".repeat(20_000),
        "</a>".repeat(20_000)
    );
    let refused = refusal(&deep, &ReadOptions::default()).to_string();
    assert!(refused.contains(" holds no samples"), "{refused}");
}
