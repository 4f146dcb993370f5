//! A file that is written at the end, but must be writable at the beginning.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use super::error::CompareError;

/// An opened file whose old contents stay until [`OutputFile::write`]. One that did not exist before
/// vanishes again when nothing was written.
#[derive(Debug)]
pub(super) struct OutputFile {
    path: PathBuf,
    file: File,
    remove_on_drop: bool,
}

impl OutputFile {
    /// Opens or creates the file.
    pub(super) fn open(path: &Path) -> Result<Self, CompareError> {
        let existed = path.exists();
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        match file {
            Ok(file) => Ok(Self {
                path: path.to_owned(),
                file,
                remove_on_drop: !existed,
            }),
            Err(error) => Err(CompareError::Output {
                path: path.to_owned(),
                error,
            }),
        }
    }

    /// Replaces the contents.
    pub(super) fn write(mut self, text: &str) -> Result<(), CompareError> {
        self.replace(text).map_err(|error| CompareError::Output {
            path: self.path.clone(),
            error,
        })?;
        self.remove_on_drop = false;
        Ok(())
    }

    fn replace(&mut self, text: &str) -> io::Result<()> {
        // A pipe or a device has no length to cut and no begin to go back to.
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
            self.file.rewind()?;
        }
        self.file.write_all(text.as_bytes())?;
        self.file.write_all(b"\n")
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.remove_on_drop {
            // It was ours and is empty; whoever removed it already did our work.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_contents_stay_until_the_new_are_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        fs::write(&path, "old and rather long").expect("a write");
        drop(OutputFile::open(&path).expect("a file"));
        assert_eq!(
            fs::read_to_string(&path).expect("a file"),
            "old and rather long"
        );
        OutputFile::open(&path)
            .expect("a file")
            .write("new")
            .expect("a write");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new\n");
    }

    #[test]
    fn a_file_that_was_never_written_is_not_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out");
        drop(OutputFile::open(&path).expect("a file"));
        assert!(!path.exists());
    }

    #[test]
    fn an_unwritable_place_is_an_error_with_its_path() {
        let message = OutputFile::open(Path::new("/no/such/folder/x"))
            .expect_err("no folder")
            .to_string();
        assert!(
            message.starts_with("cannot write '/no/such/folder/x': No such file"),
            "{message}"
        );
    }
}
