//! A text -> a file that is either the old one or the new one, never half of it, readable by nobody new.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

/// Writes the text beside the file and puts it in its place. A link stays a link; the permissions stay, a new file is for
/// its owner only (it may hold keys).
pub(super) fn atomically(file: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written = private(&beside).and_then(|mut new| {
        if let Ok(old) = fs::metadata(&target) {
            new.set_permissions(old.permissions())?;
        }
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&beside, &target)
    });
    if written.is_err() {
        // The error is what counts; a leftover is replaced next time.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn private(file: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}
