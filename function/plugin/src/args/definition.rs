//! The commands, their flags and their help.

use clap::{Arg, ArgAction, ArgGroup, Command};
use testplatform_apis::offer;

use crate::{CALLED, exit};

/// kubectl's own flags that take a value: name, letter, what it is.
pub(super) const PASSED: [(&str, &str, &str); 16] = [
    ("namespace", "NAMESPACE", "Namespace of the claim"),
    ("context", "CONTEXT", "Context of the kubeconfig"),
    ("kubeconfig", "FILE", "Kubeconfig with which to reach the claim"),
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
    ("tls-server-name", "NAME", "Name that the API server's certificate is for"),
    ("cache-dir", "DIR", "Where kubectl keeps what it learnt"),
    ("request-timeout", "DURATION", "How long one request may take"),
];
/// Flags without a value.
pub(super) const SWITCHES: [(&str, &str); 2] = [
    ("insecure-skip-tls-verify", "Do not verify the API server's certificate"),
    ("disable-compression", "Do not ask for compressed answers"),
];

const EXAMPLES: &str = "\
Examples:
  kubectl testplatform offers                        what may be asked for
  kubectl testplatform offers OFFER --claim          a claim to begin with, for: kubectl testplatform up -
  kubectl testplatform up claim.yaml                 apply a claim, wait until its cluster is ready
  kubectl testplatform why demo                      what does it wait for, and what can be done?
  kubectl testplatform kubeconfig demo --merge       then: kubectl --context testplatform-NAMESPACE-demo get nodes
  kubectl testplatform extend demo --by 2h           let it live two hours longer
  kubectl testplatform down demo --wait              give it back, and wait until it is gone

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
        .arg(timeout("How long to wait, such as 90m; without it until the cluster is ready or Failed"))
        .arg(switch("force-conflicts", "Take over fields that somebody else has set since, such as extend"));
    let get = Command::new("get")
        .about("List claims, with what matters of them")
        .arg(named().required(false))
        .arg(value("output", "FORMAT", "wide, or one of kubectl's: json, yaml, name, jsonpath=…").short('o'))
        .arg(value("selector", "LABELS", "Only those with these labels").short('l'))
        .arg(switch("all-namespaces", "Of all namespaces").short('A'));
    let offers = Command::new("offers")
        .about("List what may be asked for, or tell all about one offer")
        .arg(Arg::new("offer").value_name("OFFER").help("Only this one, with its block before it or without"))
        .arg(value("output", "FORMAT", "wide, name, yaml or json").short('o').conflicts_with("claim"))
        .arg(switch("claim", "Print a claim to begin with").requires("offer"))
        .arg(
            value("name", "NAME", "Name of that claim, instead of the offer's with an end of its own")
                .requires("claim"),
        )
        .arg(value("from", "NAMESPACE", "Where they are published").default_value(offer::NAMESPACE));
    let why = Command::new("why")
        .about("Show the chain from the claim to its kubeconfig, and the one thing that it waits for")
        .arg(named());
    let kubeconfig = Command::new("kubeconfig")
        .about("Print the kubeconfig of a ready cluster")
        .arg(named())
        .arg(value("out", "FILE", "Write it to a file, for its owner alone").conflicts_with("merge"))
        .arg(switch("merge", "Put it into your own kubeconfig, as context testplatform-NAMESPACE-NAME"));
    let extend = Command::new("extend")
        .about("Let a cluster live longer")
        .arg(named())
        .arg(value("by", "DURATION", "How much to add to its lifetime, such as 2h"))
        .arg(value("to", "DURATION", "Its whole lifetime, counted from when it became ready, such as 6h"))
        .group(ArgGroup::new("span").args(["by", "to"]).required(true));
    let down = Command::new("down")
        .about("Give a cluster back")
        .arg(named())
        .arg(switch("wait", "Wait until it is gone"))
        .arg(switch("delete", "Delete the claim too, with --wait once the cluster is gone"))
        .arg(timeout("How long to wait").requires("wait"));
    let kubectls = PASSED.iter().map(|(id, is, help)| {
        let arg = value(id, is, help).global(true).help_heading("Flags that are handed to kubectl");
        match *id {
            "namespace" => arg.short('n'),
            "server" => arg.short('s').hide_short_help(true),
            "as-group" => arg.action(ArgAction::Append).hide_short_help(true),
            "context" | "kubeconfig" => arg,
            _ => arg.hide_short_help(true),
        }
    });
    let switches = SWITCHES.iter().map(|(id, help)| {
        switch(id, help).global(true).hide_short_help(true).help_heading("Flags that are handed to kubectl")
    });
    Command::new(CALLED)
        .bin_name(CALLED)
        .version(env!("CARGO_PKG_VERSION"))
        .about("Throw-away OpenShift clusters: ask for one, follow it, use it, give it back")
        .after_help(format!("{EXAMPLES}\n{}", exit::list().trim_end()))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands([offers, up, get, why, kubeconfig, extend, down])
        .args(kubectls)
        .args(switches)
}
