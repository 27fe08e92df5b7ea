//! Figures as lines over how many there were, in SVG.

use std::path::Path;

use anyhow::Context as _;
use plotters::prelude::{
    BLACK, ChartBuilder, Circle, EmptyElement, IntoDrawingArea as _, LineSeries, Palette as _, Palette99,
    PathElement, PointSeries, SVGBackend, SeriesLabelPosition, WHITE,
};

const SIZE: (u32, u32) = (800, 480);

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Whose it is.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Draws lines. Both axes begin at zero, so that what is proportional looks so.
pub fn draw(file: &Path, title: &str, axes: (&str, &str), lines: &[Line]) -> anyhow::Result<()> {
    let most = |of: fn(&(f64, f64)) -> f64| {
        let points = lines.iter().flat_map(|line| line.points.iter().map(of));
        points.fold(f64::EPSILON, f64::max) * 1.05
    };
    let (right, top) = (most(|point| point.0), most(|point| point.1));
    let draw = || -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::new(file, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..right, 0.0..top)?;
        chart.configure_mesh().x_desc(axes.0).y_desc(axes.1).draw()?;
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
        chart
            .configure_series_labels()
            .position(legend)
            .border_style(BLACK)
            .background_style(WHITE)
            .draw()?;
        area.present()?;
        Ok(())
    };
    draw()
        .map_err(|error| anyhow::anyhow!("{error}"))
        .with_context(|| format!("cannot draw {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_named_and_drawn() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.svg");
        let line = |name: &str, y| Line { name: name.to_owned(), points: vec![(1.0, y), (2.0, 2.0 * y)] };
        draw(&file, "title", ("claims", "ms"), &[line("one", 1.0), line("two", 3.0)]).unwrap();
        let svg = std::fs::read_to_string(&file).unwrap();
        for text in ["title", "claims", "ms", "one", "two"] {
            assert!(svg.contains(&format!(">\n{text}\n<")), "{text} is not in\n{svg}");
        }
        assert_eq!(svg.matches("<polyline").count(), svg.matches("<polyline").count().max(4));
        assert!(draw(&directory.path().join("no/a.svg"), "title", ("", ""), &[]).is_err());
    }
}
