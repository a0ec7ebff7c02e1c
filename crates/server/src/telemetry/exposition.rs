//! The Prometheus text format: families with their help, and samples with labels.

use std::fmt::Write as _;

use crate::config::groups::metrics::names_begin_with;

/// A page of metrics being written.
pub struct Exposition {
    text: String,
    prefix: String,
    labels: String,
}

impl Exposition {
    /// An empty page whose families begin with the configured `prefix` and whose samples carry `labels`.
    pub fn new(prefix: &str, labels: &[(&str, &str)]) -> Self {
        let prefix = names_begin_with(prefix);
        let labels = joined(labels);
        Self { text: String::new(), prefix, labels }
    }

    /// Adds a total since the start.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "counter", help);
        self.sample(name, "", value as f64);
    }

    /// Adds a total since the start that is no whole number.
    pub fn amount(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "counter", help);
        self.sample(name, "", value);
    }

    /// Adds a present value.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }

    /// Adds totals that differ in one label; nothing if there are none.
    pub fn counters<'a>(
        &mut self,
        name: &str,
        help: &str,
        label_name: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            self.family(name, "counter", help);
        }
        for (value, total) in values {
            self.sample(name, &label(label_name, value), total as f64);
        }
    }

    /// Adds a distribution: upper bounds, the number of values in each bucket (not cumulative; one more bucket than
    /// bounds), and the sum of the values.
    pub fn histogram(&mut self, name: &str, help: &str, bounds: &[f64], buckets: &[u64], sum: f64) {
        self.family(name, "histogram", help);
        self.distribution(name, &[], bounds, buckets, sum);
    }

    /// Begins a family: the samples after it belong to it.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = &self.prefix;
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}");
    }

    /// Adds a value with labels of its own to the family that was begun last.
    pub fn labelled(&mut self, name: &str, labels: &[(String, String)], value: f64) {
        self.sample(name, &joined(labels), value);
    }

    /// Adds a distribution with labels of its own to the family that was begun last; see [`Exposition::histogram`].
    pub fn distribution(&mut self, name: &str, labels: &[(String, String)], bounds: &[f64], buckets: &[u64], sum: f64) {
        let labels = joined(labels);
        let separator = if labels.is_empty() { "" } else { "," };
        let mut count = 0;
        for (index, bucket) in buckets.iter().enumerate() {
            count += bucket;
            let bound = bounds.get(index).map_or("+Inf".to_owned(), f64::to_string);
            self.sample(
                &format!("{name}_bucket"),
                &format!("{labels}{separator}{}", label("le", &bound)),
                count as f64,
            );
        }
        self.sample(&format!("{name}_sum"), &labels, sum);
        self.sample(&format!("{name}_count"), &labels, count as f64);
    }

    /// The text of the page.
    pub fn finish(self) -> String {
        self.text
    }

    fn sample(&mut self, name: &str, extra: &str, value: f64) {
        let separator = if self.labels.is_empty() || extra.is_empty() { "" } else { "," };
        let _ = writeln!(self.text, "{}{name}{{{}{separator}{extra}}} {value}", self.prefix, self.labels);
    }
}

fn joined(labels: &[(impl AsRef<str>, impl AsRef<str>)]) -> String {
    labels.iter().map(|(name, value)| label(name.as_ref(), value.as_ref())).collect::<Vec<_>>().join(",")
}

fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_families_once_and_buckets_cumulatively() {
        let mut page = Exposition::new("nakama", &[("node_name", "a\"b")]);
        page.gauge("sessions", "Open sockets.", 3.0);
        page.counters("closed", "By reason.", "reason", [("x", 1), ("y", 2)]);
        page.histogram("latency_ms", "Latency.", &[1.0, 2.5], &[4, 0, 2], 17.5);
        let expected = r#"# HELP nakama_sessions Open sockets.
# TYPE nakama_sessions gauge
nakama_sessions{node_name="a\"b"} 3
# HELP nakama_closed By reason.
# TYPE nakama_closed counter
nakama_closed{node_name="a\"b",reason="x"} 1
nakama_closed{node_name="a\"b",reason="y"} 2
# HELP nakama_latency_ms Latency.
# TYPE nakama_latency_ms histogram
nakama_latency_ms_bucket{node_name="a\"b",le="1"} 4
nakama_latency_ms_bucket{node_name="a\"b",le="2.5"} 4
nakama_latency_ms_bucket{node_name="a\"b",le="+Inf"} 6
nakama_latency_ms_sum{node_name="a\"b"} 17.5
nakama_latency_ms_count{node_name="a\"b"} 6
"#;
        assert_eq!(page.finish(), expected);
    }
}
