//! The documentation site: mdBook renders `docs/`, and every link of the result is checked without a network.
//!
//! `record` runs a program and writes its output with the time of each line. `cast` draws such a transcript as an SVG.

mod cast;
mod check;
mod links;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use mdbook_driver::MDBook;

use links::{SourceLinks, Sources};

const USAGE: &str = "usage: site build
       site record TRANSCRIPT -- COMMAND…
       site cast TITLE SVG TRANSCRIPT";

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &words[..] {
        ["build"] => build_site(&repository_root()),
        ["record", transcript, "--", command @ ..] if !command.is_empty() => {
            cast::record_command(Path::new(transcript), command)
        }
        ["cast", title, svg, transcript] => {
            let text = fs::read_to_string(transcript).with_context(|| format!("cannot read {transcript}"))?;
            fs::write(svg, cast::draw(title, &text)?).with_context(|| format!("cannot write {svg}"))
        }
        _ => bail!("{USAGE}"),
    }
}

/// The root of the repository that this program was built in.
fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// Renders the book, copies the sources that it refers to, and checks every link.
fn build_site(repository: &Path) -> anyhow::Result<()> {
    let sources = Sources::default();
    let mut book = MDBook::load(repository.join("docs"))?;
    book.with_preprocessor(SourceLinks::new(repository, &sources));
    book.build()?;
    let site = book.build_dir_for("html");
    sources.copy_all(repository, &site)?;
    let report = check::check_links(&site)?;
    for link in &report.dead {
        eprintln!("{link}");
    }
    if !report.dead.is_empty() {
        bail!("{} of {} links are dead", report.dead.len(), report.links);
    }
    println!("{}: {} pages, {} links, none of them dead", site.display(), report.pages, report.links);
    Ok(())
}
