//! Prints `docs/reference/operations.md`; run by `cargo xtask codegen`.

fn main() {}
