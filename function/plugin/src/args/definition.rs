//! The commands, their flags and their help.

use clap::{Arg, ArgAction, ArgGroup, Command, ValueHint, value_parser};
use testplatform_apis::offer;

use super::examples::after_help;
use crate::{
    CALLED,
    exit::{self, Exit},
    wait_target::WaitTarget,
};

/// kubectl's own flags that take a value: name, value, help.
pub(super) const PASSED: [(&str, &str, &str); 16] = [
    ("namespace", "NAMESPACE", "Namespace of the claim"),
    ("context", "CONTEXT", "Context of the kubeconfig"),
    ("kubeconfig", "FILE", "Path of the kubeconfig file"),
    ("cluster", "CLUSTER", "Cluster of the kubeconfig"),
    ("user", "USER", "User of the kubeconfig"),
    ("server", "URL", "Address of the API server"),
    ("as", "USER", "User to act as"),
    ("as-group", "GROUP", "Group to act as; may be given again"),
    ("as-uid", "UID", "Uid to act as"),
    ("token", "TOKEN", "Bearer token"),
    ("certificate-authority", "FILE", "Authority that signed the API server's certificate"),
    ("client-certificate", "FILE", "Certificate of the caller"),
    ("client-key", "FILE", "Key of that certificate"),
    ("tls-server-name", "NAME", "Server name that the API server's certificate is verified for"),
    ("cache-dir", "DIR", "Directory of kubectl's cache"),
    ("request-timeout", "DURATION", "Time limit of one request"),
];
/// Flags without a value.
pub(super) const SWITCHES: [(&str, &str); 2] = [
    ("insecure-skip-tls-verify", "Do not verify the API server's certificate"),
    ("disable-compression", "Do not ask for compressed answers"),
];

const EXAMPLES: &str = "\
Examples:
  kubectl testplatform offers                    list the offers
  kubectl testplatform offers OFFER --claim      print a claim to start from
  kubectl testplatform up claim.yaml             apply it, wait until it is ready
  kubectl testplatform why demo                  show what it waits for
  kubectl testplatform kubeconfig demo --merge   add it to your kubeconfig
  kubectl testplatform extend demo --by 2h       extend its lifetime
  kubectl testplatform down demo --wait          end it, wait until it is gone

NAME may include the kind: testplatformcluster/demo, testcluster/demo.
";

fn named() -> Arg {
    Arg::new("name").value_name("NAME").required(true).help("Name of the claim")
}

fn value(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).value_name(value).help(help)
}

fn switch(id: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
}

fn command_with_help(command: Command) -> Command {
    let text = after_help(command.get_name());
    command.after_help(text)
}

fn timeout(help: &'static str) -> Arg {
    value("timeout", "DURATION", help)
}

/// Commands from an offer to a claim.
fn requesting_commands() -> [Command; 2] {
    let offers = Command::new("offers")
        .about("List offers, or describe one")
        .arg(Arg::new("offer").value_name("OFFER").help("Name of one offer, with or without its block"))
        .arg(value("output", "FORMAT", "wide, name, yaml or json").short('o').conflicts_with("claim"))
        .arg(switch("claim", "Print a claim to start from").requires("offer"))
        .arg(
            value("name", "NAME", "Name of that claim, instead of the offer's name with a random suffix")
                .requires("claim"),
        )
        .arg(published_in());
    let up = Command::new("up")
        .about("Apply a claim, and wait until its cluster is ready")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_hint(ValueHint::FilePath)
                .help("Manifest of one claim; - reads stdin"),
        )
        .arg(value(
            "name",
            "NAME",
            "Name of the claim, instead of the manifest's; its Secret is then NAME-kubeconfig",
        ))
        .arg(timeout("Time limit, such as 90m; by default it waits until the cluster is ready or Failed"))
        .arg(switch("force-conflicts", "Overwrite fields that others have set since, for example `extend`"))
        .arg(switch("merge", "Merge the kubeconfig into yours, as `kubeconfig --merge` does"));
    [offers, up]
}

fn program_format() -> Arg {
    value("output", "FORMAT", "Format for programs: json or yaml").short('o').value_parser(["json", "yaml"])
}

/// Which claims are listed.
fn selection() -> [Arg; 2] {
    [
        value("selector", "LABELS", "Label selector").short('l'),
        switch("all-namespaces", "List the claims of all namespaces").short('A'),
    ]
}

fn published_in() -> Arg {
    value("from", "NAMESPACE", "Namespace in which the offers are published").default_value(offer::NAMESPACE)
}

fn fleet_command() -> Command {
    Command::new("fleet")
        .about("Show all claims by phase, the queue, the hubs, and which claims need attention")
        .args(selection())
        .arg(published_in())
        .arg(switch("serve", "Show it as pages for a browser, on this machine alone, until interrupted"))
        .arg(
            value("port", "PORT", "Port of the pages; 0 is any free one")
                .requires("serve")
                .value_parser(value_parser!(u16))
                .default_value("0"),
        )
}

/// Commands that show a claim.
fn observing_commands() -> [Command; 6] {
    let get = Command::new("get")
        .about("List claims with their state, age and end")
        .arg(named().required(false))
        .arg(value("output", "FORMAT", "wide, or one of kubectl's: json, yaml, name, jsonpath=…").short('o'))
        .args(selection().map(|arg| arg.conflicts_with("name")))
        .arg(
            value(
                "sort-by",
                "FIELD",
                "Sort by a path such as .metadata.name, or by a column such as expires",
            )
            .conflicts_with("name"),
        )
        .arg(switch("no-headers", "Do not print the line of headings"))
        .arg(switch("watch", "After the list, print each change until interrupted").short('w'));
    let why = Command::new("why")
        .about("Show the objects from the claim to its kubeconfig, and what the claim waits for")
        .arg(named())
        .arg(program_format())
        .arg(switch("watch", "Print the answer again whenever it changes, until interrupted").short('w'));
    let wait = Command::new("wait")
        .about("Wait until a claim is in a state; by default until its cluster is ready")
        .arg(named())
        .arg(
            value("for", "STATE", "condition=TYPE, condition=TYPE=STATUS, phase=PHASE or delete")
                .default_value(WaitTarget::DEFAULT),
        )
        .arg(timeout(
            "Time limit, such as 90m; 0 checks once; by default it waits until the state is reached or impossible",
        ));
    let logs = Command::new("logs")
        .about("Print the address of the logs of the job that creates the cluster")
        .arg(named());
    let open = Command::new("open")
        .about("Print the address of the job, and open it in a browser")
        .arg(named())
        .arg(switch("console", "Open the web console of the cluster instead"));
    [get, why, wait, logs, open, fleet_command()]
}

/// Commands for a cluster that exists, for the place of claims, and for the shell.
fn using_commands() -> [Command; 5] {
    let kubeconfig = Command::new("kubeconfig")
        .about("Print the kubeconfig of a ready cluster")
        .arg(named())
        .arg(
            value("out", "FILE", "Write it to a file that only its owner can read")
                .value_hint(ValueHint::FilePath)
                .conflicts_with("merge"),
        )
        .arg(switch("merge", "Merge it into your kubeconfig as context testplatform-NAMESPACE-NAME"));
    let extend = Command::new("extend")
        .about("Extend the lifetime of a cluster")
        .arg(named())
        .arg(value("by", "DURATION", "Time to add to its lifetime, such as 2h"))
        .arg(value("to", "DURATION", "Total lifetime since it became ready, such as 6h"))
        .group(ArgGroup::new("span").args(["by", "to"]).required(true));
    let down = Command::new("down")
        .about("End a cluster, and remove its context that --merge added to your kubeconfig")
        .arg(named())
        .arg(switch("wait", "Wait until it is gone"))
        .arg(switch("delete", "Also delete the claim; with --wait, after the cluster is gone"))
        .arg(timeout("Time limit of the wait, such as 30m").requires("wait"));
    let doctor = Command::new("doctor")
        .about("Check whether this cluster and namespace can have claims, and what to do if not")
        .arg(program_format());
    let completion = Command::new("completion").about("Print the completion script of a shell").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(["bash", "zsh", "fish"])
            .help("Name of the shell"),
    );
    [kubeconfig, extend, down, doctor, completion]
}

/// Flags that are passed to kubectl.
fn kubectl_flags() -> Vec<Arg> {
    let kubectls = PASSED.iter().map(|(id, is, help)| {
        let arg = value(id, is, help).global(true).help_heading("Flags passed to kubectl");
        match *id {
            "namespace" => arg.short('n'),
            "server" => arg.short('s').hide_short_help(true),
            "as-group" => arg.action(ArgAction::Append).hide_short_help(true),
            "context" => arg,
            "kubeconfig" => arg.value_hint(ValueHint::FilePath),
            "certificate-authority" | "client-certificate" | "client-key" => {
                arg.value_hint(ValueHint::FilePath).hide_short_help(true)
            }
            _ => arg.hide_short_help(true),
        }
    });
    let switches = SWITCHES.iter().map(|(id, help)| {
        switch(id, help).global(true).hide_short_help(true).help_heading("Flags passed to kubectl")
    });
    kubectls.chain(switches).collect()
}

/// The definition; `version` answers `--version`.
pub fn command(version: &'static str) -> Command {
    let commands = requesting_commands().into_iter().chain(observing_commands()).chain(using_commands());
    Command::new(CALLED)
        .bin_name(CALLED)
        .version(version)
        .about("Throw-away OpenShift clusters: create, follow, use and end them")
        .after_help(format!("{EXAMPLES}\n{}", exit::list(&Exit::ALL).trim_end()))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(commands.map(command_with_help))
        .arg(
            value("color", "WHEN", "Use colours: auto, always or never; auto respects NO_COLOR and CLICOLOR")
                .value_parser(["auto", "always", "never"])
                .hide_possible_values(true)
                .global(true)
                .hide_short_help(true),
        )
        .args(kubectl_flags())
}
