//! Figures → a plot: bars for each server, and the memory of the long run.

use std::fmt::Write as _;

use super::figures::{Figures, Series, Turn, mib};

/// Width of the whole, and of one panel.
const WIDTH: f64 = 760.0;
const PANEL: f64 = 180.0;
/// Height of one bar with the room around it.
const BAR: f64 = 26.0;
const TOP: f64 = 74.0;
const COLOURS: [&str; 3] = ["#2f6fb5", "#9aa5b1", "#c2703d"];

/// What a panel shows of a server, its text, and for each turn where it was.
type Bar = (f64, String, Vec<f64>);

/// The plot as SVG: throughput, CPU and memory, and below the long run if there was one.
pub(super) fn svg(figures: &Figures) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a few servers")]
    let below = TOP + BAR * figures.series.len() as f64 + 20.0;
    let height = if figures.soak.is_empty() { below } else { below + 170.0 };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let title =
        format!("{}, {} bytes, {} calls at a time", figures.request, figures.bytes, figures.concurrency);
    text(&mut out, 10.0, 20.0, &title);
    for (row, series) in figures.series.iter().enumerate() {
        text(&mut out, 10.0, line(row) + 12.0, &series.name);
    }
    panel(&mut out, figures, 0, "calls per second", |series| {
        let of = Turn::throughput;
        let value = series.median(of)?;
        Some((value, format!("{value:.0}"), series.turns.iter().map(of).collect()))
    });
    panel(&mut out, figures, 1, "CPU of a call, ms", |series| {
        let millis = |turn: &Turn| turn.cpu_per_call().map(|cpu| cpu.as_secs_f64() * 1000.0);
        let value = series.cpu()?.as_secs_f64() * 1000.0;
        Some((value, format!("{value:.3}"), series.turns.iter().filter_map(millis).collect()))
    });
    panel(&mut out, figures, 2, "peak of resident memory", |series| {
        #[expect(clippy::cast_precision_loss, reason = "for a bar")]
        Some((series.peak? as f64, mib(series.peak?), vec![]))
    });
    if !figures.soak.is_empty() {
        long_run(&mut out, figures, below);
    }
    out + "</svg>\n"
}

/// Bars of one unit, and a thin line from the least to the most of all rounds.
fn panel(out: &mut String, figures: &Figures, column: u8, title: &str, bar: impl Fn(&Series) -> Option<Bar>) {
    let left = 170.0 + f64::from(column) * (PANEL + 15.0);
    text(out, left, 50.0, title);
    let bars: Vec<_> = figures.series.iter().map(bar).collect();
    let ends = bars.iter().flatten().flat_map(|(value, _, all)| all.iter().chain([value]));
    let most = ends.fold(0.0_f64, |most, value| most.max(*value));
    // Room for the text behind the bar.
    let scale = if most > 0.0 { (PANEL - 60.0) / most } else { 0.0 };
    for (row, bar) in bars.iter().enumerate() {
        let y = line(row);
        let Some((value, label, all)) = bar else {
            text(out, left, y + 12.0, "not known");
            continue;
        };
        let (width, colour) = (value * scale, COLOURS[row % COLOURS.len()]);
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{y}\" width=\"{width:.1}\" height=\"16\" fill=\"{colour}\"/>"
        );
        let least = all.iter().fold(f64::INFINITY, |least, value| least.min(*value));
        let farthest = all.iter().fold(*value, |most, value| most.max(*value));
        if least.is_finite() {
            let (from, to, middle) = (left + least * scale, left + farthest * scale, y + 8.0);
            let _ = writeln!(
                out,
                "<path d=\"M{from:.1} {middle}H{to:.1}\" stroke=\"black\" stroke-width=\"1\"/>"
            );
        }
        text(out, left + farthest * scale + 5.0, y + 12.0, label);
    }
}

/// Memory over calls, from zero: growth is to be seen as what it is.
#[expect(clippy::cast_precision_loss, reason = "for a line")]
fn long_run(out: &mut String, figures: &Figures, top: f64) {
    let (left, width, bottom, high) = (170.0, WIDTH - 200.0, top + 140.0, 100.0);
    text(
        out,
        left,
        top + 20.0,
        &format!("resident memory of {} over calls", figures.series.first().map_or("", |s| &s.name)),
    );
    let calls = figures.soak.last().map_or(1, |look| look.calls) as f64;
    let most = figures.soak.iter().map(|look| look.resident).max().unwrap_or(1) as f64;
    let _ = writeln!(
        out,
        "<path d=\"M{left} {}V{bottom}H{}\" fill=\"none\" stroke=\"#444\"/>",
        bottom - high,
        left + width
    );
    let points = figures.soak.iter().map(|look| {
        let (x, y) = (left + look.calls as f64 / calls * width, bottom - look.resident as f64 / most * high);
        format!("{x:.1},{y:.1}")
    });
    let points = points.collect::<Vec<_>>().join(" ");
    let _ = writeln!(
        out,
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>",
        COLOURS[0]
    );
    let most = figures.soak.iter().map(|look| look.resident).max().unwrap_or_default();
    text(out, left - 70.0, bottom - high + 4.0, &mib(most));
    text(out, left - 70.0, bottom + 4.0, "0");
    text(out, left + width - 50.0, bottom + 16.0, &format!("{calls:.0}"));
}

fn line(row: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few servers")]
    let row = row as f64;
    TOP - 14.0 + BAR * row
}

fn text(out: &mut String, x: f64, y: f64, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::{super::figures::tests::*, *};

    #[test]
    fn the_plot_shows_each_server_and_the_long_run() {
        let plot = |soak: &[u64]| svg(&figures(vec![turn(&[1; 90], 100)], vec![turn(&[1; 100], 50)], soak));
        let (short, long) = (plot(&[]), plot(&[9216, 9300]));
        for text in ["function-testplatform", "no-op", ">90<", ">0.100<", ">9.0 MiB<"] {
            assert!(short.contains(text), "{text} in {short}");
        }
        assert!(!short.contains("polyline") && long.contains("polyline"));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut figures = figures(vec![turn(&[1], 1)], vec![turn(&[1], 1)], &[]);
        figures.series[1].peak = None;
        figures.series[1].name = "<&>".to_owned();
        let svg = svg(&figures);
        assert!(svg.contains("not known") && svg.contains("&lt;&amp;>"), "{svg}");
    }
}
