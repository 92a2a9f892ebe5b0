//! The page as text; what it looks like is the browser's test.

use weir_bench::record::Record;
use weir_bench::report;

use crate::sample;

pub(crate) const HOSTILE: &str = "</script><script>window.harmed=1</script><img src=x onerror=window.harmed=1>\"'&<!--";

/// A record all of whose texts are hostile.
pub(crate) fn hostile() -> Record {
    let text = HOSTILE.to_owned();
    let mut record = sample::small();
    record.title.clone_from(&text);
    record.command.clone_from(&text);
    record.machine.cpu.clone_from(&text);
    record.machine.os.clone_from(&text);
    record.notes.push(text.clone());
    record.versions.insert(text.clone(), text.clone());
    record.settings.insert(text.clone(), text.clone());
    for target in &mut record.targets {
        target.label.push_str(HOSTILE);
    }
    for point in &mut record.points {
        point.workload.push_str(HOSTILE);
        for run in &mut point.runs {
            run.counters.insert(text.clone(), 5);
        }
    }
    record.points[4].failure = Some(text);
    record
}

fn page(record: &Record) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let written = report::write(record, dir.path()).expect("the report is written");
    std::fs::read_to_string(&written[1]).expect("the page is there")
}

#[test]
fn hostile_text_adds_no_element() {
    let count = |page: &str, tag: &str| page.matches(tag).count();
    let (hostile, harmless) = (page(&hostile()), page(&sample::small()));
    for tag in ["<script", "</script", "<img", "<!--"] {
        assert_eq!(count(&hostile, tag), count(&harmless, tag), "{tag}");
    }
    assert!(hostile.contains("window.harmed=1"), "the text itself is shown");
}

#[test]
fn the_page_asks_for_nothing_outside_itself() {
    let page = page(&sample::overhead());
    let head = page.split("<style>").next().expect("the page has a head");
    assert!(head.contains("default-src &#39;none&#39;") || head.contains("default-src 'none'"), "{head}");
    for attribute in [" src=", "@import", "url(", "<link"] {
        assert!(!page.contains(attribute), "{attribute}");
    }
}

#[test]
fn every_chart_has_a_name_and_its_data_as_a_table() {
    let page = page(&sample::overhead());
    let figures: Vec<&str> = page.split("<figure").skip(1).collect();
    assert!(figures.len() > 80, "{} charts", figures.len());
    for figure in figures {
        let figure = figure.split("</figure>").next().expect("a figure ends");
        assert!(figure.contains("role=\"img\" aria-label=\""), "{figure}");
        assert!(figure.contains("<table>") && figure.contains("<td class="), "{figure}");
    }
}
