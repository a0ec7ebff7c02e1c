//! Fuzz targets: decoders, parsers and bridges that get damaged input ([their page](../../../../tests/fuzz/README.md)).
//!
//! A target is a function that gets bytes and asserts what holds for any bytes. [`Fuzz`] calls it with each file of the
//! target's corpus, and with changed ones, which follow from a seed. Every run of the tests has the same seed, and thus
//! the same inputs; a long run has another one. The harness is our own because it must reach private modules, run under
//! `cargo test` with the stable compiler, and bring no dependencies along.

mod coverage;
mod mutate;

use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::random::Random;

/// Variable with the number of seconds for which each target runs, in place of its own number of inputs.
pub const SECONDS_VARIABLE: &str = "MUSTER_FUZZ_SECONDS";
/// Variable with the seed of all targets.
pub const SEED_VARIABLE: &str = "MUSTER_FUZZ_SEED";
/// Variable with the path of a file that holds the current input. For an input that ends the whole process.
pub const TRACE_VARIABLE: &str = "MUSTER_FUZZ_TRACE";

const SEED: u64 = 1;
const RUNS: u32 = 10_000;
const INPUT_BYTES_MAX: usize = 4_096;
/// Most inputs that are changed further.
const POOL_MAX: usize = 1_024;
/// Most characters of an input that are printed.
const SHOWN_CHARS_MAX: usize = 1_000;
/// Most attempts to shorten an input that fails.
const SHORTENINGS_MAX: usize = 2_000;

/// A target and its inputs.
pub struct Fuzz<'a> {
    name: &'a str,
    folder: PathBuf,
    pool: Vec<Vec<u8>>,
    words: Vec<&'a [u8]>,
    runs: u32,
    input_bytes_max: usize,
}

/// Numbers of inputs that a target was called with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// All of them.
    pub inputs: u64,
    /// Those that the target accepted.
    pub accepted: u64,
}

impl<'a> Fuzz<'a> {
    /// A target whose corpus is the folder of this name in `tests/fuzz/corpus`.
    ///
    /// # Panics
    /// When the folder cannot be read or is empty.
    pub fn new(name: &'a str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus").join(name);
        let pool = corpus(&folder);
        assert!(!pool.is_empty(), "the corpus {} is empty", folder.display());
        Self { name, folder, pool, words: Vec::new(), runs: RUNS, input_bytes_max: INPUT_BYTES_MAX }
    }

    /// Adds inputs that a test makes.
    #[must_use]
    pub fn seeds<T: Into<Vec<u8>>>(mut self, seeds: impl IntoIterator<Item = T>) -> Self {
        self.pool.extend(seeds.into_iter().map(Into::into));
        self
    }

    /// Words that mean something to the target. They are put into inputs.
    #[must_use]
    pub fn words(mut self, words: &[&'a str]) -> Self {
        self.words.extend(words.iter().map(|word| word.as_bytes()));
        self
    }

    /// Number of inputs in every run of the tests, [`RUNS`] otherwise.
    #[must_use]
    pub fn runs(mut self, runs: u32) -> Self {
        self.runs = runs;
        self
    }

    /// Bytes of the longest input, [`INPUT_BYTES_MAX`] otherwise.
    #[must_use]
    pub fn input_bytes_max(mut self, bytes: usize) -> Self {
        self.input_bytes_max = bytes;
        self
    }

    /// Calls the target with all inputs. The target answers whether it accepted the input: accepted ones are changed
    /// further, and so are those that reach new code if the program was built to tell that.
    ///
    /// # Panics
    /// With the input, when the target panics. A long run shortens the input and keeps it in the corpus first.
    pub fn run(mut self, check: impl Fn(&[u8]) -> bool) -> Tried {
        let seed = number(SEED_VARIABLE).unwrap_or(SEED);
        let seconds = number(SECONDS_VARIABLE);
        let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let trace = std::env::var_os(TRACE_VARIABLE);
        let mut pool = std::mem::take(&mut self.pool);
        let mut tried = Tried::default();
        let mut seen = coverage::Seen::default();
        let mut attempt = |input: &[u8], tried: &mut Tried| {
            if let Some(trace) = &trace {
                // A failed write shows in the file, which then holds another input.
                let _ = fs::write(trace, input);
            }
            coverage::clear();
            let is_accepted = catch_unwind(AssertUnwindSafe(|| check(input))).unwrap_or_else(|panic| {
                self.report(input, seed, tried.inputs, seconds.is_some(), &check);
                resume_unwind(panic)
            });
            tried.inputs += 1;
            tried.accepted += u64::from(is_accepted);
            seen.take_new().unwrap_or(is_accepted)
        };
        for input in &pool {
            attempt(input, &mut tried);
        }
        let (kept, random) = (pool.len(), &mut Random::new(seed));
        loop {
            let is_over = until.map_or(tried.inputs >= u64::from(self.runs), |until| Instant::now() >= until);
            if is_over {
                break;
            }
            let input = mutate::mutate(random, &pool, &self.words, self.input_bytes_max);
            if !attempt(&input, &mut tried) {
                continue;
            }
            if pool.len() < POOL_MAX.max(2 * kept) {
                pool.push(input);
            } else {
                let place = kept + random.below(pool.len() - kept);
                pool[place] = input;
            }
        }
        if seconds.is_some() {
            let Tried { inputs, accepted } = tried;
            let edges = seen.edges();
            // A long run is read by whoever started it (`-- --nocapture`).
            eprintln!("{}: {inputs} inputs, {accepted} accepted, {} kept, {edges} edges", self.name, pool.len());
        }
        tried
    }

    fn report(&self, input: &[u8], seed: u64, number: u64, is_long: bool, check: &impl Fn(&[u8]) -> bool) {
        let mut told = format!("the fuzz target {} fails at input {number} of seed {seed}", self.name);
        if is_long {
            let input = shortened(input, check);
            let path = self.folder.join(format!("found-{:016x}", mutate::hash(&input)));
            let kept = fs::write(&path, &input).map_or_else(|error| error.to_string(), |()| path.display().to_string());
            let _ = write!(told, ", kept as {kept}: \"{}\"", shown(&input));
        } else {
            let _ = write!(
                told,
                ": \"{}\". `{SEED_VARIABLE}={seed} {SECONDS_VARIABLE}=600 cargo test …` shortens and keeps it",
                shown(input)
            );
        }
        eprintln!("{told}");
    }
}

/// The files of a corpus, in the order of their names.
fn corpus(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).collect()
}

/// The beginning of an input, for people.
fn shown(input: &[u8]) -> String {
    input.escape_ascii().map(char::from).take(SHOWN_CHARS_MAX).collect()
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a whole number, and not {text}")))
}

/// A shorter input that fails, too.
fn shortened(input: &[u8], check: &impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut shortest, mut step, mut left) = (input.to_vec(), input.len().div_ceil(2), SHORTENINGS_MAX);
    while step > 0 {
        let mut at = 0;
        while at < shortest.len() && left > 0 {
            left -= 1;
            let mut shorter = shortest.clone();
            shorter.drain(at..(at + step).min(shortest.len()));
            if catch_unwind(AssertUnwindSafe(|| check(&shorter))).is_err() {
                shortest = shorter;
            } else {
                at += step;
            }
        }
        step /= 2;
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_the_same_inputs_and_finds_what_is_wrong() {
        let run = || {
            let all = std::cell::RefCell::new(Vec::new());
            let tried = Fuzz::new("harness").words(&["word"]).runs(2_000).run(|input| {
                all.borrow_mut().push(input.to_vec());
                input.contains(&b'w')
            });
            (all.into_inner(), tried)
        };
        let (inputs, tried) = run();
        assert_eq!((inputs.len() as u64, tried), (tried.inputs, run().1));
        assert!(tried.accepted > 500 && tried.accepted < tried.inputs, "{tried:?}");
        assert!(inputs.iter().any(|input| input.windows(4).any(|part| part == b"word")));
        let wrong = |input: &[u8]| {
            assert!(!input.starts_with(b"wo"));
            true
        };
        let found = catch_unwind(|| Fuzz::new("harness").words(&["wo"]).run(wrong));
        assert!(found.is_err(), "the input was not found");
        assert_eq!(shortened(b"world and more", &wrong), b"wo");
    }
}
