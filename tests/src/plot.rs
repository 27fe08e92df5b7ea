//! Figures as charts below each other, in SVG.

use anyhow::anyhow;
use plotters::{
    coord::Shift,
    prelude::{
        BLACK, ChartBuilder, Circle, Color as _, DrawingArea, EmptyElement, IntoDrawingArea as _, LineSeries,
        Palette as _, Palette99, PathElement, PointSeries, Rectangle, SVGBackend, SeriesLabelPosition,
        TRANSPARENT, Text, WHITE,
    },
};

const WIDTH: u32 = 800;
/// Height of the title, of a chart of lines, of what is around the bars of a chart, and of a bar.
const TITLE: u32 = 40;
const LINES: u32 = 420;
const AROUND: u32 = 50;
const BAR: u32 = 34;

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Something that grows, or should not. Both axes begin at zero, so that what is proportional looks so.
    Lines {
        /// Titles of both axes.
        axes: (String, String),
        /// The lines.
        lines: Vec<Line>,
    },
    /// One figure of several.
    Bars {
        /// Title of the figure.
        title: String,
        /// The bars, from top to bottom.
        bars: Vec<Bar>,
    },
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Whose it is.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Whose it is.
    pub name: String,
    /// The figure; none: it is not known, which is said.
    pub value: Option<f64>,
    /// The figure in words.
    pub label: String,
    /// Between what it was, seen several times.
    pub spread: Option<(f64, f64)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Draws charts.
pub fn svg(title: &str, charts: &[Chart]) -> anyhow::Result<String> {
    let total = TITLE + charts.iter().map(height).sum::<u32>();
    let mut svg = String::new();
    let draw = |svg: &mut String| -> Drawn {
        let area = SVGBackend::with_string(svg, (WIDTH, total)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut rest = area.titled(title, ("sans-serif", 20))?;
        for chart in charts {
            let (own, below) = rest.split_vertically(height(chart));
            rest = below;
            match chart {
                Chart::Lines { axes, lines } => draw_lines(&own, axes, lines)?,
                Chart::Bars { title, bars } => draw_bars(&own, title, bars)?,
            }
        }
        area.present()?;
        Ok(())
    };
    draw(&mut svg).map_err(|error| anyhow!("cannot draw {title}: {error}"))?;
    Ok(svg)
}

fn height(chart: &Chart) -> u32 {
    match chart {
        Chart::Lines { .. } => LINES,
        Chart::Bars { bars, .. } => AROUND + BAR * u32::try_from(bars.len()).unwrap_or(u32::MAX / BAR / 2),
    }
}

fn draw_lines(area: &Area<'_>, axes: &(String, String), lines: &[Line]) -> Drawn {
    let most = |of: fn(&(f64, f64)) -> f64| {
        let points = lines.iter().flat_map(|line| line.points.iter().map(of));
        points.fold(f64::EPSILON, f64::max) * 1.05
    };
    // Room for the names above the lines.
    let names = lines.iter().fold(1.05, |room, _| room + 0.07);
    let (right, top) = (most(|point| point.0), most(|point| point.1) * names);
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(&axes.0)
        .y_desc(&axes.1)
        .x_label_formatter(&short)
        .y_label_formatter(&short)
        .draw()?;
    for (n, line) in lines.iter().enumerate() {
        let color = Palette99::pick(n);
        let points = line.points.iter().copied();
        chart
            .draw_series(LineSeries::new(points.clone(), &color))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], Palette99::pick(n)));
        chart.draw_series(PointSeries::of_element(points, 3, &color, &|at, size, style| {
            EmptyElement::at(at) + Circle::new((0, 0), size, style)
        }))?;
    }
    let legend = SeriesLabelPosition::UpperLeft;
    chart.configure_series_labels().position(legend).border_style(BLACK).background_style(WHITE).draw()?;
    Ok(())
}

/// A number at an axis.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as plotters calls it")]
fn short(number: &f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// Bars of one unit, and a thin line from the least to the most of what was seen.
fn draw_bars(area: &Area<'_>, title: &str, bars: &[Bar]) -> Drawn {
    let ends = bars.iter().flat_map(|bar| bar.value.into_iter().chain(bar.spread.map(|(_, most)| most)));
    // Room for the words behind the bar.
    let right = ends.fold(f64::EPSILON, f64::max) * 1.3;
    #[expect(clippy::cast_precision_loss, reason = "a few bars")]
    let count = bars.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 15))
        .margin_left(180)
        .margin_right(16)
        .build_cartesian_2d(0.0..right, 0.0..count.max(1.0))?;
    let words = ("sans-serif", 13);
    let mut top = count;
    for (n, bar) in bars.iter().enumerate() {
        let middle = top - 0.5;
        chart
            .plotting_area()
            .draw(&(EmptyElement::at((0.0, middle)) + Text::new(bar.name.clone(), (-170, -6), words)))?;
        let value = bar.value.unwrap_or_default();
        chart.draw_series([Rectangle::new(
            [(0.0, top - 0.8), (value, top - 0.2)],
            Palette99::pick(n).filled(),
        )])?;
        let (least, most) = bar.spread.unwrap_or((value, value));
        chart.draw_series([PathElement::new([(least, middle), (most, middle)], BLACK)])?;
        let label = if bar.value.is_some() { &bar.label } else { "not known" };
        chart.plotting_area().draw(
            &(EmptyElement::at((most.max(value), middle)) + Text::new(label.to_owned(), (6, -6), words)),
        )?;
        top -= 1.0;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_and_every_bar_is_named_and_drawn() {
        let line = |name: &str, y| Line { name: name.to_owned(), points: vec![(1.0, y), (2.0, 2.0 * y)] };
        let lines = Chart::Lines {
            axes: ("claims".to_owned(), "ms".to_owned()),
            lines: vec![line("one", 1.0), line("two", 3.0)],
        };
        let bar = |name: &str, value| Bar {
            name: name.to_owned(),
            value,
            label: "in words".to_owned(),
            spread: value.map(|value| (value - 1.0, value + 1.0)),
        };
        let bars = Chart::Bars {
            title: "speed".to_owned(),
            bars: vec![bar("<fast>", Some(3.0)), bar("lost", None)],
        };
        let svg = svg("title", &[bars, lines]).unwrap();
        let texts =
            ["title", "claims", "ms", "one", "two", "speed", "&lt;fast&gt;", "in words", "lost", "not known"];
        for text in texts {
            assert!(svg.contains(&format!(">\n{text}\n<")), "{text} is not in\n{svg}");
        }
        // Each line, its sign in the legend, and the spread of each bar.
        assert!(svg.matches("<polyline").count() >= 6, "{svg}");
    }
}
