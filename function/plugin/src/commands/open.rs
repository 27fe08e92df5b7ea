//! `logs` and `open`: addresses of a cluster's job and console.

use std::process::{Command, Stdio};

use testplatform_apis::text::bounded;

use super::super::{
    claim::{Claim, ClaimState, text},
    exit::{Exit, Stop},
    session::Session,
    web_address::is_web_address,
};

/// The program that opens an address on this platform.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// A page about a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The job that creates and removes the cluster, with its logs.
    Job,
    /// The web console of the cluster.
    Console,
}

impl Page {
    const fn word(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Console => "console",
        }
    }

    const fn pointer(self) -> &'static str {
        match self {
            Self::Job => "/status/prowJob/url",
            Self::Console => "/status/consoleURL",
        }
    }
}

/// Prints the address of the job's logs.
pub fn print_logs_url(session: &mut Session<'_>, name: &str) -> Result<(), Stop> {
    let claim = session.find_claim(name)?;
    let url = find_url(session, &claim, Page::Job)?;
    session.print_line(&url)
}

/// Prints the address of a page, and has the platform's program open it.
pub fn run(session: &mut Session<'_>, name: &str, page: Page) -> Result<(), Stop> {
    let claim = session.find_claim(name)?;
    let url = find_url(session, &claim, page)?;
    session.print_line(&url)?;
    let mut opener = Command::new(OPENER);
    opener.arg(&url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let advice = "Open the address above in a browser.";
    match opener.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Stop::new(Exit::Error, format!("{OPENER} failed: {status}"), advice)),
        Err(error) => Err(Stop::new(Exit::Error, format!("cannot run {OPENER}: {error}"), advice)),
    }
}

/// The address that a claim reports. Only web addresses are accepted, because the address goes to a program.
fn find_url(session: &Session<'_>, claim: &Claim, page: Page) -> Result<String, Stop> {
    let url = text(&claim.object, page.pointer());
    let why = session.next("why", claim);
    if url.is_empty() {
        let (exit, still) = match claim.state() {
            ClaimState::Waiting => (Exit::NotYet, " yet"),
            ClaimState::Ready | ClaimState::Failed | ClaimState::Ended => (Exit::Error, ""),
        };
        let hint = match page {
            Page::Job => "Only clusters of ci-operator have a job.",
            Page::Console => "Only OpenShift clusters that are ready have a console.",
        };
        let message = format!("{} reports no {}{still}", claim.label(), page.word());
        return Err(Stop::new(exit, message, format!("{hint} More: {why}")));
    }
    if !is_web_address(url) {
        let message =
            format!("the {} of {} is no web address: {}", page.word(), claim.label(), bounded(url, 200));
        return Err(Stop::new(Exit::Error, message, format!("More: {why}")));
    }
    Ok(url.to_owned())
}
