//! Satori, the original maker's service for live operations.

use super::{GoShape, HostFunction, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] =
    &[HostFunction { go: GoShape::by_hand("GetSatori"), ..not_yet("get_satori") }];
