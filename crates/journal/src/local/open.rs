//! Opening a folder: lock it, find what it holds, prove the end of it, begin to write.

use std::{path::Path, sync::Arc};

use maitred_planted::{Defect, has};

use super::{
    Local,
    archive::LocalArchive,
    entries::Cursor,
    format::{ENTRIES_AT, FileHeader, FileKind, JournalId, SegmentHeader},
    names,
    recovery::{self, Found, at},
    shared::{Segment, Shared, State},
    supply::{Maker, Supply},
};
use crate::{
    Clock, Disk, DiskFile, FolderDisk, JournalError, SystemClock,
    disk::{LockError, create_anew, read_full, write_all},
};

/// Who makes segments ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// A thread, so that appends do not wait for it.
    InBackground,
    /// The writer itself, when it begins a segment: for tests, where everything happens in one order.
    InForeground,
}

/// How a local journal is opened.
#[derive(Clone)]
pub struct Options {
    /// Random, from the caller. Used when the journal is born; an existing one keeps its own.
    pub journal_id: [u8; 16],
    /// The size of new segments: at least 1 MiB to take every record, less only in tests. A multiple of 4096,
    /// and below 4 GiB.
    pub segment_bytes: u64,
    /// So many segments that are no longer needed are kept for use; more are removed. At least 1.
    pub spares_max: usize,
    pub making: Making,
    pub clock: Arc<dyn Clock>,
}

impl Options {
    /// Segments of 64 MiB, made by a thread; the clock of this machine.
    pub fn new(journal_id: [u8; 16]) -> Self {
        Self {
            journal_id,
            segment_bytes: 64 << 20,
            spares_max: 2,
            making: Making::InBackground,
            clock: Arc::new(SystemClock),
        }
    }

    fn check(&self) {
        let bytes = self.segment_bytes;
        let right = bytes > ENTRIES_AT && bytes.is_multiple_of(4096) && bytes <= u64::from(u32::MAX);
        assert!(right, "segments of {bytes} bytes: it must be a multiple of 4096 below 4 GiB");
        assert!(self.spares_max >= 1, "no spare segment is kept: at least 1 is the reserve for a full disk");
    }
}

impl Local {
    /// Opens the journal in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`JournalError::Locked`] if a process has it open; [`JournalError::Foreign`], [`JournalError::Newer`] and
    /// [`JournalError::Damaged`] for what is in it. In none of these cases has a byte of it been changed.
    pub fn open(folder: &Path, options: Options) -> Result<Self, JournalError> {
        let place = || folder.display().to_string();
        let disk = FolderDisk::new(folder).map_err(|source| JournalError::Io { place: place(), source })?;
        Self::open_on(Arc::new(disk), options)
    }

    /// The same on any disk.
    pub fn open_on(disk: Arc<dyn Disk>, options: Options) -> Result<Self, JournalError> {
        options.check();
        let lock = lock(&*disk)?;
        let found = match recovery::find(&*disk)? {
            Some(found) => found,
            None => {
                bear(&disk, &options)?;
                recovery::find(&*disk)?.expect("it has just been born")
            }
        };
        // Names may be seen that a killed process had not yet flushed, and bytes too.
        disk.sync_folder().map_err(at(&*disk, ""))?;
        prove_tail(&*disk, &found)?;
        tidy(&*disk, &found.obsolete)?;
        let spares = usable_spares(&*disk, &found, &options)?;
        Self::begin(disk, found, spares, &options, lock)
    }

    fn begin(
        disk: Arc<dyn Disk>,
        found: Found,
        spares: Vec<String>,
        options: &Options,
        lock: Box<dyn Send>,
    ) -> Result<Self, JournalError> {
        let last = found.segments.last().expect("there is always one").clone();
        let state = State {
            segments: found.segments.into(),
            durable: found.tail.position,
            snapshots: found.snapshots,
            next_spare: found.spares.last().map_or(0, |spare| spare.0),
            spares,
            no_spare: None,
            warnings: found.warnings,
        };
        let shared = Arc::new(Shared::new(disk, found.id, state));
        let supply = Arc::new(Supply::new(
            Arc::clone(&shared),
            options.segment_bytes,
            options.spares_max,
            options.making,
        ));
        let maker = start_making(&shared, &supply, options.making)?;
        Ok(Self {
            shared,
            supply,
            clock: Arc::clone(&options.clock),
            file: last.file,
            capacity: last.header.capacity,
            tail: found.tail,
            flushed: found.tail.offset,
            attested: found.attested,
            opening: None,
            broken: None,
            entry: Vec::new(),
            _maker: maker,
            _lock: lock,
        })
    }

    /// A second handle of the kind that [`Journal::archive`](crate::Journal::archive) gives, by its own type.
    pub fn local_archive(&self) -> LocalArchive {
        LocalArchive::new(Arc::clone(&self.shared), Arc::clone(&self.supply))
    }
}

fn start_making(
    shared: &Arc<Shared>,
    supply: &Arc<Supply>,
    making: Making,
) -> Result<Option<Maker>, JournalError> {
    match making {
        Making::InBackground => Maker::start(Arc::clone(supply)).map(Some).map_err(shared.io("")),
        Making::InForeground => {
            // A failure is in the state, for `room`.
            let _ = supply.make_ahead();
            Ok(None)
        }
    }
}

pub(crate) fn lock(disk: &dyn Disk) -> Result<Box<dyn Send>, JournalError> {
    disk.lock(names::LOCK).map_err(|error| match error {
        LockError::Held(owner) => JournalError::Locked { place: disk.place(""), owner },
        LockError::Io(source) => JournalError::Io { place: disk.place(names::LOCK), source },
    })
}

/// A new journal: one segment, a spare, and last of all the identity, so that a birth that was cut short is
/// begun again.
fn bear(disk: &Arc<dyn Disk>, options: &Options) -> Result<(), JournalError> {
    let left = names::Names::read(&**disk).map_err(at(&**disk, ""))?;
    let half_born = left.half_made.iter().chain(left.segments.values()).chain(left.spares.values());
    tidy(&**disk, &half_born.cloned().collect::<Vec<_>>())?;
    let state = State {
        segments: Default::default(),
        durable: 0,
        snapshots: Vec::new(),
        spares: Vec::new(),
        next_spare: 0,
        no_spare: None,
        warnings: Vec::new(),
    };
    let shared = Arc::new(Shared::new(Arc::clone(disk), options.journal_id, state));
    let supply =
        Supply::new(Arc::clone(&shared), options.segment_bytes, options.spares_max, Making::InForeground);
    supply.make_ahead()?;
    let spare = shared.state().spares.pop().expect("it has just been made");
    let header = SegmentHeader {
        number: 1,
        first_position: 1,
        previous: 0,
        opening: 0,
        capacity: options.segment_bytes,
    };
    begin_segment(&shared, &spare, header)?;
    write_identity(&**disk, options.journal_id)
}

fn write_identity(disk: &dyn Disk, id: JournalId) -> Result<(), JournalError> {
    let half_made = names::IDENTITY_HALF_MADE;
    let header = FileHeader { kind: FileKind::Identity, id, fields: [0; 4] };
    let file = create_anew(disk, half_made).map_err(at(disk, half_made))?;
    write_all(&*file, &header.encode(), 0).map_err(at(disk, half_made))?;
    file.sync().map_err(at(disk, half_made))?;
    disk.rename(half_made, names::IDENTITY).map_err(at(disk, names::IDENTITY))?;
    disk.sync_folder().map_err(at(disk, ""))
}

/// Makes a spare the segment of this header: the header is durable before the name, and the name before this
/// returns. So a segment never has another's header, and never a torn one.
pub(crate) fn begin_segment(
    shared: &Shared,
    spare: &str,
    header: SegmentHeader,
) -> Result<Arc<dyn DiskFile>, JournalError> {
    let name = names::segment(header.number);
    let file: Arc<dyn DiskFile> = shared.disk.open(spare).map_err(shared.io(spare))?.into();
    write_all(&*file, &header.encode(shared.id), 0).map_err(shared.io(spare))?;
    file.sync().map_err(shared.io(spare))?;
    shared.disk.rename(spare, &name).map_err(shared.io(&name))?;
    if !has(Defect::NoFolderSync) {
        shared.disk.sync_folder().map_err(shared.io(""))?;
    }
    Ok(file)
}

/// Makes durable what was found behind the last proven byte, by writing the same bytes again.
///
/// A flush alone would not do: if the flush of an earlier process failed, the kernel may hold these bytes as
/// written although the disk never got them, and would flush nothing.
fn prove_tail(disk: &dyn Disk, found: &Found) -> Result<(), JournalError> {
    let (file, Cursor { segment, offset, .. }) = (tail_file(found), found.tail);
    let name = names::segment(segment);
    let mut bytes = vec![0; (offset - found.flushed) as usize];
    let filled = read_full(&**file, &mut bytes, found.flushed).map_err(at(disk, &name))?;
    write_all(&**file, &bytes[..filled], found.flushed).map_err(at(disk, &name))?;
    file.sync().map_err(at(disk, &name))
}

fn tail_file(found: &Found) -> &Arc<dyn DiskFile> {
    let Segment { file, .. } = found.segments.last().expect("there is always one");
    file
}

fn tidy(disk: &dyn Disk, obsolete: &[String]) -> Result<(), JournalError> {
    for name in obsolete {
        disk.remove(name).map_err(at(disk, name))?;
    }
    Ok(())
}

/// The spares of the right size; the others, and those too many, are removed.
fn usable_spares(disk: &dyn Disk, found: &Found, options: &Options) -> Result<Vec<String>, JournalError> {
    let mut usable = Vec::new();
    for (_, name) in &found.spares {
        let length = disk.open(name).and_then(|file| file.len()).map_err(at(disk, name))?;
        if length == options.segment_bytes && usable.len() < options.spares_max {
            usable.push(name.clone());
        } else {
            disk.remove(name).map_err(at(disk, name))?;
        }
    }
    Ok(usable)
}
