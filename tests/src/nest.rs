//! Child processes and their files, all of which end with the process that started them.
//!
//! A nest is a process group, a temporary directory and a watchdog. The watchdog is a shell that reads a pipe of which
//! only this process has the other end. However this process ends – return, panic, Ctrl-C, SIGKILL – the kernel closes
//! that end, and the watchdog kills the group and removes the directory. Dropping a nest takes the same way.

use std::{
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use rustix::process::{Pid, Signal};

use crate::{machine, patience::longer, settings};

/// The watchdog's action when its input ends. It repeats `rm` because a killed process may still write.
/// Every shell understands `kill -s` before a group. The watchdog's output is the lock, which is free when the watchdog ends.
const WATCHDOG: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
kill -s KILL -- "-$1" 2>/dev/null
tries=0
while kill -s 0 -- "-$1" 2>/dev/null && [ $tries -lt 20 ]; do tries=$((tries + 1)); sleep 0.1; done
tries=0
until rm -rf -- "$2" 2>/dev/null || [ $tries -ge 50 ]; do tries=$((tries + 1)); sleep 0.1; done
"#;

/// How often a log is looked at for what it is to say.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Where the programs of a nest have their temporary files: they go with it too.
const TEMPORARY: &str = "tmp";

/// How much more than what they need Go's programs hold before they tidy up, in percent, and at which part of the machine's memory
/// they do so earlier. With Go's own 100 %, a third of what an API server does here is tidying up.
const GARBAGE: (&str, u64) = ("400", 8);
/// Where there is less memory, in bytes, it stays at that: scenarios start up to ten control planes.
const ENOUGH: u64 = 15 << 30;

/// A process group, a temporary directory, and what ends both.
#[derive(Debug)]
pub struct Nest {
    name: String,
    group: Pid,
    directory: PathBuf,
    /// Leads the group and does nothing, so that the group exists before and after all others.
    leader: Mutex<Child>,
    watchdog: Mutex<Child>,
}

impl Nest {
    /// Makes a nest. `name` is part of the directory's name. A `lock` is held until everything is gone.
    pub fn new(name: &str, lock: Option<&File>) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix(&format!("testplatform-{name}-"))
            .tempdir()
            .context("cannot make a temporary directory")?
            .keep();
        fs::create_dir(directory.join(TEMPORARY))?;
        let leader = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start `cat`")?;
        let group = pid(&leader)?;
        let held = |lock: Option<&File>| -> anyhow::Result<Stdio> {
            Ok(match lock {
                Some(file) => file.try_clone()?.into(),
                None => Stdio::null(),
            })
        };
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog", &leader.id().to_string()])
            .arg(&directory)
            .stdin(Stdio::piped())
            .stdout(held(lock)?)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start `sh`")?;
        Ok(Self {
            name: name.to_owned(),
            group,
            directory,
            leader: Mutex::new(leader),
            watchdog: Mutex::new(watchdog),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The temporary directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes a file into the directory, folders included, and returns its path.
    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> anyhow::Result<PathBuf> {
        let path = self.directory.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Where a program's log is: in the directory, or in `TESTPLATFORM_LOGS`, where it stays.
    pub fn log(&self, name: &str) -> PathBuf {
        match settings::path("TESTPLATFORM_LOGS") {
            Some(kept) => kept.join(format!("{}-{name}.log", self.name)),
            None => self.directory.join(format!("{name}.log")),
        }
    }

    /// Every log that there is.
    pub fn logs(&self) -> Vec<PathBuf> {
        let any = self.log("any");
        let entries = any.parent().and_then(|directory| fs::read_dir(directory).ok());
        let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|e| e == "log")).collect()
    }

    /// The ids of the programs that run in the group.
    pub fn processes(&self) -> anyhow::Result<Vec<u32>> {
        let group = self.group.as_raw_nonzero().to_string();
        let mut processes = Vec::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
            // The name of the program is in brackets, and may have anything in it. Then come state, parent and group.
            let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
            if after.split_whitespace().nth(2) == Some(&group) {
                processes.push(id);
            }
        }
        Ok(processes)
    }

    /// Starts a program in the group. Its output is appended to `<name>.log`.
    pub fn spawn(&self, name: &str, command: &mut Command) -> anyhow::Result<Process> {
        let log = self.log(name);
        let out = File::options().create(true).append(true).open(&log).context("cannot open a log file")?;
        let child = command
            .current_dir(&self.directory)
            .env("TMPDIR", self.directory.join(TEMPORARY))
            .envs(of_go())
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(self.group.as_raw_nonzero().get())
            .spawn()
            .with_context(|| format!("cannot start {name} ({})", command.get_program().display()))?;
        Ok(Process { name: name.to_owned(), log, child })
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        let mut watchdog = self.watchdog.lock().unwrap_or_else(PoisonError::into_inner);
        drop(watchdog.stdin.take());
        // The leader is ours to reap; until then the group looks alive.
        let _ = self.leader.lock().unwrap_or_else(PoisonError::into_inner).kill();
        let _ = self.leader.lock().unwrap_or_else(PoisonError::into_inner).wait();
        let _ = watchdog.wait();
    }
}

/// A running program of a nest. Killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    child: Child,
}

impl Process {
    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// How it ended and what it said last, if it ended by itself.
    pub fn epitaph(&mut self) -> Option<String> {
        self.check().err().map(|error| format!("{error:#}"))
    }

    /// Fails if it ended, with what it said last.
    pub fn check(&mut self) -> anyhow::Result<()> {
        match self.ended() {
            None => Ok(()),
            Some(status) => {
                anyhow::bail!("{} ended with {status}; its last words:\n{}", self.name, self.tail())
            }
        }
    }

    /// All that it has said: its log, of which bytes that are no text are replaced.
    pub fn said(&self) -> anyhow::Result<String> {
        let log = fs::read(&self.log).with_context(|| format!("cannot read {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    /// Waits until it has said this, and returns all that it has said. Fails if it ends before, or takes longer.
    pub async fn until_says(&mut self, words: &str, within: Duration) -> anyhow::Result<String> {
        let (begun, within) = (Instant::now(), longer(within));
        loop {
            let said = self.said()?;
            if said.contains(words) {
                return Ok(said);
            }
            self.check()?;
            anyhow::ensure!(
                begun.elapsed() < within,
                "{} did not say {words:?} within {within:?}:\n{}",
                self.name,
                self.tail()
            );
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The last lines of its log.
    pub fn tail(&self) -> String {
        tail(&self.log, 4096)
    }

    /// Its log.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits until it did.
    pub fn terminate(&mut self) {
        if let Ok(pid) = pid(&self.child) {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The variables that tune the garbage collector of programs in Go. Values from outside apply to all of them.
pub fn of_go() -> Vec<(&'static str, String)> {
    let given = |variable| Some((variable, settings::path(variable)?.display().to_string()));
    let given: Vec<_> = ["GOGC", "GOMEMLIMIT"].into_iter().filter_map(given).collect();
    let (percent, part) = GARBAGE;
    match machine::memory() {
        Some(memory) if given.is_empty() && memory >= ENOUGH => {
            vec![("GOGC", percent.to_owned()), ("GOMEMLIMIT", (memory / part).to_string())]
        }
        _ => given,
    }
}

fn pid(child: &Child) -> anyhow::Result<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process without an id")
}

/// Whole lines from the end of a file, about as many bytes as said.
pub fn tail(path: &Path, bytes: u64) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let start = file.metadata()?.len().saturating_sub(bytes);
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(match text.split_once('\n') {
            Some((_, rest)) if start > 0 => rest.to_owned(),
            _ => text,
        })
    };
    read().unwrap_or_else(|error| format!("(cannot read {}: {error})", path.display()))
}
