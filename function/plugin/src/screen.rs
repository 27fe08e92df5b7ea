//! Output during a wait: one line that is overwritten on a terminal, else a line for each change.

use std::fmt::Write as _;

use jiff::Timestamp;
use testplatform_apis::condition::ConditionType;

use super::{claim::Claim, estimate::Estimate, session::Session, span::human};

const UNPROCESSED: &str = "Crossplane has not processed it yet";
const WHEEL: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The screen of one command.
#[derive(Debug, Default)]
pub struct Screen {
    shown: String,
    turn: usize,
    open: bool,
}

impl Screen {
    /// Shows how a claim stands.
    pub fn show(
        &mut self,
        session: &mut Session<'_>,
        claim: &Claim,
        since: Timestamp,
        estimate: Option<&Estimate>,
    ) {
        let now = session.now();
        let message = match claim.message() {
            empty if empty.is_empty() && claim.phase().is_none() => UNPROCESSED.to_owned(),
            message => message,
        };
        let state = format!("{} {message}", claim.phase_word());
        let line = progress_line(claim, &message, now, since, estimate);
        if session.around.terminal {
            self.turn = (self.turn + 1) % WHEEL.len();
            // Without wrapping what is too long is cut off, however wide the terminal is. All at once, so that nobody who ends the program
            // leaves a terminal behind that does not wrap; and the cursor goes back, so that what is echoed of a key goes with the line.
            let drawn = format!("\r\u{1b}[?7l{} {line}\u{1b}[K\u{1b}[?7h\r", WHEEL[self.turn]);
            let _ = session.err.write_all(drawn.as_bytes());
            let _ = session.err.flush();
            self.open = true;
        } else if state != self.shown {
            session.note(&line);
        }
        self.shown = state;
    }

    /// Says something beside that.
    pub fn note(&mut self, session: &mut Session<'_>, line: &str) {
        self.clear(session);
        session.note(line);
    }

    /// Takes the line away.
    pub fn clear(&mut self, session: &mut Session<'_>) {
        if std::mem::take(&mut self.open) {
            let _ = write!(session.err, "\r\u{1b}[K");
            let _ = session.err.flush();
        }
    }
}

fn progress_line(
    claim: &Claim,
    message: &str,
    now: Timestamp,
    since: Timestamp,
    estimate: Option<&Estimate>,
) -> String {
    let mut line = format!("{} {}", claim.phase_word(), human(now.duration_since(since)));
    if let Some(estimate) = estimate {
        let _ = write!(line, ", {}", estimate.words(now));
    }
    if !message.is_empty() {
        let _ = write!(line, ": {message}");
    }
    line
}

/// Issue of an accepted claim that its owner should know, such as a clamped lifetime.
pub fn acceptance_note(claim: &Claim) -> Option<String> {
    let condition = claim.condition(ConditionType::RequestAccepted).filter(|c| c.holds())?;
    (!matches!(condition.reason(), "Accepted" | "NoTenant")).then(|| format!("note: {}", condition.message()))
}
