//! The plugin's program: reads the command line, the clock and signals, and leaves the rest to the library.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anstream::{AutoStream, ColorChoice};
use jiff::Timestamp;
use kubectl_testplatform::{exit::Exit, session::Surroundings};
use signal_hook::{consts::SIGINT, flag, low_level::emulate_default_handler};

fn main() -> ExitCode {
    let line = std::env::args_os().collect();
    let code = kubectl_testplatform::run(line, read_surroundings(), &mut io::stdout(), &mut io::stderr());
    // The shell that runs it goes by the signal: a loop in a script ends too.
    if code == Exit::Interrupted.code() {
        let _ = emulate_default_handler(SIGINT);
    }
    code.into()
}

/// Terminal, clock and variables of this process. A dumb terminal cannot write over a line.
fn read_surroundings() -> Surroundings {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    Surroundings {
        version: testplatform_version::version!(),
        now,
        variable: |name| std::env::var_os(name),
        terminal: !dumb && io::stderr().is_terminal(),
        colors: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        columns: terminal_columns(),
        interrupted,
    }
}

/// Width of the terminal to which stdout goes.
fn terminal_columns() -> Option<usize> {
    let out = io::stdout();
    let size = out.is_terminal().then(|| rustix::termios::tcgetwinsize(&out).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// `true` if Ctrl-C was pressed since the first call. Until that call it ends the program at once, and a second one does so ever after.
fn interrupted() -> bool {
    static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
        let flag = Arc::<AtomicBool>::default();
        // In this order, so that the first one does not meet what it has set itself.
        let _ = flag::register_conditional_default(SIGINT, Arc::clone(&flag));
        let _ = flag::register(SIGINT, Arc::clone(&flag));
        flag
    });
    let pressed = FLAG.load(Ordering::Relaxed);
    if pressed {
        // The terminal throws away what it has yet to show, shortly after it has told us: nothing is written before that.
        std::thread::sleep(Duration::from_millis(20));
    }
    pressed
}

#[expect(clippy::disallowed_methods, reason = "the clock is read here and handed on")]
fn now() -> Timestamp {
    Timestamp::now()
}
