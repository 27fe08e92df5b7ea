//! The report of a demo that failed: ten lines of the log that matters most, and where all logs are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{crossplane::Engine, function, nest, settings};

/// Lines that are shown.
const LINES: usize = 10;
/// About as many bytes as such lines have at most.
const BYTES: u64 = 16_384;
/// Folder below cargo's target directory in which the logs of the last failure stay.
const FOLDER: &str = "demo-logs";

/// Keeps the logs, because the demo removes its own directory, and returns the lines of the report.
pub fn report(engine: &Engine) -> Vec<String> {
    let program = ended_program(engine).unwrap_or(function::NAME);
    let tail = nest::tail(&engine.nest().log(program), BYTES);
    let mut lines = vec![format!("the last lines of the log of {program}:")];
    lines.extend(last_lines(&tail).into_iter().map(|line| format!("  {line}")));
    let folder = settings::target().join(FOLDER);
    match keep_logs(&engine.nest().logs(), &folder) {
        Ok(count) => lines.push(format!("{count} logs are in {}", folder.display())),
        Err(error) => lines.push(format!("the logs cannot be kept in {}: {error}", folder.display())),
    }
    lines
}

/// The program that ended by itself, if one did.
fn ended_program(engine: &Engine) -> Option<&'static str> {
    let [core, provider] = engine.ended();
    let core = core.map(|_| "crossplane");
    core.or_else(|| provider.map(|_| "provider-kubernetes"))
}

/// Lines for debugging are in the file, and would hide the others.
fn last_lines(text: &str) -> Vec<&str> {
    let is_shown = |line: &&str| !line.trim().is_empty() && !line.contains(" DEBUG ");
    let mut lines: Vec<&str> = text.lines().filter(is_shown).collect();
    lines.split_off(lines.len().saturating_sub(LINES))
}

/// Copies logs in place of those of an earlier failure.
fn keep_logs(logs: &[PathBuf], folder: &Path) -> std::io::Result<usize> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let mut count = 0;
    for log in logs {
        if let Some(name) = log.file_name() {
            fs::copy(log, folder.join(name))?;
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_are_shown() {
        let text = (1..=30).map(|line| format!("line {line}\n")).collect::<Vec<_>>().join("\n");
        let lines = last_lines(&text);
        assert_eq!((lines.len(), lines[0], lines[9]), (LINES, "line 21", "line 30"));
        assert_eq!(last_lines("one\n2026-01-01T00:00:00Z DEBUG two\n"), ["one"]);
    }

    #[test]
    fn logs_of_the_last_failure_are_kept() {
        let room = tempfile::tempdir().unwrap();
        let log = room.path().join("function.log");
        fs::write(&log, "text").unwrap();
        let folder = room.path().join("kept");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("old.log"), "old").unwrap();
        assert_eq!(keep_logs(&[log], &folder).unwrap(), 1);
        assert_eq!(fs::read_to_string(folder.join("function.log")).unwrap(), "text");
        assert!(!folder.join("old.log").exists());
    }
}
