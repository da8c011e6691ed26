//! A disk in memory that loses power and fails on purpose.
//!
//! # Worked example
//! A program creates `a`, writes 1,024 bytes, flushes the file, and writes the first 512 again. Now the power
//! fails. The name was never flushed ([`Disk::sync_folder`]), so `a` may be there or not. If it is, its second
//! sector is there for sure; its first has the old bytes or the new ones, as chance wills. [`SimDisk::cut`] gives
//! the disk as one such chance left it; the disk itself goes on, so that many cuts can be made at one moment.
//!
//! The model: a sector of 512 bytes is written whole or not at all. Sectors that were not flushed survive each for
//! itself, in any version since the last flush. So do names. A flush that fails leaves chance to decide which
//! sectors got through; the others are never written, though they can still be read until the power fails:
//! that is how Linux does it.

mod file;

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use self::file::SimFile;
use crate::{Disk, DiskFile, LockError, chance::Chance};

/// What is left of what was not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survivors {
    None,
    All,
    /// Each sector, length and name by chance, from this seed.
    Some(u64),
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `EIO`. A write may have written a part.
    Io,
    /// `ENOSPC`, for calls that could need room.
    Full,
    /// A read or write does only a part, without an error.
    Short,
    /// `EINTR`, for reads and writes.
    Interrupted,
}

/// A disk that does not do what it says: for tests that must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// [`DiskFile::sync`] does nothing and reports success.
    FileSync,
    /// [`Disk::sync_folder`] does nothing and reports success.
    FolderSync,
}

type Watcher = Arc<Mutex<dyn FnMut(&SimDisk) + Send>>;

/// A folder in memory. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    sim: Arc<Mutex<Sim>>,
}

struct Sim {
    files: BTreeMap<u64, SimFile>,
    next_file: u64,
    /// As the running program sees them.
    names: BTreeMap<String, u64>,
    flushed_names: BTreeMap<String, u64>,
    /// Changes of names since the last flush of the folder, in order.
    changes: Vec<Change>,
    chance: Chance,
    calls: u64,
    planned: Vec<(u64, Fault, bool)>,
    faults_met: u64,
    capacity: u64,
    lie: Option<Lie>,
    owner: Option<String>,
    watcher: Option<Watcher>,
}

/// A name that came (or got another file) and a name that went, together.
#[derive(Clone)]
struct Change {
    file: u64,
    from: Option<String>,
    to: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Read,
    Write,
    Sync,
    SyncFolder,
    Name,
}

impl SimDisk {
    /// An empty folder. The seed decides how much of a failing call is done.
    pub fn new(seed: u64) -> Self {
        let sim = Sim {
            files: BTreeMap::new(),
            next_file: 0,
            names: BTreeMap::new(),
            flushed_names: BTreeMap::new(),
            changes: Vec::new(),
            chance: Chance::new(seed),
            calls: 0,
            planned: Vec::new(),
            faults_met: 0,
            capacity: u64::MAX,
            lie: None,
            owner: None,
            watcher: None,
        };
        Self { sim: Arc::new(Mutex::new(sim)) }
    }

    /// The disk after a loss of power at this moment: another one, not locked, without faults. Handles of this
    /// one do not reach it.
    pub fn cut(&self, survivors: Survivors) -> Self {
        self.sim().after_cut(survivors)
    }

    /// The disk after the process was killed: everything written is there, flushed or not.
    pub fn kill(&self) -> Self {
        let sim = self.sim();
        let after = Self::new(sim.chance.clone().next());
        let mut new = after.sim();
        new.files.clone_from(&sim.files);
        new.next_file = sim.next_file;
        new.names.clone_from(&sim.names);
        new.flushed_names.clone_from(&sim.flushed_names);
        new.changes.clone_from(&sim.changes);
        (new.capacity, new.lie) = (sim.capacity, sim.lie);
        drop(new);
        after
    }

    /// The call of this number (the first is 1) fails; if `sticky`, every one after it too.
    pub fn fail(&self, call: u64, fault: Fault, sticky: bool) {
        self.sim().planned.push((call, fault, sticky));
    }

    /// How many calls there have been.
    pub fn calls(&self) -> u64 {
        self.sim().calls
    }

    /// How many calls have really failed or been short by plan.
    pub fn faults_met(&self) -> u64 {
        self.sim().faults_met
    }

    /// So many bytes of files fit onto the disk.
    pub fn set_capacity(&self, bytes: u64) {
        self.sim().capacity = bytes;
    }

    /// How many bytes the files have.
    pub fn used(&self) -> u64 {
        self.sim().used()
    }

    pub fn lie(&self, lie: Lie) {
        self.sim().lie = Some(lie);
    }

    /// Calls this after every call that changed something. It may look at the disk and cut it.
    pub fn watch(&self, watcher: impl FnMut(&SimDisk) + Send + 'static) {
        self.sim().watcher = Some(Arc::new(Mutex::new(watcher)));
    }

    /// A file as it is read now.
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let sim = self.sim();
        Some(sim.files[sim.names.get(name)?].bytes().to_vec())
    }

    /// Every file as it is read now, by name.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let sim = self.sim();
        sim.names.iter().map(|(name, file)| (name.clone(), sim.files[file].bytes().to_vec())).collect()
    }

    /// Puts a file there, durably, as if somebody had done it in between.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut sim = self.sim();
        let file = sim.add_file();
        sim.files.insert(file, SimFile::flushed(bytes));
        sim.names.insert(name.to_owned(), file);
        sim.flushed_names.insert(name.to_owned(), file);
    }

    fn sim(&self) -> MutexGuard<'_, Sim> {
        self.sim.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Does it under the lock, and lets the watcher see it afterwards.
    fn change<T>(&self, change: impl FnOnce(&mut Sim) -> io::Result<T>) -> io::Result<T> {
        let (result, watcher) = {
            let mut sim = self.sim();
            (change(&mut sim), sim.watcher.clone())
        };
        if let Some(watcher) = watcher {
            watcher.lock().unwrap_or_else(|poisoned| poisoned.into_inner())(self);
        }
        result
    }
}

impl Sim {
    fn add_file(&mut self) -> u64 {
        self.next_file += 1;
        self.files.insert(self.next_file, SimFile::default());
        self.next_file
    }

    fn used(&self) -> u64 {
        self.names.values().map(|file| self.files[file].bytes().len() as u64).sum()
    }

    /// Counts the call, and says how it is to fail.
    fn begin(&mut self, call: Call) -> Option<Fault> {
        self.calls += 1;
        let now = self.calls;
        let due = self.planned.iter().find(|(at, _, sticky)| *at == now || (*sticky && *at < now));
        let fault = due.map(|(_, fault, _)| *fault).filter(|fault| fault.concerns(call))?;
        self.faults_met += 1;
        Some(fault)
    }

    /// A change of names, with the faults that can meet it.
    fn rename(&mut self, change: Change) -> io::Result<()> {
        if let Some(fault) = self.begin(Call::Name) {
            return Err(fault.error());
        }
        change.apply(&mut self.names);
        self.changes.push(change);
        Ok(())
    }

    fn file_named(&self, name: &str) -> io::Result<u64> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        let fault = self.begin(Call::SyncFolder);
        if fault.is_none() && self.lie == Some(Lie::FolderSync) {
            return Ok(());
        }
        for change in &self.changes {
            if fault.is_none() || self.chance.happens(50) {
                change.apply(&mut self.flushed_names);
            }
        }
        // Names are not forgotten as bytes are: a file system that cannot write its names stops altogether.
        match fault {
            None => self.changes.clear(),
            Some(fault) => return Err(fault.error()),
        }
        Ok(())
    }

    fn after_cut(&self, survivors: Survivors) -> SimDisk {
        let seed = if let Survivors::Some(seed) = survivors { seed } else { 0 };
        let mut chance = Chance::new(seed);
        // Some cuts lose nearly everything, some nearly nothing.
        let percent = [10, 50, 90][chance.below(3) as usize];
        let mut names = self.flushed_names.clone();
        for change in &self.changes {
            if survivors.keeps(&mut chance, percent) {
                change.apply(&mut names);
            }
        }
        let mut files = BTreeMap::new();
        for file in names.values() {
            let bytes = self.files[file].after_cut(survivors, &mut chance, percent);
            files.insert(*file, SimFile::flushed(&bytes));
        }
        let disk = SimDisk::new(chance.next());
        let mut sim = disk.sim();
        (sim.files, sim.next_file, sim.capacity, sim.lie) = (files, self.next_file, self.capacity, self.lie);
        (sim.names, sim.flushed_names) = (names.clone(), names);
        drop(sim);
        disk
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        if let Some(from) = &self.from
            && names.get(from) == Some(&self.file)
        {
            names.remove(from);
        }
        if let Some(to) = &self.to {
            names.insert(to.clone(), self.file);
        }
    }
}

impl Survivors {
    fn keeps(self, chance: &mut Chance, percent: u64) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Some(_) => chance.happens(percent),
        }
    }
}

impl Fault {
    fn concerns(self, call: Call) -> bool {
        match self {
            Self::Io => true,
            Self::Full => matches!(call, Call::Write | Call::Name),
            Self::Short | Self::Interrupted => matches!(call, Call::Read | Call::Write),
        }
    }

    fn error(self) -> io::Error {
        match self {
            Self::Full => io::Error::from_raw_os_error(28),
            Self::Interrupted => io::ErrorKind::Interrupted.into(),
            Self::Io | Self::Short => io::Error::from_raw_os_error(5),
        }
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut sim = self.sim();
        if let Some(fault) = sim.begin(Call::Name) {
            return Err(fault.error());
        }
        let file = sim.file_named(name)?;
        Ok(Box::new(Handle { disk: self.clone(), file }))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = self.change(|sim| {
            if sim.names.contains_key(name) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let file = sim.add_file();
            sim.rename(Change { file, from: None, to: Some(name.to_owned()) })?;
            Ok(file)
        })?;
        Ok(Box::new(Handle { disk: self.clone(), file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change(|sim| {
            let file = sim.file_named(from)?;
            sim.rename(Change { file, from: Some(from.to_owned()), to: Some(to.to_owned()) })
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change(|sim| {
            let file = sim.file_named(name)?;
            sim.rename(Change { file, from: Some(name.to_owned()), to: None })
        })
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut sim = self.sim();
        match sim.begin(Call::Read) {
            Some(fault @ Fault::Io) => Err(fault.error()),
            _ => Ok(sim.names.keys().cloned().collect()),
        }
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.change(Sim::sync_folder)
    }

    fn lock(&self, _name: &str) -> Result<Box<dyn Send>, LockError> {
        let mut sim = self.sim();
        if let Some(owner) = &sim.owner {
            return Err(LockError::Held(owner.clone()));
        }
        sim.owner = Some("another handle of this simulation".to_owned());
        Ok(Box::new(Owner(self.clone())))
    }

    fn place(&self, name: &str) -> String {
        format!("sim/{name}")
    }
}

struct Owner(SimDisk);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.sim().owner = None;
    }
}

struct Handle {
    disk: SimDisk,
    file: u64,
}

impl DiskFile for Handle {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut sim = self.disk.sim();
        let wanted = match sim.begin(Call::Read) {
            None => bytes.len(),
            Some(Fault::Short) => bytes.len().div_ceil(2),
            Some(fault) => return Err(fault.error()),
        };
        Ok(sim.files[&self.file].read(&mut bytes[..wanted], offset))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.disk.change(|sim| sim.write(self.file, bytes, offset))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.change(|sim| sim.sync(self.file))
    }

    fn len(&self) -> io::Result<u64> {
        let mut sim = self.disk.sim();
        match sim.begin(Call::Read) {
            Some(fault @ Fault::Io) => Err(fault.error()),
            _ => Ok(sim.files[&self.file].bytes().len() as u64),
        }
    }
}

impl Sim {
    fn write(&mut self, file: u64, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let fault = self.begin(Call::Write);
        let part = self.chance.below(bytes.len() as u64 + 1) as usize;
        let mut done = match fault {
            None => bytes.len(),
            Some(Fault::Short) => part.clamp(1, bytes.len()),
            Some(Fault::Io | Fault::Full) => part,
            Some(Fault::Interrupted) => 0,
        };
        let grown = (offset + done as u64).saturating_sub(self.files[&file].bytes().len() as u64);
        let lacking = (self.used() + grown).saturating_sub(self.capacity).min(grown);
        done = done.saturating_sub(lacking as usize);
        self.files.get_mut(&file).expect("files are not forgotten").write(&bytes[..done], offset);
        match fault {
            Some(fault @ (Fault::Io | Fault::Full | Fault::Interrupted)) => Err(fault.error()),
            _ if done == 0 && !bytes.is_empty() => Err(Fault::Full.error()),
            _ => Ok(done),
        }
    }

    fn sync(&mut self, file: u64) -> io::Result<()> {
        let fault = self.begin(Call::Sync);
        if fault.is_none() && self.lie == Some(Lie::FileSync) {
            return Ok(());
        }
        let file = self.files.get_mut(&file).expect("files are not forgotten");
        match fault {
            None => file.flush(),
            Some(_) => file.flush_part(&mut self.chance),
        }
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }
}
