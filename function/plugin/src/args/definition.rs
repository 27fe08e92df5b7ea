//! The commands, their flags and their help.

use clap::{Arg, ArgAction, ArgGroup, Command};
use testplatform_apis::offer;

use crate::{CALLED, exit};

/// kubectl's own flags that take a value: name, letter, what it is.
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
  kubectl testplatform offers                        list the offers
  kubectl testplatform offers OFFER --claim          a claim to start from, for: kubectl testplatform up -
  kubectl testplatform up claim.yaml                 apply a claim, wait until its cluster is ready
  kubectl testplatform why demo                      show what it waits for, and what you can do
  kubectl testplatform kubeconfig demo --merge       then: kubectl --context testplatform-NAMESPACE-demo get nodes
  kubectl testplatform extend demo --by 2h           extend its lifetime by two hours
  kubectl testplatform down demo --wait              end it, and wait until it is gone

NAME may say which kind is meant: testplatformcluster/demo, testcluster/demo.
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

/// The definition.
pub fn command() -> Command {
    let timeout = |help| value("timeout", "DURATION", help);
    let up = Command::new("up")
        .about("Apply a claim, and wait until its cluster is ready")
        .arg(Arg::new("file").value_name("FILE").required(true).help("Manifest of one claim; - reads stdin"))
        .arg(value(
            "name",
            "NAME",
            "Name of the claim, instead of the manifest's; its Secret is then NAME-kubeconfig",
        ))
        .arg(timeout("Time limit, such as 90m; by default it waits until the cluster is ready or Failed"))
        .arg(switch("force-conflicts", "Overwrite fields that others have set since, for example `extend`"));
    let get = Command::new("get")
        .about("List claims with their state, age and end")
        .arg(named().required(false))
        .arg(value("output", "FORMAT", "wide, or one of kubectl's: json, yaml, name, jsonpath=…").short('o'))
        .arg(value("selector", "LABELS", "Label selector").short('l'))
        .arg(switch("all-namespaces", "Of all namespaces").short('A'));
    let offers = Command::new("offers")
        .about("List offers, or describe one")
        .arg(Arg::new("offer").value_name("OFFER").help("Name of one offer, with or without its block"))
        .arg(value("output", "FORMAT", "wide, name, yaml or json").short('o').conflicts_with("claim"))
        .arg(switch("claim", "Print a claim to start from").requires("offer"))
        .arg(
            value("name", "NAME", "Name of that claim, instead of the offer's with an end of its own")
                .requires("claim"),
        )
        .arg(
            value("from", "NAMESPACE", "Namespace in which they are published")
                .default_value(offer::NAMESPACE),
        );
    let why = Command::new("why")
        .about("Show the objects from the claim to its kubeconfig, and what the claim waits for")
        .arg(named());
    let kubeconfig = Command::new("kubeconfig")
        .about("Print the kubeconfig of a ready cluster")
        .arg(named())
        .arg(value("out", "FILE", "Write it to a file that only its owner can read").conflicts_with("merge"))
        .arg(switch("merge", "Merge it into your kubeconfig as context testplatform-NAMESPACE-NAME"));
    let extend = Command::new("extend")
        .about("Extend the lifetime of a cluster")
        .arg(named())
        .arg(value("by", "DURATION", "Time to add to its lifetime, such as 2h"))
        .arg(value("to", "DURATION", "Total lifetime since it became ready, such as 6h"))
        .group(ArgGroup::new("span").args(["by", "to"]).required(true));
    let down = Command::new("down")
        .about("End a cluster")
        .arg(named())
        .arg(switch("wait", "Wait until it is gone"))
        .arg(switch("delete", "Also delete the claim; with --wait, after the cluster is gone"))
        .arg(timeout("How long to wait").requires("wait"));
    let kubectls = PASSED.iter().map(|(id, is, help)| {
        let arg = value(id, is, help).global(true).help_heading("Flags passed to kubectl");
        match *id {
            "namespace" => arg.short('n'),
            "server" => arg.short('s').hide_short_help(true),
            "as-group" => arg.action(ArgAction::Append).hide_short_help(true),
            "context" | "kubeconfig" => arg,
            _ => arg.hide_short_help(true),
        }
    });
    let switches = SWITCHES.iter().map(|(id, help)| {
        switch(id, help).global(true).hide_short_help(true).help_heading("Flags passed to kubectl")
    });
    Command::new(CALLED)
        .bin_name(CALLED)
        .version(env!("CARGO_PKG_VERSION"))
        .about("Throw-away OpenShift clusters: create, follow, use and end them")
        .after_help(format!("{EXAMPLES}\n{}", exit::list().trim_end()))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([offers, up, get, why, kubeconfig, extend, down])
        .args(kubectls)
        .args(switches)
}
