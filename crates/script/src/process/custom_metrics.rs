//! What game code counts and measures, for the page of metrics. Bounded in series, names and tags.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use muster_domain::{Error, Result};

/// A longer name of a metric or tag, or value of a tag, is refused.
const METRIC_TEXT_BYTES_MAX: usize = 256;

/// More tags are refused.
const METRIC_TAGS_MAX: usize = 16;

/// Upper bounds of a timer's buckets.
pub const TIMER_BOUNDS_SEC: [f64; 15] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// Labels that a sample has without game code.
const TAKEN_LABELS: [&str; 3] = ["node_name", "namespace", "le"];

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// A total.
    Counter,
    /// A present value.
    Gauge,
    /// A distribution of durations.
    Timer,
}

/// What a series shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The total.
    Counter(f64),
    /// The value.
    Gauge(f64),
    /// Durations by [`TIMER_BOUNDS_SEC`], one bucket more than those, and their sum in seconds.
    Timer {
        /// How many there are of each.
        buckets: [u64; TIMER_BOUNDS_SEC.len() + 1],
        /// Their sum.
        sum_sec: f64,
    },
}

/// Names and values of tags, in order, and what they have come to.
pub type Series = BTreeMap<Vec<(String, String)>, Reading>;

/// All series of a name.
#[derive(Clone, Debug)]
pub struct Family {
    /// What they are.
    pub kind: MetricKind,
    /// The series.
    pub series: Series,
}

/// The metrics that game code makes.
pub struct CustomMetrics {
    /// Most series; 0 for no limit.
    series_max: usize,
    held: Mutex<Held>,
    /// Values that were left out: there were too many series.
    pub dropped: AtomicU64,
}

#[derive(Default)]
struct Held {
    families: BTreeMap<String, Family>,
    series: usize,
}

impl Default for CustomMetrics {
    fn default() -> Self {
        Self::new(10_000)
    }
}

impl CustomMetrics {
    /// With so many series at most; 0 for no limit.
    pub fn new(series_max: usize) -> Self {
        Self { series_max, held: Mutex::default(), dropped: AtomicU64::new(0) }
    }

    /// Adds to a counter, sets a gauge, or notes a duration in seconds. What would be a series too many is left out.
    ///
    /// # Errors
    /// `InvalidArgument` for names and tags that cannot be shown, and when the name is a metric of another kind.
    pub fn record(&self, kind: MetricKind, name: &str, tags: Vec<(String, String)>, value: f64) -> Result<()> {
        let name = checked_name(name)?;
        let tags = checked_tags(tags)?;
        if !value.is_finite() || (kind != MetricKind::Gauge && value < 0.0) {
            return Err(Error::invalid("A metric's value is a number, and of counters and timers none below 0."));
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Held { families, series } = &mut *held;
        let is_full = self.series_max > 0 && *series >= self.series_max;
        if is_full && !families.get(&name).is_some_and(|family| family.series.contains_key(&tags)) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let family = families.entry(name).or_insert_with(|| Family { kind, series: Series::new() });
        if family.kind != kind {
            return Err(Error::invalid("There is a metric of this name and another kind: call one of them otherwise."));
        }
        let before = family.series.len();
        family.series.entry(tags).or_insert_with(|| Reading::new(kind)).add(value);
        *series += family.series.len() - before;
        Ok(())
    }

    /// All of them, by name.
    pub fn families(&self) -> BTreeMap<String, Family> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).families.clone()
    }

    /// How many series there are.
    pub fn series(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).series
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

/// Prometheus knows letters, digits, `_` and `:`; all else becomes `_`.
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
    // Different names may have become the same.
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
