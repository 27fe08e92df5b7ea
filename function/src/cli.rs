//! The command line. Names, aliases and environment variables are those of Crossplane's function SDKs,
//! because that is what a `DeploymentRuntimeConfig` written for another function has in it.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{
    Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, builder::BoolishValueParser,
    error::ErrorKind, parser::ValueSource,
};
use function_testplatform::serve::{Address, Config, Security};
use jiff::SignedDuration;
use testplatform_composites::Options;
use testplatform_process::logs::Format;
use testplatform_render::RenderArgs;

/// Version and commit of the program.
pub const VERSION: &str = testplatform_version::version!();

/// Composition function: a TestPlatformCluster claim in, remote objects, status and credentials out.
///
/// Without a command it serves, which is how Crossplane starts it.
#[derive(Debug, Parser)]
#[command(version = VERSION)]
pub struct Cli {
    /// Command to run; `serve` by default.
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
    #[command(flatten)]
    pub log: LogArgs,
}

/// Commands of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the function over gRPC (the default).
    Serve(Box<ServeArgs>),
    Render(Box<RenderArgs>),
}

impl Cli {
    /// Reads a command line. Flags of serving that stand before a command would have no effect and are refused;
    /// the same settings in the environment are for whom they concern.
    pub fn read(line: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let line: Vec<OsString> = line.into_iter().collect();
        let mut command = Self::command();
        // clap reads those of the program itself for every command, and NETWORK or DEBUG may be somebody else's.
        let mut words = line.iter().skip(1);
        let invocation = loop {
            match words.next() {
                // The only flag for every command whose value is a word of its own.
                Some(flag) if flag == "--log-format" => drop(words.next()),
                Some(flag) if flag.to_string_lossy().starts_with('-') => {}
                word => break word,
            }
        };
        if invocation.is_some_and(|word| word == "render") {
            command = command.mut_args(|arg| arg.env(None::<&'static str>));
        }
        let matches = command.try_get_matches_from_mut(line)?;
        if let Some(name) = matches.subcommand_name() {
            let serve = ServeArgs::augment_args(clap::Command::new("serve"));
            let given = |arg: &&clap::Arg| {
                matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
            };
            if let Some(flag) = serve.get_arguments().find(given).and_then(clap::Arg::get_long) {
                let message = format!("--{flag} is a flag of serving and has no effect before '{name}'");
                return Err(command.error(ErrorKind::ArgumentConflict, message));
            }
        }
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// The requested command.
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Serve(Box::new(self.serve)))
    }
}

/// How to log; for every command.
#[derive(Clone, Copy, Debug, Args)]
pub struct LogArgs {
    /// Also log debug messages.
    #[arg(short, long, env = "DEBUG", global = true, value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    #[arg(value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    pub debug: bool,
    /// Format of log lines.
    #[arg(
        long,
        env = "LOG_FORMAT",
        global = true,
        value_enum,
        default_value = "json",
        value_name = "FORMAT"
    )]
    pub log_format: Format,
}

/// How to serve.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Network to listen on. Only tcp is supported; other functions have this flag too.
    #[arg(long, env = "NETWORK", default_value = "tcp", value_parser = parse_network)]
    network: String,
    /// Address to serve gRPC on; without a host, on every interface.
    #[arg(long, env = "ADDRESS", default_value = ":9443", value_name = "HOST:PORT")]
    address: Address,
    /// Directory with tls.crt, tls.key and ca.crt; read again when they change. Clients need a certificate
    /// signed by ca.crt.
    #[arg(long, env = "TLS_SERVER_CERTS_DIR", visible_alias = "tls-server-certs-dir", value_name = "DIR")]
    tls_certs_dir: Option<PathBuf>,
    /// Serve plain text and ignore --tls-certs-dir.
    #[arg(long, env = "INSECURE", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true")]
    #[arg(value_parser = BoolishValueParser::new(), hide_possible_values = true)]
    insecure: bool,
    /// Largest request to accept, in MB. Crossplane sends requests of any size; every composed resource is
    /// in there twice.
    #[arg(long, env = "MAX_RECV_MESSAGE_SIZE", visible_alias = "max-grpc-message-size", value_name = "MB")]
    #[arg(default_value = "64", value_parser = clap::value_parser!(u32).range(1..=2048))]
    max_recv_message_size: u32,
    /// Time for which Crossplane may cache a response, unless the step's input sets another.
    #[arg(long, env = "TTL", default_value = "60s", value_name = "DURATION", value_parser = parse_duration)]
    ttl: Duration,
    /// Address to serve /healthz, /readyz and /metrics on, over plain HTTP.
    #[arg(long, env = "METRICS_ADDRESS", visible_alias = "health-address", value_name = "HOST:PORT")]
    #[arg(default_value = ":8080")]
    metrics_address: Address,
    /// Close connections after this time, so that clients reach new replicas; 0 disables it.
    #[arg(long, env = "MAX_CONNECTION_AGE", default_value = "5m", value_name = "DURATION")]
    #[arg(value_parser = parse_duration)]
    max_connection_age: Duration,
    /// Time limit for calls in flight after SIGTERM; keep it below the pod's termination grace period.
    #[arg(long, env = "SHUTDOWN_TIMEOUT", default_value = "25s", value_name = "DURATION")]
    #[arg(value_parser = parse_duration)]
    shutdown_timeout: Duration,
}

impl ServeArgs {
    /// The server's part and the function's part, or what is missing.
    pub fn split_options(self) -> Result<(Config, Options), String> {
        let security = match (self.insecure, self.tls_certs_dir) {
            (true, _) => Security::Insecure,
            (false, Some(dir)) => Security::Mutual(dir),
            (false, None) => {
                return Err(
                    "no certificates: give a directory with --tls-certs-dir or TLS_SERVER_CERTS_DIR, \
                            or --insecure to serve plain text"
                        .to_owned(),
                );
            }
        };
        let config = Config {
            address: self.address,
            admin_address: self.metrics_address,
            security,
            max_recv_message_size: self.max_recv_message_size as usize * 1024 * 1024,
            max_connection_age: Some(self.max_connection_age).filter(|age| !age.is_zero()),
            shutdown_timeout: self.shutdown_timeout,
        };
        let ttl = SignedDuration::try_from(self.ttl).map_err(|e| format!("--ttl: {e}"))?;
        Ok((config, Options { ttl }))
    }
}

fn parse_network(text: &str) -> Result<String, String> {
    if text == "tcp" { Ok(text.to_owned()) } else { Err("only tcp is supported".to_owned()) }
}

/// A Go duration, or a number of seconds.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let hint = "expected a duration as in 90s or 1m30s, or a number of seconds";
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let parsed: SignedDuration = text.parse().map_err(|_| hint)?;
    parsed.try_into().map_err(|_| hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(LogArgs, Config, Options), clap::Error> {
        let cli = Cli::read(line.split_whitespace().map(OsString::from))?;
        let log = cli.log;
        let Command::Serve(args) = cli.into_command() else { panic!("not a command line to serve") };
        let (config, options) = args.split_options().expect("a mode of serving");
        Ok((log, config, options))
    }

    #[test]
    fn definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn defaults() {
        let (log, config, options) = parse("f --insecure").unwrap();
        assert_eq!((log.debug, log.log_format), (false, Format::Json));
        assert_eq!(
            (config.address.to_string(), config.admin_address.to_string()),
            (":9443".into(), ":8080".into())
        );
        assert_eq!(config.max_recv_message_size, 64 * 1024 * 1024);
        assert_eq!(config.max_connection_age, Some(Duration::from_mins(5)));
        assert_eq!(config.shutdown_timeout, Duration::from_secs(25));
        assert_eq!(options.ttl, SignedDuration::from_secs(60));
    }

    #[test]
    fn no_command_and_serve_are_the_same() {
        for line in ["f --insecure --address=[::1]:1 -d", "f -d serve --insecure --address [::1]:1"] {
            let (log, config, _) = parse(line).unwrap();
            assert!(log.debug);
            assert_eq!(config.address.to_string(), "[::1]:1");
        }
    }

    #[test]
    fn insecure_wins_and_can_be_switched_off() {
        let security = |line| parse(line).map(|(_, config, _)| config.security).unwrap();
        assert_eq!(security("f --insecure --tls-certs-dir /tls"), Security::Insecure);
        assert_eq!(security("f --insecure=false --tls-certs-dir /tls"), Security::Mutual("/tls".into()));
        assert_eq!(security("f --tls-server-certs-dir /tls"), Security::Mutual("/tls".into()));
        let neither = Cli::try_parse_from(["f"]).unwrap().serve.split_options().unwrap_err();
        assert!(neither.contains("--tls-certs-dir") && neither.contains("--insecure"), "{neither}");
    }

    #[test]
    fn aliases() {
        let line =
            "f --insecure --network tcp --max-grpc-message-size 4 --health-address :1 --max-connection-age 0";
        let (_, config, _) = parse(line).unwrap();
        assert_eq!(config.max_recv_message_size, 4 * 1024 * 1024);
        assert_eq!(config.admin_address.to_string(), ":1");
        assert_eq!(config.max_connection_age, None);
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for line in [
            "f --network unix",
            "f --address 9443",
            "f --max-recv-message-size 0",
            "f --ttl=-1s",
            "f --ttl soon",
            "f --insecure=maybe",
        ] {
            assert_eq!(parse(line).unwrap_err().kind(), ErrorKind::ValueValidation, "{line}");
        }
        assert_eq!(parse("f --log-format xml").unwrap_err().kind(), ErrorKind::InvalidValue);
        // What stands before a command would have no effect, so it is not taken.
        assert_eq!(parse("f --insecure serve").unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn durations_are_go_durations_or_seconds() {
        let cases = [("90", 90_000), ("90s", 90_000), ("1m30s", 90_000), ("1h", 3_600_000), ("250ms", 250)];
        for (text, millis) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration("1.5h"), Ok(Duration::from_mins(90)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        for text in ["", "-1s", "1y", "s", "1 parsec"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
