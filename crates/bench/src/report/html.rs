//! The report as one HTML page that needs nothing else: no network, no other file.
//!
//! Must always hold: the content security policy lets run exactly the scripts and the style sheet that are built into this
//! program, by their hashes, so that no text of a record could run even if its escaping failed. Text is escaped by the
//! template engine, the charts' data by [`script_data`].

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::chart::{Chart, Size};
use super::document::{Block, Document, Section};
use super::table::{Cell, Tone};

/// Chart.js as its authors publish it.
const LIBRARY: &str = include_str!("../../assets/chart-4.6.1.umd.min.js");
/// Where the library names the file for debuggers, which the page would not find.
const SOURCE_MAP: &str = "//# sourceMappingURL=";
/// Draws the charts.
const SCRIPT: &str = include_str!("../../assets/report.js");
/// How the page looks.
const STYLE: &str = include_str!("../../assets/report.css");

/// The page's template and what it is filled with.
#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    document: &'a Document,
    policy: String,
    style: &'static str,
    library: &'static str,
    script: &'static str,
    data: String,
}

/// The page.
pub(crate) fn page(document: &Document) -> Result<String, super::ReportError> {
    let library = LIBRARY.rfind(SOURCE_MAP).map_or(LIBRARY, |end| &LIBRARY[..end]);
    let charts: Vec<&Chart> = document.charts().collect();
    let page = Page {
        document,
        policy: format!(
            "default-src 'none'; script-src {} {}; style-src {}; base-uri 'none'; form-action 'none'",
            hash(library),
            hash(SCRIPT),
            hash(STYLE)
        ),
        style: STYLE,
        library,
        script: SCRIPT,
        data: script_data(&serde_json::to_string(&charts)?),
    };
    Ok(page.render()?)
}

/// The source expression that allows this inline script or style sheet.
fn hash(content: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)))
}

/// JSON that can stand in a `<script>` element: no character that HTML or JavaScript could take for an end or a comment.
fn script_data(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out
}

/// What the template asks of the parts.
impl Page<'_> {
    /// A section's anchor.
    fn anchor(&self, place: &usize) -> String {
        format!("section-{}", place + 1)
    }

    fn figure_class(&self, chart: &Chart) -> &'static str {
        match chart.size {
            Size::Large => "large",
            Size::Small => "small",
        }
    }

    /// The class that gives a chart of bars its height: a step for every two rows.
    fn height_class(&self, chart: &Chart) -> String {
        chart.bar_rows().map_or("lines".to_owned(), |rows| format!("rows-{}", rows.div_ceil(2).min(20)))
    }

    fn grid_class(&self, charts: &[Chart]) -> &'static str {
        if charts.iter().all(|chart| chart.size == Size::Small) { "grid small" } else { "grid" }
    }

    fn cell_class(&self, cell: &Cell) -> &'static str {
        match cell.tone {
            Tone::Plain => "plain",
            Tone::Better => "better",
            Tone::Worse => "worse",
            Tone::Alarm => "alarm",
        }
    }

    /// Sections that the list of contents names.
    fn contents(&self) -> Vec<(usize, &Section)> {
        self.document.sections.iter().enumerate().filter(|(_, section)| !section.nested).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_a_script_element_can_not_end_it() {
        let json = serde_json::to_string("</script><!--\u{2028}&").expect("a string is JSON");
        let data = script_data(&json);
        assert!(!data.contains(['<', '>', '&', '\u{2028}']), "{data}");
        assert_eq!(serde_json::from_str::<String>(&data).expect("still JSON"), "</script><!--\u{2028}&");
    }

    #[test]
    fn the_built_in_parts_can_not_end_their_elements() {
        for part in [LIBRARY, SCRIPT, STYLE] {
            assert!(!part.to_lowercase().contains("</s"), "an end tag of script or style inside");
            assert!(!part.contains("<!--"));
        }
        assert_eq!(LIBRARY.matches(SOURCE_MAP).count(), 1);
    }

    #[test]
    fn the_charting_library_is_the_published_one() {
        // As docs/dependencies.md has it, in the other notation: 87364cc2b2a7….
        assert_eq!(hash(LIBRARY), "'sha256-hzZMwrKnamaEkp59a4Cxiol3lNs4QAyv8fzxeRxpJdI='");
    }

    #[test]
    fn the_policy_hash_is_that_of_the_content() {
        assert_eq!(hash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
    }
}
