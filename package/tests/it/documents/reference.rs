//! Pages of the reference that are generated from the code: `SNAPSHOTS=overwrite cargo test -p testplatform-package --test it reference::` writes
//! them.

use std::{fmt::Write as _, fs};

use serde_json::Value;
use testplatform_apis::reason::{self, Action, Reason};
use testplatform_package::{
    check::hub::table::render_table,
    install::alerts::{Alert, CLAIMS, FUNCTION, HUB, LISTS, ORPHANS, SECRET_SYNC},
};

use crate::documents::{
    commands::{plugin_commands, plugin_help, xpkg},
    fields::{cell, code_cell, field_table},
    text::{read, root},
};

/// Line below the heading of each of these pages.
const NOTE: &str = "<!-- Generated: `just snapshots` writes this page. -->";

/// Every generated page: its file, and what it must say.
pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("docs/reference/alerts.md", alerts()),
        ("docs/reference/claim.md", claim()),
        ("docs/reference/commands.md", commands()),
        ("docs/reference/hub-rights.md", hub_rights()),
        ("docs/reference/input.md", input()),
        ("docs/reference/metrics.md", metrics()),
        ("docs/reference/pool.md", pool()),
        ("docs/reference/provider-configuration.md", provider_configuration()),
        ("docs/reference/reasons.md", reasons()),
        ("docs/reference/template-entry.md", template_entry()),
    ]
}

fn page(title: &str, introduction: &str, body: &str) -> String {
    format!("# {title}\n\n{NOTE}\n\n{introduction}\n\n{}\n", body.trim())
}

/// Alerts of one file, in the order of their names.
fn alert_table(alerts: &[&Alert]) -> String {
    let mut rows: Vec<String> = alerts
        .iter()
        .map(|alert| {
            let rule = alert.to_rule();
            let entry = format!("../{}.md#{}", alert.page(), alert.name.to_lowercase());
            format!(
                "| [{}]({entry}) | {} | {} | `{}` |\n",
                alert.name,
                rule["labels"]["severity"].as_str().unwrap(),
                alert.lasts,
                code_cell(alert.expression),
            )
        })
        .collect();
    rows.sort();
    format!("| alert | severity | for | expression |\n| --- | --- | --- | --- |\n{}", rows.concat())
}

fn alerts() -> String {
    let all = |lists: &[&'static [Alert]]| {
        alert_table(&lists.iter().flat_map(|list| list.iter()).collect::<Vec<_>>())
    };
    let body = format!(
        "## On a Konflux cluster\n\n{}\n## On a hub\n\n{}",
        all(&[FUNCTION, CLAIMS, SECRET_SYNC, ORPHANS]),
        all(&[HUB]),
    );
    page("Alerts", "Each alert leads to its entry in [the runbook](../runbook/index.md).", &body)
}

/// Help of `cargo xpkg` and of the plugin, as the programs print it.
fn commands() -> String {
    let block = |heading: &str, help: &str| {
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        format!("### {heading}\n\n```text\n{}\n```\n\n", help.join("\n").trim())
    };
    let mut body = String::from("## kubectl testplatform\n\n");
    for command in plugin_commands() {
        let help = plugin_help(&["testplatform", &command, "--help"]);
        body.push_str(&block(&format!("kubectl testplatform {command}"), &help));
    }
    body.push_str("## cargo xpkg\n\n");
    let mut xpkg = xpkg();
    xpkg.build();
    for command in xpkg.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let heading = format!("cargo xpkg {}", command.get_name());
        body.push_str(&block(&heading, &command.render_help().to_string()));
    }
    page("Help of every command", "Each command prints this with `--help`.", &body)
}

fn hub_rights() -> String {
    let introduction = "Kinds and rights that claims need on a hub. `cargo xpkg check hub` checks a hub against this table; \
                        [the guide to hubs](../how-to/hub.md) says how.";
    page("Rights on a hub", introduction, &render_table())
}

/// Metrics of a listing: name, labels, type and help of each.
fn metric_table(text: &str) -> String {
    let mut rows = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
        let (name, help) = line.split_once(' ').unwrap();
        let kind =
            text.lines().find_map(|line| line.strip_prefix("# TYPE ")?.strip_prefix(name)?.strip_prefix(' '));
        let kind = kind.unwrap();
        let total = if kind == "counter" { "_total" } else { "" };
        let info = if kind == "info" { "_info" } else { "" };
        let full = format!("{name}{total}{info}");
        let ends = ["{", "_bucket{"].map(|end| format!("{full}{end}"));
        let series =
            text.lines().find_map(|line| ends.iter().find_map(|end| line.strip_prefix(end.as_str())));
        let labels = series.unwrap_or_default().trim_end_matches('}').split(',');
        let labels: Vec<String> = labels
            .filter(|label| !label.is_empty() && *label != "le")
            .map(|label| format!("`{label}`"))
            .collect();
        rows.push(format!("| `{full}` | {kind} | {} | {} |\n", labels.join(", "), cell(help)));
    }
    rows.sort();
    format!("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n{}", rows.concat())
}

/// Earlier names of metrics, each beside the current one.
fn renamed_table(renamed: &[(&str, &str)]) -> String {
    let rows: Vec<String> =
        renamed.iter().map(|(earlier, current)| format!("| `{earlier}` | `{current}` |\n")).collect();
    format!("| deprecated | use |\n| --- | --- |\n{}", rows.concat())
}

fn metrics() -> String {
    let renamed = [
        function_testplatform::serve::metrics::RENAMED.as_slice(),
        provider_testplatform::metrics::RENAMED.as_slice(),
    ];
    let body = format!(
        "## Function\n\n{}\n## Provider\n\n{}\n## Deprecated names\n\nBoth programs also export metrics under their names before 0.1. The next release \
         removes these names, except those that begin with `ephemeralcluster_`: they are the names of the upstream controller.\n\n{}",
        metric_table(&read("function/metrics.txt")),
        metric_table(&read("provider/metrics.txt")),
        renamed_table(&renamed.concat()),
    );
    let introduction = "Metrics on port 8080 of the function and of the provider in each of its roles. [The guide to monitoring](../how-to/monitoring.md) \
                        has their labels and the states in them.";
    page("Metrics", introduction, &body)
}

/// A text of the catalogue with links: to entries of reasons and alerts, and to files.
fn linked(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('[').enumerate() {
        let Some((name, rest)) = part.split_once(']').filter(|_| at > 0) else {
            out.push_str(part);
            continue;
        };
        let alert = LISTS.into_iter().flatten().find(|alert| alert.name == name);
        let target = match (reason::find(name).map(|(_, reason)| reason.action), alert) {
            (_, Some(alert)) => format!("../{}.md#{}", alert.page(), name.to_lowercase()),
            (Some(Action::Entry(page)), None) => {
                format!("../runbook/{}.md#{}", page.file(), name.to_lowercase())
            }
            (Some(Action::Nothing | Action::Sentence(_)), None) => {
                write!(out, "{name}{rest}").unwrap();
                continue;
            }
            (None, None) if name.starts_with("`package/") => format!("../../{}", name.trim_matches('`')),
            (None, None) => panic!("[{name}] is neither a reason nor an alert: {text}"),
        };
        write!(out, "[{name}]({target}){rest}").unwrap();
    }
    out
}

fn reasons() -> String {
    let mut all: Vec<_> = reason::all().collect();
    all.sort_by_key(|(_, reason)| reason.word.to_lowercase());
    let rows = all.into_iter().map(|(actor, Reason { word, shown_as, meaning, action })| {
        let action = match action {
            Action::Nothing => "None.".to_owned(),
            Action::Sentence(action) => linked(action),
            Action::Entry(page) => format!("[Entry](../runbook/{}.md#{})", page.file(), word.to_lowercase()),
        };
        let (shown_as, meaning, owner) = (linked(shown_as), linked(meaning), owner_advice(word));
        format!("| `{word}` | {shown_as} | {meaning} | {} | {action} | {owner} |\n", actor.as_str())
    });
    let introduction = "Every reason of a condition, an event or a failure that function and provider report, in the order of their names. The action is in its \
                        column, or in an entry of [the runbook](../runbook/index.md). Reasons without an entry need no action, or one sentence says it all. \
                        The last column has the advice of `kubectl testplatform why`. COMPOSITE stands for the name of the composite, FILE for the provider's configuration, and other words in capitals for the \
                        object of the row.\n\nSome reasons come from other controllers and are not listed. They are those of the upstream controller on its own \
                        conditions, and the power state of a Hive cluster on `ClusterRunning`, such as `Hibernating`. Hive also has its own reasons on \
                        `CapacityAvailable` and `PoolCurrent` of a pool.";
    let body: String = rows.collect();
    page(
        "Reasons",
        introduction,
        &format!(
            "| reason | shown as | meaning | who acts | action | owner of a claim |\n| --- | --- | --- | --- | --- | --- |\n{body}"
        ),
    )
}

/// What `kubectl testplatform why` advises the owner of a claim. Conditions are named where they differ.
fn owner_advice(word: &str) -> String {
    let advice: Vec<_> = reason::advice_about(word).collect();
    match advice[..] {
        [] => String::new(),
        [(_, first), ..] if advice.iter().all(|(_, advice)| *advice == first) => capitalize(first) + ".",
        _ => advice.iter().map(|(of, advice)| format!("`{of}`: {advice}.")).collect::<Vec<_>>().join(" "),
    }
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The schema in a definition, as Kubernetes has it.
fn definition(file: &str) -> Value {
    let definition: Value = serde_saphyr::from_str(&read(file)).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

fn claim() -> String {
    let schema = definition("package/xrds/xtestplatformclusters.ci.openshift.org.yaml");
    let body = format!(
        "## Spec\n\n{}\n## Status\n\n{}",
        field_table(&schema["properties"]["spec"], &schema),
        field_table(&schema["properties"]["status"], &schema),
    );
    let introduction = "Fields of a TestPlatformCluster. A TestCluster has the same. [Features](../explanation/features.md) says what they do \
                        together, and [`examples`](../../examples/README.md) has each in use.";
    page("Claim", introduction, &body)
}

fn pool() -> String {
    let schema = definition("package/xrds/xtestplatformclusterpools.ci.openshift.org.yaml");
    let body = format!(
        "## Spec\n\n{}\n## Status\n\n{}",
        field_table(&schema["properties"]["spec"], &schema),
        field_table(&schema["properties"]["status"], &schema),
    );
    let introduction = "Fields of an XTestPlatformClusterPool. [The guide to pools](../how-to/pools.md) says how to use them.";
    page("Pool", introduction, &body)
}

fn input() -> String {
    let schema = definition("package/input/inputs.testplatform.fn.crossplane.io.yaml");
    let introduction = "Fields of the input of the Composition's step. All are optional; an empty input selects the names of the incumbent.";
    page("Input of the function", introduction, &field_table(&schema, &schema))
}

fn provider_configuration() -> String {
    let schema = provider_testplatform::config::Config::schema();
    let introduction = "Fields of the provider's configuration file. Everything is off by default. `provider-testplatform schema` prints the \
                        same as a JSON schema.";
    page("Configuration of the provider", introduction, &field_table(&schema, &schema))
}

fn template_entry() -> String {
    let schema: Value =
        serde_json::from_str(&read("package/input/testplatform-template.schema.json")).unwrap();
    let introduction = "Fields of an entry of the template catalogue, below `data` of its EnvironmentConfig. [The guide to templates](../how-to/templates.md) \
                        says how to write one.";
    page("Entry of the template catalogue", introduction, &field_table(&schema, &schema))
}

#[test]
fn pages_say_what_the_code_says() {
    let overwrite = std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite");
    for (file, text) in pages() {
        if overwrite {
            fs::write(root().join(file), &text).unwrap();
        }
        let checked_in = fs::read_to_string(root().join(file)).unwrap_or_default();
        assert!(checked_in == text, "{file} is not what the code says: run `just snapshots`");
        let entries = text.lines().filter(|line| line.starts_with("| ") || line.starts_with("### "));
        assert!(entries.count() > 8, "{file} has few entries");
    }
}
