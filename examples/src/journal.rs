//! What a server really did, in its own words, so that the gate's word can be held against it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

/// A server's list of what it did. Reads are not in it.
#[derive(Debug)]
pub struct Journal(Option<File>);

impl Journal {
    /// A journal where hosts look for the words of a server.
    pub const fn to_stderr() -> Self {
        Self(None)
    }

    /// A journal that goes on in a file.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn in_file(path: &OsStr) -> anyhow::Result<Self> {
        let file = File::options().append(true).create(true).open(path);
        let file =
            file.with_context(|| format!("the journal `{}` cannot be opened", Path::new(path).display()))?;
        Ok(Self(Some(file)))
    }

    /// Writes down what was just done.
    pub fn write(&self, what: &str) {
        let written = match &self.0 {
            Some(file) => writeln!(&mut &*file, "{what}"),
            None => writeln!(std::io::stderr().lock(), "{what}"),
        };
        if let Err(error) = written {
            eprintln!("the journal cannot be written: {error}");
        }
    }
}
