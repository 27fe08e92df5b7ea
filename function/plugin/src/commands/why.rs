//! `why`: the chain from the claim to its kubeconfig, and the one thing that it waits for.

use testplatform_apis::text::bounded;

use super::super::{
    chain::{chain, lines},
    events::warning_lines,
    exit::Stop,
    facts::Facts,
    session::Session,
    wait::wait,
    way::Way,
};
use jiff::Timestamp;

/// Runs it.
pub fn run(session: &mut Session<'_>, name: &str) -> Result<(), Stop> {
    let claim = session.find(name)?;
    let facts = session.facts(claim)?;
    let now = session.now();
    answer(&facts, &session.way, now).iter().try_for_each(|line| session.say(line))
}

/// The whole answer.
pub fn answer(facts: &Facts, way: &Way, now: Timestamp) -> Vec<String> {
    let mut answer = lines(&chain(facts), now);
    let wait = wait(facts, way, now);
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
