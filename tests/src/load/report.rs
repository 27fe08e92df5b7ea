//! Figures → a table for people, in Markdown.

use std::fmt::Write as _;

use super::{
    figures::{Figures, Turn, mib},
    servers::OURS,
};

/// The table, the targets and how it was measured.
pub(super) fn markdown(figures: &Figures, command: &str) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ =
        writeln!(out, "# {}, {} bytes, {} at a time\n", figures.request, figures.bytes, figures.concurrency);
    let _ = writeln!(out, "`{command}`\n\n{}.\n", figures.machine);
    let rounds = figures.series.first().map_or(0, |series| series.turns.len());
    let _ = writeln!(
        out,
        "Mutual TLS, one connection, {rounds} rounds of {} calls in turns; each figure is that of the middle round.\n",
        figures.calls
    );
    out += "| server | calls/s | p50 | p99 | CPU of a call | memory after | at its peak |\n";
    out += "| --- | --- | --- | --- | --- | --- | --- |\n";
    for series in &figures.series {
        let unknown = || "–".to_owned();
        let _ = writeln!(
            out,
            "| {} | {:.0} | {} | {} | {} | {} | {} |",
            series.name,
            series.median(Turn::throughput).unwrap_or_default(),
            series.median(|turn| turn.percentile(50)).map_or_else(unknown, millis),
            series.median(|turn| turn.percentile(99)).map_or_else(unknown, millis),
            series.cpu().map_or_else(unknown, millis),
            series.turns.last().and_then(|turn| turn.resident).map_or_else(unknown, mib),
            series.peak().map_or_else(unknown, mib),
        );
    }
    let others = figures.series.iter().filter(|series| series.name != OURS);
    for (name, share) in others.filter_map(|other| Some((&other.name, figures.share(&other.name)?))) {
        let _ = writeln!(out, "\nThe function makes {:.0} % of the calls that {name} makes.", share * 100.0);
    }
    if !figures.soak.is_empty() {
        out += "\n| calls | resident memory |\n| --- | --- |\n";
        for look in &figures.soak {
            let _ = writeln!(out, "| {} | {} |", look.calls, mib(look.resident));
        }
    }
    out += "\n| target | wanted | seen | held |\n| --- | --- | --- | --- |\n";
    for target in figures.targets() {
        let held = if target.held { "yes" } else { "no" };
        let _ = writeln!(out, "| {} | {} | {} | {held} |", target.what, target.wanted, target.seen);
    }
    out
}

fn millis(time: std::time::Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

#[cfg(test)]
mod tests {
    use super::{super::figures::tests::*, *};

    #[test]
    fn the_table_has_each_server_each_look_and_each_target() {
        let figures = figures(vec![turn(&[1; 90], 100)], vec![turn(&[1; 100], 50)], &[9216, 9300]);
        let text = markdown(&figures, "load");
        for line in [
            "# examples/ready, 12000 bytes, 16 at a time",
            "| function-testplatform | 90 | 1.000 ms | 1.000 ms | 0.100 ms | 8.0 MiB | 9.0 MiB |",
            "| no-op | 100 | 1.000 ms | 1.000 ms | 0.050 ms | 8.0 MiB | 9.0 MiB |",
            "The function makes 90 % of the calls that no-op makes.",
            "| 1 | 9.0 MiB |",
            "| throughput, as a part of the no-op's | at least 80 % | 90 % | yes |",
            "| CPU of a call | at most 0.15 ms | 0.100 ms | yes |",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
    }
}
