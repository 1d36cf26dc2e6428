//! Atomic writes: a reader, or the next start after a crash, sees either the old content or the new content.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

/// Writes a file in one step. A link is followed. An existing file keeps its permissions. A new file, and every folder created
/// for it, can be read by its owner only (0600 and 0700).
///
/// # Errors
/// A folder or the file cannot be created, written or replaced. The old content then stays.
pub fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let target = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    // A temporary file is for its owner only, and is removed if anything below fails.
    let mut beside = tempfile::Builder::new().prefix(".toolglot-").tempfile_in(folder)?;
    if let Ok(old) = fs::metadata(&target) {
        beside.as_file().set_permissions(old.permissions())?;
    }
    beside.write_all(content)?;
    beside.as_file().sync_all()?;
    beside.persist(&target)?;
    Ok(())
}

/// Creates a folder, if it does not exist, for its owner only (0700).
///
/// # Errors
/// It cannot be created.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/er/file.txt");
        for content in ["one", "two, longer", ""] {
            write(&file, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), content);
        }
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        // What cannot be replaced leaves nothing behind either.
        assert!(write(file.parent().unwrap(), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path().join("deep")).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_what_is_new_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/file");
        write(&file, b"x").unwrap();
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        write(&file, b"y").unwrap();
        assert_eq!(mode(&file), 0o644);
    }
}
