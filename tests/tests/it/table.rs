//! `tests/SCENARIOS.md`, the table of scenarios, is what the code says.
//!
//! `SNAPSHOTS=overwrite cargo test -p testplatform-tests --test it table::` writes it.

use std::{fmt::Write as _, fs};

use anyhow::ensure;
use testplatform_tests::settings;

use crate::{scenarios, tekton};

/// A scenario in one of its ways.
#[derive(Clone, Debug)]
pub struct Row {
    /// Full name, by which `cargo test` selects it.
    pub name: String,
    /// Where it is in the quick tier: what only a real engine shows.
    pub shows: Option<&'static str>,
}

const HEAD: &str = "\
# Scenarios

Tests on real control planes, real Crossplane and real provider-kubernetes. This file is written from
`tests/tests/it/scenarios.rs` and `tests/tests/it/tekton.rs`.

## Quick tier

`cargo test --workspace --locked` runs these. Each shows something that only a real engine can.

| scenario | shown by nothing else |
| --- | --- |
";

const WHOLE: &str = "
## Whole tier

`cargo whole` runs these too. Where a name ends in `_in_namespace` the tenant asks by a TestCluster; where it ends in `_acted`
the upstream controller is played on the hub in place of our provider. Those that begin with `real::` run on the real Cluster API, as
[CONTRIBUTING](../CONTRIBUTING.md#run-on-real-controllers) explains; the same names without `real::` run on its fake.

```text
";

fn table() -> String {
    let rows: Vec<Row> = scenarios::rows().into_iter().chain(tekton::rows()).collect();
    let mut text = HEAD.to_owned();
    for row in &rows {
        if let Some(shows) = row.shows {
            let _ = writeln!(text, "| `{}` | {shows}. |", row.name);
        }
    }
    text += WHOLE;
    for row in rows.iter().filter(|row| row.shows.is_none()) {
        let _ = writeln!(text, "{}", row.name);
    }
    text + "```\n"
}

/// The file and the code say the same.
pub fn scenarios_are_listed() -> anyhow::Result<()> {
    let file = settings::repository().join("tests/SCENARIOS.md");
    let table = table();
    if settings::text("SNAPSHOTS").as_deref() == Some("overwrite") {
        fs::write(&file, &table)?;
    }
    ensure!(
        fs::read_to_string(&file).is_ok_and(|text| text == table),
        "tests/SCENARIOS.md is not what the code says; run this test with SNAPSHOTS=overwrite"
    );
    Ok(())
}
