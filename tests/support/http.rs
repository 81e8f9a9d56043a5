//! A server of HTTP on this host, on a thread and a runtime of its own, so that it serves
//! blocking and asynchronous tests alike: a suite gives it a handler.

use std::convert::Infallible;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use http_body_util::combinators::BoxBody;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

/// What every handler returns.
pub type Reply = Response<BoxBody<Bytes, Infallible>>;

/// Why a request gets no answer at all; the connection is then closed.
#[derive(Debug)]
pub struct Unanswered;

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is to be closed without an answer")
    }
}

impl Error for Unanswered {}

/// A running server; dropping it stops it and closes its sockets. Requests under way are
/// then abandoned.
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves on a free port of `127.0.0.1`; with TLS where it is configured.
    pub fn start<H, F>(tls: Option<Arc<ServerConfig>>, handler: H) -> Self
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<Reply, Unanswered>> + Send + 'static,
    {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (stop, stopped) = oneshot::channel();
        let tls = tls.map(TlsAcceptor::from);
        let thread = std::thread::Builder::new()
            .name("loopback".to_owned())
            .spawn(move || run(listener, tls, handler, stopped))
            .expect("a thread can be started");
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error means that it has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run<H, F>(
    listener: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    handler: H,
    stopped: oneshot::Receiver<()>,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Reply, Unanswered>> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be started");
    runtime.block_on(async {
        tokio::select! {
            () = accept(listener, tls, handler) => {}
            _ = stopped => {}
        }
    });
    runtime.shutdown_background();
}

async fn accept<H, F>(listener: std::net::TcpListener, tls: Option<TlsAcceptor>, handler: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Reply, Unanswered>> + Send + 'static,
{
    listener.set_nonblocking(true).expect("a socket can be made non-blocking");
    let listener = TcpListener::from_std(listener).expect("a runtime is running");
    loop {
        let (stream, _) = listener.accept().await.expect("the listener is open");
        stream.set_nodelay(true).expect("a connected socket takes options");
        let (tls, handler) = (tls.clone(), handler.clone());
        tokio::spawn(async move {
            match tls {
                None => serve(stream, handler).await,
                // A client that is not trusted gets no further.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, handler).await;
                    }
                }
            }
        });
    }
}

async fn serve<S, H, F>(stream: S, handler: H)
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Result<Reply, Unanswered>>,
{
    // Clients hang up when they please, and faults hang up on them.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(handler))
        .await;
}
