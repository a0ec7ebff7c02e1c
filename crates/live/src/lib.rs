//! The in-memory plane of Muster as a state machine.
