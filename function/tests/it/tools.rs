//! Tools in other languages, made once under the target directory and kept.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use function_model::print_line;

/// Written last: a directory without it was left half made.
const COMPLETE: &str = ".complete";

/// Cargo's target directory.
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned()
}

/// The directory `<target>/<name>-<hash of what it is made from>`, made with `make` unless it is there.
/// One process makes it, others wait; tests run at the same time.
pub fn once(
    name: &str,
    from: &[&[u8]],
    announcement: &str,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let mut hash = DefaultHasher::new();
    from.hash(&mut hash);
    let dir = target().join(format!("{name}-{:016x}", hash.finish()));
    let io = |e: io::Error| format!("{}: {e}", dir.display());
    fs::create_dir_all(dir.parent().unwrap()).map_err(io)?;
    let lock = File::create(dir.with_extension("lock")).map_err(io)?;
    lock.lock().map_err(io)?;
    if !dir.join(COMPLETE).exists() {
        print_line(announcement);
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(io)?;
        }
        fs::create_dir_all(&dir).map_err(io)?;
        make(&dir)?;
        File::create(dir.join(COMPLETE)).map_err(io)?;
    }
    Ok(dir)
}

/// Result of `make` in this process, or a failed test. The reason of a failure is printed once, however many tests want the tool.
pub fn wanted(
    tool: &'static OnceLock<Option<PathBuf>>,
    make: impl FnOnce() -> Result<PathBuf, String>,
) -> &'static Path {
    let path = tool.get_or_init(|| make().inspect_err(|why| print_line(why)).ok());
    path.as_deref().expect("a tool is missing; what to do about it is said above")
}

/// Output of a command, or the reason of its failure in its own words.
pub fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{program}: {e}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(format!(
            "{program} ended with {}\n{}\n{}",
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        ))
    }
}
