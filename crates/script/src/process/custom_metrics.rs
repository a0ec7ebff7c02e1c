//! Metrics that game code makes, for the page of metrics. The number of series and the size of names and tags are
//! limited.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use muster_domain::{Error, Result};

/// The largest number of bytes of the name of a metric, of the name of a tag, and of the value of a tag.
const METRIC_TEXT_BYTES_MAX: usize = 256;

/// The largest number of tags of a metric.
const METRIC_TAGS_MAX: usize = 16;

/// Upper bounds of the buckets of a timer, in seconds.
pub const TIMER_BOUNDS_SEC: [f64; 15] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Labels that the page of metrics adds to every series or bucket itself.
const TAKEN_LABELS: [&str; 3] = ["node_name", "namespace", "le"];

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A total that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// A distribution of durations.
    Timer,
}

/// The present value of a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The total.
    Counter(f64),
    /// The value.
    Gauge(f64),
    /// Durations in buckets by [`TIMER_BOUNDS_SEC`], with one more bucket for longer durations.
    Timer {
        /// Count of durations by bucket.
        buckets: [u64; TIMER_BOUNDS_SEC.len() + 1],
        /// Sum of the durations, in seconds.
        sum_sec: f64,
    },
}

/// The value of each series, by the names and values of the series' tags, sorted by name.
pub type Series = BTreeMap<Vec<(String, String)>, Reading>;

/// All series of one metric.
#[derive(Clone, Debug)]
pub struct Family {
    /// The kind of the metric.
    pub kind: MetricKind,
    /// All series of the metric.
    pub series: Series,
}

/// The metrics that game code makes.
pub struct CustomMetrics {
    /// Limit of series of all metrics together; 0 for no limit.
    series_max: usize,
    families: Mutex<Families>,
    /// Values that were left out because there were too many series.
    pub dropped: AtomicU64,
}

#[derive(Default)]
struct Families {
    by_name: BTreeMap<String, Family>,
    series: usize,
}

impl Default for CustomMetrics {
    fn default() -> Self {
        Self::new(10_000)
    }
}

impl CustomMetrics {
    /// Metrics with at most this many series; 0 for no limit.
    pub fn new(series_max: usize) -> Self {
        Self { series_max, families: Mutex::default(), dropped: AtomicU64::new(0) }
    }

    /// Adds to a counter, sets a gauge, or adds a duration in seconds to a timer. A value that would make one series
    /// too many is left out and counted.
    ///
    /// # Errors
    /// `InvalidArgument` for names and tags that cannot be shown, and for the name of a metric of another kind.
    pub fn record(&self, kind: MetricKind, name: &str, tags: Vec<(String, String)>, value: f64) -> Result<()> {
        let name = checked_name(name)?;
        let tags = checked_tags(tags)?;
        if !value.is_finite() || (kind != MetricKind::Gauge && value < 0.0) {
            return Err(Error::invalid("A metric's value is a number, and of counters and timers none below 0."));
        }
        let mut families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        let Families { by_name, series } = &mut *families;
        let is_full = self.series_max > 0 && *series >= self.series_max;
        if is_full && !by_name.get(&name).is_some_and(|family| family.series.contains_key(&tags)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let family = by_name.entry(name).or_insert_with(|| Family { kind, series: Series::new() });
        if family.kind != kind {
            return Err(Error::invalid("A metric of another kind has this name already: rename one of them."));
        }
        let before = family.series.len();
        family.series.entry(tags).or_insert_with(|| Reading::new(kind)).add(value);
        *series += family.series.len() - before;
        Ok(())
    }

    /// All metrics, by name.
    pub fn families(&self) -> BTreeMap<String, Family> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner).by_name.clone()
    }

    /// Count of series.
    pub fn series(&self) -> usize {
        self.families.lock().unwrap_or_else(PoisonError::into_inner).series
    }
}

impl Reading {
    fn new(kind: MetricKind) -> Self {
        match kind {
            MetricKind::Counter => Self::Counter(0.0),
            MetricKind::Gauge => Self::Gauge(0.0),
            MetricKind::Timer => Self::Timer { buckets: [0; TIMER_BOUNDS_SEC.len() + 1], sum_sec: 0.0 },
        }
    }

    fn add(&mut self, value: f64) {
        match self {
            Self::Counter(total) => *total += value,
            Self::Gauge(present) => *present = value,
            Self::Timer { buckets, sum_sec } => {
                buckets[TIMER_BOUNDS_SEC.partition_point(|bound| *bound < value)] += 1;
                *sum_sec += value;
            }
        }
    }
}

/// The name as Prometheus allows it: every character but ASCII letters, digits, `_` and `:` is replaced by `_`.
fn checked_name(name: &str) -> Result<String> {
    if name.is_empty() || name.len() > METRIC_TEXT_BYTES_MAX {
        return Err(Error::invalid(format!("A metric's name has 1 to {METRIC_TEXT_BYTES_MAX} bytes.")));
    }
    Ok(name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == ':' { letter } else { '_' }).collect())
}

fn checked_tags(tags: Vec<(String, String)>) -> Result<Vec<(String, String)>> {
    if tags.len() > METRIC_TAGS_MAX {
        return Err(Error::invalid(format!("A metric has at most {METRIC_TAGS_MAX} tags.")));
    }
    let tag = |(name, value): (String, String)| {
        if name.is_empty() || name.len().max(value.len()) > METRIC_TEXT_BYTES_MAX {
            let message =
                format!("A tag's name and value have at most {METRIC_TEXT_BYTES_MAX} bytes, the name at least one.");
            return Err(Error::invalid(message));
        }
        let mut name: String =
            name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        if name.starts_with(|letter: char| letter.is_ascii_digit()) {
            name.insert(0, '_');
        }
        if TAKEN_LABELS.contains(&name.as_str()) {
            name.insert_str(0, "exported_");
        }
        Ok((name, value))
    };
    let mut tags = tags.into_iter().map(tag).collect::<Result<Vec<_>>>()?;
    tags.sort();
    // Different names may have become the same by the replacement of characters.
    tags.dedup_by(|later, former| later.0 == former.0);
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(tags: &[(&str, &str)]) -> Vec<(String, String)> {
        tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn series_too_many_are_left_out_and_counted() {
        let metrics = CustomMetrics::new(2);
        for mode in ["a", "b", "c", "a"] {
            metrics.record(MetricKind::Counter, "games", tags(&[("mode", mode)]), 1.0).unwrap();
        }
        metrics.record(MetricKind::Gauge, "other", Vec::new(), 1.0).unwrap();
        let families = metrics.families();
        assert_eq!(families.keys().collect::<Vec<_>>(), ["games"]);
        assert_eq!(families["games"].series[&tags(&[("mode", "a")])], Reading::Counter(2.0));
        assert_eq!((metrics.series(), metrics.dropped.load(Ordering::Relaxed)), (2, 2));
    }

    #[test]
    fn names_and_tags_are_such_as_prometheus_knows() {
        let metrics = CustomMetrics::default();
        let odd = tags(&[("2nd mode", "x"), ("le", "y"), ("namespace", "z")]);
        metrics.record(MetricKind::Gauge, "my.gauge-1", odd, 2.0).unwrap();
        let expect = tags(&[("_2nd_mode", "x"), ("exported_le", "y"), ("exported_namespace", "z")]);
        assert_eq!(metrics.families()["my_gauge_1"].series[&expect], Reading::Gauge(2.0));
        for (kind, name, value) in [
            (MetricKind::Gauge, "", 1.0),
            (MetricKind::Gauge, "g", f64::NAN),
            (MetricKind::Counter, "c", -1.0),
            (MetricKind::Counter, "my.gauge-1", 1.0),
        ] {
            assert!(metrics.record(kind, name, Vec::new(), value).is_err(), "{name} {value}");
        }
        let many = (0..=METRIC_TAGS_MAX).map(|index| (index.to_string(), String::new())).collect();
        assert!(metrics.record(MetricKind::Gauge, "g", many, 1.0).is_err());
        let long = "x".repeat(METRIC_TEXT_BYTES_MAX + 1);
        assert!(metrics.record(MetricKind::Gauge, &long, Vec::new(), 1.0).is_err());
        assert!(metrics.record(MetricKind::Gauge, "g", tags(&[("t", &long)]), 1.0).is_err());
    }

    #[test]
    fn timers_have_buckets() {
        let metrics = CustomMetrics::default();
        for seconds in [0.001, 0.0011, 61.0] {
            metrics.record(MetricKind::Timer, "t", Vec::new(), seconds).unwrap();
        }
        let Reading::Timer { buckets, sum_sec } = &metrics.families()["t"].series[&Vec::new()] else {
            panic!("a timer")
        };
        assert_eq!((buckets[0], buckets[1], buckets[TIMER_BOUNDS_SEC.len()]), (1, 1, 1));
        assert!((sum_sec - 61.0021).abs() < 1e-9);
    }
}
