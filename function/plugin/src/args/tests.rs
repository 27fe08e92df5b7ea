//! The command line, word by word.

use super::*;

fn line(text: &str) -> Result<Result<CommandLine, Stop>, clap::Error> {
    read(text.split_whitespace().map(OsString::from).collect(), "0")
}

#[test]
fn definition_is_consistent() {
    command("0").debug_assert();
}

#[test]
fn flags_of_kubectl_go_with_every_command() {
    let read = line("k --context c why demo -n team-a --as-group x --as-group y --disable-compression");
    let read = read.unwrap().unwrap();
    assert_eq!(read.ask, Subcommand::Why { name: "demo".into(), format: WhyFormat::Text, watch: false });
    let flags =
        ["--namespace=team-a", "--context=c", "--as-group=x", "--as-group=y", "--disable-compression"];
    assert_eq!(read.flags, flags);
    assert_eq!(read.way.namespace.as_deref(), Some("team-a"));
    assert_eq!(read.way.context.as_deref(), Some("c"));
}

#[test]
fn empty_flags_count_as_absent() {
    let empty = ["--context=", "--kubeconfig=", "--as-group=", "--cache-dir="].map(OsString::from);
    let words = ["k", "why", "demo", "-n", ""].map(OsString::from);
    let read = read(words.into_iter().chain(empty).collect(), "0").unwrap().unwrap();
    assert_eq!((read.flags, read.way), (vec![], CommandContext::default()));
}

#[test]
fn values_are_judged() {
    for bad in
        ["k up f --timeout soon", "k extend x --by=-1h", "k extend x --to 0s", "k down x --wait --timeout 5"]
    {
        assert_eq!(line(bad).unwrap().unwrap_err().exit, Exit::Usage, "{bad}");
    }
    for bad in ["k", "k up", "k extend x", "k extend x --by 1h --to 2h", "k down x --timeout 1h", "k fly"] {
        assert!(line(bad).is_err(), "{bad}");
    }
    let extend = line("k extend x --by 1h").unwrap().unwrap().ask;
    assert_eq!(extend, Subcommand::Extend { name: "x".into(), span: Span::By(GoDuration::from_hours(1)) });
}

#[test]
fn color_is_known_before_the_line_is_read() {
    for (text, wish) in [
        ("k get --color=always", ColorChoice::Always),
        ("k --color never fly", ColorChoice::Never),
        ("k get --color", ColorChoice::Auto),
        ("k get --color=sometimes", ColorChoice::Auto),
    ] {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        assert_eq!(color_of_line(&words), wish, "{text}");
    }
    assert_eq!(line("k get --color always").unwrap().unwrap().color, ColorChoice::Always);
    assert!(line("k get --color sometimes").is_err());
}

#[test]
fn unfinished_line_gives_its_flags() {
    for text in ["k why -n team-a", "k -n team-a", "k up -n team-a --nothing", "k get -n team-a -o"] {
        let words: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        assert_eq!(flags_of_unfinished_line(&words), ["--namespace=team-a"], "{text}");
    }
}

#[test]
fn wait_reads_the_state_and_the_timeout() {
    let wait = |text: &str| line(text).unwrap().map(|line| line.ask);
    let once = Subcommand::Wait {
        name: "x".into(),
        target: WaitTarget::Deleted,
        timeout: Some(SignedDuration::ZERO),
    };
    assert_eq!(wait("k wait x --for=delete --timeout=0"), Ok(once));
    let Ok(Subcommand::Wait { target, timeout: None, .. }) = wait("k wait x") else {
        panic!("the default has no timeout");
    };
    assert_eq!(target.describe(), "condition ClusterReady=True");
    assert_eq!(wait("k wait x --for=ready").unwrap_err().exit, Exit::Usage);
    assert_eq!(wait("k wait x --timeout=-1s").unwrap_err().exit, Exit::Usage);
}

/// Help is where users look first.
#[test]
fn every_command_has_examples_that_it_takes_and_its_exit_codes() {
    for subcommand in command("0").get_subcommands() {
        let name = subcommand.get_name();
        let help = subcommand.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("Exit codes:\n  0  done\n"), "{name}: {help}");
        let examples = help.lines().filter_map(|line| line.trim().strip_prefix("kubectl "));
        let examples: Vec<&str> = examples.collect();
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            let words = example.split("  ").next().unwrap_or_default();
            let words = words.split([';', '|', '<', '>']).next().unwrap_or_default();
            assert!(words.starts_with(&format!("testplatform {name}")), "{name}: {words}");
            let read = line(words).unwrap_or_else(|error| panic!("{example}: {error}"));
            assert!(read.is_ok(), "{example}: {read:?}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{name} is too wide: {help}");
    }
}
