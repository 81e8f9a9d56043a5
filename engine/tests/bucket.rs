//! The same roll-up and the same bill from a bucket: of moto's server, where
//! `target/test-venv` of gpucost has one, which `tests/run` installs.

use crate::bills;
use crate::brute;
use crate::generated::{self, NAMES, SMALL, points};
use crate::outcome::run_with;
use crate::read::{files, tables};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStoreExt, PutPayload};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const AT_MOST: Duration = Duration::from_secs(60);
const BUCKET: &str = "lake";

/// A server with an empty bucket, which ends with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// `None` where it is not installed.
    fn start() -> Option<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = program.join("../target/test-venv/bin/moto_server");
        if !program.exists() {
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let server = Self { child, address: format!("127.0.0.1:{port}") };
        let began = Instant::now();
        while server.make_bucket().is_err() {
            assert!(began.elapsed() < AT_MOST, "the server does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(server)
    }

    fn make_bucket(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(&self.address)?;
        let head = format!(
            "PUT /{BUCKET} HTTP/1.0\r\nHost: {}\r\nContent-Length: 0\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        assert!(answer.contains(" 200 "), "{answer}");
        Ok(())
    }

    /// What a program reads of its environment.
    fn environment(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ]
    }

    fn bucket(&self) -> AmazonS3 {
        let builder = AmazonS3Builder::new()
            .with_bucket_name(BUCKET)
            .with_endpoint(format!("http://{}", self.address))
            .with_allow_http(true)
            .with_region("us-east-1")
            .with_access_key_id("test")
            .with_secret_access_key("test");
        builder.build().expect("a bucket")
    }

    /// Puts the files of a folder below a prefix.
    fn put(&self, folder: &Path, prefix: &str) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        let bucket = self.bucket();
        for name in files(folder) {
            let bytes = std::fs::read(folder.join(&name)).expect("a file");
            let key = ObjectPath::from(format!("{prefix}/{name}"));
            let put = bucket.put(&key, PutPayload::from(bytes));
            runtime.block_on(put).expect("it is put");
        }
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        run_with(arguments, &self.environment())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_bucket_gives_the_same_rows_and_a_key_that_is_not_there_an_error() {
    let Some(server) = Server::start() else {
        eprintln!(
            "SKIPPED: a_bucket_gives_the_same_rows_and_a_key_that_is_not_there_an_error: \
             there is no target/test-venv with moto"
        );
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let points = points(SMALL, 13);
    let archive = folder.path().join("archive");
    generated::write(&points, &archive, "parquet", 3, NAMES);
    server.put(&archive, "points/a b=1");
    // What engines hide is not read.
    std::fs::create_dir(folder.path().join("_half")).expect("a folder");
    std::fs::write(folder.path().join("_half/x.parquet"), "half").expect("a file");
    server.put(&folder.path().join("_half"), "points/_half");
    let rolled = |prefix: &str, name: &str| {
        let out = folder.path().join(name);
        let input = format!("s3://{BUCKET}/{prefix}");
        let shown = out.display().to_string();
        let output = server.run(&["rollup", "--input", &input, "--out", &shown]);
        (output, out)
    };
    let (output, out) = rolled("points/", "out");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let mut found = tables(&out);
    found.remove("usage_hour");
    assert!(found == brute::tables(&points));

    let bill = folder.path().join("bill");
    std::fs::create_dir(&bill).expect("a folder");
    std::fs::write(bill.join("cur.csv"), bills::bill()).expect("a bill");
    server.put(&bill, "bill");
    let billed = |input: &str, name: &str| {
        let out = folder.path().join(name);
        let shown = out.display().to_string();
        let format = ["bill", "--format", "legacy-cur"];
        let output = server.run(&[&format[..], &["--input", input, "--out", &shown]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        tables(&out)
    };
    let of_folder = billed(&bill.display().to_string(), "of-folder");
    assert!(!of_folder["bill"].is_empty());
    assert!(billed("s3://lake/bill/", "of-bucket") == of_folder);

    let (output, out) = rolled("nothing/", "none");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("error: cannot list s3://lake/nothing/"), "{stderr}");
    assert!(stderr.contains("\nhint: "), "{stderr}");
    assert!(!out.join("v1/usage_run").exists());

    // An object that was cut off while it was written.
    std::fs::create_dir(folder.path().join("cut")).expect("a folder");
    let whole = std::fs::read(archive.join("part-0.parquet")).expect("a file");
    let cut = &whole[..whole.len() / 2];
    std::fs::write(folder.path().join("cut/part-0.parquet"), cut).expect("a file");
    server.put(&folder.path().join("cut"), "cut");
    let (output, _) = rolled("cut/", "cut-out");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("s3://lake/cut/part-0.parquet is not a whole"), "{stderr}");
}
