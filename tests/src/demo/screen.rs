//! Output of the demo. In a terminal the timeline stays at the bottom and is drawn again in place; elsewhere every change is
//! a line. In both cases each step and each check is a line that stays.

use std::{
    io::{IsTerminal as _, Write as _, stdout},
    path::Path,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use anstream::{AutoStream, ColorChoice};

use super::{
    board::{BAD, BOLD, BUSY, Board, DIM, GOOD, Paint, clip, one_line, seconds},
    rows::{Row, Shown},
};
use crate::settings;

/// How often the terminal is drawn again.
const FRAME: Duration = Duration::from_millis(100);
/// A shorter step found its result in place, and needs no line.
const WORTH_A_LINE: Duration = Duration::from_millis(50);
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Standard output.
pub struct Screen {
    begun: Instant,
    /// When the control planes were started. Time before that went into compiling, and is not shown as part of the demo.
    clock_start: OnceLock<Instant>,
    live: bool,
    paint: Paint,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Step before there is a timeline, and its begin.
    step: Option<(&'static str, Duration)>,
    board: Option<Board>,
    /// The board is not at the bottom any more.
    closed: bool,
    kept: bool,
    /// Reason for the current wait.
    waiting: &'static str,
    /// Lines at the bottom that are drawn over.
    drawn: usize,
}

impl Screen {
    /// Standard output as it is.
    pub fn new() -> Self {
        let dumb = settings::path("TERM").is_none_or(|term| term == Path::new("dumb"));
        Self {
            begun: Instant::now(),
            clock_start: OnceLock::new(),
            live: stdout().is_terminal() && !dumb,
            paint: Paint(AutoStream::choice(&stdout()) != ColorChoice::Never),
            inner: Mutex::default(),
        }
    }

    /// Time since the clock was started; before that, time since the program started.
    pub fn now(&self) -> Duration {
        self.clock_start.get().unwrap_or(&self.begun).elapsed()
    }

    /// Ends the preparation, whose steps have no time, and starts the clock.
    pub fn start_clock(&self) {
        self.with(|inner| {
            let done = self.stepped(inner);
            let _ = self.clock_start.set(Instant::now());
            done
        });
    }

    /// The time in front of a line; blank during the preparation.
    fn time_column(&self) -> String {
        if self.clock_start.get().is_some() { seconds(self.now()) } else { String::new() }
    }

    /// Draws again and again.
    pub async fn tick(self: std::sync::Arc<Self>) {
        if !self.live {
            return;
        }
        loop {
            self.with(|_| String::new());
            tokio::time::sleep(FRAME).await;
        }
    }

    /// The first line.
    pub fn title(&self, title: &str) {
        self.with(|_| format!("\n  {}\n\n", self.paint.on(BOLD, title)));
    }

    /// The next step of booting begins, and the one before is done.
    pub fn step(&self, step: &'static str) {
        self.with(|inner| {
            let done = self.stepped(inner);
            inner.step = Some((step, self.now()));
            done
        });
    }

    /// Everything runs; from now on there is a timeline.
    pub fn booted(&self) {
        self.with(|inner| {
            let done = self.stepped(inner);
            inner.board = Some(Board::new());
            done
        });
    }

    fn stepped(&self, inner: &mut Inner) -> String {
        let Some((step, since)) = inner.step.take() else { return String::new() };
        let took = self.now().saturating_sub(since);
        if took < WORTH_A_LINE {
            return String::new();
        }
        let took = self.paint.on(DIM, &format!("({})", seconds(took)));
        format!("{:>8}  {} {step} {took}\n", self.time_column(), self.paint.on(GOOD, "✓"))
    }

    /// An object is as shown, or not there.
    pub fn saw(&self, row: Row, seen: Option<Shown>) {
        let now = self.now();
        self.with(|inner| {
            let Some(board) = inner.board.as_mut() else { return String::new() };
            let Some(new) = board.note(row, seen, now) else { return String::new() };
            if self.live {
                return String::new();
            }
            let words = one_line(&new.words);
            let colon = if words.is_empty() { "" } else { ": " };
            format!("{:>8}    {:<19} {}{colon}{words}\n", seconds(now), row.name(), new.state)
        });
    }

    /// Something was checked. Details are lines below it.
    pub fn check(&self, holds: bool, what: &str, details: &[String]) {
        let mark = if holds { self.paint.on(GOOD, "✓") } else { self.paint.on(BAD, "✗") };
        self.line(&mark, what, details);
    }

    /// Sets the reason for the wait from now on.
    pub fn wait(&self, what: &'static str) {
        self.lock().waiting = what;
    }

    /// Something is done now.
    pub fn act(&self, what: &str) {
        self.line(&self.paint.on(BUSY, "▸"), what, &[]);
    }

    fn line(&self, mark: &str, what: &str, details: &[String]) {
        let room = if self.live { width().saturating_sub(12) } else { usize::MAX };
        let detail = |d: &String| format!("{:12}{}\n", "", self.paint.on(DIM, &clip(&one_line(d), room)));
        let details: String = details.iter().map(detail).collect();
        self.with(|_| format!("{:>8}  {mark} {what}\n{details}", seconds(self.now())));
    }

    /// Says something by the way.
    pub fn say(&self, what: &str) {
        self.with(|_| format!("{:>8}    {what}\n", seconds(self.now())));
    }

    /// Shows a block of text as it is.
    pub fn block(&self, lines: &[String]) {
        self.with(|_| lined(lines));
    }

    /// A heading of a block.
    pub fn heading(&self, text: &str) -> String {
        self.paint.on(BOLD, text)
    }

    /// From now on an interruption is the regular end.
    pub fn keep(&self) {
        self.lock().kept = true;
    }

    /// `true` if an interruption is the regular end.
    pub fn is_kept(&self) -> bool {
        self.lock().kept
    }

    /// The timeline stays as it is now, and what follows goes below it.
    pub fn close(&self) {
        let mut inner = self.lock();
        if self.live && !inner.closed {
            let board = inner.board.as_ref().map(|board| board.draw(width(), self.paint, self.now()));
            write(&format!("{}{}", up(inner.drawn), lined(&board.unwrap_or_default())));
        }
        (inner.closed, inner.drawn) = (true, 0);
    }

    /// Reads the timeline, if there was one.
    pub fn history<T>(&self, ask: impl FnOnce(&Board) -> T) -> Option<T> {
        self.lock().board.as_ref().map(ask)
    }

    /// The last line, if it came to an end.
    pub fn verdict(&self, failed: &[String]) {
        let now = seconds(self.now());
        if failed.is_empty() {
            let good = self.paint.on(GOOD.bold(), "Every check passed.");
            self.with(|_| format!("\n  {good} The demo took {now} and left nothing behind.\n\n"));
        } else {
            complain(&format!("failed after {now}: {}", failed.join("; ")));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the bottom away, writes what is new, and draws the bottom again, all at once so that nothing flickers.
    fn with(&self, change: impl FnOnce(&mut Inner) -> String) {
        let mut inner = self.lock();
        let new = change(&mut inner);
        if !self.live {
            write(&new);
            return;
        }
        let up = up(inner.drawn);
        let bottom = if inner.closed { Vec::new() } else { self.bottom(&inner) };
        inner.drawn = bottom.len();
        write(&format!("{up}{new}{}", lined(&bottom)));
    }

    fn bottom(&self, inner: &Inner) -> Vec<String> {
        let (now, width) = (self.now(), width());
        if let Some((step, since)) = inner.step {
            let frame = usize::try_from(now.as_millis() / FRAME.as_millis()).unwrap_or_default();
            let spin = SPINNER.get(frame % SPINNER.len()).copied().unwrap_or_default();
            let took = seconds(now.saturating_sub(since));
            let text = clip(&format!("{step} {took}"), width.saturating_sub(12));
            return vec![format!("{:>8}  {} {text}", self.time_column(), self.paint.on(BUSY, spin))];
        }
        let Some(board) = &inner.board else { return Vec::new() };
        let mut lines = board.draw(width, self.paint, now);
        let waiting = format!("{:>8}  waiting {}; Ctrl-C ends it and cleans up", seconds(now), inner.waiting);
        lines.push(self.paint.on(DIM, &clip(&waiting, width)));
        lines
    }
}

/// Takes the last lines away.
fn up(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[J") }
}

fn lined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// The width of the terminal.
fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// One sentence on what went wrong, after all that helps to find out why.
pub fn complain(what: &str) {
    let mut err = std::io::stderr().lock();
    let bad = Paint(AutoStream::choice(&std::io::stderr()) != ColorChoice::Never);
    // The object's actual state is not part of the sentence.
    let (sentence, object) = what.split_once("; it is {").map_or((what, None), |(s, o)| (s, Some(o)));
    let _ = object.map(|object| writeln!(err, "{{{object}"));
    let _ = writeln!(err, "{} {sentence}", bad.on(BAD.bold(), "error:"));
}

/// Whoever reads may have gone away, which is no reason to stop before everything is cleaned up.
fn write(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
