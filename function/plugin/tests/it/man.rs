//! Manual pages: `SNAPSHOTS=overwrite cargo test -p kubectl-testplatform --test it man::` writes them to `man/`.

use std::{collections::BTreeSet, fs, path::PathBuf};

use clap::Command;
use clap_mangen::Man;
use kubectl_testplatform::args;
use snapbox::{Data, assert_data_eq};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("man")
}

/// The command by the name of its page, with each word of it joined by a dash.
fn page_of(command: &Command, name: &str) -> (String, String) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // Clap takes names that live as long as the program.
    let own: &'static str = String::leak(name.to_owned());
    let page = command.clone().mut_args(|arg| arg.hide_short_help(false)).name(own).display_name(own);
    let page = page.override_usage(usage).after_help(None::<&str>);
    let mut text = Vec::new();
    let version = env!("CARGO_PKG_VERSION");
    Man::new(page).source(format!("kubectl testplatform {version}")).render(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap() + &sections(&help);
    // Trailing blanks would not survive an editor.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    (format!("{name}.1"), lines.join("\n") + "\n")
}

/// Examples and exit codes as sections of a manual page, whose lines stay as they are.
fn sections(help: &str) -> String {
    let (examples, exits) = help.split_once("\n\nExit codes:\n").unwrap();
    let examples = examples.strip_prefix("Examples:\n").unwrap();
    let section = |heading: &str, text: &str| {
        let text = text.replace('\\', r"\e").replace('-', r"\-");
        format!(".SH {heading}\n.nf\n{text}\n.fi\n")
    };
    section("EXAMPLES", examples) + &section("\"EXIT STATUS\"", exits)
}

fn pages() -> Vec<(String, String)> {
    let mut root = args::command(env!("CARGO_PKG_VERSION"));
    root.build();
    let mut pages = vec![page_of(&root, "kubectl-testplatform")];
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        pages.push(page_of(command, &format!("kubectl-testplatform-{}", command.get_name())));
    }
    pages
}

#[test]
fn manual_pages_are_current() {
    let pages = pages();
    assert!(pages.len() > 10, "{} pages", pages.len());
    fs::create_dir_all(folder()).unwrap();
    for (name, text) in &pages {
        assert!(text.contains("EXIT STATUS"), "{name} has no exit codes");
        let data = Data::read_from(&folder().join(name), None).raw();
        assert_data_eq!(Data::text(text.clone()).raw(), data);
    }
    let expected: BTreeSet<String> = pages.into_iter().map(|(name, _)| name).collect();
    let found =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.collect::<BTreeSet<_>>(), expected, "a page of a command that does not exist");
}

/// The formatter of this machine takes them without a warning.
#[test]
#[ignore = "needs man-db"]
fn manual_pages_are_readable() {
    for (name, _) in pages() {
        let path = folder().join(&name);
        let output = std::process::Command::new("man")
            .args(["--warnings", "--local-file", "--encoding=UTF-8"])
            .arg(&path)
            .env("MANWIDTH", "80")
            .env("MANPAGER", "cat")
            .output()
            .expect("man formats the pages; install man-db");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && errors.is_empty(), "{name}: {errors}");
        assert!(text.contains("NAME") && text.contains("SYNOPSIS"), "{name}: {text}");
    }
}
