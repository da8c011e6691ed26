//! What the local journal asks of a disk: one folder of files, flushes, and a lock.
//!
//! The real one is [`FolderDisk`]; [`SimDisk`](crate::SimDisk) loses power and fails on purpose. Names and
//! contents are flushed apart, as file systems do it: [`DiskFile::sync`] makes the bytes of a file durable,
//! [`Disk::sync_folder`] the names that were created, changed or removed.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// One folder. Names are plain file names in it.
pub trait Disk: Send + Sync {
    /// Opens a file that is there, for reading and writing.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Creates an empty file; one of that name must not be there.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Replaces `to` if it is there. After a crash the file has the one name or the other.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The names in the folder, in no particular order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes every creation, renaming and removal so far durable.
    fn sync_folder(&self) -> io::Result<()>;
    /// Takes the folder for this process until the guard is dropped or the process ends.
    fn lock(&self, name: &str) -> Result<Box<dyn Send>, LockError>;
    /// How an error message names this file.
    fn place(&self, name: &str) -> String;
    /// What is doubtful about the folder, in words for whoever runs it.
    fn doubts(&self) -> Vec<String> {
        Vec::new()
    }
}

/// An open file. Reads and writes may be short, and may be interrupted: see [`write_all`] and [`read_full`].
pub trait DiskFile: Send + Sync {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;
    /// Makes what was written durable. After an error nothing is known of it, and a second try proves nothing.
    fn sync(&self) -> io::Result<()>;
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Why a folder could not be locked.
#[derive(Debug)]
pub enum LockError {
    /// Somebody has it, by the name that he wrote down.
    Held(String),
    Io(io::Error),
}

/// Writes all of it: goes on after a short write or an interruption.
pub fn write_all(file: &dyn DiskFile, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, offset) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until `bytes` is full or the file ends, and says how many it read.
pub fn read_full(file: &dyn DiskFile, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Creates an empty file, in the place of one that may have been left there.
pub fn create_anew(disk: &dyn Disk, name: &str) -> io::Result<Box<dyn DiskFile>> {
    match disk.create(name) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            disk.remove(name)?;
            disk.create(name)
        }
        created => created,
    }
}

/// A folder of the file system. Files are readable by their owner only.
pub struct FolderDisk {
    path: PathBuf,
    folder: File,
}

impl FolderDisk {
    /// Opens the folder, and makes it (0700) if it is not there.
    pub fn new(path: &Path) -> io::Result<Self> {
        if !path.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
            // The name of the folder is kept by the folder above it.
            if let Some(above) = path.canonicalize()?.parent() {
                File::open(above)?.sync_all()?;
            }
        }
        Ok(Self { path: path.to_owned(), folder: File::open(path)? })
    }

    fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        options
    }
}

impl Disk for FolderDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Self::options().open(self.path.join(name))?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Self::options().create_new(true).open(self.path.join(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = std::fs::read_dir(&self.path)?;
        names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.folder.sync_all()
    }

    fn lock(&self, name: &str) -> Result<Box<dyn Send>, LockError> {
        let path = self.path.join(name);
        // The folder too: somebody may remove the file, thinking that it is the lock.
        let folder = File::open(&self.path).map_err(LockError::Io)?;
        if let Err(TryLockError::WouldBlock) = folder.try_lock() {
            return Err(LockError::Held(owner_in(&path)));
        }
        let mut file = Self::options().create(true).truncate(false).open(&path).map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held(owner_in(&path))),
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        // Only for the message of whoever comes second: it need not be flushed, nor fit onto a full disk.
        let _ = file.set_len(0).and_then(|()| file.write_all(owner_here().as_bytes()));
        Ok(Box::new((file, folder)))
    }

    fn place(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.folder.metadata().is_ok_and(|about| about.permissions().mode() & 0o007 != 0) {
            let place = self.path.display();
            doubts.push(format!("{place} is open to every user of this machine; `chmod 700 {place}`"));
        }
        if rustix::fs::fstatfs(&self.folder).is_ok_and(|about| is_network(about.f_type as u64)) {
            let place = self.path.display();
            doubts.push(format!("{place} is on a network file system, where locks and flushes are not to be relied on; use a local disk"));
        }
        doubts
    }
}

impl DiskFile for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, bytes, offset)
    }

    /// What has no name any more will be gone with the process, whatever was flushed of it.
    fn sync(&self) -> io::Result<()> {
        self.sync_data()?;
        match self.metadata()?.nlink() {
            0 => Err(io::Error::other("somebody has removed this file")),
            _ => Ok(()),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

fn owner_here() -> String {
    // Two containers may both be process 1: the host's name tells them apart.
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("process {} on {}", std::process::id(), host.trim())
}

fn owner_in(path: &Path) -> String {
    match std::fs::read_to_string(path) {
        Ok(owner) if !owner.is_empty() => owner,
        _ => "a process that has not yet written its name".to_owned(),
    }
}

/// NFS, SMB 1 and 2, by the numbers that Linux gives them.
fn is_network(kind: u64) -> bool {
    matches!(kind & 0xffff_ffff, 0x6969 | 0x517b | 0xff53_4d42 | 0xfe53_4d42)
}
