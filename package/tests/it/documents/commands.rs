//! Commands in pages are ones that the programs take, with files that exist and placeholders that the page explains.

use std::{collections::BTreeSet, ffi::OsString, fs};

use clap::{Args, Command};
use kubectl_testplatform::args;
use testplatform_package::{build, bump, check, hub, offers, registry, release, signature, sync};

use crate::documents::{
    links::FOLDERS,
    pages::written_pages,
    text::{read, root},
};

/// Words in capitals that are no placeholders: what a shell or a program knows.
const KNOWN: [&str; 3] = ["EC", "PWD", "SSA"];

/// The commands in blocks of a page: continued lines are one, and each part of a pipeline is one.
fn commands(page: &str) -> Vec<String> {
    let mut all = Vec::new();
    let (mut block, mut command) = (false, String::new());
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            block = line == "```console";
        } else if block {
            command.push_str(line.trim_end_matches('\\'));
            if line.ends_with('\\') {
                continue;
            }
            all.extend(simple_commands(&command));
            command.clear();
        }
    }
    all
}

/// The parts of a line between `|`, `&&` and `;` outside of quotes, without parentheses around and without a prompt.
fn simple_commands(line: &str) -> Vec<String> {
    let (mut parts, mut quote) = (vec![String::new()], None);
    for c in line.strip_prefix("$ ").unwrap_or(line).chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if ['\'', '"'].contains(&c) => quote = Some(c),
            None if ['|', '&', ';'].contains(&c) => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    let trimmed =
        parts.iter().map(|part| part.trim().trim_start_matches('(').trim_end_matches(')').to_owned());
    trimmed.filter(|part| !part.is_empty()).collect()
}

/// The words of a command without quotes, and without where its output goes.
fn words(command: &str) -> Vec<String> {
    let words = command.split_whitespace().take_while(|word| !word.starts_with('>'));
    words.map(|word| word.trim_matches(['\'', '"']).to_owned()).collect()
}

/// Help of the plugin, as it prints it.
pub fn plugin_help(line: &[&str]) -> String {
    args::read(line.iter().map(OsString::from).collect(), "").unwrap_err().to_string()
}

/// Names of the plugin's commands.
pub fn plugin_commands() -> Vec<String> {
    let help = plugin_help(&["testplatform", "--help"]);
    let rows =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = rows.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

/// The command line of `cargo xpkg`.
pub fn xpkg() -> Command {
    let generate = Command::new("generate")
        .about("Write the generated files of the package, and print those that changed")
        .subcommand(offers::command::OffersArgs::augment_args(Command::new("offers")));
    Command::new("cargo xpkg").no_binary_name(true).subcommand_required(true).subcommands([
        generate,
        build::command::BuildArgs::augment_args(Command::new("build")),
        registry::command::PushArgs::augment_args(Command::new("push")),
        check::command::CheckArgs::augment_args(Command::new("check")),
        sync::command::SyncArgs::augment_args(Command::new("sync")),
        bump::command::BumpArgs::augment_args(Command::new("bump")),
        hub::command::HubKubeconfigArgs::augment_args(Command::new("hub-kubeconfig")),
        release::command::NotesArgs::augment_args(Command::new("notes")),
        release::command::ChecksumsArgs::augment_args(Command::new("checksums")),
        release::command::KrewArgs::augment_args(Command::new("krew")),
        signature::command::SignArgs::augment_args(Command::new("sign")),
        signature::command::VerifyArgs::augment_args(Command::new("verify")),
    ])
}

/// An error if this is not how the README of an example begins, whose command another test runs.
fn render_error(words: &[&str]) -> Option<String> {
    let Some(example) = words.first().and_then(|claim| claim.strip_prefix("examples/")?.split('/').next())
    else {
        return Some("it renders no example".to_owned());
    };
    let readme = format!("examples/{example}/README.md");
    let text = fs::read_to_string(root().join(&readme)).unwrap_or_default();
    let text: Vec<&str> = text.split_whitespace().filter(|word| *word != "\\").collect();
    let command = format!("function-testplatform render {} ", words.join(" "));
    (!text.join(" ").contains(&command)).then(|| format!("{readme} has another command"))
}

/// An error in a command, if there is one.
fn mistake(command: &str) -> Option<String> {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let error = match words[..] {
        ["kubectl", "testplatform", ..] => {
            let line: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
            args::read(line, "").err().map(|error| error.to_string())
        }
        ["cargo", "xpkg", ref rest @ ..] => xpkg()
            .try_get_matches_from(rest)
            .err()
            .filter(clap::Error::use_stderr)
            .map(|error| error.to_string()),
        ["cargo", "run", "-q", "--bin", "function-testplatform", "--", "render", ref rest @ ..] => {
            render_error(rest)
        }
        ["cargo", "run", ref rest @ ..] => {
            let program = rest.iter().position(|word| *word == "--bin").and_then(|at| rest.get(at + 1));
            program.and_then(|program| program_error(program))
        }
        _ => None,
    };
    error.or_else(|| {
        let paths = words.iter().map(|word| word.trim_start_matches('@'));
        let mut paths = paths.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
        paths.find(|path| !root().join(path).exists()).map(|path| format!("there is no {path}"))
    })
}

/// An error if no crate has this program.
fn program_error(program: &str) -> Option<String> {
    let is_there = root().join(format!("tests/src/bin/{program}.rs")).is_file()
        || ["function-testplatform", "provider-testplatform", "testplatform-package"].contains(&program);
    (!is_there).then(|| format!("there is no program {program}"))
}

/// Words in capitals in a command.
fn placeholders(command: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = command.split(|c| !is_part(c)).filter(|word| {
        word.len() > 1
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    });
    words
        .filter(|word| !KNOWN.contains(word) && !command.contains(&format!("{word}=")))
        .map(str::to_owned)
        .collect()
}

/// The placeholders that a page explains, in its one table of them.
fn explained(page: &str) -> BTreeSet<String> {
    let tables: Vec<&str> = page.split("| placeholder | value |\n").skip(1).collect();
    assert!(tables.len() < 2, "a page has two tables of placeholders");
    let rows = tables.iter().flat_map(|table| table.lines().take_while(|line| line.starts_with('|')));
    let names = rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split(','));
    names.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn programs_take_the_commands() {
    let mut mistakes = Vec::new();
    let mut seen = 0;
    for (name, text) in written_pages() {
        for command in commands(&text) {
            seen += 1;
            mistakes.extend(mistake(&command).map(|error| format!("{name}: {command}: {error}")));
        }
    }
    assert!(mistakes.is_empty(), "{mistakes:#?}");
    assert!(seen > 120, "{seen} commands");
}

/// The page of the plugin has a row for each command, and only for those.
#[test]
fn reference_of_the_plugin_has_every_command() {
    let page = read("docs/reference/cli.md");
    let rows: BTreeSet<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split([' ', '`']).next())
        .map(str::to_owned)
        .collect();
    let listed: BTreeSet<String> = plugin_commands().into_iter().collect();
    assert_eq!(rows, listed, "commands of the plugin, and rows of docs/reference/cli.md");
}

#[test]
fn placeholders_are_explained() {
    let mut unknown = Vec::new();
    for (name, text) in written_pages() {
        let known = explained(&text);
        let used: BTreeSet<String> =
            commands(&text).iter().flat_map(|command| placeholders(command)).collect();
        unknown.extend(used.difference(&known).map(|word| format!("{name}: {word}")));
    }
    assert!(unknown.is_empty(), "no table of placeholders says what these are: {unknown:#?}");
}

/// The comparison sees what it is for.
#[test]
fn failing_commands_are_found() {
    let page = "```console\nkubectl testplatform up \\\n  NOWHERE | cat && (cargo xpkg check hub)\n```\n\n```yaml\na: b | c\n```\n";
    assert_eq!(commands(page), ["kubectl testplatform up NOWHERE", "cat", "cargo xpkg check hub"]);
    for wrong in [
        "kubectl testplatform up",
        "kubectl testplatform mend demo",
        "cargo xpkg checks",
        "cargo xpkg bump plan --nothing",
        "cargo run --release -p testplatform-tests --bin nothing -- --claims 1",
        "kubectl apply -f package/install/nowhere.yaml",
        "cargo run -q --bin function-testplatform -- render claim.yaml",
        "cargo run -q --bin function-testplatform -- render examples/minimal/claim.yaml package/compositions/nowhere.yaml",
    ] {
        assert!(mistake(wrong).is_some(), "{wrong}");
    }
    for right in
        ["kubectl testplatform why demo", "cargo xpkg generate", "kubectl get nodes", "cat < package/install"]
    {
        assert_eq!(mistake(right), None, "{right}");
    }
    assert_eq!(
        placeholders("GOGC=400 kubectl -n NAMESPACE get POOL_NAME -o json"),
        ["NAMESPACE", "POOL_NAME"].map(str::to_owned).into()
    );
    let table = "| placeholder | value |\n| --- | --- |\n| NAME, KIND | of it |\n\n| OTHER | no |\n";
    assert!(explained(table).contains("KIND") && !explained(table).contains("OTHER"));
    assert!(!read("docs/runbook/index.md").is_empty());
}
