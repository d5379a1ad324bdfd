//! Atomic reading and replacement of whole files.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use tempfile::NamedTempFile;

use super::Reader;
use crate::error::{Error, Result};

/// Names of temporary files are this, [`RANDOM`] letters and [`SUFFIX`].
const PREFIX: &str = ".kernelstream-";
const SUFFIX: &str = ".tmp";
const RANDOM: usize = 6;

/// Most symbolic links followed, as in the system.
const MOST_LINKS: usize = 40;

/// Writes `bytes` to `path` atomically: to a temporary file beside it, then renamed over it.
/// Readers see the old file or the new one, whole.
///
/// Only a regular file is replaced: a symbolic link is followed, so that it stays one, and anything else
/// (a folder, a device, a pipe) is refused. A replaced file keeps its permissions, a new one has those that
/// the umask leaves. What processes killed in the middle of a save left in the folder is removed.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |source| Error::Io { path: path.display().to_string(), source };
    let target = followed(path).map_err(failed)?;
    let old = match fs::metadata(&target) {
        Ok(old) if !old.is_file() => {
            let what = if old.is_dir() { "a folder" } else { "a device or pipe" };
            let reason = format!("it is {what}; a model can only replace a regular file");
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        old => old.ok(),
    };
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The error names the missing folder, not a temporary file in it.
    fs::metadata(folder).map_err(|source| Error::Io { path: folder.display().to_string(), source })?;
    remove_leftovers(folder);
    let file = new_temporary(folder).map_err(failed)?;
    // Its own errors would name the temporary file, and lose the system's error number.
    file.as_file().write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    file.persist(&target).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Reads a whole file, which must be regular: a pipe can be read once only, and a model is read
/// twice.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    let failed = |source| Error::Io { path: path.display().to_string(), source };
    let kind = fs::metadata(path).map_err(failed)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        let reason = "it is a device or pipe; copy what it gives into a file first";
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
    }
    fs::read(path).map_err(failed)
}

/// The kind of model in a file.
pub fn kind_of(path: &Path) -> Result<String> {
    Ok(Reader::open(&read_file(path)?)?.kind().to_owned())
}

/// The target of symbolic links, whether it exists or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            // An absolute link replaces the path, a relative one starts in the link's folder.
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("its symbolic links lead in a circle"))
}

/// A temporary file with the user's usual permissions, locked while it is open: the lock
/// distinguishes it from a leftover of a killed process.
fn new_temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let file = builder.tempfile_in(folder)?;
        // In a file system without locks no leftovers are removed.
        let _ = file.as_file().try_lock();
        // Before the lock another process may have removed it as a leftover.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes temporary files in `folder` that no process holds, once for each process and folder.
fn remove_leftovers(folder: &Path) {
    static CLEANED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
    let first = CLEANED.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
    let Some(entries) = first.then(|| fs::read_dir(folder).ok()).flatten() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_temporary = name.to_str().is_some_and(|name| {
            name.len() == PREFIX.len() + RANDOM + SUFFIX.len()
                && name.starts_with(PREFIX)
                && name.ends_with(SUFFIX)
        });
        if is_temporary && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let unused = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            if unused {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn leftovers(folder: &Path) -> usize {
        let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().starts_with(PREFIX)).count()
    }

    #[test]
    fn a_link_stays_a_link_and_what_it_leads_to_is_replaced() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (link, file) = (folder.path().join("link"), folder.path().join("inner").join("file"));
        fs::create_dir(folder.path().join("inner"))?;
        symlink("inner/file", &link)?;
        for text in ["new", "newer"] {
            write_file(&link, text.as_bytes()).map_err(io::Error::other)?;
            assert!(fs::symlink_metadata(&link)?.file_type().is_symlink());
            assert_eq!(fs::read_to_string(&file)?, text);
        }
        symlink("b", folder.path().join("a"))?;
        symlink("a", folder.path().join("b"))?;
        let error = write_file(&folder.path().join("a"), b"").unwrap_err().to_string();
        assert!(error.contains("circle"), "{error}");
        assert_eq!(leftovers(folder.path()) + leftovers(&folder.path().join("inner")), 0);
        Ok(())
    }

    #[test]
    fn what_is_no_regular_file_is_refused_and_stays() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let error = write_file(folder.path(), b"x").unwrap_err().to_string();
        assert!(error.contains("a folder"), "{error}");
        let error = write_file(Path::new("/dev/null"), b"x").unwrap_err().to_string();
        assert!(error.contains("a device or pipe"), "{error}");
        assert!(fs::metadata("/dev/null")?.file_type().is_char_device());
        let error = read_file(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(error.contains("a device or pipe"), "{error}");
        let missing = folder.path().join("missing");
        let error = write_file(&missing.join("file"), b"x").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", missing.display())), "{error}");
        Ok(())
    }

    #[test]
    fn a_new_file_has_the_permissions_of_any_other_and_an_old_one_keeps_its_own() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let mode = |path: &Path| fs::metadata(path).map(|data| data.permissions().mode() & 0o777);
        let (plain, path) = (folder.path().join("plain"), folder.path().join("model"));
        fs::write(&plain, b"")?;
        write_file(&path, b"new").map_err(io::Error::other)?;
        assert_eq!(mode(&path)?, mode(&plain)?);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
        write_file(&path, b"newer").map_err(io::Error::other)?;
        assert_eq!(mode(&path)?, 0o640);
        Ok(())
    }

    #[test]
    fn leftovers_of_killed_processes_go_and_files_being_written_stay() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let in_use = new_temporary(folder.path())?;
        let killed = folder.path().join(format!("{PREFIX}abcdef{SUFFIX}"));
        let not_ours = folder.path().join(format!("{PREFIX}of-the-user{SUFFIX}"));
        for path in [&killed, &not_ours] {
            fs::write(path, b"half")?;
        }
        write_file(&folder.path().join("model"), b"whole").map_err(io::Error::other)?;
        assert!(!killed.exists() && not_ours.exists() && in_use.path().exists());
        Ok(())
    }
}
