//! One metric as a row: its name, its sentence, and how its value is read. The page that Prometheus reads and the
//! reference page are both made from such rows, so a metric without a sentence does not compile.

use super::exposition::Exposition;

/// A metric whose value is read from an `S`.
pub struct Metric<S: 'static> {
    /// Name without the prefix of its page.
    pub name: &'static str,
    /// Meaning, as a sentence.
    pub sentence: &'static str,
    /// Whether the original has a metric of this name and meaning.
    pub is_the_originals: bool,
    reading: Reading<S>,
}

/// How the value of a metric is read.
enum Reading<S> {
    Counter(fn(&S) -> u64),
    /// A total that is no whole number.
    Amount(fn(&S) -> f64),
    Gauge(fn(&S) -> f64),
    /// A gauge that is left out where the system does not tell its value.
    Told(fn(&S) -> Option<f64>),
    /// Totals that differ in the label of this name.
    Labelled(&'static str, fn(&S) -> Labelled),
    /// A gauge that is always 1, for the sake of the label of this name.
    Label(&'static str, fn(&S) -> String),
    Histogram(fn(&S) -> Distribution),
}

/// Totals by the value of a label.
pub struct Labelled(Vec<(String, u64)>);

impl<V: Into<String>> FromIterator<(V, u64)> for Labelled {
    fn from_iter<I: IntoIterator<Item = (V, u64)>>(totals: I) -> Self {
        Self(totals.into_iter().map(|(value, total)| (value.into(), total)).collect())
    }
}

/// The values of a histogram.
pub struct Distribution {
    /// Upper bounds of the buckets.
    pub bounds: Vec<f64>,
    /// Values in each bucket, not cumulative; one more than there are bounds.
    pub buckets: Vec<u64>,
    /// Sum of all values.
    pub sum: f64,
}

const fn metric<S>(name: &'static str, sentence: &'static str, reading: Reading<S>) -> Metric<S> {
    assert!(is_sentence(sentence), "a metric has a sentence that says its meaning");
    Metric { name, sentence, is_the_originals: false, reading }
}

const fn is_sentence(text: &str) -> bool {
    matches!(text.as_bytes(), [first, .., b'.'] if !first.is_ascii_lowercase() && !first.is_ascii_whitespace())
}

/// A total since the start.
pub const fn counter<S>(name: &'static str, sentence: &'static str, read: fn(&S) -> u64) -> Metric<S> {
    metric(name, sentence, Reading::Counter(read))
}

/// A total since the start that is no whole number.
pub const fn amount<S>(name: &'static str, sentence: &'static str, read: fn(&S) -> f64) -> Metric<S> {
    metric(name, sentence, Reading::Amount(read))
}

/// A present value.
pub const fn gauge<S>(name: &'static str, sentence: &'static str, read: fn(&S) -> f64) -> Metric<S> {
    metric(name, sentence, Reading::Gauge(read))
}

/// A present value that may be unknown.
pub const fn told<S>(name: &'static str, sentence: &'static str, read: fn(&S) -> Option<f64>) -> Metric<S> {
    metric(name, sentence, Reading::Told(read))
}

/// Totals since the start that differ in one label.
pub const fn counters<S>(
    name: &'static str,
    label: &'static str,
    sentence: &'static str,
    read: fn(&S) -> Labelled,
) -> Metric<S> {
    metric(name, sentence, Reading::Labelled(label, read))
}

/// A constant that carries a label.
pub const fn label<S>(
    name: &'static str,
    label: &'static str,
    sentence: &'static str,
    read: fn(&S) -> String,
) -> Metric<S> {
    metric(name, sentence, Reading::Label(label, read))
}

/// A distribution of values.
pub const fn histogram<S>(name: &'static str, sentence: &'static str, read: fn(&S) -> Distribution) -> Metric<S> {
    metric(name, sentence, Reading::Histogram(read))
}

impl<S> Metric<S> {
    /// The same metric, marked as one that the original has too.
    pub const fn of_the_original(mut self) -> Self {
        self.is_the_originals = true;
        self
    }

    /// The word for its kind in the format of Prometheus.
    pub fn kind(&self) -> &'static str {
        match self.reading {
            Reading::Counter(_) | Reading::Amount(_) | Reading::Labelled(..) => "counter",
            Reading::Gauge(_) | Reading::Told(_) | Reading::Label(..) => "gauge",
            Reading::Histogram(_) => "histogram",
        }
    }

    /// The label of its own, if it has one.
    pub fn label(&self) -> Option<&'static str> {
        match self.reading {
            Reading::Labelled(label, _) | Reading::Label(label, _) => Some(label),
            _ => None,
        }
    }

    /// Adds the metric to a page, with `prefix` before its name.
    pub fn render(&self, source: &S, prefix: &str, page: &mut Exposition) {
        let (name, help) = (format!("{prefix}{}", self.name), self.sentence);
        match self.reading {
            Reading::Counter(read) => page.counter(&name, help, read(source)),
            Reading::Amount(read) => page.amount(&name, help, read(source)),
            Reading::Gauge(read) => page.gauge(&name, help, read(source)),
            Reading::Told(read) => {
                if let Some(value) = read(source) {
                    page.gauge(&name, help, value);
                }
            }
            Reading::Labelled(label, read) => {
                let Labelled(totals) = read(source);
                page.counters(&name, help, label, totals.iter().map(|(value, total)| (value.as_str(), *total)));
            }
            Reading::Label(label, read) => {
                page.family(&name, self.kind(), help);
                page.labelled(&name, &[(label.to_owned(), read(source))], 1.0);
            }
            Reading::Histogram(read) => {
                let Distribution { bounds, buckets, sum } = read(source);
                page.histogram(&name, help, &bounds, &buckets, sum);
            }
        }
    }
}

/// Adds all rows of a table to a page, with `prefix` before their names.
pub fn render<S>(rows: &[Metric<S>], source: &S, prefix: &str, page: &mut Exposition) {
    rows.iter().for_each(|row| row.render(source, prefix, page));
}
