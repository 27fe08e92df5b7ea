//! `why`: the chain from the claim to its kubeconfig, and the one thing that it waits for.

use testplatform_apis::text::bounded;

use super::super::{
    chain::{build_chain, format_links},
    command_context::CommandContext,
    events::warning_lines,
    exit::Stop,
    facts::Facts,
    session::Session,
    wait::find_pending_step,
};
use jiff::Timestamp;

/// Runs it.
pub fn run(session: &mut Session<'_>, name: &str) -> Result<(), Stop> {
    let claim = session.find_claim(name)?;
    let facts = session.collect_facts(claim)?;
    let now = session.now();
    explain_claim(&facts, &session.way, now).iter().try_for_each(|line| session.print_line(line))
}

/// The whole answer.
pub fn explain_claim(facts: &Facts, way: &CommandContext, now: Timestamp) -> Vec<String> {
    let mut answer = format_links(&build_chain(facts), now);
    let wait = find_pending_step(facts, way, now);
    answer.push(String::new());
    answer.push(format!("Waits for  {}", wait.what));
    answer.push(format!("To do      {}", wait.todo));
    answer.extend(warning_lines(&facts.events, facts.phase_since(), now));
    let url = super::super::claim::text(&facts.claim.object, "/status/prowJob/url");
    if !url.is_empty() && !answer.iter().any(|line| line.contains(url)) {
        answer.push(format!("Job        {}", bounded(url, 600)));
    }
    answer
}
