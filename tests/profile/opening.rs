//! Why NVML cannot be opened, and what the user is reported.

use crate::profile::stub::Stage;
use gpucost::sources::nvml::{NvmlError, NvmlSource};
use std::error::Error;
use std::path::Path;

/// The error of a library that answers so to the calls of opening.
fn error_of(system: &str) -> NvmlError {
    let line = format!(r#"{{"nvml_trace":1,"system":{{{system}}},"devices":[]}}"#);
    match Stage::of_text(&line).try_open() {
        Ok(_) => panic!("{system}: it opened"),
        Err(error) => error,
    }
}

#[test]
fn a_host_without_the_library_is_told_how_to_get_it() {
    let path = Path::new("/nonexistent/libnvidia-ml.so.1");
    let Err(error) = NvmlSource::open(Some(path), None) else {
        panic!("it opened");
    };
    assert_eq!(
        error.to_string(),
        "cannot load the NVIDIA management library /nonexistent/libnvidia-ml.so.1"
    );
    let cause = error.source().expect("the loader's words").to_string();
    assert!(cause.contains("No such file"), "{cause}");
    assert!(error.hint().contains("install the NVIDIA driver"));
}

#[test]
fn what_the_driver_says_at_the_start_becomes_an_error_with_a_hint() {
    for (system, message, hint) in [
        (r#""nvmlInit_v2":{"error":9}"#, "the NVIDIA driver is not loaded", "modprobe"),
        (
            r#""nvmlInit_v2":{"error":18}"#,
            "the NVIDIA driver and its library have different versions", "reboot",
        ),
        (
            r#""nvmlInit_v2":{"error":4}"#, "no permission to access the NVIDIA driver",
            "/dev/nvidiactl",
        ),
        (
            r#""nvmlInit_v2":{"error":999}"#, "the NVIDIA management library failed to initialize",
            "nvidia-smi",
        ),
        (r#""nvmlDeviceGetCount_v2":0"#, "the NVIDIA driver finds no GPU on this host", "lspci"),
    ] {
        let error = error_of(system);
        assert_eq!(error.to_string(), message);
        assert!(error.hint().contains(hint), "{}", error.hint());
    }
}

#[test]
fn a_file_that_is_no_library_is_an_error() {
    let stage = Stage::of("xid");
    std::fs::write(stage.library(), "not a library").expect("room");
    let error = stage.try_open().err().expect("an error");
    assert!(matches!(error, NvmlError::NoLibrary { .. }), "{error:?}");
}
