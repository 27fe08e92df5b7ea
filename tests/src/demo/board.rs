//! The timeline: a line per object, when it came to be as it is, and every change that there was. No terminal here.

use std::time::Duration;

use anstyle::{AnsiColor, Style};

use super::rows::{ROWS, Row, Shown, Tone};

/// The timeline.
#[derive(Debug)]
pub struct Board {
    lines: [Line; ROWS.len()],
    history: Vec<Change>,
}

#[derive(Debug)]
struct Line {
    shown: Shown,
    since: Duration,
    was_there: bool,
}

/// Something changed its state.
#[derive(Debug)]
pub struct Change {
    /// When, since the start.
    pub at: Duration,
    /// What.
    pub row: Row,
    /// To which state.
    pub state: String,
}

impl Board {
    /// One on which nothing is there yet.
    pub fn new() -> Self {
        let line = || Line { shown: Shown::absent(false), since: Duration::ZERO, was_there: false };
        Self { lines: std::array::from_fn(|_| line()), history: Vec::new() }
    }

    /// Notes what is seen of an object, or that it is not there. Returns what is new in it.
    pub fn note(&mut self, row: Row, seen: Option<Shown>, now: Duration) -> Option<Shown> {
        let line = self.lines.get_mut(row as usize)?;
        let shown = seen.unwrap_or_else(|| Shown::absent(line.was_there));
        if line.shown == shown {
            return None;
        }
        if line.shown.state != shown.state {
            line.since = now;
            self.history.push(Change { at: now, row, state: shown.state.clone() });
        }
        line.was_there |= shown.state != "-";
        line.shown = shown.clone();
        Some(shown)
    }

    /// When an object first was in a state.
    pub fn when(&self, row: Row, state: &str) -> Option<Duration> {
        self.history.iter().find(|c| c.row == row && c.state == state).map(|c| c.at)
    }

    /// When an object first was there.
    pub fn first(&self, row: Row) -> Option<Duration> {
        self.history.iter().find(|c| c.row == row).map(|c| c.at)
    }

    /// The lines of the timeline, none wider than said.
    pub fn draw(&self, width: usize, paint: Paint, now: Duration) -> Vec<String> {
        let heading = fit(&format!("{:>8}  {:<19} {:<15} detail", "since", "object", "state"), width);
        let mut drawn = vec![String::new(), paint.on(BOLD, &heading)];
        for (row, line) in ROWS.iter().zip(&self.lines) {
            let absent = line.shown.state == "-";
            let since = if absent { String::new() } else { seconds(line.since) };
            let head = format!("{since:>8}  {:<19} ", row.name());
            let state = format!("{:<15} ", clip(&line.shown.state, 15));
            let room = width.saturating_sub(head.chars().count() + state.chars().count());
            let words = clip(&one_line(&line.shown.words), room);
            let fresh = !absent && now.saturating_sub(line.since) < FRESH;
            let style = if fresh { paint_of(line.shown.tone).bold() } else { paint_of(line.shown.tone) };
            drawn.push(format!("{head}{}{words}", paint.on(style, &state)));
        }
        drawn
    }
}

/// How long a change stands out.
const FRESH: Duration = Duration::from_millis(1500);
/// Of headings.
pub const BOLD: Style = Style::new().bold();
/// Of what is by the way.
pub const DIM: Style = Style::new().dimmed();
/// Of what is as it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Of what is not.
pub const BAD: Style = AnsiColor::Red.on_default();
/// Of what goes on.
pub const BUSY: Style = AnsiColor::Yellow.on_default();

fn paint_of(tone: Tone) -> Style {
    match tone {
        Tone::Quiet => DIM,
        Tone::Busy => BUSY,
        Tone::Good => GOOD,
        Tone::Bad => BAD,
    }
}

/// Writes with or without colours.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    /// A text in a style.
    pub fn on(self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// A time since the start, as it is shown everywhere.
pub fn seconds(time: Duration) -> String {
    format!("{:.1}s", time.as_secs_f64())
}

/// A text in so many columns, and if it does not fit, most of it.
pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    if width == 0 { kept } else { format!("{}…", kept.trim_end()) }
}

fn fit(text: &str, width: usize) -> String {
    clip(text, width)
}

/// A text without line breaks and without anything that a terminal would obey.
pub fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(state: &str, words: &str) -> Shown {
        Shown { state: state.into(), words: words.into(), tone: Tone::Busy }
    }

    #[test]
    fn only_what_is_new_counts() {
        let mut board = Board::new();
        let at = Duration::from_secs;
        assert!(board.note(Row::Claim, None, at(0)).is_none());
        assert!(board.note(Row::Claim, Some(shown("Pending", "a")), at(1)).is_some());
        assert!(board.note(Row::Claim, Some(shown("Pending", "a")), at(2)).is_none());
        assert!(board.note(Row::Claim, Some(shown("Pending", "b")), at(3)).is_some());
        assert_eq!(board.note(Row::Claim, None, at(4)).unwrap().state, "gone");
        assert_eq!(board.when(Row::Claim, "Pending"), Some(at(1)));
        assert_eq!(board.when(Row::Claim, "gone"), Some(at(4)));
        assert_eq!(board.first(Row::Job), None);
    }

    #[test]
    fn no_line_is_too_wide() {
        let mut board = Board::new();
        board.note(Row::Claim, Some(shown("Provisioning", &"words ".repeat(40))), Duration::from_secs(1000));
        board.note(Row::Remote, Some(shown(&"state".repeat(9), "\u{1b}[2J\nx")), Duration::from_secs(1));
        for width in [0, 20, 45, 80, 200] {
            for line in board.draw(width, Paint(false), Duration::ZERO) {
                assert!(line.chars().count() <= width.max(46), "{width}: {line:?}");
                assert!(!line.contains(char::is_control), "{line:?}");
            }
        }
    }

    #[test]
    fn a_clipped_text_says_so() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abc def", 5), "abc…");
        assert_eq!(clip("abc", 0), "");
    }
}
