//! The edge: what kubectl says on stderr while it runs, in its own words or in those of a program that it runs to log somebody in.
//!
//! Such a program may ask for something, such as to open a page and to type a code there, and waits for that as long as it takes. Why kubectl
//! failed is what it says last, and then it ends at once. So what was said a moment ago by a kubectl that still runs is shown as it is, and what
//! is younger is held back: if it ends with that, the plugin tells it in words of its own. All of stderr is one or the other, so that nothing is
//! told twice and nothing is lost; and no kind of kubectl's lines has to be known. A terminal is not asked for: a code may be read in a log, too.

use std::{
    io::{ErrorKind, Read as _},
    mem,
    process::ChildStderr,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// For how long something is held back.
const MOMENT: Duration = Duration::from_secs(1);

/// Warnings of a kubectl process.
pub struct CapturedStderr {
    chunks: Receiver<Vec<u8>>,
    pending: Vec<u8>,
    shown: Vec<u8>,
    /// Since when the oldest of what is held is there.
    since: Option<Instant>,
}

impl CapturedStderr {
    /// Listens, from now on.
    pub fn of(stderr: Option<ChildStderr>) -> Self {
        let (sender, chunks) = channel();
        thread::spawn(move || {
            let Some(mut stderr) = stderr else { return };
            let mut buffer = [0; 4096];
            loop {
                match stderr.read(&mut buffer) {
                    Ok(read @ 1..) => {
                        if sender.send(buffer[..read].to_vec()).is_err() {
                            return;
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => return,
                }
            }
        });
        Self { chunks, pending: vec![], shown: vec![], since: None }
    }

    /// Listens until it has said everything, and shows what is due meanwhile.
    pub fn until_end(&mut self, mut show: impl FnMut(&[u8])) {
        loop {
            let came = match self.since {
                None => self.chunks.recv().map_err(RecvTimeoutError::from),
                Some(since) => self.chunks.recv_timeout(MOMENT.saturating_sub(since.elapsed())),
            };
            match came {
                Ok(chunk) => self.hold(chunk),
                Err(RecvTimeoutError::Timeout) => show(&self.due()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Warning that is due now, if there is any; it counts as shown from now on.
    pub fn overdue(&mut self) -> Option<String> {
        while let Ok(chunk) = self.chunks.try_recv() {
            self.hold(chunk);
        }
        let due = self.since?.elapsed() >= MOMENT;
        due.then(|| String::from_utf8_lossy(&self.due()).into_owned())
    }

    /// Remaining warnings of a process that has ended.
    pub fn last(&mut self) -> String {
        while let Ok(chunk) = self.chunks.recv() {
            self.hold(chunk);
        }
        String::from_utf8_lossy(&self.pending).into_owned()
    }

    /// Warnings that were not shown.
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Why it failed: what was not shown, else what was; none if it said nothing.
    pub fn why(&self) -> Option<String> {
        let text = [&self.pending, &self.shown].map(|text| String::from_utf8_lossy(text).into_owned());
        text.into_iter().find(|text| !text.trim().is_empty())
    }

    fn hold(&mut self, chunk: Vec<u8>) {
        self.since.get_or_insert_with(Instant::now);
        self.pending.extend(chunk);
    }

    fn due(&mut self) -> Vec<u8> {
        self.since = None;
        let due = mem::take(&mut self.pending);
        self.shown.extend_from_slice(&due);
        due
    }
}
