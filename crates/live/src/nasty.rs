//! Filters and texts made to cost as much as they can, from seeds, and the generator of all tests of this crate. A
//! search keeps the dearest filter and changes it.

/// A small seeded generator (SplitMix64).
pub(crate) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Values of terms, the dearest first. Some fit most texts of [`text`], some none.
const VALUES: [&str; 14] = [
    "/(.*){20}b/",
    "/(?:.*){80}b/",
    "/(?:.|a|aa|aaa){15}b/",
    "/(?:.{0,9}a){8}/",
    "/((a?){12}){3}(a){12}/",
    "*aaaaaaaaaaaaaaaaab",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaab~2",
    "/(?:.*){20}/",
    "/a*/",
    "a*",
    ">\"2024-01-01\"",
    "aaa",
    ">=3",
    "*",
];

/// A text of at most `len_max` bytes, mostly of one letter.
pub(crate) fn text(random: &mut Random, len_max: usize) -> String {
    let len = random.pick(&[1, 20, 100, 400, 1_000, len_max]).min(len_max);
    let mut text = "a".repeat(len);
    if random.below(4) == 0 {
        text.pop();
        text.push_str(random.pick(&["b", "c"]));
    }
    text
}

/// A term about one of these fields, or about all.
fn term(random: &mut Random, fields: &[&str]) -> String {
    let sign = random.pick(&["+", "-", "-", ""]);
    let value = random.pick(&VALUES);
    match random.below(4) {
        0 if !value.starts_with('>') => format!("{sign}{value}"),
        _ => format!("{sign}{}:{value}", random.pick(fields)),
    }
}

/// Joins terms as far as they are one query of at most `len_max` bytes.
fn joined(terms: &[String], len_max: usize) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for term in terms {
        kept.push(term.clone());
        let text = kept.join(" ");
        if text.len() > len_max || muster_domain::query::Query::parse(&text).is_err() {
            kept.pop();
        }
    }
    kept
}

/// A search for the filter that costs most.
pub(crate) struct Search<'a> {
    fields: &'a [&'a str],
    len_max: usize,
    dearest: (u64, Vec<String>),
    tried: Vec<String>,
}

impl<'a> Search<'a> {
    pub fn new(fields: &'a [&'a str], len_max: usize) -> Self {
        Self { fields, len_max, dearest: (0, Vec::new()), tried: Vec::new() }
    }

    /// The next filter to try: the dearest so far with a change, or a new one.
    pub fn next(&mut self, random: &mut Random) -> String {
        let mut terms = if random.below(3) > 0 { self.dearest.1.clone() } else { Vec::new() };
        for _ in 0..random.pick(&[1, 3, 16, 40]) {
            if !terms.is_empty() && random.below(3) == 0 {
                terms.remove(random.below(terms.len()));
            } else {
                let place = random.below(terms.len() + 1);
                terms.insert(place, term(random, self.fields));
            }
        }
        self.tried = joined(&terms, self.len_max);
        self.tried.join(" ")
    }

    /// Notes the work of the filter that was tried last.
    pub fn note(&mut self, units: u64) {
        if units > self.dearest.0 {
            self.dearest = (units, self.tried.clone());
        }
    }

    /// The most work so far.
    pub fn most(&self) -> u64 {
        self.dearest.0
    }
}
