//! Satori, the original maker's service for live operations.

use super::{Go, HostFunction, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] =
    &[HostFunction { go: Go::by_hand("GetSatori"), ..not_yet("get_satori") }];
