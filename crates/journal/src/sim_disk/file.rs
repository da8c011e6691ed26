//! One file of the simulated disk: what is read, what is on the platter, and what lies between.

use std::collections::BTreeMap;

use super::Survivors;
use crate::chance::Chance;

const SECTOR_BYTES: usize = 512;

type Sector = [u8; SECTOR_BYTES];

#[derive(Clone, Default)]
pub(super) struct SimFile {
    /// As the running program reads it.
    seen: Vec<u8>,
    /// What no loss of power can take.
    flushed: Vec<u8>,
    /// Of each sector written since the last flush, every version, oldest first.
    pending: BTreeMap<usize, Vec<Sector>>,
}

impl SimFile {
    pub(super) fn flushed(bytes: &[u8]) -> Self {
        Self { seen: bytes.to_vec(), flushed: bytes.to_vec(), pending: BTreeMap::new() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.seen
    }

    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> usize {
        let behind = self.seen.get(offset as usize..).unwrap_or_default();
        let length = behind.len().min(bytes.len());
        bytes[..length].copy_from_slice(&behind[..length]);
        length
    }

    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        if bytes.is_empty() {
            return;
        }
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        if self.seen.len() < end {
            self.seen.resize(end, 0);
        }
        self.seen[start..end].copy_from_slice(bytes);
        for index in start / SECTOR_BYTES..=(end - 1) / SECTOR_BYTES {
            let version = sector_of(&self.seen, index);
            self.pending.entry(index).or_default().push(version);
        }
    }

    pub(super) fn flush(&mut self) {
        // Not simply a copy of what is seen: a flush that failed has forgotten some of that for ever.
        self.flushed.resize(self.seen.len(), 0);
        for (index, versions) in std::mem::take(&mut self.pending) {
            put_sector(&mut self.flushed, index, versions.last().expect("at least one version"));
        }
    }

    /// A flush that fails: some sectors get through, and all count as written from now on.
    pub(super) fn flush_part(&mut self, chance: &mut Chance) {
        if chance.happens(50) {
            self.flushed.resize(self.seen.len(), 0);
        }
        for (index, versions) in std::mem::take(&mut self.pending) {
            if chance.happens(50) {
                put_sector(&mut self.flushed, index, versions.last().expect("at least one version"));
            }
        }
    }

    pub(super) fn after_cut(&self, survivors: Survivors, chance: &mut Chance, percent: u64) -> Vec<u8> {
        let mut bytes = self.flushed.clone();
        if survivors.keeps(chance, percent) {
            bytes.resize(self.seen.len(), 0);
        }
        for (&index, versions) in &self.pending {
            if !survivors.keeps(chance, percent) {
                continue;
            }
            let latest = versions.len() - 1;
            // The kernel may have written an earlier version by itself.
            let version =
                if chance.happens(70) { latest } else { chance.below(versions.len() as u64) as usize };
            let version = if survivors == Survivors::All { latest } else { version };
            put_sector(&mut bytes, index, &versions[version]);
        }
        bytes
    }
}

fn sector_of(bytes: &[u8], index: usize) -> Sector {
    let mut sector = [0; SECTOR_BYTES];
    let start = index * SECTOR_BYTES;
    let end = bytes.len().min(start + SECTOR_BYTES);
    sector[..end - start].copy_from_slice(&bytes[start..end]);
    sector
}

/// As much of the sector as the file is long.
fn put_sector(bytes: &mut [u8], index: usize, sector: &Sector) {
    let start = (index * SECTOR_BYTES).min(bytes.len());
    let end = bytes.len().min(start + SECTOR_BYTES);
    bytes[start..end].copy_from_slice(&sector[..end - start]);
}
