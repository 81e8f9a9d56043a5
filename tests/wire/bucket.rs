//! A bucket of moto's, written and read by hand.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::wire::audit::account::{Account, another_number};

/// A bucket of an account, which is empty until something is put into it.
pub struct Bucket<'a> {
    account: &'a Account,
    pub name: String,
}

impl<'a> Bucket<'a> {
    pub fn of(account: &'a Account) -> Self {
        // Buckets of all accounts share their names.
        let name = format!("gpucost-{}", another_number());
        let bucket = Self { account, name };
        let (status, answer) = bucket.request("PUT", "", b"");
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
        bucket
    }

    /// The address of a prefix in it.
    pub fn url(&self, prefix: &str) -> String {
        format!("s3://{}/{prefix}", self.name)
    }

    pub fn put(&self, key: &str, bytes: &[u8]) {
        let (status, answer) = self.request("PUT", &format!("/{}", escaped(key)), bytes);
        assert_eq!(status, 200, "{key}: {}", String::from_utf8_lossy(&answer));
    }

    pub fn get(&self, key: &str) -> Vec<u8> {
        let (status, bytes) = self.request("GET", &format!("/{}", escaped(key)), b"");
        assert_eq!(status, 200, "{key}: {}", String::from_utf8_lossy(&bytes));
        bytes
    }

    pub fn delete(&self, key: &str) {
        let (status, _) = self.request("DELETE", &format!("/{}", escaped(key)), b"");
        assert_eq!(status, 204, "{key}");
    }

    /// The keys that begin with a prefix, ascending.
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let mut listed: Vec<String> = Vec::new();
        loop {
            let after = listed.last().map(|key| escaped(key)).unwrap_or_default();
            let query = format!(
                "?list-type=2&encoding-type=url&max-keys=1000&prefix={}&start-after={after}",
                escaped(prefix)
            );
            let (status, page) = self.request("GET", &query, b"");
            assert_eq!(status, 200, "{}", String::from_utf8_lossy(&page));
            let page = String::from_utf8(page).expect("XML is text");
            let keys = page.split("<Key>").skip(1);
            let keys = keys.filter_map(|rest| Some(plain(rest.split_once("</Key>")?.0)));
            listed.extend(keys);
            if !page.contains("<IsTruncated>true</IsTruncated>") {
                return listed;
            }
        }
    }

    /// Sends a request, and answers its status and its body.
    fn request(&self, method: &str, rest: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let url = self.account.loopback.url();
        let address = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the loopback listens");
        // Its scope is read, and nothing else of it.
        let head = format!(
            "{method} /{}{rest} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Authorization: AWS4-HMAC-SHA256 \
             Credential=test/20261123/us-east-1/s3/aws4_request, SignedHeaders=host, \
             Signature=0\r\nContent-Type: application/octet-stream\r\n\
             Content-Length: {}\r\n\r\n",
            self.name,
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it listens");
        stream.write_all(body).expect("it listens");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = answer.split_off(end.expect("a head") + 4);
        let head = String::from_utf8(answer).expect("heads are text");
        let status = head.split(' ').nth(1).expect("a status");
        (status.parse().expect("a number"), body)
    }
}

/// A key as a part of an address.
fn escaped(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=".contains(&byte);
    key.bytes()
        .map(|byte| match byte {
            byte if plain(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// A key without what [`escaped`] does to it, and servers do.
fn plain(key: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = key.as_bytes();
    while let Some((first, further)) = rest.split_first() {
        let digits = further.get(..2).filter(|_| *first == b'%');
        let code = digits.and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &further[2..];
            }
            None => {
                bytes.push(*first);
                rest = further;
            }
        }
    }
    String::from_utf8(bytes).expect("keys are UTF-8")
}
