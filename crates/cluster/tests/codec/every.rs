//! Values of every variant of an enum; the compiler reports a missing variant.

use crate::random::Random;

/// An enum that can make one value of each variant, with the variant's name.
pub trait Every: Sized {
    fn every(random: &mut Random) -> Vec<(&'static str, Self)>;
}

/// Implements [`Every`]. A variant without a line does not compile.
macro_rules! every {
    ($type:ty, $random:ident, $($pattern:pat => $value:expr),+ $(,)?) => {
        impl $crate::every::Every for $type {
            #[allow(unused_variables)]
            fn every($random: &mut $crate::random::Random) -> Vec<(&'static str, Self)> {
                // The match only makes the compiler check that all variants are listed.
                let _ = |value: &$type| match value { $($pattern => {}),+ };
                vec![$((stringify!($pattern), $value)),+]
            }
        }

        impl $crate::random::Arbitrary for $type {
            fn arbitrary(random: &mut $crate::random::Random) -> Self {
                #[allow(unused_variables)]
                let choices: &[fn(&mut $crate::random::Random) -> Self] = &[$(|$random| $value),+];
                choices[random.below(choices.len())](random)
            }
        }
    };
}
pub(crate) use every;

/// Implements [`Arbitrary`] for structs, field by field.
macro_rules! fields {
    ($type:ty, $random:ident => $value:expr) => {
        impl $crate::random::Arbitrary for $type {
            fn arbitrary($random: &mut $crate::random::Random) -> Self {
                $value
            }
        }
    };
}
pub(crate) use fields;
