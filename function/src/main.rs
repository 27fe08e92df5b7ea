//! The function's program: reads the command line, the clock and signals, and leaves the rest to the library.

mod cli;

use std::{io, process::ExitCode};

use anyhow::Context as _;
use cli::{Cli, Command, LogArgs};
use function_testplatform::serve::{Config, Function, Security, Server, metrics::Metrics};
use jiff::Timestamp;
use testplatform_composites::Options;
use testplatform_process::{logs, panics};
use testplatform_render::RenderArgs;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

/// A command line that does not say enough, as clap has it.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::read(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let log = cli.log;
    let result = match cli.into_command() {
        // Its output is for people and not for a log.
        Command::Render(args) => return render(&args),
        Command::Serve(args) => match args.split_options() {
            Ok((config, options)) => serve(config, options, log),
            Err(message) => {
                eprintln!("error: {message}");
                return ExitCode::from(USAGE);
            }
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn render(args: &RenderArgs) -> ExitCode {
    match testplatform_render::render(args, now, &mut io::stdout(), &mut io::stderr()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn serve(config: Config, options: Options, log: LogArgs) -> anyhow::Result<()> {
    let exporting =
        logs::init("function-testplatform", log.debug, log.log_format).map_err(anyhow::Error::msg)?;
    panics::install();
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let result = runtime.block_on(async {
        // Before anything is served: a signal from now on ends the server in order.
        let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
        let security = config.security.clone();
        let server = Server::bind(config, Function::new(options, now, Metrics::default())).await?;
        match security {
            Security::Insecure => tracing::warn!("serving plain text: anybody who can connect can call"),
            Security::Mutual(dir) => tracing::info!(dir = %dir.display(), "serving with certificates"),
        }
        tracing::info!(
            version = cli::VERSION,
            address = %server.address()?,
            admin_address = %server.admin_address()?,
            "serving",
        );
        let shutdown = async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        server.run(shutdown).await?;
        Ok(())
    });
    exporting.finish();
    // Calls that outlived the shutdown timeout are not waited for a second time.
    runtime.shutdown_background();
    result
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the clock is read; the function gets it as an argument"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
