//! A moto server, for the EC2 and STS operations that need no imitation here.

use std::net::TcpStream;
use std::process::Command;

use crate::wire::process::Server;

/// A moto server with a state of its own; dropping it ends it.
///
/// Known limits of moto 5.2.5: no `p2`, `p3` (but `p3dn`), `g4ad` and `dl1`
/// among its instance types, which is why it is not told to validate them at
/// launch; no `PlatformDetails` nor `UsageOperation`; `LaunchTime` is always
/// now; pages of `DescribeInstances` count reservations, not instances.
pub struct Moto {
    address: String,
    /// Ends the process when dropped.
    _server: Server,
}

impl Moto {
    /// Starts `moto_server` on a free loopback port and waits until it
    /// listens. `None`, with the reason recorded, when it is not installed.
    pub fn start() -> Option<Self> {
        let program = Server::find("moto_server", "GPUCOST_TEST_MOTO")?;
        let mut command = Command::new(program);
        command
            .args(["-H", "127.0.0.1", "-p", "0"])
            .env_remove("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION")
            .env("PYTHONUNBUFFERED", "1");
        let mut server = Server::start(command);
        let address = server.wait_until(|server| {
            let log = server.log();
            let (_, rest) = log.split_once("Running on http://")?;
            let (address, _) = rest.split_once(char::is_whitespace)?;
            TcpStream::connect(address).ok().map(|_| address.to_owned())
        });
        Some(Self { address, _server: server })
    }

    /// The server's address, for [`super::Loopback::start`].
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}
