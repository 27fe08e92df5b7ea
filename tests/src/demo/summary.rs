//! The table at the end: what took how long, and with which versions.

use std::{process::Command, time::Duration};

use super::{
    board::{Board, seconds},
    course::Played,
    rows::Row,
    screen::Screen,
};
use crate::{crossplane::Engine, settings};

/// Prints it.
pub async fn print(engine: &Engine, played: &Played, screen: &Screen) {
    let Some(transitions) = screen.history(|board| transitions(board, played)) else { return };
    let mut lines =
        vec![String::new(), screen.heading(&format!("  {:<54} {:>8} {:>8}", "transition", "at", "took"))];
    for (what, from, to) in transitions {
        let (Some(from), Some(to)) = (from, to) else { continue };
        lines.push(format!("  {what:<54} {:>8} {:>8}", seconds(to), seconds(to.saturating_sub(from))));
    }
    lines.push(String::new());
    lines.push(screen.heading("  versions"));
    for (what, version) in versions(engine).await {
        lines.push(format!("  {what:<24} {version}"));
    }
    screen.block(&lines);
}

type Transition = (&'static str, Option<Duration>, Option<Duration>);

fn transitions(board: &Board, played: &Played) -> Vec<Transition> {
    let (teardown, deletion) = (Some(played.teardown), Some(played.deletion));
    let made = board.first(Row::Claim);
    let last = [Row::Claim, Row::Composite, Row::PrimaryObject, Row::Remote, Row::TenantSecret];
    let gone = last.iter().filter_map(|row| board.when(*row, "gone")).max();
    vec![
        ("claim created → EphemeralCluster on the hub", made, board.first(Row::Remote)),
        (
            "hub: job runs → claim: Provisioning",
            board.first(Row::Job),
            board.when(Row::Claim, "Provisioning"),
        ),
        (
            "hub: Secret published → Secret of the tenant filled",
            board.first(Row::HubSecret),
            board.when(Row::TenantSecret, "filled"),
        ),
        ("hub: Ready → claim: Ready", board.when(Row::Remote, "Ready"), board.when(Row::Claim, "Ready")),
        ("claim created → claim: Ready", made, board.when(Row::Claim, "Ready")),
        ("teardown requested → hub: Deprovisioning", teardown, board.when(Row::Remote, "Deprovisioning")),
        (
            "hub: Deprovisioned → claim: Deprovisioned",
            board.when(Row::Remote, "Deprovisioned"),
            board.when(Row::Claim, "Deprovisioned"),
        ),
        (
            "hub: Deprovisioned → Secret of the tenant emptied",
            board.when(Row::Remote, "Deprovisioned"),
            board.when(Row::TenantSecret, "emptied"),
        ),
        ("claim deleted → nothing left", deletion, gone),
    ]
}

async fn versions(engine: &Engine) -> Vec<(&'static str, String)> {
    let kubernetes = engine.konflux.client().apiserver_version().await.map(|v| v.git_version);
    let said = |program: &std::path::Path| {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        text.split_once(' ').map(|(_, version)| version.to_owned())
    };
    let unknown = || "unknown".to_owned();
    vec![
        ("Kubernetes", kubernetes.unwrap_or_else(|_| unknown())),
        ("function-testplatform", said(&engine.program).unwrap_or_else(unknown)),
        ("Crossplane", pinned("crossplane", "CROSSPLANE_BIN")),
        ("provider-kubernetes", pinned("provider-kubernetes", "PROVIDER_KUBERNETES_BIN")),
    ]
}

/// The version that this repository builds, unless somebody brought a program of their own.
fn pinned(directory: &str, variable: &str) -> String {
    let file = settings::repository().join("tests").join(directory).join("go.mod");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let required = text.lines().find_map(|line| line.strip_prefix("require ")?.split_whitespace().nth(1));
    let required = required.unwrap_or("unknown");
    match settings::path(variable) {
        Some(_) => format!("{required}, unless {variable} is another one"),
        None => required.to_owned(),
    }
}
