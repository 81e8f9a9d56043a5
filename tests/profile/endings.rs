//! How a run ends when something stands in the way of what it writes.

use crate::profile::command::{profile, run, text, wait_for_lines};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

/// A run of a command in a shell.
fn of_command(flags: &[&str], script: &str) -> Command {
    let mut command = profile("eight-gpus");
    command.args(["--interval", "100ms"]).args(flags);
    command.args(["--", "sh", "-c", script]);
    command
}

fn ends_with_7(output: &Output) {
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
}

#[test]
fn a_failed_command_has_failed_though_nobody_reads_the_summary() {
    let mut command = of_command(&[], "sleep 0.2; exit 7");
    command.stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    drop(child.stderr.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(7));

    let mut command = of_command(&[], "exit 7");
    let full = fs::File::options().write(true).open("/dev/full");
    command.stderr(full.expect("it opens"));
    assert_eq!(command.status().expect("it runs").code(), Some(7));
}

#[test]
fn a_summary_that_cannot_be_written_goes_to_stderr() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let gone = folder.path().join("gone");
    fs::create_dir(&gone).expect("a folder");
    let out = gone.join("x.json").display().to_string();
    let script = format!("rm -r {}; exit 7", gone.display());
    let flags = ["--format", "json", "-o", out.as_str()];
    let output = run(&mut of_command(&flags, &script));
    ends_with_7(&output);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("\"exit_code\": 7"), "{stderr}");
    assert!(stderr.contains(&format!("error: cannot write {out}")), "{stderr}");
}

#[test]
fn full_disks_are_told_and_the_command_still_has_its_exit_code() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let full = folder.path().join("full.jsonl");
    symlink("/dev/full", &full).expect("a link");
    let full = full.display().to_string();
    for flag in ["--samples", "--record"] {
        let output = run(&mut of_command(&[flag, &full], "exit 7"));
        ends_with_7(&output);
        let stderr = text(&output.stderr);
        assert!(stderr.contains("No space left on device"), "{stderr}");
        assert!(stderr.contains("8 of 8 A10G used"), "{stderr}");

        // Without a command to answer for, the file is what failed.
        let mut command = profile("eight-gpus");
        let length = ["--interval", "100ms", "--duration", "300ms"];
        let output = run(command.args(length).args([flag, &full]));
        assert_eq!(output.status.code(), Some(1), "{flag}");
        assert!(text(&output.stdout).contains("8 of 8 A10G"), "{flag}");
    }
}

#[test]
fn a_limit_on_the_size_of_files_ends_the_file_and_not_the_run() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let samples = folder.path().join("run.jsonl");
    // One block of 512 or 1,024 bytes: less than the header of eight GPUs.
    let mut command = Command::new("sh");
    let program = of_command(&["--samples"], "");
    command.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]);
    command.arg(program.get_program());
    let flags = program.get_args().take_while(|flag| *flag != "--");
    command.args(flags).arg(&samples);
    command.args(["--", "sh", "-c", "exit 7"]);
    let set = program.get_envs();
    command.envs(set.filter_map(|(name, value)| Some((name, value?))));
    let output = run(&mut command);
    ends_with_7(&output);
    let stderr = text(&output.stderr);
    assert!(stderr.contains("File too large"), "{stderr}");
    assert!(stderr.contains("8 of 8 A10G used"), "{stderr}");
}

#[test]
fn quiet_beside_a_command_is_silent_unless_a_file_takes_the_summary() {
    let output = run(&mut of_command(&["-q"], "exit 7"));
    ends_with_7(&output);
    assert_eq!((text(&output.stderr), text(&output.stdout)), Default::default());

    let folder = tempfile::tempdir().expect("a scratch folder");
    let out = folder.path().join("x.json");
    let flags = ["-q", "--format", "json", "-o", out.to_str().expect("UTF-8")];
    ends_with_7(&run(&mut of_command(&flags, "exit 7")));
    let document = fs::read_to_string(&out).expect("it is there");
    assert!(document.contains("\"exit_code\": 7"), "{document}");
}

#[test]
fn a_command_that_cannot_start_leaves_the_files_of_before() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = |name: &str| folder.path().join(name);
    let unfit = file("unfit");
    fs::write(&unfit, "not a program\n").expect("written");
    for program in ["/no/such/program", "no-such-program"] {
        for (samples, record) in [("keep.jsonl", "new.trace"), ("new.jsonl", "keep.trace")] {
            for kept in ["keep.jsonl", "keep.trace"] {
                fs::write(file(kept), "a day of work\n").expect("written");
            }
            let mut command = profile("eight-gpus");
            command.arg("--samples").arg(file(samples));
            command.arg("--record").arg(file(record));
            let output = run(command.args(["--", program]));
            assert_eq!(output.status.code(), Some(2));
            let reported = text(&output.stderr);
            assert!(reported.contains("No such file or directory"), "{reported}");
            for kept in ["keep.jsonl", "keep.trace"] {
                let kept = fs::read_to_string(file(kept)).expect("it is there");
                assert_eq!(kept, "a day of work\n");
            }
            assert!(!file("new.jsonl").exists() && !file("new.trace").exists());
        }
    }
    // One that is there and may not be executed.
    let mut command = profile("eight-gpus");
    command.arg("--samples").arg(file("new.jsonl"));
    let output = run(command.arg("--").arg(&unfit));
    assert_eq!(output.status.code(), Some(2));
    let reported = text(&output.stderr);
    assert!(reported.contains("Permission denied"), "{reported}");
    // The samples of an earlier run are not written over.
    let mut command = profile("eight-gpus");
    command.arg("--samples").arg(file("keep.jsonl"));
    let output = run(command.args(["--", "true"]));
    assert_eq!(output.status.code(), Some(2));
    let path = file("keep.jsonl");
    assert_eq!(
        text(&output.stderr),
        format!(
            "error: cannot write {}\n  caused by: it is not empty\n\
             hint: use a different file for each run\n",
            path.display()
        )
    );
    let kept = fs::read_to_string(file("keep.jsonl")).expect("it is there");
    assert_eq!(kept, "a day of work\n");
}

#[test]
fn two_runs_do_not_write_to_one_file() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let samples = folder.path().join("run.jsonl");
    let mut command = profile("eight-gpus");
    command.args(["--interval", "100ms", "--samples"]).arg(&samples);
    let mut first = command.stdout(Stdio::null()).spawn().expect("it starts");
    wait_for_lines(&samples, 3);
    let mut command = profile("eight-gpus");
    command.args(["--duration", "1s", "--samples"]).arg(&samples);
    let second = run(&mut command);
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    let path = samples.display();
    assert_eq!(
        text(&second.stderr),
        format!(
            "error: cannot write {path}\n  \
             caused by: another process is writing to it\n\
             hint: use a different file for each run\n"
        )
    );
    assert_eq!(second.status.code(), Some(2));
}
