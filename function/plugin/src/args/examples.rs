//! Examples and exit codes of each command, for its help.

use crate::exit::{self, Exit};

/// Examples of a command, and the exit codes with which it ends.
struct CommandHelp {
    name: &'static str,
    examples: &'static str,
    exits: &'static [Exit],
}

/// Exit codes of commands that wait for a claim.
const WAITING: &[Exit] = &[
    Exit::Done,
    Exit::Error,
    Exit::Usage,
    Exit::NotYet,
    Exit::Failed,
    Exit::NotFound,
    Exit::Over,
    Exit::Interrupted,
];

const COMMANDS: [CommandHelp; 13] = [
    CommandHelp {
        name: "offers",
        examples: "
  kubectl testplatform offers
  kubectl testplatform offers hosted-kubevirt
  kubectl testplatform offers hosted-kubevirt --claim > claim.yaml",
        exits: &[Exit::Done, Exit::Error, Exit::Usage, Exit::NotFound],
    },
    CommandHelp {
        name: "up",
        examples: "
  kubectl testplatform up claim.yaml
  kubectl testplatform up claim.yaml --timeout 90m --merge
  kubectl testplatform up - --name nightly < claim.yaml",
        exits: WAITING,
    },
    CommandHelp {
        name: "get",
        examples: "
  kubectl testplatform get
  kubectl testplatform get -A --sort-by expires
  kubectl testplatform get demo -w
  kubectl testplatform get -o jsonpath={.items[*].status.phase}",
        exits: &[Exit::Done, Exit::Error, Exit::Usage, Exit::NotFound, Exit::Interrupted],
    },
    CommandHelp {
        name: "why",
        examples: "
  kubectl testplatform why demo
  kubectl testplatform why demo --watch
  kubectl testplatform why demo -o json | jq -r .waitsFor",
        exits: &[Exit::Done, Exit::Error, Exit::Usage, Exit::NotFound, Exit::Interrupted],
    },
    CommandHelp {
        name: "fleet",
        examples: "
  kubectl testplatform fleet -A
  kubectl testplatform fleet -A --serve
  kubectl testplatform fleet -l app=nightly --serve --port 8099",
        exits: &[Exit::Done, Exit::Error, Exit::Usage, Exit::Interrupted],
    },
    CommandHelp {
        name: "wait",
        examples: "
  kubectl testplatform wait demo --timeout 90m
  kubectl testplatform wait demo --for=phase=Deprovisioned
  kubectl testplatform wait demo --for=condition=ProwJobCompleted
  kubectl testplatform wait demo --for=delete --timeout 10m",
        exits: WAITING,
    },
    CommandHelp {
        name: "logs",
        examples: "
  kubectl testplatform logs demo",
        exits: &[Exit::Done, Exit::Error, Exit::Usage, Exit::NotYet, Exit::NotFound],
    },
    CommandHelp {
        name: "open",
        examples: "
  kubectl testplatform open demo
  kubectl testplatform open demo --console",
        exits: &[Exit::Done, Exit::Error, Exit::Usage, Exit::NotYet, Exit::NotFound],
    },
    CommandHelp {
        name: "kubeconfig",
        examples: "
  kubectl testplatform kubeconfig demo --merge
  kubectl testplatform kubeconfig demo --out demo.kubeconfig
  kubectl testplatform kubeconfig demo > demo.kubeconfig",
        exits: &[
            Exit::Done,
            Exit::Error,
            Exit::Usage,
            Exit::NotYet,
            Exit::Failed,
            Exit::NotFound,
            Exit::Over,
        ],
    },
    CommandHelp {
        name: "extend",
        examples: "
  kubectl testplatform extend demo --by 2h
  kubectl testplatform extend demo --to 8h",
        exits: &[
            Exit::Done,
            Exit::Error,
            Exit::Usage,
            Exit::Failed,
            Exit::NotFound,
            Exit::Over,
            Exit::Shorter,
        ],
    },
    CommandHelp {
        name: "down",
        examples: "
  kubectl testplatform down demo
  kubectl testplatform down demo --wait --timeout 30m
  kubectl testplatform down demo --delete",
        exits: &[
            Exit::Done,
            Exit::Error,
            Exit::Usage,
            Exit::NotYet,
            Exit::NotFound,
            Exit::LeftBehind,
            Exit::Over,
            Exit::Interrupted,
        ],
    },
    CommandHelp {
        name: "doctor",
        examples: "
  kubectl testplatform doctor
  kubectl testplatform doctor -n team-a
  kubectl testplatform doctor -o json | jq '.checks[] | select(.state == \"bad\")'",
        exits: &[Exit::Done, Exit::Error, Exit::Usage, Exit::Incomplete],
    },
    CommandHelp {
        name: "completion",
        examples: "
  kubectl testplatform completion bash > testplatform.bash
  kubectl testplatform completion zsh > _kubectl-testplatform
  kubectl testplatform completion fish > kubectl-testplatform.fish

`kubectl testplatform TAB` needs kubectl's own completion, and a second name of
the program in the PATH:
  ln -s kubectl-testplatform DIRECTORY/kubectl_complete-testplatform",
        exits: &[Exit::Done, Exit::Usage],
    },
];

/// The text after the options of a command.
pub(super) fn after_help(name: &str) -> String {
    let Some(help) = COMMANDS.iter().find(|help| help.name == name) else { return String::new() };
    format!("Examples:{}\n\n{}", help.examples, exit::list(help.exits).trim_end())
}
