//! Hands arguments and the real streams to the library.

use gpucost::cli::{self, Io};

fn main() -> std::process::ExitCode {
    let mut stdout = std::io::stdout();
    let mut stderr = std::io::stderr();
    let mut io = Io::of_process(&mut stdout, &mut stderr);
    let code = cli::main(std::env::args_os(), &mut io);
    std::process::ExitCode::from(code.number())
}
