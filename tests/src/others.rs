//! Other functions than ours, played: who was there before, and who comes after. Served as ours is.

pub mod incumbent;
pub mod incumbent_spaces;
pub mod next;

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use function_testplatform::serve::{Address, Config, Function, Security, Server, metrics::Metrics};
use jiff::Timestamp;
use testplatform_composites::sdk::proto::{RunFunctionRequest, RunFunctionResponse};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

/// The flags of ours with which the testbed starts a function.
#[derive(Debug, Parser)]
struct Flags {
    #[arg(long)]
    address: Address,
    #[arg(long)]
    metrics_address: Address,
    #[arg(long, env = "TLS_SERVER_CERTS_DIR")]
    tls_certs_dir: PathBuf,
    /// There is no log.
    #[arg(long)]
    debug: bool,
    /// There is no log.
    #[arg(long)]
    log_format: Option<String>,
}

/// Serves a function until it is told to end.
pub fn serve(handler: fn(&RunFunctionRequest, Timestamp) -> RunFunctionResponse) -> ExitCode {
    let flags = Flags::parse();
    let config = Config {
        address: flags.address,
        admin_address: flags.metrics_address,
        security: Security::Mutual(flags.tls_certs_dir),
        max_recv_message_size: 64 << 20,
        max_connection_age: None,
        // A call that is cut off is a pass that failed, and core then says so in every condition.
        shutdown_timeout: std::time::Duration::from_secs(5),
    };
    let served = async {
        let mut terminate = signal(SignalKind::terminate())?;
        let function = Function::with_handler(handler, now, Metrics::default());
        let ended = async move {
            terminate.recv().await;
        };
        Server::bind(config, function).await?.run(ended).await?;
        anyhow::Ok(())
    };
    match Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(served)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the clock is read for a function that is served"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
