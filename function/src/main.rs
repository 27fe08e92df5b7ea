//! The function's program: reads the command line, the clock and signals, and leaves the rest to the library.

mod cli;

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _},
    process::ExitCode,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use cli::{Cli, Command};
use function_testplatform::{
    Options,
    ctl::{self, exit::Exit, session::Surroundings},
    edge::{Function, metrics::Metrics},
    render::RenderArgs,
    serve::{Config, Security, Server},
};
use jiff::Timestamp;
use signal_hook::{consts::SIGINT, flag, low_level::emulate_default_handler};
use testplatform_process::{logs, panics};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

/// A command line that does not say enough, as clap has it.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let line: Vec<OsString> = std::env::args_os().collect();
    if let Some((called, line)) = ctl::called(&line) {
        return ended(ctl::run(called, line, surroundings(), &mut io::stdout(), &mut io::stderr()));
    }
    let cli = Cli::read(line).unwrap_or_else(|error| error.exit());
    let log = cli.log;
    let result = match cli.into_command() {
        // What it has to say is for people and not for a log.
        Command::Render(args) => return render(&args),
        Command::Ctl { line } => {
            return ended(ctl::run_after(line, surroundings(), &mut io::stdout(), &mut io::stderr()));
        }
        Command::Serve(args) => match args.split() {
            Ok((config, options)) => {
                logs::init(log.debug, log.log_format);
                serve(config, options)
            }
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

/// Where the plugin is. A dumb terminal cannot write over a line.
fn surroundings() -> Surroundings {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    Surroundings {
        now,
        variable: |name| std::env::var_os(name),
        terminal: !dumb && io::stderr().is_terminal(),
        interrupted,
    }
}

/// Whether Ctrl-C was pressed since this was asked first. Until then it ends the program at once, and a second one does so ever after.
fn interrupted() -> bool {
    static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let flag = Arc::<AtomicBool>::default();
        // In this order, so that the first one does not meet what it has set itself.
        let _ = flag::register_conditional_default(SIGINT, Arc::clone(&flag));
        let _ = flag::register(SIGINT, Arc::clone(&flag));
        flag
    });
    let pressed = FLAG.load(Ordering::Relaxed);
    if pressed {
        // The terminal throws away what it has yet to show, shortly after it has told us: nothing is written before that.
        std::thread::sleep(Duration::from_millis(20));
    }
    pressed
}

/// How the plugin ends. What was interrupted ends by the signal, as the shell that runs it goes by: a loop in a script ends too.
fn ended(code: u8) -> ExitCode {
    if code == Exit::Interrupted.code() {
        let _ = emulate_default_handler(SIGINT);
    }
    code.into()
}

fn render(args: &RenderArgs) -> ExitCode {
    match function_testplatform::render::render(args, now, &mut io::stdout(), &mut io::stderr()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn serve(config: Config, options: Options) -> anyhow::Result<()> {
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
            version = env!("CARGO_PKG_VERSION"),
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
