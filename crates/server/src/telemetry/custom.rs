//! Metrics that game code makes, on a page under a prefix of its own.

use muster_script::process::{CustomMetrics, MetricKind, Reading, TIMER_BOUNDS_SEC};

use super::exposition::Exposition;

const HELP: &str = "A metric that game code makes.";

/// Writes the metrics to the page.
pub(super) fn render(custom: &CustomMetrics, page: &mut Exposition) {
    for (name, family) in custom.families() {
        let kind = match family.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Timer => "histogram",
        };
        page.family(&name, kind, HELP);
        for (tags, reading) in &family.series {
            match reading {
                Reading::Counter(value) | Reading::Gauge(value) => page.labelled(&name, tags, *value),
                Reading::Timer { buckets, sum_sec } => {
                    page.distribution(&name, tags, &TIMER_BOUNDS_SEC, buckets, *sum_sec);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_game_code_have_tags_and_our_labels() {
        let custom = CustomMetrics::default();
        let tags = || vec![("mode".to_owned(), "a\"b".to_owned())];
        custom.record(MetricKind::Counter, "games", tags(), 2.0).unwrap();
        custom.record(MetricKind::Gauge, "heat", Vec::new(), -1.5).unwrap();
        custom.record(MetricKind::Timer, "round", tags(), 59.0).unwrap();
        let mut page = Exposition::new("custom", &[("node_name", "n")]);
        render(&custom, &mut page);
        let page = page.finish();
        for line in [
            "# TYPE custom_games counter",
            r#"custom_games{node_name="n",mode="a\"b"} 2"#,
            r#"custom_heat{node_name="n"} -1.5"#,
            "# TYPE custom_round histogram",
            r#"custom_round_bucket{node_name="n",mode="a\"b",le="30"} 0"#,
            r#"custom_round_bucket{node_name="n",mode="a\"b",le="60"} 1"#,
            r#"custom_round_bucket{node_name="n",mode="a\"b",le="+Inf"} 1"#,
            r#"custom_round_sum{node_name="n",mode="a\"b"} 59"#,
            r#"custom_round_count{node_name="n",mode="a\"b"} 1"#,
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
    }
}
