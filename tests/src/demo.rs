//! `cargo demo`: the life of one claim on the real engine, shown step by step.
//!
//! ```text
//! main ──▶ course (what is done and checked) ──▶ screen (what is seen) ◀── rows ◀── watches
//!            └─▶ actor (fulfils the claim on the hub) ──▶ delivered (a place with an API server, to be used)
//! ```
//!
//! **Invariant:** exit code 0 means that every check passed. **Invariant:** no process and no file is left, however it ends, but for the logs of
//! a failure, which the last line names.

mod actor;
mod arguments;
mod board;
mod claim;
mod copies;
mod course;
mod delivered;
mod failure;
mod keep;
mod rows;
mod screen;
mod summary;
mod watches;

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context as _;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    task::JoinHandle,
};

pub use arguments::Arguments;

use crate::{
    crossplane::{Engine, FIRST_STEP},
    program,
};
use claim::Claim;
use screen::{Screen, complain};

/// Time for everything to end after the signal. Slower programs end when this process does.
const GRACE: Duration = Duration::from_secs(3);
/// Exit code of a program that was interrupted.
const INTERRUPTED: u8 = 130;

/// Runs it. 0: all is as it should be. 1: something is not. 2: it cannot be tried. 130: interrupted.
pub fn main(arguments: Arguments) -> ExitCode {
    let screen = Arc::new(Screen::new());
    let claim = match Claim::read(&arguments.claim()) {
        Ok(claim) => claim,
        Err(error) => {
            complain(&format!("{error:#}"));
            return ExitCode::from(2);
        }
    };
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&format!("cannot start: {error}"));
            return ExitCode::from(2);
        }
    };
    let code = runtime.block_on(supervise(arguments, claim, Arc::clone(&screen)));
    // Whoever still blocks a thread waits for something that nobody needs any more.
    runtime.shutdown_background();
    code
}

async fn supervise(arguments: Arguments, claim: Claim, screen: Arc<Screen>) -> ExitCode {
    let clock = tokio::spawn(Arc::clone(&screen).tick());
    let kept = arguments.keep;
    let mut work = tokio::spawn(run(arguments, claim, Arc::clone(&screen)));
    let outcome = tokio::select! {
        outcome = &mut work => Some(outcome),
        () = interrupted() => None,
    };
    clock.abort();
    let Some(outcome) = outcome else {
        screen.close();
        // Before everything was there, nothing was kept.
        let code = if kept && screen.is_kept() { 0 } else { INTERRUPTED };
        screen.say("cleaning up");
        end(work, &screen).await;
        return ExitCode::from(code);
    };
    screen.close();
    match outcome.context("it panicked").flatten() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The engine ends with the task that owns it. If that does not come to it, then with this process.
async fn end(work: JoinHandle<anyhow::Result<bool>>, screen: &Screen) {
    work.abort();
    tokio::select! {
        ended = tokio::time::timeout(GRACE, work) => {
            if ended.is_ok() {
                screen.say("everything is removed");
            }
        }
        () = interrupted() => {}
    }
}

/// Starts everything, plays the course, and removes everything. Returns whether all checks passed.
async fn run(arguments: Arguments, claim: Claim, screen: Arc<Screen>) -> anyhow::Result<bool> {
    screen.title(&format!("{} on two real control planes", claim.file()));
    if arguments.keep {
        screen.step("programs: kubectl plugin");
        program::plugin()?;
    }
    let teller = Arc::clone(&screen);
    let engine = Engine::start_and_tell(&move |step| {
        if step == FIRST_STEP {
            teller.start_clock();
        }
        teller.step(step);
    })
    .await?;
    screen.booted();
    let played = Box::pin(course::play(&engine, &claim, &arguments, &screen)).await;
    screen.close();
    if let Ok(played) = &played {
        summary::print(&engine, played, &screen).await;
    }
    if !played.as_ref().is_ok_and(|played| played.failed.is_empty()) {
        for line in failure::report(&engine) {
            eprintln!("{line}");
        }
    }
    drop(engine);
    let played = played?;
    screen.verdict(&played.failed);
    Ok(played.failed.is_empty())
}

async fn interrupted() {
    let wait = async |kind: SignalKind| match signal(kind) {
        Ok(mut signal) => {
            signal.recv().await;
        }
        Err(_) => std::future::pending().await,
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => {}
        () = wait(SignalKind::terminate()) => {}
        () = wait(SignalKind::hangup()) => {}
    }
}
