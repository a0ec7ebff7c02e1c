//! Arbitrary values of every type of field. The same seed always gives the same values.

use std::collections::BTreeMap;

use bytes::Bytes;
pub use muster_testenv::Random;
use muster_wire::Timestamp;

/// A type whose arbitrary values can be generated.
pub trait Arbitrary {
    fn arbitrary(random: &mut Random) -> Self;
}

impl Arbitrary for bool {
    fn arbitrary(random: &mut Random) -> Self {
        random.below(2) == 1
    }
}

macro_rules! arbitrary_integer {
    ($($type:ty),*) => {$(
        impl Arbitrary for $type {
            fn arbitrary(random: &mut Random) -> Self {
                match random.below(5) {
                    0 => 0,
                    1 => <$type>::MIN,
                    2 => <$type>::MAX,
                    3 => random.below(5) as $type,
                    _ => random.number() as $type,
                }
            }
        }
    )*};
}

arbitrary_integer!(i32, u32, i64);

impl Arbitrary for f64 {
    fn arbitrary(random: &mut Random) -> Self {
        match random.below(4) {
            0 => random.pick(&[0.0, -0.0, 1.5, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY]),
            1 => random.below(1000) as f64,
            // NaN is left out, because it does not equal itself.
            _ => Some(f64::from_bits(random.number())).filter(|value| !value.is_nan()).unwrap_or(0.1),
        }
    }
}

impl Arbitrary for String {
    fn arbitrary(random: &mut Random) -> Self {
        const PIECES: [&str; 14] =
            ["", "a", "user_1", "\"", "\\", "/", "\n", "\u{0}", "\u{1f}", "\u{7f}", "ä", "東", "🎲", "{\"k\":[1]}"];
        (0..random.below(6)).map(|_| random.pick(&PIECES)).collect()
    }
}

impl Arbitrary for Bytes {
    fn arbitrary(random: &mut Random) -> Self {
        (0..random.below(20)).map(|_| random.number().to_le_bytes()[0]).collect()
    }
}

impl Arbitrary for Timestamp {
    fn arbitrary(random: &mut Random) -> Self {
        const SECONDS_MIN: i64 = -62_135_596_800;
        const SECONDS_COUNT: usize = 315_537_897_600;
        let nanos = random.pick(&[0, 1, 120_000_000, 123_456_000, 999_999_999]);
        Timestamp { seconds: SECONDS_MIN + random.below(SECONDS_COUNT) as i64, nanos }
    }
}

impl<T: Arbitrary> Arbitrary for Option<T> {
    fn arbitrary(random: &mut Random) -> Self {
        bool::arbitrary(random).then(|| T::arbitrary(random))
    }
}

impl<T: Arbitrary> Arbitrary for Vec<T> {
    fn arbitrary(random: &mut Random) -> Self {
        (0..random.below(4)).map(|_| T::arbitrary(random)).collect()
    }
}

impl<T: Arbitrary> Arbitrary for BTreeMap<String, T> {
    fn arbitrary(random: &mut Random) -> Self {
        (0..random.below(4)).map(|_| (String::arbitrary(random), T::arbitrary(random))).collect()
    }
}
