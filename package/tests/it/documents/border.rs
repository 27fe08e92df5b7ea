//! Pure core, thin edge: only the border names files, clocks, sockets, variables and programs. Decisions get everything they need as
//! arguments.

use crate::documents::text::sources;

/// Crates of the function.
const FUNCTION: [&str; 3] = ["function/composites/src", "function/render/src", "function/src"];
/// The border of the function: files, and folders with a slash behind them.
const BORDER: [&str; 2] = ["function/render/src/files.rs", "function/src/"];
/// That of the plugin, below `function/plugin/src`, with all of `commands/`.
const PLUGIN_BORDER: [&str; 8] = [
    "aside.rs",
    "follow.rs",
    "kubectl.rs",
    "main.rs",
    "page_server.rs",
    "screen.rs",
    "session.rs",
    "steady_watch.rs",
];
/// How sources name the world.
const WORLD: [&str; 11] = [
    "std::fs",
    "fs::",
    "env::var",
    "Command::new",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "TcpListener",
    "TcpStream",
    "UdpSocket",
    "tokio::",
];
/// How they name an API server, beside that.
const API_SERVER: [&str; 4] = ["kube::", "Api<", "Client", ".await"];
/// How the first line of a source ends that says so of itself.
const PURE: &str = "Pure.";

/// A source: its path, and what it says.
type Source = (String, String);

/// Uses of the outside world in each source, outside comments.
fn named(sources: &[Source], world: &[&str]) -> Vec<String> {
    let all = sources.iter().flat_map(|(path, code)| {
        let of_it = world.iter().filter(move |what| names(code, what));
        of_it.map(move |what| format!("{path} names {what}"))
    });
    all.collect()
}

fn names(code: &str, what: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    // A name that begins with a dot follows a word.
    let alone = |before: &str| what.starts_with('.') || !before.ends_with(word);
    let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.any(|line| line.match_indices(what).any(|(at, _)| alone(&line[..at])))
}

fn is_border(path: &str) -> bool {
    BORDER.iter().any(|border| path == *border || border.ends_with('/') && path.starts_with(border))
}

/// `true` if a source of the provider decides: by its name, or by its header.
fn decides((path, code): &Source) -> bool {
    let header = code.lines().take_while(|line| line.starts_with("//!")).any(|line| line.ends_with(PURE));
    header || path.ends_with("/plan.rs") || path.contains("/plan/")
}

#[test]
fn only_border_modules_perform_io() {
    let (border, core): (Vec<_>, Vec<_>) =
        FUNCTION.into_iter().flat_map(sources).partition(|(path, _)| is_border(path));
    assert!(core.len() > 100 && border.len() > 10, "{} and {} sources", core.len(), border.len());
    assert_eq!(named(&core, &WORLD), Vec::<String>::new());
    // Else it would not be seen in the core either.
    let seen = named(&border, &WORLD);
    for (path, what) in [
        ("src/serve.rs", "tokio::"),
        ("render/src/files.rs", "fs::"),
        ("src/serve/function.rs", "Instant::now"),
    ] {
        let found = format!("function/{path} names {what}");
        assert!(seen.contains(&found), "it is not seen that {found}: {seen:#?}");
    }
    let shared = sources("apis/src");
    assert!(shared.len() > 20, "{} sources of apis", shared.len());
    assert_eq!(named(&shared, &WORLD), Vec::<String>::new());
}

#[test]
fn only_border_modules_of_the_plugin_perform_io() {
    let (border, core): (Vec<_>, Vec<_>) =
        sources("function/plugin/src").into_iter().partition(|(path, _)| {
            let below = path.strip_prefix("function/plugin/src/").unwrap_or(path);
            below.starts_with("commands/") || PLUGIN_BORDER.contains(&below)
        });
    assert!(core.len() > 15 && border.len() > 10, "{} and {} sources", core.len(), border.len());
    // Clap's, which runs no program.
    assert_eq!(named(&core, &WORLD), ["function/plugin/src/args/definition.rs names Command::new"]);
    let found = "function/plugin/src/kubectl.rs names Command::new".to_owned();
    assert!(named(&border, &WORLD).contains(&found), "it is not seen that {found}");
}

#[test]
fn decisions_of_the_provider_are_pure() {
    let world: Vec<&str> = WORLD.into_iter().chain(API_SERVER).collect();
    let (core, border): (Vec<_>, Vec<_>) = sources("provider/src").into_iter().partition(decides);
    assert!(core.len() > 20, "{} sources decide", core.len());
    assert_eq!(named(&core, &world), Vec::<String>::new());
    let seen = named(&border, &API_SERVER);
    for what in API_SERVER {
        assert!(seen.iter().any(|line| line.ends_with(what)), "{what} is seen nowhere");
    }
}

#[test]
fn comments_and_strings_about_io_are_ignored() {
    for code in ["// tokio::spawn", "    //! of fs::read", "refs::read(x)", "MyCommand::new()", "AnyClient"] {
        for what in WORLD.into_iter().chain(API_SERVER) {
            assert!(!names(code, what), "{code}: {what}");
        }
    }
    for (code, what) in [("std::fs::read(x)", "fs::"), ("x.y().await", ".await"), ("of: Api<X>", "Api<")] {
        assert!(names(code, what), "{code}: {what}");
    }
}
