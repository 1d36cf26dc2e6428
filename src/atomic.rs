//! Files. Writes are atomic: a reader, or the next start after a crash, sees either the old content or the new content. Reads end.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

/// The largest file that is read.
const LARGEST: u64 = 16 << 20;
/// How the name of a temporary file begins.
const BESIDE: &str = ".toolglot-";
/// A write takes no longer.
const UNFINISHED: Duration = Duration::from_secs(60);
/// How long to wait for a process that holds a file, and how often to look.
const HELD: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Writes a file in one step. A link is followed. An existing file keeps its permissions. A new file, and every folder created
/// for it, can be read by its owner only (0600 and 0700).
///
/// # Errors
/// A folder or the file cannot be created, written or replaced. The old content then stays.
pub fn write(file: &Path, content: &[u8]) -> io::Result<()> {
    let (target, folder) = place(file)?;
    // A temporary file is for its owner only, and is removed if anything below fails.
    let mut beside = tempfile::Builder::new().prefix(BESIDE).tempfile_in(&folder)?;
    if let Ok(old) = fs::metadata(&target) {
        beside.as_file().set_permissions(old.permissions())?;
    }
    beside.write_all(content)?;
    beside.as_file().sync_all()?;
    beside.persist(&target)?;
    Ok(())
}

/// Where a file is, if it is a link, and its folder, which is made.
fn place(file: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let target = match fs::canonicalize(file) {
        Err(error) if file.is_symlink() => return Err(io::Error::new(error.kind(), "it is a link that leads to no file")),
        found => found.unwrap_or_else(|_| file.to_owned()),
    };
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    make_folder(&folder)?;
    Ok((target, folder))
}

/// Keeps other processes from changing a file until the result is dropped. The lock is a file beside it, because a write replaces
/// the file itself.
///
/// # Errors
/// Somebody else holds it for long; the file beside it cannot be made.
pub fn lock(file: &Path) -> io::Result<fs::File> {
    let (target, folder) = place(file)?;
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let lock = options.open(folder.join(format!(".{}.lock", target.file_name().unwrap_or_default().display())))?;
    let begun = Instant::now();
    loop {
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) if begun.elapsed() < HELD => std::thread::sleep(LOOK_AGAIN),
            Err(fs::TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process of toolglot is changing it"));
            }
            // A file system without locks.
            Err(fs::TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
            _ => return Ok(lock),
        }
    }
}

/// The text of a file. What is not a regular file is an error, because reading it might never end; `<(..)` of a shell is read.
///
/// # Errors
/// It cannot be read, is too large, or is not UTF-8.
pub fn read(file: &Path) -> io::Result<String> {
    String::from_utf8(read_bytes(file)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// The same for what need not be text.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn read_bytes(file: &Path) -> io::Result<Vec<u8>> {
    let said = |kind, text: String| Err(io::Error::new(kind, text));
    if !fs::metadata(file)?.is_file() && !file.starts_with("/dev/fd") && file != Path::new("/dev/null") {
        return said(io::ErrorKind::InvalidInput, "it is not a regular file".into());
    }
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return said(io::ErrorKind::FileTooLarge, format!("it is larger than {} MiB", LARGEST >> 20));
    }
    Ok(bytes)
}

/// Removes the temporary files that a process left in this folder when it was killed. One that is younger than a minute may
/// belong to a write of another process.
pub fn clear(folder: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let modified = entry.metadata().and_then(|data| data.modified());
        modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > UNFINISHED))
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(BESIDE.as_bytes()) && is_old(&entry) {
            // Somebody else may have been faster.
            let _ = fs::remove_file(entry.path());
        }
    }
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

    #[cfg(unix)]
    #[test]
    fn what_might_never_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        for endless in [&file, Path::new("/dev/zero"), folder.path()] {
            assert_eq!(read(endless).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{}", endless.display());
        }
        let large = folder.path().join("large");
        fs::File::create(&large).unwrap().set_len(LARGEST + 1).unwrap();
        assert_eq!(read(&large).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(Path::new("/dev/null")).unwrap(), "");
    }

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

    #[test]
    fn what_a_killed_process_left_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - UNFINISHED * 2;
        for (name, is_old) in [(".toolglot-abc", true), (".toolglot-def", false), ("mcp.json", true)] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        clear(folder.path());
        let left = |name: &str| folder.path().join(name).exists();
        assert_eq!((left(".toolglot-abc"), left(".toolglot-def"), left("mcp.json")), (false, true, true));
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
