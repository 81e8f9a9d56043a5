//! A server on this host, for tests: it answers what it is told and keeps what it is asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// A request as it arrived.
pub(super) struct Received {
    /// The request line and the headers.
    pub head: String,
    form: Vec<(String, String)>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn form(&self) -> Vec<(&str, &str)> {
        let pairs = self.form.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// Answers requests one after the other, and then no longer listens. An empty answer
/// closes the connection.
pub(super) fn serve<const N: usize>(answers: [Vec<u8>; N]) -> (String, Receiver<Received>) {
    let (address, requests) = serve_over(answers, |stream| stream);
    (format!("http://{address}"), requests)
}

/// The same over what each connection becomes.
pub(super) fn serve_over<S: Read + Write, const N: usize>(
    answers: [Vec<u8>; N],
    over: impl Fn(TcpStream) -> S + Send + 'static,
) -> (SocketAddr, Receiver<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("a bound socket has an address");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let Ok((stream, _)) = listener.accept() else { return };
            let mut stream = over(stream);
            let Some(request) = received(&mut stream) else { return };
            if sender.send(request).is_err() {
                return;
            }
            // Whoever has read enough may be gone.
            let _ = stream.write_all(&answer);
        }
    });
    (address, receiver)
}

fn received(stream: &mut impl Read) -> Option<Received> {
    let mut head: Vec<u8> = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let mut request = Received { head: String::from_utf8(head).ok()?, form: Vec::new() };
    let length = request.header("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    request.form = form_urlencoded::parse(&body).into_owned().collect();
    Some(request)
}

/// An answer; each header ends with a line break.
pub(super) fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

pub(super) fn ok(body: &str) -> Vec<u8> {
    reply("200 OK", "content-type: application/json\r\n", body)
}
