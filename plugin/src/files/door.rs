//! The one door through which files are read: regular files only, opened once and asked by descriptor, never more than is
//! allowed.
//!
//! A device or a pipe may never end, and a name may lead elsewhere by the time it is used. So a file is opened without
//! waiting for anybody, and what is open is asked what it is. A file that must be inside a folder is opened step by step
//! from that folder, and a link on the way there that was not there a moment ago is refused.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// Why a file was not read.
#[derive(Debug)]
pub enum Unread {
    /// The system would not.
    Io(io::Error),
    /// It is a folder, device, pipe or socket.
    Irregular,
    /// It has more bytes than are allowed.
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// How many are allowed.
        most: u64,
    },
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unread::Io(error) => write!(f, "{error}"),
            Unread::Irregular => f.write_str("is not a regular file (a folder, device or pipe)"),
            Unread::TooLarge { bytes, most } => write!(f, "has {bytes} bytes, where {most} are allowed"),
        }
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Unread {
        Unread::Io(error)
    }
}

impl From<Unread> for io::Error {
    fn from(unread: Unread) -> io::Error {
        match unread {
            Unread::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidInput, other.to_string()),
        }
    }
}

/// Opens a regular file wherever it is; links are followed.
pub fn open_regular(path: &Path) -> Result<(File, Metadata), Unread> {
    regular(open(path)?)
}

/// Opens a regular file inside a folder, by its way from there: names only. Neither way nor folder may be a link.
pub fn open_inside(folder: &Path, way: &Path) -> Result<(File, Metadata), Unread> {
    regular(open_below(folder, way)?)
}

/// All bytes of a regular file that has no more than `most` of them.
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>, Unread> {
    read_all(open_regular(path)?, most)
}

/// All bytes of an open file, as many as it had when it was opened.
pub(crate) fn read_all((file, about): (File, Metadata), most: u64) -> Result<Vec<u8>, Unread> {
    if about.len() > most {
        return Err(Unread::TooLarge { bytes: about.len(), most });
    }
    let mut bytes = Vec::new();
    let length = usize::try_from(about.len()).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    bytes.try_reserve_exact(length).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    file.take(about.len()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether two files hold the same.
pub(crate) fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (open_regular(a).map_err(io::Error::from)?, open_regular(b).map_err(io::Error::from)?);
    same_open(a, b)
}

/// The same of open files.
pub(crate) fn same_open(a: (File, Metadata), b: (File, Metadata)) -> io::Result<bool> {
    if a.1.len() != b.1.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (io::BufReader::new(a.0), io::BufReader::new(b.0));
    loop {
        let (x, y) = (io::BufRead::fill_buf(&mut a)?, io::BufRead::fill_buf(&mut b)?);
        let count = x.len().min(y.len());
        if count == 0 {
            return Ok(x.len() == y.len());
        }
        if x[..count] != y[..count] {
            return Ok(false);
        }
        io::BufRead::consume(&mut a, count);
        io::BufRead::consume(&mut b, count);
    }
}

fn regular(file: File) -> Result<(File, Metadata), Unread> {
    let about = file.metadata()?;
    if about.is_file() { Ok((file, about)) } else { Err(Unread::Irregular) }
}

#[cfg(unix)]
mod system {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use std::fs::File;
    use std::io;
    use std::path::{Component, Path};

    /// Without waiting: for whoever writes into a pipe, or for a device.
    const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

    pub fn open(path: &Path) -> io::Result<File> {
        Ok(File::from(openat(CWD, path, READ, Mode::empty())?))
    }

    pub fn open_below(folder: &Path, way: &Path) -> io::Result<File> {
        let step = READ.union(OFlags::NOFOLLOW);
        let mut at = openat(CWD, folder, step.union(OFlags::DIRECTORY), Mode::empty())?;
        let names: Vec<Component<'_>> = way.components().collect();
        let Some((last, above)) = names.split_last() else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        if !names.iter().all(|name| matches!(name, Component::Normal(_))) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        for name in above {
            at = openat(&at, name.as_os_str(), step.union(OFlags::DIRECTORY), Mode::empty())?;
        }
        Ok(File::from(openat(&at, last.as_os_str(), step, Mode::empty())?))
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub fn open(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub fn open_below(folder: &Path, way: &Path) -> io::Result<File> {
        let found = folder.join(way).canonicalize()?;
        match found.starts_with(folder) {
            true => File::open(found),
            false => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
        }
    }
}

use system::{open, open_below};

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_of_a_bounded_size_come_in_and_nothing_waits() {
        let house = tempfile::tempdir().unwrap();
        let file = house.path().join("a");
        fs::write(&file, [7; 10]).unwrap();
        assert_eq!(read_regular(&file, 10).unwrap(), [7; 10]);
        assert!(matches!(read_regular(&file, 9), Err(Unread::TooLarge { bytes: 10, most: 9 })));
        let pipe = house.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(matches!(read_regular(&pipe, 9), Err(Unread::Irregular)));
        assert!(matches!(read_regular(Path::new("/dev/zero"), 9), Err(Unread::Irregular)));
        assert!(matches!(read_regular(house.path(), 9), Err(Unread::Irregular)));
    }

    #[test]
    fn no_link_on_the_way_is_followed() {
        let house = tempfile::tempdir().unwrap();
        let folder = house.path().join("in").join("deep");
        fs::create_dir_all(&folder).unwrap();
        fs::write(house.path().join("secret"), b"s").unwrap();
        fs::write(folder.join("a"), b"a").unwrap();
        let inside = house.path().canonicalize().unwrap().join("in");
        assert!(open_inside(&inside, Path::new("deep/a")).is_ok());
        symlink(house.path().join("secret"), folder.join("b")).unwrap();
        symlink(house.path(), inside.join("out")).unwrap();
        for way in ["deep/b", "out/secret", "../secret", "/etc/hostname", ""] {
            assert!(open_inside(&inside, Path::new(way)).is_err(), "{way}");
        }
    }
}
