//! Running the compiled program against a server, with checks that hold whatever happens.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::fleet::AS_OF;
use super::server::{ApiServer, TOKEN};
use crate::cli::process::program;

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The document, after a run that ends well.
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        serde_json::from_str(&self.stdout).expect("stdout is JSON and nothing else")
    }

    /// The words on stderr, after a run that ends with this code and without a document.
    pub fn error(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert_eq!(self.stdout, "", "nothing on stdout beside a document");
        let form = ["error: ", "  caused by: ", "hint: "];
        for line in self.stderr.lines() {
            assert!(form.iter().any(|start| line.starts_with(start)), "{line}");
        }
        assert!(self.stderr.contains("\nhint: "), "{}", self.stderr);
        &self.stderr
    }
}

/// A folder in which the program runs, with a kubeconfig.
pub struct Lab {
    folder: TempDir,
    kubeconfig: PathBuf,
}

impl Lab {
    /// With a kubeconfig that leads to a server.
    pub fn of(server: &ApiServer) -> Self {
        Self::with(&server.kubeconfig())
    }

    pub fn with(kubeconfig: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder can be made");
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, kubeconfig.to_string()).expect("a writable folder");
        Self { folder, kubeconfig: path }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Runs the program with nothing of this environment but the kubeconfig.
    pub fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(&[], arguments)
    }

    /// The same with further variables.
    pub fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Run {
        let output = program(self.folder())
            .env("KUBECONFIG", &self.kubeconfig)
            .envs(variables.iter().copied())
            .args(arguments)
            .output()
            .expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
        let run = Run {
            code: output.status.code().expect("it ends by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains(TOKEN), "{text}");
            assert!(!text.contains("panicked"), "{text}");
        }
        run
    }

    /// A command on the cluster, as JSON.
    pub fn read(&self, command: &str, more: &[&str]) -> Run {
        let arguments = [command, "--kubernetes", "--format", "json", "--as-of", AS_OF];
        self.run(&[&arguments[..], more].concat())
    }
}

/// The gaps of a document that are about a cluster's lists: what, why and what to do.
pub fn list_gaps(document: &Value) -> Vec<(&str, &str, &str)> {
    let gaps = document["gaps"].as_array().expect("a list").iter();
    gaps.filter(|gap| gap["cause"] == "call-failed")
        .map(|gap| {
            let key = |name: &str| gap[name].as_str().expect("text");
            (key("what"), key("reason"), key("hint"))
        })
        .collect()
}
