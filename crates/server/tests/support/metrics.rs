//! The metrics page, parsed.

use std::collections::HashMap;

/// The samples of a page by name and, where there are any, labels of their own: `name` or `name{label="value"}`.
pub struct Page(HashMap<String, f64>);

impl Page {
    pub fn parse(text: &str) -> Self {
        let samples = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let (key, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = key.split_once('{').unwrap();
            let own: Vec<_> = labels
                .trim_end_matches('}')
                .split(',')
                .filter(|label| !label.starts_with("node_name=") && !label.starts_with("namespace="))
                .collect();
            let key = if own.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", own.join(",")) };
            (key, value.parse().unwrap())
        });
        Self(samples.collect())
    }

    /// Value of a sample; 0 if the page does not have it, since counters of events that never happened may be left out.
    pub fn value(&self, name: &str) -> f64 {
        self.0.get(&format!("nakama_{name}")).copied().unwrap_or(0.0)
    }

    /// Value of a metric that game code makes.
    pub fn custom(&self, name: &str) -> f64 {
        self.0.get(&format!("custom_{name}")).copied().unwrap_or(0.0)
    }

    /// Number of sockets that closed for a reason.
    pub fn closed_for(&self, reason: &str) -> f64 {
        self.value(&format!("socket_close_count{{reason=\"{reason}\"}}"))
    }

    /// The metrics of limits that somebody has met, with their values.
    pub fn limits_met(&self) -> Vec<(&str, f64)> {
        let words = [
            "limited",
            "refused",
            "slowed",
            "evicted",
            "dropped",
            "discarded",
            "too_big",
            "too_slow",
            "unsent",
            "socket_held",
            "accept_pause",
            "_cut_",
            "queue_full",
            "over_host_calls",
        ];
        let is_limit = |name: &str| words.iter().any(|word| name.contains(word));
        let met = self.0.iter().filter(|(name, value)| is_limit(name) && **value > 0.0);
        met.map(|(name, value)| (name.as_str(), *value)).collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(&format!("nakama_{name}"))
    }
}
