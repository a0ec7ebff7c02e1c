//! Logs: their level, outputs and format.

use std::path::PathBuf;

use super::super::{
    key::{Key, Kind, Origin, at_least, honoured},
    read::choice,
};

choice! {
    /// The lowest level that is written.
    pub enum LogLevel {
        /// Events that operators want to know of.
        Info = "info",
        /// Details for finding faults.
        Debug = "debug",
        /// Events that may need attention.
        Warn = "warn",
        /// Faults.
        Error = "error",
    }
}

choice! {
    /// Format of log lines.
    pub enum LogFormat {
        /// `Human` on a terminal, `Json` otherwise.
        Auto = "auto",
        /// For people.
        Human = "human",
        /// One JSON object per line.
        Json = "json",
        /// Not built yet: written as JSON, and reported.
        Stackdriver = "stackdriver",
    }
}

honoured! {
    /// Logs.
    pub struct Logger in "logger." {
        /// The lowest level that is written.
        level: LogLevel = "info", LogLevel::KIND;
        /// Write to standard output.
        stdout: bool = "true", Kind::Flag;
        /// File to which lines are also appended, as JSON unless `logger.format` is `human`. Tools that rotate by
        /// copying and truncating work with it.
        file: Option<PathBuf> = "", Kind::Path;
        /// `auto` is `human` on a terminal and `json` otherwise. `stackdriver` is not built yet and writes JSON.
        format: LogFormat = "auto", LogFormat::KIND, Origin::Differs { original: "json", why: "people read terminals" };
    }
}

const ROTATION: &str = "log rotation; rotate the file by the system's own means";

/// Rows of this group that are not honoured.
pub const OTHERS: &[Key] = &[
    Key::not_yet("logger.rotation", Kind::Flag, "false", ROTATION, "Rotate the log file."),
    Key::not_yet("logger.max_size", at_least(0), "100", ROTATION, "Size at which the file is rotated, in megabytes."),
    Key::not_yet(
        "logger.max_age",
        at_least(0),
        "0",
        ROTATION,
        "Age at which old files are removed, in days; 0 for never.",
    ),
    Key::not_yet(
        "logger.max_backups",
        at_least(0),
        "0",
        ROTATION,
        "Largest number of old files that are kept; 0 for all.",
    ),
    Key::not_yet("logger.local_time", Kind::Flag, "false", ROTATION, "Name old files by local time instead of UTC."),
    Key::not_yet("logger.compress", Kind::Flag, "false", ROTATION, "Compress old files."),
];
