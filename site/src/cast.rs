//! Output of a terminal as an SVG that shows line after line.
//!
//! A transcript has one line of output in each line: seconds since the start, a tab, the text. The same transcript gives the same bytes.

use std::{
    fmt::Write as _,
    fs::File,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, ensure};

/// Pixels of a line and of a character of the font.
const LINE: usize = 18;
const CHARACTER_TENTHS: usize = 78;
/// Space around the text.
const BORDER: usize = 16;
/// Room for the title.
const HEADER: usize = 34;
/// The longest pause between two lines, in seconds. Nobody watches a terminal stand still.
const LONGEST_PAUSE: f64 = 1.5;

/// Runs a command and writes each line of its output, and of its errors, with the time.
pub fn record_command(transcript: &Path, command: &[&str]) -> anyhow::Result<()> {
    let mut out =
        File::create(transcript).with_context(|| format!("cannot write {}", transcript.display()))?;
    let mut child = Command::new("sh")
        .args(["-c", "exec \"$@\" 2>&1", "sh"])
        .args(command)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {command:?}"))?;
    let start = Instant::now();
    let output = child.stdout.take().context("no output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        writeln!(out, "{:.2}\t{}", start.elapsed().as_secs_f64(), line.trim_end())?;
    }
    child.wait()?;
    Ok(())
}

/// Lines of a transcript with their times, without long pauses.
fn parse_lines(transcript: &str) -> anyhow::Result<Vec<(f64, &str)>> {
    let mut lines = Vec::new();
    let (mut last, mut shown) = (0.0, 0.0);
    for (number, line) in transcript.lines().enumerate() {
        let (time, text) =
            line.split_once('\t').with_context(|| format!("line {} has no time", number + 1))?;
        let time: f64 = time.parse().with_context(|| format!("line {} has no time", number + 1))?;
        ensure!(time >= last, "line {} is earlier than the one before", number + 1);
        shown += (time - last).min(LONGEST_PAUSE);
        last = time;
        lines.push((shown, text));
    }
    ensure!(!lines.is_empty(), "there is no line");
    Ok(lines)
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The class of a line, which gives its colour.
fn class(text: &str) -> &'static str {
    if text.starts_with("$ ") {
        "l c"
    } else if text.contains('✓') {
        "l g"
    } else {
        "l"
    }
}

/// Draws a transcript.
pub fn draw(title: &str, transcript: &str) -> anyhow::Result<String> {
    let lines = parse_lines(transcript)?;
    let widest = lines.iter().map(|(_, text)| text.chars().count()).max().unwrap_or_default();
    let width = (widest.max(60) * CHARACTER_TENTHS).div_ceil(10) + 2 * BORDER;
    let height = HEADER + lines.len() * LINE + BORDER;
    let title = escape_xml(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-labelledby=\"title desc\">\n<title id=\"title\">{title}</title>\n<desc id=\"desc\">Recorded output of a terminal, {} lines. The last: {}</desc>\n\
         <style>\n.l {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d8dee4; white-space: pre; animation: show 1ms backwards; }}\n\
         .c {{ fill: #79c0ff; }}\n.g {{ fill: #7ee787; }}\n.t {{ font: 12px ui-sans-serif, system-ui, sans-serif; fill: #9198a1; }}\n\
         @keyframes show {{ from {{ opacity: 0; }} }}\n@media (prefers-reduced-motion: reduce) {{ .l {{ animation: none; }} }}\n</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#161b22\" stroke=\"#6e7681\"/>\n<text class=\"t\" x=\"{BORDER}\" y=\"21\">{title}</text>\n",
        lines.len(),
        escape_xml(
            lines.iter().rev().map(|(_, text)| text.trim()).find(|text| !text.is_empty()).unwrap_or_default()
        ),
    );
    for (number, (time, text)) in lines.iter().enumerate() {
        if !text.is_empty() {
            let y = HEADER + number * LINE + 13;
            writeln!(
                svg,
                "<text class=\"{}\" x=\"{BORDER}\" y=\"{y}\" xml:space=\"preserve\" style=\"animation-delay:{time:.2}s\">{}</text>",
                class(text),
                escape_xml(text)
            )?;
        }
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn pauses_are_short_and_text_is_escaped() {
        let svg = draw("A & B", "0.00\t$ run\n9.00\t✓ <done>\n").unwrap();
        assert!(svg.contains("<title id=\"title\">A &amp; B</title>"), "{svg}");
        assert!(svg.contains("class=\"l c\" x=\"16\" y=\"47\" xml:space=\"preserve\" style=\"animation-delay:0.00s\">$ run<"), "{svg}");
        assert!(svg.contains("animation-delay:1.50s\">✓ &lt;done&gt;<"), "{svg}");
    }

    #[test]
    fn transcripts_without_times_are_errors() {
        for wrong in ["", "no time\n", "x\ttext\n", "2.0\tlater\n1.0\tearlier\n"] {
            assert!(draw("t", wrong).is_err(), "{wrong:?}");
        }
    }

    /// The pictures in the documentation are those of their transcripts.
    #[test]
    fn pictures_are_current() {
        let folder = crate::repository_root().join("docs/casts");
        for (name, title) in [("demo", "cargo demo"), ("why", "kubectl testplatform why")] {
            let transcript = fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
            let picture = fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap();
            assert!(
                draw(title, &transcript).unwrap() == picture,
                "docs/casts/{name}.svg: run `site cast` again"
            );
        }
    }
}
