//! `why`: the chain from the claim to its kubeconfig, and the one thing that it waits for.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testplatform_apis::yaml::to_yaml;

use super::super::{
    claim::Claim,
    command_context::CommandContext,
    exit::Stop,
    explanation::Explanation,
    facts::Facts,
    follow::{Follower, Observation},
    session::Session,
    style::Paint,
};

/// How often a watch also reads the objects around the claim, whose changes a claim may not show.
const RESYNC: SignedDuration = SignedDuration::from_secs(15);

/// How to print the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyFormat {
    /// Lines for a person.
    Text,
    /// An object as JSON.
    Json,
    /// An object as YAML.
    Yaml,
}

/// Runs it.
pub fn run(session: &mut Session<'_>, name: &str, format: WhyFormat, watch: bool) -> Result<(), Stop> {
    if watch {
        session.stay();
    }
    let claim = session.find_claim(name)?;
    let explanation = read_explanation(session, claim.clone())?;
    print_explanation(session, &explanation, format, watch)?;
    if watch { print_changes(session, &claim, explanation, format) } else { Ok(()) }
}

fn read_explanation(session: &mut Session<'_>, claim: Claim) -> Result<Explanation, Stop> {
    let facts = session.collect_facts(claim)?;
    Ok(Explanation::of(&facts, &session.way, session.now()))
}

/// Prints the answer again whenever it changes, until the user interrupts or the claim is deleted.
fn print_changes(
    session: &mut Session<'_>,
    claim: &Claim,
    mut shown: Explanation,
    format: WhyFormat,
) -> Result<(), Stop> {
    let kubectl = session.kubectl.clone();
    let mut follower = Follower::new(&kubectl, session.around, claim, None);
    let mut last = claim.clone();
    let mut next_read = session.now() + RESYNC;
    while !session.is_unread {
        let is_changed = match follower.next(session.now())? {
            Observation::Changed(now) => {
                let is_changed = now.object != last.object;
                last = now;
                is_changed
            }
            Observation::Unchanged => false,
            Observation::Output(text) => {
                session.note(&text);
                false
            }
        };
        if !is_changed && session.now() < next_read {
            continue;
        }
        next_read = session.now() + RESYNC;
        let explanation = read_explanation(session, last.clone())?;
        if explanation.differs_from(&shown) {
            print_explanation(session, &explanation, format, true)?;
            shown = explanation;
        }
    }
    Ok(())
}

fn print_explanation(
    session: &mut Session<'_>,
    explanation: &Explanation,
    format: WhyFormat,
    watch: bool,
) -> Result<(), Stop> {
    let now = session.now();
    match format {
        WhyFormat::Text => {
            let (paint, room) = (session.paint, session.around.columns);
            for line in explanation.lines(paint, room, now) {
                session.print_line(&line)?;
            }
            if watch {
                session.print_line(&format!("--- {now:.0}"))?;
            }
        }
        // A watch prints a line for each answer, as programs read them.
        WhyFormat::Json if watch => session.print_line(&explanation.to_json().to_string())?,
        WhyFormat::Json => session.print_line(&format!("{:#}", explanation.to_json()))?,
        WhyFormat::Yaml => {
            let object: Value = explanation.to_json();
            let yaml = to_yaml(&object).map_err(|e| Stop::error(format!("cannot write YAML: {e}")))?;
            session.print(&if watch { format!("---\n{yaml}") } else { yaml })?;
        }
    }
    session.flush()
}

/// The whole answer as lines without colours.
pub fn explain_claim(facts: &Facts, way: &CommandContext, now: Timestamp) -> Vec<String> {
    Explanation::of(facts, way, now).lines(Paint::default(), None, now)
}
