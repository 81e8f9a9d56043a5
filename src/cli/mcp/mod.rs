//! `gpucost mcp`: a server of the Model Context Protocol on stdin and stdout. Its tools are
//! commands of this program that change nothing, and each answers what the command prints.

mod answer;
mod roots;
mod server;
mod tools;

use super::Io;
use super::exit::{ExitCode, Failure, Outcome};
use super::live::runtime;
use super::mcp_args::McpArgs;
use answer::Runner;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use roots::Roots;
use server::Server;
use std::io::IsTerminal;

/// The longest line that is read; a request of a tool has some hundred bytes.
const MOST_LINE_BYTES: usize = 1 << 20;

/// Serves until stdin ends. `runner` runs the commands behind the tools.
pub(super) fn run(args: &McpArgs, runner: Runner, io: &mut Io<'_>) -> Outcome {
    let roots = Roots::of(&args.root, &io.folder)?;
    if std::io::stdin().is_terminal() {
        // A closed stderr does not change what is served.
        let _ = io.stderr.write_all(b"waiting for an MCP client on stdin; see docs/mcp.md\n");
    }
    let runtime = runtime().map_err(Failure::unexpected)?;
    let served = runtime.block_on(serve(Server::new(runner, roots, args.clone())));
    // A read of stdin that is under way cannot be ended, and what a tool computes for a client
    // that is gone is not waited for.
    runtime.shutdown_background();
    served.map(|()| ExitCode::Done)
}

async fn serve(server: Server) -> Outcome<()> {
    let transport = AsyncRwTransport::new_server(tokio::io::stdin(), tokio::io::stdout())
        .with_max_line_length(MOST_LINE_BYTES);
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // The client left before it asked anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            return Err(Failure::unexpected(error).with_hint(
                "a client of the Model Context Protocol starts `gpucost mcp`; see docs/mcp.md",
            ));
        }
    };
    running.waiting().await.map_err(Failure::unexpected)?;
    Ok(())
}
