//! Colours of the output. Text without them is the same text.

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use testplatform_apis::phase::Phase;

use super::chain::Mark;

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
        self.on(Tone::of_mark(mark).style(), mark.sign())
    }

    /// A text about a phase.
    pub fn phase(self, phase: Option<Phase>, text: &str) -> String {
        self.on(Tone::of_phase(phase).style(), text)
    }
}

/// How good something is, which a terminal shows as a colour and a page as a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// In progress.
    Busy,
    /// Not as it should be.
    Bad,
    /// Over, or unknown.
    Quiet,
}

impl Tone {
    /// Tone of a link.
    pub const fn of_mark(mark: Mark) -> Self {
        match mark {
            Mark::Good => Self::Good,
            Mark::Waits => Self::Busy,
            Mark::Bad => Self::Bad,
            Mark::Unknown => Self::Quiet,
        }
    }

    /// Tone of a phase. Before there is one, the cluster is as pending as can be.
    pub const fn of_phase(phase: Option<Phase>) -> Self {
        match phase {
            Some(Phase::Ready) => Self::Good,
            Some(Phase::Failed | Phase::Degraded) => Self::Bad,
            Some(Phase::Deprovisioning | Phase::Deprovisioned) => Self::Quiet,
            Some(Phase::Pending | Phase::Provisioning) | None => Self::Busy,
        }
    }

    /// Its class in the style of pages.
    pub const fn class_name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Busy => "busy",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Busy => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Quiet => Style::new().dimmed(),
        }
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
