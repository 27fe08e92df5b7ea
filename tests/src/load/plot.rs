//! Figures → a plot: bars for each server, and the memory of the long run.

use super::figures::{Figures, Series, Turn, mib};
use crate::plot::{self, Bar, Chart, Line};

/// The plot as SVG: throughput, CPU and memory, and below the long run if there was one.
pub(super) fn svg(figures: &Figures) -> anyhow::Result<String> {
    let millis = |turn: &Turn| turn.cpu_per_call().map(|cpu| cpu.as_secs_f64() * 1000.0);
    let mut charts = vec![
        bars(figures, "calls per second", |series| {
            let value = series.median(Turn::throughput);
            let all = series.turns.iter().map(Turn::throughput).collect();
            (value, value.map(|value| format!("{value:.0}")), all)
        }),
        bars(figures, "CPU of a call, ms", |series| {
            let value = series.cpu().map(|cpu| cpu.as_secs_f64() * 1000.0);
            let all = series.turns.iter().filter_map(millis).collect();
            (value, value.map(|value| format!("{value:.3}")), all)
        }),
        bars(figures, "peak of resident memory", |series| {
            #[expect(clippy::cast_precision_loss, reason = "for a bar")]
            let value = series.peak().map(|peak| peak as f64);
            (value, series.peak().map(mib), vec![])
        }),
    ];
    if !figures.soak.is_empty() {
        #[expect(clippy::cast_precision_loss, reason = "for a line")]
        let points =
            figures.soak.iter().map(|look| (look.calls as f64, look.resident as f64 / 1024.0)).collect();
        let name = figures.series.first().map(|series| series.name.clone()).unwrap_or_default();
        let axes = ("calls".to_owned(), "resident memory, MiB".to_owned());
        charts.push(Chart::Lines { axes, lines: vec![Line { name, points }] });
    }
    let title =
        format!("{}, {} bytes, {} calls at a time", figures.request, figures.bytes, figures.concurrency);
    plot::svg(&title, &charts)
}

/// Figures of a server: the number, its text, and the position in each turn.
type Seen = (Option<f64>, Option<String>, Vec<f64>);

fn bars(figures: &Figures, title: &str, seen: impl Fn(&Series) -> Seen) -> Chart {
    let bar = |series: &Series| {
        let (value, label, all) = seen(series);
        let least = all.iter().copied().reduce(f64::min);
        let most = all.iter().copied().reduce(f64::max);
        Bar { name: series.name.clone(), value, label: label.unwrap_or_default(), spread: least.zip(most) }
    };
    Chart::Bars { title: title.to_owned(), bars: figures.series.iter().map(bar).collect() }
}

#[cfg(test)]
mod tests {
    use super::{super::figures::tests::*, *};

    #[test]
    fn the_plot_shows_each_server_and_the_long_run() {
        let plot =
            |soak: &[u64]| svg(&figures(vec![turn(&[1; 90], 100)], vec![turn(&[1; 100], 50)], soak)).unwrap();
        let (short, long) = (plot(&[]), plot(&[9216, 9300]));
        for text in ["function-testplatform", "no-op", "90", "0.100", "9.0 MiB"] {
            assert!(short.contains(&format!(">\n{text}\n<")), "{text} in {short}");
        }
        let named = "resident memory, MiB";
        assert!(!short.contains(named) && long.contains(named));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut figures = figures(vec![turn(&[1], 1)], vec![turn(&[1], 1)], &[]);
        let other = &mut figures.series[1];
        other.high_water = None;
        other.turns.iter_mut().for_each(|turn| turn.resident = None);
        assert!(svg(&figures).unwrap().contains("not known"));
    }
}
