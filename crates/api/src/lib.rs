//! Operations of Muster without sockets: one pipeline, one file per feature.
