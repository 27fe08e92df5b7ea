//! The provider's program: reads the command line, the configuration, the clock and signals, and leaves the rest to the
//! library.

mod cli;

use std::{path::Path, process::ExitCode, time::Duration};

use anyhow::{Context as _, bail};
use clap::{CommandFactory as _, Parser as _, error::ErrorKind};
use cli::{Cli, Command, On, OrphansArgs, OutputFormat, RbacArgs, RunArgs, VERSION};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, config::Kubeconfig};
use provider_testplatform::{
    config::{Config, std_duration},
    controllers::orphans::report::{CONFIG_MAP, KEY, OrphanReport},
    metrics::Metrics,
    rbac,
    startup::{NOTHING, create_controllers, is_off},
};
use testplatform_process::{
    admin::{self, Ready},
    logs, panics,
};
use testplatform_runtime::{
    client::{Trust, build_config, check_authority, set_timeouts},
    controller::Context,
    lease::{Election, Times},
};
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

/// How long looks that have begun may take after SIGTERM: below the 30 s after which the kubelet kills.
const SHUTDOWN: Duration = Duration::from_secs(20);
/// How long one call to the hub may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Without a configuration.
const MISSING: &str = "--config FILE is missing: give the configuration, or set CONFIG; `provider-testplatform schema` prints what may be in it";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match (cli.command, &cli.run) {
        (Some(Command::Schema), _) => print_schema(),
        (Some(Command::Rbac(args)), _) => print_rbac(&args),
        (Some(Command::Orphans(args)), _) => print_orphans(&args),
        (None, RunArgs { config: Some(file), .. }) => serve(&cli.run, file),
        // Not clap's to demand: what else the environment sets must not make printing need it.
        (None, RunArgs { config: None, .. }) => {
            Cli::command().error(ErrorKind::MissingRequiredArgument, MISSING).exit()
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_schema() -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(&Config::schema())?);
    Ok(())
}

fn print_rbac(args: &RbacArgs) -> anyhow::Result<()> {
    let config = match &args.config {
        Some(file) => Config::load(file)?,
        None => Config::default(),
    };
    let text = match args.on {
        On::Hub => rbac::hub(&config, &args.service_account.0),
        On::BuildCluster => rbac::build_cluster(&config, &args.service_account.0),
    };
    print!("{text}");
    Ok(())
}

/// Prints the report that the component wrote last.
fn print_orphans(args: &OrphansArgs) -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let text = runtime.block_on(read_orphan_report(args))?;
    if args.output == OutputFormat::Json {
        print!("{text}");
        return Ok(());
    }
    let report = OrphanReport::parse(&text).context("the report of another version; try --output json")?;
    print!("{}", report.render_table(now()));
    Ok(())
}

async fn read_orphan_report(args: &OrphansArgs) -> anyhow::Result<String> {
    let config = match &args.kubeconfig {
        Some(file) => build_config(Kubeconfig::read_from(file)?).await?,
        None => kube::Config::infer().await.context("no kubeconfig; give one with --kubeconfig")?,
    };
    let maps: Api<ConfigMap> = Api::namespaced(Client::try_from(config)?, &args.namespace);
    let place = format!("ConfigMap {}/{CONFIG_MAP}", args.namespace);
    let found = maps.get_opt(CONFIG_MAP).await.with_context(|| format!("cannot read {place}"))?;
    let text = found.and_then(|map| map.data?.remove(KEY));
    text.with_context(|| format!("{place} has no report; is component orphans installed, and its pod ready?"))
}

fn serve(args: &RunArgs, file: &Path) -> anyhow::Result<()> {
    let exporting =
        logs::init("provider-testplatform", args.debug, args.log_format).map_err(anyhow::Error::msg)?;
    panics::install();
    let config = Config::load(file)?;
    // The only provider that is linked; said aloud so that another one could not be picked by accident.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let result = runtime.block_on(run(args, config));
    exporting.finish();
    // The process does not wait a second time for tasks that outlived the shutdown.
    runtime.shutdown_background();
    result
}

async fn run(args: &RunArgs, config: Config) -> anyhow::Result<()> {
    // Before anything is begun: a signal from now on ends it in order.
    let stop = stop()?;
    let metrics = Metrics::default();
    // A waiting replica is ready too. A Deployment replaces the old pod only when the new one is ready, and the new one can lead only when the
    // old one has exited.
    let ready = Ready::default();
    let address = config.http.address;
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address} for health and metrics"))?;
    tracing::info!(
        version = VERSION,
        admin_address = %listener.local_addr()?,
        mode = ?config.ephemeral_cluster.mode,
        clusterclaims = ?config.cluster_claim.mode,
        clusters = ?config.clusters.backends.keys(),
        hub_facts = ?config.hub_facts.mode,
        spaces = ?config.spaces.mode,
        carry = ?config.carry.mode,
        cleanup = ?config.cleanup.mode,
        orphans = ?config.orphans.mode,
        "starting",
    );
    let written = metrics.clone();
    let admin = tokio::spawn(admin::serve(listener, ready.clone(), move || written.encode()));
    let result = Box::pin(lead(args, config, &metrics, &ready, stop)).await;
    admin.abort();
    result
}

/// Waits for the Lease, acts while it holds, and gives it back.
async fn lead(
    args: &RunArgs,
    config: Config,
    metrics: &Metrics,
    ready: &Ready,
    mut stop: watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let me = name(args);
    if is_off(&config) {
        tracing::warn!("{NOTHING}");
        ready.set(true);
        let _ = stop.wait_for(|stop| *stop).await;
        return Ok(());
    }
    let client = client(args).await?;
    let election = election(&config, client.clone(), &me)?;
    let (trust, request_timeout) = (trust(args), REQUEST_TIMEOUT);
    let context = Context { client, instance: me, trust, request_timeout, now, stop: stop.clone() };
    let running = create_controllers(&config, &context, metrics)?;
    ready.set(true);
    let acquired = tokio::select! {
        acquired = election.acquire() => acquired,
        _ = stop.wait_for(|stop| *stop) => return Ok(()),
    };
    tracing::info!(identity = election.me, "leading");
    metrics.runtime_metrics().lead(true);
    let controllers = async {
        // A task for each, on all processors. They end with this one.
        running.into_iter().collect::<JoinSet<()>>().join_all().await;
    };
    tokio::select! {
        () = run_until_stopped(controllers, stop, ready) => {
            election.release().await;
            tracing::info!("stopped");
            Ok(())
        }
        // At once: another replica acts from now on.
        lost = election.keep_renewing(acquired) => bail!("the lease was lost: {lost}"),
    }
}

/// Runs the controllers until the process is told to stop, and then for at most the shutdown timeout.
async fn run_until_stopped(
    controllers: impl Future<Output = ()>,
    mut stop: watch::Receiver<bool>,
    ready: &Ready,
) {
    let mut controllers = std::pin::pin!(controllers);
    tokio::select! {
        () = &mut controllers => {}
        _ = stop.wait_for(|stop| *stop) => {
            tracing::info!(seconds = SHUTDOWN.as_secs(), "shutting down: finishing reconciles in progress");
            ready.set(false);
            if timeout(SHUTDOWN, controllers).await.is_err() {
                tracing::warn!("shut down with reconciles in progress");
            }
        }
    }
}

fn election(config: &Config, client: Client, me: &str) -> anyhow::Result<Election> {
    let times = &config.leader_election;
    Ok(Election {
        api: Api::namespaced(client, config.lease_namespace()),
        name: times.name.clone(),
        me: me.to_owned(),
        times: Times {
            lease: std_duration(times.lease_duration)?,
            renew: std_duration(times.renew_deadline)?,
            retry: std_duration(times.retry_period)?,
        },
        now,
    })
}

async fn client(args: &RunArgs) -> anyhow::Result<Client> {
    let mut config = match &args.kubeconfig {
        Some(file) => {
            // Its own words may quote what is in the file.
            let unusable = || format!("{} is not a kubeconfig that can be used", file.display());
            let kubeconfig = Kubeconfig::read_from(file).map_err(|_| anyhow::anyhow!(unusable()))?;
            build_config(kubeconfig).await.map_err(|_| anyhow::anyhow!(unusable())).and_then(|config| {
                check_authority(&config, trust(args)).with_context(|| file.display().to_string())?;
                Ok(config)
            })?
        }
        None => kube::Config::incluster()
            .context("this does not run in a cluster; give a kubeconfig with --kubeconfig")?,
    };
    set_timeouts(&mut config);
    Client::try_from(config).context("cannot make a client for the hub")
}

fn trust(args: &RunArgs) -> Trust {
    if args.ca_bundle.is_some() { Trust::Bundle } else { Trust::Kubeconfig }
}

/// No other process ever has it: a pod that is restarted keeps its name.
fn name(args: &RunArgs) -> String {
    let given = args.name.clone().filter(|name| !name.is_empty());
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    format!("{}_{}-{}", given.unwrap_or_else(host), std::process::id(), now().as_millisecond())
}

/// True from SIGTERM or SIGINT on.
fn stop() -> anyhow::Result<watch::Receiver<bool>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot handle SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot handle SIGINT")?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.send_replace(true);
        stop.closed().await;
    });
    Ok(stopped)
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the clock is read; the library gets it as an argument"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
