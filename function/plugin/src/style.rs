//! Colours of the output. Text without them is the same text.

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use testplatform_apis::phase::Phase;

use super::chain::Mark;

/// As it should be.
const GOOD: Style = AnsiColor::Green.on_default();
/// In progress.
const BUSY: Style = AnsiColor::Yellow.on_default();
/// Not as it should be.
const BAD: Style = AnsiColor::Red.on_default();
/// Over, or unknown.
const QUIET: Style = Style::new().dimmed();

/// Writes text with or without colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint(pub bool);

impl Paint {
    /// As the command line has it. `auto`: what the terminal and the environment ask for.
    pub const fn new(choice: ColorChoice, auto: bool) -> Self {
        match choice {
            ColorChoice::Auto => Self(auto),
            ColorChoice::Always => Self(true),
            ColorChoice::Never => Self(false),
        }
    }

    /// A text in a style.
    pub fn on(self, style: Style, text: &str) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// The sign of a link.
    pub fn mark(self, mark: Mark) -> String {
        let style = match mark {
            Mark::Good => GOOD,
            Mark::Waits => BUSY,
            Mark::Bad => BAD,
            Mark::Unknown => QUIET,
        };
        self.on(style, mark.sign())
    }

    /// A text about a phase.
    pub fn phase(self, phase: Option<Phase>, text: &str) -> String {
        let style = match phase {
            Some(Phase::Ready) => GOOD,
            Some(Phase::Failed | Phase::Degraded) => BAD,
            Some(Phase::Deprovisioning | Phase::Deprovisioned) => QUIET,
            Some(Phase::Pending | Phase::Provisioning) | None => BUSY,
        };
        self.on(style, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_the_same_without_colours() {
        assert_eq!(Paint(false).mark(Mark::Good), "✓");
        assert_eq!(Paint(true).mark(Mark::Good), "\u{1b}[32m✓\u{1b}[0m");
        assert_eq!(Paint(true).phase(Some(Phase::Failed), "Failed  "), "\u{1b}[31mFailed  \u{1b}[0m");
    }

    #[test]
    fn command_line_comes_before_the_environment() {
        for (name, auto, expected) in
            [("auto", true, true), ("auto", false, false), ("always", false, true), ("never", true, false)]
        {
            assert_eq!(Paint::new(name.parse().unwrap(), auto), Paint(expected), "{name}");
        }
    }
}
