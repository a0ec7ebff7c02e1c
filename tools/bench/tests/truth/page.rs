//! Tests of the page that a run writes.

use crate::support::Manner::*;
use crate::support::bench;

/// The page has the measured figures: the seconds add up to the totals, in one self-contained file.
#[test]
fn the_page_holds_the_series_that_were_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.html");
    let pid = std::process::id();
    let arguments = "heartbeat -c 4 --rate 100 --duration 2.5 --warmup 0 --server-key defaultkey";
    let said = bench(Honest, &format!("{arguments} --durability none --pid {pid} --report {}", path.display()));
    let page = std::fs::read_to_string(&path).unwrap();
    let (_, data) = page.split_once(r#"<script type="application/json" id="run">"#).unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["report"], said.figures);
    let seconds = data["seconds"].as_array().unwrap();
    let sum = |name: &str| -> f64 { seconds.iter().map(|second| second[name].as_f64().unwrap()).sum() };
    assert_eq!((sum("sent"), sum("received")), (said.number("ok"), said.number("ok")));
    assert!((3..=4).contains(&seconds.len()), "{seconds:?}");
    for second in &seconds[..2] {
        assert_eq!(second["connected"], 4);
        assert!((60.0..=140.0).contains(&second["received"].as_f64().unwrap()), "{second}");
        let figure = |name: &str| second[name].as_f64().unwrap();
        assert!(figure("p50_ms") <= figure("p99_ms") && figure("p99_ms") <= figure("max_ms") * 1.07, "{second}");
        assert!(second["server"]["rss_kb"].as_f64().unwrap() > 1000.0, "{second}");
    }
    assert!(page.find(&said.first_line).unwrap() < page.find("<svg").unwrap(), "the verdict comes first");
    assert_eq!(page.matches("<svg").count(), 5);
    for elsewhere in ["http:", "https:", "src=", "href=", "defaultkey", "url("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
}

#[test]
fn a_page_begins_with_what_went_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.html");
    bench(Errs, &format!("register -c 4 --duration 0.4 --warmup 0 --report {}", path.display()));
    let page = std::fs::read_to_string(&path).unwrap();
    let (_, body) = page.split_once("<body>").unwrap();
    assert!(body.starts_with("<p class=\"verdict errors\">register: "), "{}", &body[..200]);
    assert!(body[..200].contains(" ERRORS ("), "{}", &body[..200]);
}
