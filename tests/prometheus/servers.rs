//! A real Prometheus and a real VictoriaMetrics with the same samples in them.

use super::fleet::{Published, write};
use crate::support::skip::skip;
use crate::wire::process::Server;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where `tests/run` unpacks what is not installed.
const UNPACKED: &str = "target/tools/metrics/usr/bin";
/// The samples are years old.
const KEEP: &str = "100y";

/// The programs that these tests need.
pub struct Programs {
    prometheus: PathBuf,
    promtool: PathBuf,
    victoria_metrics: PathBuf,
}

impl Programs {
    /// `None`, with the reason recorded, where one is missing.
    pub fn find() -> Option<Self> {
        Some(Self {
            prometheus: program("prometheus")?,
            promtool: program("promtool")?,
            victoria_metrics: program("victoria-metrics")?,
        })
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join(UNPACKED);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let binary = std::iter::once(unpacked)
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file());
    if binary.is_none() {
        skip(&format!("no {name} in {UNPACKED} or in the PATH"));
    }
    binary
}

/// A server of metrics, running until it is dropped.
pub struct Metrics {
    /// `127.0.0.1` with its port.
    pub address: String,
    /// Ends the process when dropped.
    _server: Server,
}

impl Metrics {
    /// A Prometheus that answers.
    fn ready(command: Command) -> Self {
        let mut server = Server::start(command);
        let address = server.wait_until(|server| {
            let log = server.log();
            let listens = log.lines().find(|line| line.contains("Listening on"))?;
            let (_, rest) = listens.split_once("address=")?;
            let address = rest.split_whitespace().next()?;
            log.contains("Server is ready").then(|| address.to_owned())
        });
        Self { address, _server: server }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Programs {
    /// Writes the samples as blocks that a Prometheus opens.
    pub fn write_blocks(&self, published: &Published, blocks: &Path) {
        let text = tempfile::NamedTempFile::new().expect("a scratch file can be made");
        let mut writer = BufWriter::new(File::create(text.path()).expect("our own file"));
        write(published, true, &mut writer).expect("the disk has space");
        writer.flush().expect("the disk has space");
        self.blocks_of(text.path(), blocks);
    }

    /// Writes a file in the OpenMetrics format as blocks that a Prometheus opens.
    pub fn blocks_of(&self, text: &Path, blocks: &Path) {
        let output = Command::new(&self.promtool)
            .args(["tsdb", "create-blocks-from", "openmetrics", "--quiet"])
            // One block instead of one for every two hours, which takes four times as long.
            .arg("--max-block-duration=720h")
            .args([text, blocks])
            .stdin(Stdio::null())
            .output()
            .expect("promtool can be run");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "promtool: {said}");
    }

    /// A Prometheus over blocks, with more settings.
    pub fn prometheus(&self, blocks: &Path, more: &[&str]) -> Metrics {
        let mut command = Command::new(&self.prometheus);
        command
            .args(["--config.file=/dev/null", "--web.listen-address=127.0.0.1:0"])
            .arg(format!("--storage.tsdb.path={}", blocks.display()))
            .arg(format!("--storage.tsdb.retention.time={KEEP}"))
            .args(more);
        Metrics::ready(command)
    }

    /// A Prometheus with a file of settings and no samples yet.
    pub fn scraping(&self, settings: &Path) -> Metrics {
        let mut command = Command::new(&self.prometheus);
        command
            .arg(format!("--config.file={}", settings.display()))
            .arg("--web.listen-address=127.0.0.1:0")
            // In the scratch folder that it runs in: Debian's default is one for the machine.
            .arg("--storage.tsdb.path=data");
        Metrics::ready(command)
    }

    /// What checks rules and metrics.
    pub fn promtool(&self) -> Command {
        Command::new(&self.promtool)
    }

    /// A VictoriaMetrics that has taken in the samples.
    pub fn victoria_metrics(&self, published: &Published) -> Metrics {
        // It does not say which port it was given, so it is given one that was free just now.
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(&self.victoria_metrics);
        command
            .arg(format!("-httpListenAddr={address}"))
            .arg(format!("-retentionPeriod={KEEP}"))
            .arg("-storageDataPath=data");
        let mut server = Server::start(command);
        server.wait_until(|_| TcpStream::connect(&address).ok());
        let mut text = Vec::new();
        write(published, false, &mut text).expect("memory takes everything");
        post(&address, "/api/v1/import/prometheus", &text);
        // Samples are found some seconds after they arrived, and at once after this.
        post(&address, "/internal/force_flush", &[]);
        Metrics { address, _server: server }
    }
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
    let address = listener.local_addr();
    address.expect("a bound socket has an address").port()
}

fn post(address: &str, target: &str, body: &[u8]) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let length = body.len();
    let head = format!(
        "POST {target} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    stream.write_all(body).expect("it reads to the end");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 20"), "{target}: {answer}");
}
