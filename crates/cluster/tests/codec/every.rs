//! Values of every kind of an enum, and a compiler that says so when one is missing.

use crate::random::Random;

/// An enum of which one value of each kind can be made, with the kind's name.
pub trait Every: Sized {
    fn every(random: &mut Random) -> Vec<(&'static str, Self)>;
}

/// Makes values of every variant. A variant without a line does not compile.
macro_rules! every {
    ($type:ty, $random:ident, $($pattern:pat => $value:expr),+ $(,)?) => {
        impl $crate::every::Every for $type {
            #[allow(unused_variables)]
            fn every($random: &mut $crate::random::Random) -> Vec<(&'static str, Self)> {
                // Nothing but that all are named.
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

/// Values of structs, field by field.
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
