//! A proxy between gpucost and a server of metrics: it refuses what a test has it refuse,
//! passes the rest on as it is, and remembers both. It runs as long as the tests do.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for the rest of a request.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it arrived.
pub struct Request {
    /// Method and target, such as `POST /api/v1/query`.
    pub line: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// What became of a request.
pub struct Seen {
    pub at: Instant,
    pub line: String,
    pub body: Vec<u8>,
    pub status: u16,
}

/// Decides about a request, which is counted from zero: `None` lets it through, else it is
/// refused with this status line and these headers, each with its line end.
type Rule = dyn Fn(usize, &Request) -> Option<&'static str> + Send + Sync;

struct Shared {
    upstream: String,
    rule: Box<Rule>,
    seen: Mutex<Vec<Option<Seen>>>,
}

pub struct Gate {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Gate {
    /// A gate before a server, given by address and port.
    pub fn before(
        upstream: &str,
        rule: impl Fn(usize, &Request) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
        let address = listener.local_addr();
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            rule: Box::new(rule),
            seen: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                // Clients hang up when they please.
                std::thread::spawn(move || serving.answer(stream).ok());
            }
        });
        Self { address: address.expect("a bound socket has an address"), shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was answered, in order of arrival. Nothing may be on its way.
    pub fn take_seen(&self) -> Vec<Seen> {
        self.shared.seen().drain(..).flatten().collect()
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Vec<Option<Seen>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One request a connection, so that nothing has to be told apart in it.
    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        let request = Request::read(&stream)?;
        let at = Instant::now();
        let number = {
            let mut seen = self.seen();
            seen.push(None);
            seen.len() - 1
        };
        let answer = match (self.rule)(number, &request) {
            Some(head) => format!("HTTP/1.1 {head}content-length: 0\r\nconnection: close\r\n\r\n")
                .into_bytes(),
            None => request.pass_on(&self.upstream)?,
        };
        self.seen()[number] = Some(Seen {
            at,
            // The number in `HTTP/1.1 200 OK`.
            status: String::from_utf8_lossy(answer.get(9..12).unwrap_or_default())
                .parse::<u16>()
                .map_err(io::Error::other)?,
            line: request.line,
            body: request.body,
        });
        stream.write_all(&answer)
    }
}

impl Request {
    fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            // A connection that was opened and not needed.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut headers = BTreeMap::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = match headers.get("content-length") {
            Some(length) => length.parse::<usize>().map_err(io::Error::other)?,
            None => 0,
        };
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self { line: line.trim_end().trim_end_matches(" HTTP/1.1").to_owned(), headers, body })
    }

    /// The answer of the server, byte for byte.
    fn pass_on(&self, upstream: &str) -> io::Result<Vec<u8>> {
        let mut head = format!("{} HTTP/1.1\r\nconnection: close\r\n", self.line);
        for (name, value) in &self.headers {
            if name != "connection" {
                head.extend([name.as_str(), ": ", value.as_str(), "\r\n"]);
            }
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(upstream)?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }
}
