//! Files in the folder of the modules, and the part of the configuration that game code may read.

use std::io::Read as _;
use std::path::Path;

use muster_domain::{Error, ErrorKind, Result};

use super::{EffectClass, GoShape, HostFunction, ROW, Run, Type, only, required};
use crate::value::Value;

/// The largest number of bytes of a file that game code may read.
const READ_BYTES_MAX: u64 = 16 << 20;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "file_read",
        doc: "Reads a file in the folder of the modules or below it.",
        parameters: &[required("path", Type::Text)],
        results: &[only(Type::Text)],
        answers: "the content of the file",
        errors: &[(ErrorKind::NotFound, "there is no such file")],
        effect: EffectClass::Reads,
        go: GoShape::by_hand("ReadFile"),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let path = arguments.text()?;
                let process = host.process.clone();
                host.process.background.run(move || read(process.folder.as_deref(), &path)).await?.map(Value::Bytes)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "get_config",
        doc: "Reads the part of the server's configuration that game code may need.",
        results: &[only(Type::Object)],
        answers: "name, shutdown_grace_sec, logger, session, socket and runtime, each of the last four with its settings",
        effect: EffectClass::Reads,
        run: Run::Now(|host, _| Ok(host.process.config.clone())),
        ..ROW
    },
];

/// Reads a file. Links are followed as long as they stay in the folder. A path that leads out of the folder is answered
/// like a path that does not exist, so that game code learns nothing of other folders.
fn read(folder: Option<&Path>, path: &str) -> Result<Vec<u8>> {
    let missing = || Error::new(ErrorKind::NotFound, format!("there is no file {path} in the folder of the modules"));
    let failed = |error: std::io::Error| Error::new(ErrorKind::Internal, format!("cannot read {path}: {error}"));
    let folder = folder.and_then(|folder| folder.canonicalize().ok()).ok_or_else(missing)?;
    let file = folder.join(path).canonicalize().ok().filter(|file| file.starts_with(&folder)).ok_or_else(missing)?;
    // Only plain files are read, because reading a pipe or a device may never end.
    let length = std::fs::metadata(&file).ok().filter(std::fs::Metadata::is_file).ok_or_else(missing)?.len();
    if length > READ_BYTES_MAX {
        return Err(Error::invalid(format!("{path} has more than {READ_BYTES_MAX} bytes")));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    let file = std::fs::File::open(&file).map_err(failed)?;
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
