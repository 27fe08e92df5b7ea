//! A terminal: a real pseudo-terminal, as the controlling one of a session of its own, and the glass that somebody looks at.

use std::{
    fmt,
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::{Child, Command, ExitStatus},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::{
    fs::{Mode, OFlags, open},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// How long anything may take to show.
const SOON: Duration = Duration::from_secs(30);

/// A program on a terminal.
pub struct Terminal {
    columns: usize,
    keyboard: File,
    printed: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    child: Child,
}

impl Terminal {
    /// Runs a command on a terminal so wide, but for what a shell redirects of it: `>out`, or nothing.
    pub fn run(command: &Command, columns: u16, redirect: &str) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave =
            open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&slave, size).unwrap();
        // A session of its own, or Ctrl-C would be nobody's. Each is replaced by the next, so that the child is the program at last.
        // Whoever runs tests in the background of a shell without job control has them ignore SIGINT, and all that they start.
        let mut session = Command::new("setsid");
        session.args(["--ctty", "env", "--default-signal=INT"]);
        session.args(["sh", "-c", &format!("exec \"$0\" \"$@\" {redirect}")]);
        session.arg(command.get_program()).args(command.get_args());
        session.env_clear().env("TERM", "xterm-256color");
        for (name, value) in command.get_envs() {
            session.env(name, value.unwrap_or_default());
        }
        if let Some(directory) = command.get_current_dir() {
            session.current_dir(directory);
        }
        let end = |fd: &OwnedFd| fd.try_clone().unwrap();
        session.stdin(end(&slave)).stdout(end(&slave)).stderr(slave);
        let child = session.spawn().unwrap();
        // With it go the ends that this process has, and the reader sees when nobody else has one.
        drop(session);
        let printed = Arc::<Mutex<Vec<u8>>>::default();
        let mut screen = File::from(end(&master));
        let so_far = Arc::clone(&printed);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut buffer) {
                so_far.lock().unwrap().extend_from_slice(&buffer[..read]);
            }
        });
        Self { columns: columns.into(), keyboard: File::from(master), printed, reader, child }
    }

    /// Presses Ctrl-C.
    pub fn interrupt(&mut self) {
        self.keyboard.write_all(b"\x03").unwrap();
    }

    /// The id of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Screen of the terminal now.
    pub fn glass(&self) -> Glass {
        Glass::after(&self.printed.lock().unwrap(), self.columns)
    }

    /// Waits until something is seen.
    #[track_caller]
    pub fn until(&self, what: &str, is: impl Fn(&Glass) -> bool) -> Glass {
        let begun = Instant::now();
        loop {
            let glass = self.glass();
            if is(&glass) {
                return glass;
            }
            assert!(begun.elapsed() < SOON, "{what} is not seen: {glass:#?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end, and for everybody else's who holds the terminal.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, Glass) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < SOON, "it does not end: {:#?}", self.glass());
            thread::sleep(Duration::from_millis(10));
        };
        while !self.reader.is_finished() {
            assert!(begun.elapsed() < SOON, "somebody keeps the terminal: {:#?}", self.glass());
            thread::sleep(Duration::from_millis(10));
        }
        let glass = self.glass();
        assert!(!glass.torn, "it ends within an escape sequence: {glass:#?}");
        (status, glass)
    }
}

/// Screen of a terminal. It understands the sequences that the plugin may send, and nothing else.
#[derive(Default)]
pub struct Glass {
    lines: Vec<Vec<char>>,
    /// Where the next character goes.
    pub cursor: (usize, usize),
    /// A long line continues on the next one.
    pub wraps: bool,
    /// How often it did.
    pub wrapped: usize,
    /// How many times colours or weight were changed.
    pub styled: usize,
    /// The last sequence is incomplete.
    torn: bool,
}

impl fmt::Debug for Glass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines: _, cursor, wraps, wrapped, styled, torn } = self;
        let state = (cursor, wraps, wrapped, styled, torn);
        f.debug_struct("Glass")
            .field("lines", &self.lines())
            .field("cursor, wraps, wrapped, styled, torn", &state)
            .finish()
    }
}

impl Glass {
    fn after(printed: &[u8], columns: usize) -> Self {
        let text = match std::str::from_utf8(printed) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&printed[..error.valid_up_to()]).unwrap(),
        };
        let mut glass = Self { wraps: true, torn: text.len() < printed.len(), ..Self::default() };
        let mut rest = text.chars();
        while let Some(next) = rest.next() {
            match next {
                '\r' => glass.cursor.1 = 0,
                '\n' => glass.cursor.0 += 1,
                '\u{1b}' => {
                    let mut sequence = String::new();
                    for next in rest.by_ref() {
                        sequence.push(next);
                        if next.is_ascii_alphabetic() {
                            break;
                        }
                    }
                    glass.obey(&sequence);
                }
                control if control.is_control() => panic!("{control:?} in {text:?}"),
                letter => glass.put(letter, columns),
            }
        }
        glass
    }

    fn obey(&mut self, sequence: &str) {
        let (row, column) = self.cursor;
        match sequence {
            "[K" => {
                if let Some(line) = self.lines.get_mut(row) {
                    line.truncate(column);
                }
            }
            "[?7l" => self.wraps = false,
            "[?7h" => self.wraps = true,
            style if style.ends_with('m') => self.styled += 1,
            begun if !begun.ends_with(|c: char| c.is_ascii_alphabetic()) => self.torn = true,
            other => panic!("no terminal should be told {other:?}"),
        }
    }

    fn put(&mut self, letter: char, columns: usize) {
        if self.cursor.1 == columns {
            if self.wraps {
                self.cursor = (self.cursor.0 + 1, 0);
                self.wrapped += 1;
            } else {
                self.cursor.1 -= 1;
            }
        }
        let (row, column) = self.cursor;
        self.lines.resize(self.lines.len().max(row + 1), vec![]);
        let line = &mut self.lines[row];
        line.resize(line.len().max(column + 1), ' ');
        line[column] = letter;
        self.cursor.1 += 1;
    }

    /// The lines, but for empty ones at the end.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.lines.iter().map(|line| line.iter().collect()).collect();
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        lines
    }

    /// All of it.
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// The line that is written over, with its wheel; none if there is none.
    pub fn progress(&self) -> Option<String> {
        let wheel = |c: &char| ('\u{2800}'..='\u{28ff}').contains(c);
        self.lines.iter().find(|line| line.first().is_some_and(wheel)).map(|line| line.iter().collect())
    }
}
