//! The page of a comparison: one file that loads nothing, readable on light and on dark screens.

use std::fmt::Write;

use super::ModeRuns;
use super::chart::{self, GRID, INK, MARK, MODE_COLOURS, PHASE_COLOURS, PHASE_NAMES, colour_name};
use super::error::CompareError;
use super::summary::Summary;
use super::table;

/// Colours of the modes on a light and on a dark screen, to be told apart by the colour-blind too.
const MODE_SHADES: [(&str, &str); 6] = [
    ("#b3361e", "#ff8a70"),
    ("#1b62b5", "#79b4ff"),
    ("#1a7a3c", "#63d28c"),
    ("#7a4bb0", "#c9a4ff"),
    ("#8a6500", "#e6c04d"),
    ("#5c5c5c", "#b5b5b5"),
];

/// Colours of the phases likewise.
const PHASE_SHADES: [(&str, &str); 5] = [
    ("#1b62b5", "#79b4ff"),
    ("#3aa6a0", "#6fe0d8"),
    ("#b3361e", "#ff8a70"),
    ("#e0912f", "#ffc070"),
    ("#9a9a9a", "#777777"),
];

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #ffffff; --grid: #d8d8dc; --mark: #77777c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececf0; --paper: #17181b; --grid: #3a3b40; --mark: #9a9aa2; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
svg { display: block; width: 100%; height: auto; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .4rem 0; padding: 0; list-style: none; }
.legend i { display: inline-block; width: .9em; height: .9em; border-radius: 2px; margin-right: .4em; vertical-align: -.1em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--grid); text-align: right; }
th { font-weight: 600; vertical-align: bottom; } th:first-child, td:first-child { text-align: left; white-space: nowrap; }
";

/// Renders the page.
pub(super) fn render(summary: &Summary, all: &[ModeRuns]) -> Result<String, CompareError> {
    let title = escape(&table::title(summary));
    let mut phases = String::new();
    let own = all.iter().filter(|mode| mode.mode.own);
    for (mode, picture) in own.zip(chart::phases(summary, all)?) {
        let name = escape(&mode.mode.name);
        push(
            &mut phases,
            format_args!("<h2>The collector in mode {name}</h2>\n{picture}\n"),
        );
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{STYLE}{colours}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{verdict}</p>\n\
         <h2>Resident memory over time</h2>\n{modes}\n{memory}\n\
         <p>What the collector did in the same runs, as a share of the time; the strip below each picture shows \
         when the heap was lent.</p>\n{phase_names}\n{phases}\
         <h2>Figures</h2>\n<div class=\"scroll\">{table}</div>\n\
         <p>Medians over the rounds; the curves are those of the round whose mean memory is the median. \
         1 MB is 1,000,000 bytes.</p>\n</body>\n</html>",
        colours = colours(),
        verdict = escape(&table::verdict(summary)),
        modes = legend(summary.modes.iter().map(|mode| mode.name.as_str()), "m"),
        memory = chart::memory(summary, all)?,
        phase_names = legend(PHASE_NAMES, "p"),
        table = html_table(summary),
    ))
}

/// The rules that turn the chart's colour names into colours.
fn colours() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    let mut rules = String::new();
    let families = [
        ("m", &MODE_COLOURS[..], &MODE_SHADES[..]),
        ("p", &PHASE_COLOURS[..], &PHASE_SHADES[..]),
    ];
    for (family, names, shades) in families {
        for (index, (name, (on_light, on_dark))) in names.iter().zip(shades).enumerate() {
            push(&mut light, format_args!("--{family}{index}: {on_light};"));
            push(&mut dark, format_args!("--{family}{index}: {on_dark};"));
            rule(
                &mut rules,
                &colour_name(*name),
                &format!("--{family}{index}"),
            );
            push(
                &mut rules,
                format_args!(".{family}{index} {{ background: var(--{family}{index}); }}\n"),
            );
        }
    }
    for (name, variable) in [(INK, "--ink"), (GRID, "--grid"), (MARK, "--mark")] {
        rule(&mut rules, &colour_name(name), variable);
    }
    format!(
        ":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n{rules}"
    )
}

fn rule(rules: &mut String, name: &str, variable: &str) {
    push(
        rules,
        format_args!(
            "svg [stroke=\"{name}\"] {{ stroke: var({variable}); }} svg [fill=\"{name}\"] {{ fill: var({variable}); }}\n"
        ),
    );
}

fn legend<'a>(names: impl IntoIterator<Item = &'a str>, family: &str) -> String {
    let mut list = String::from("<ul class=\"legend\">");
    for (index, name) in names.into_iter().enumerate() {
        let class = index % MODE_COLOURS.len();
        push(
            &mut list,
            format_args!("<li><i class=\"{family}{class}\"></i>{}</li>", escape(name)),
        );
    }
    list + "</ul>"
}

fn html_table(summary: &Summary) -> String {
    let (headings, rows) = table::cells(summary);
    let mut html = String::from("<table>\n<tr>");
    for heading in headings {
        push(&mut html, format_args!("<th>{}</th>", escape(heading)));
    }
    html.push_str("</tr>\n");
    for row in rows {
        html.push_str("<tr>");
        for cell in row {
            push(&mut html, format_args!("<td>{}</td>", escape(&cell)));
        }
        html.push_str("</tr>\n");
    }
    html + "</table>"
}

fn push(text: &mut String, more: std::fmt::Arguments<'_>) {
    // Writing into a String does not fail.
    let _ = text.write_fmt(more);
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_name_gets_a_light_and_a_dark_shade() {
        let css = colours();
        for name in MODE_COLOURS
            .iter()
            .chain(&PHASE_COLOURS)
            .chain(&[INK, GRID, MARK])
        {
            assert!(css.contains(&format!("[stroke=\"{}\"]", colour_name(*name))));
        }
        assert_eq!(css.matches("--m0:").count(), 2);
    }

    #[test]
    fn names_cannot_break_the_page() {
        assert_eq!(
            escape("<a href=\"x\">&"),
            "&lt;a href=&quot;x&quot;&gt;&amp;"
        );
    }
}
