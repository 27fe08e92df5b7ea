//! The answer of `why`: the links of the chain, the pending step, and warnings. As lines, or as an object for programs.

use jiff::Timestamp;
use serde_json::{Value, json};
use testplatform_apis::text::bounded;

use super::{
    chain::{ChainLink, Mark, build_chain, format_links},
    claim::{text, time},
    command_context::CommandContext,
    events::{Warning, select_warnings},
    facts::Facts,
    style::Paint,
    wait::{PendingStep, find_pending_step},
};

/// The answer about one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    kind: &'static str,
    namespace: String,
    name: String,
    phase: &'static str,
    links: Vec<ChainLink>,
    pending: PendingStep,
    /// The pending step without the time that has passed.
    timeless_pending: PendingStep,
    warnings: Vec<Warning>,
    job: String,
}

impl Explanation {
    /// Explains a claim from everything that could be read.
    pub fn of(facts: &Facts, way: &CommandContext, now: Timestamp) -> Self {
        let claim = &facts.claim;
        let created = time(&claim.object, "/metadata/creationTimestamp").unwrap_or_default();
        Self {
            kind: claim.flavour.kind(),
            namespace: claim.namespace().to_owned(),
            name: claim.name().to_owned(),
            phase: claim.phase_word(),
            links: build_chain(facts),
            pending: find_pending_step(facts, way, now),
            timeless_pending: find_pending_step(facts, way, created),
            warnings: select_warnings(&facts.events, facts.phase_since()),
            job: bounded(text(&claim.object, "/status/prowJob/url"), 600),
        }
    }

    /// The answer for a person. `room`: width of the terminal, at which long lines are broken between words.
    pub fn lines(&self, paint: Paint, room: Option<usize>, now: Timestamp) -> Vec<String> {
        let mut lines = format_links(&self.links, paint, room, now);
        let mut rest =
            vec![format!("Waits for  {}", self.pending.what), format!("To do      {}", self.pending.todo)];
        rest.extend(self.warnings.iter().map(|warning| warning.format_line(now)));
        let is_shown = lines.iter().chain(&rest).any(|line| line.contains(&self.job));
        if !self.job.is_empty() && !is_shown {
            rest.push(format!("Job        {}", self.job));
        }
        lines.push(String::new());
        lines.extend(rest.iter().map(|line| break_line(line, room, LABEL)));
        lines
    }

    /// The answer for a program. Fields are only ever added.
    pub fn to_json(&self) -> Value {
        let link = |link: &ChainLink| {
            json!({
                "object": link.what,
                "state": link.mark.name(),
                "message": link.state,
                "since": link.since.map(|at| at.to_string()),
            })
        };
        json!({
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "phase": self.phase,
            "links": self.links.iter().map(link).collect::<Vec<_>>(),
            "waitsFor": self.pending.what,
            "toDo": self.pending.todo,
            "warnings": self.warnings.iter().map(Warning::to_json).collect::<Vec<_>>(),
            "jobURL": self.job,
        })
    }

    /// `true` if another answer differs in more than the time that has passed.
    pub fn differs_from(&self, other: &Self) -> bool {
        let links = |of: &Self| -> Vec<(Mark, String)> {
            of.links.iter().map(|link| (link.mark, format!("{} {}", link.what, link.state))).collect()
        };
        let reasons = |of: &Self| -> Vec<String> {
            of.warnings.iter().map(|warning| warning.event.reason.clone()).collect()
        };
        self.phase != other.phase
            || self.timeless_pending != other.timeless_pending
            || links(self) != links(other)
            || reasons(self) != reasons(other)
    }
}

/// Columns of a label such as `Waits for`.
const LABEL: usize = 11;

/// Breaks a line between words, with an indent of the lines that follow. Without a width, or where a terminal is too narrow for the
/// indent, the line stays as it is.
pub fn break_line(line: &str, room: Option<usize>, indent: usize) -> String {
    let Some(room) = room.filter(|room| *room >= indent + 20) else { return line.to_owned() };
    if line.chars().count() <= room {
        return line.to_owned();
    }
    let (mut broken, mut column) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let width = word.trim_end().chars().count();
        if column > indent && column + width > room {
            broken.truncate(broken.trim_end().len());
            broken.push('\n');
            broken.push_str(&" ".repeat(indent));
            column = indent;
        }
        broken.push_str(word);
        column += word.chars().count();
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let line = "Waits for  the hub to create the cluster, which takes a while";
        assert_eq!(break_line(line, None, LABEL), line);
        assert_eq!(break_line(line, Some(80), LABEL), line);
        assert_eq!(break_line(line, Some(20), LABEL), line, "no room for an indent");
        let broken = break_line(line, Some(40), LABEL);
        assert_eq!(broken, "Waits for  the hub to create the\n           cluster, which takes a while");
        assert!(broken.lines().all(|line| line.chars().count() <= 40));
        // A word without a break, such as an address, stays whole.
        let address = format!("Job        https://prow.example/{}", "x".repeat(60));
        assert_eq!(break_line(&address, Some(40), LABEL), address);
    }
}
