//! How the plugin ends: the codes that scripts go by.

use std::fmt::{self, Write as _};

/// An exit code. They are an interface: a number never gets another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The request is done.
    Done,
    /// Anything that has no code of its own.
    Error,
    /// The command line, or the manifest, does not say what to do.
    Usage,
    /// Not there yet.
    NotYet,
    /// The claim is Failed, which is final.
    Failed,
    /// There is no such claim or offer.
    NotFound,
    /// The cluster was torn down, and something may be left of it.
    LeftBehind,
    /// The cluster is gone or on its way out.
    Over,
    /// The lifetime was set, and the cluster may end before it is over.
    Shorter,
    /// The cluster or the namespace lacks something that claims need.
    Incomplete,
    /// Somebody pressed Ctrl-C. The number is what a shell makes of SIGINT, by which `main` ends the program then.
    Interrupted,
}

impl Exit {
    /// Every code, in the order of the numbers.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Error,
        Self::Usage,
        Self::NotYet,
        Self::Failed,
        Self::NotFound,
        Self::LeftBehind,
        Self::Over,
        Self::Shorter,
        Self::Incomplete,
        Self::Interrupted,
    ];

    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::NotYet => 3,
            Self::Failed => 4,
            Self::NotFound => 5,
            Self::LeftBehind => 6,
            Self::Over => 7,
            Self::Shorter => 8,
            Self::Incomplete => 9,
            Self::Interrupted => 130,
        }
    }

    /// Its meaning, for `--help` and the reference of the documentation.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Error => "error: refused, forbidden, or the API server cannot be reached",
            Self::Usage => "the command line or the manifest is not complete",
            Self::NotYet => "not ready yet, or --timeout has passed; nothing is cancelled",
            Self::Failed => "the claim is Failed, which is final",
            Self::NotFound => "there is no such claim or offer, or it was deleted meanwhile",
            Self::LeftBehind => "torn down, but the job ended badly: check the cloud account for leftovers",
            Self::Over => "the cluster is gone, or is being torn down",
            Self::Shorter => "the lifetime was set, and the cluster may end before it is over",
            Self::Incomplete => "the cluster or the namespace lacks something that claims need",
            Self::Interrupted => "interrupted by Ctrl-C; nothing is cancelled",
        }
    }
}

/// A list of codes as `--help` has it.
pub fn list(exits: &[Exit]) -> String {
    let mut text = String::from("Exit codes:\n");
    for exit in exits {
        let _ = writeln!(text, "{:>3}  {}", exit.code(), exit.meaning());
    }
    text
}

/// Why a command did not come to its end, and what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// How the program ends.
    pub exit: Exit,
    /// Problem, and its location.
    pub message: String,
    /// Advice; empty if there is none.
    pub advice: String,
}

impl Stop {
    /// One with an advice.
    pub fn new(exit: Exit, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { exit, message: message.into(), advice: advice.into() }
    }

    /// Error with a message that needs no advice.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Exit::Error, message, "")
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if !self.advice.is_empty() {
            write!(f, "\n{}", self.advice)?;
        }
        Ok(())
    }
}
