//! What may happen to the files of a journal: accidents, and forgeries with checksums that are right.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};

/// By name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

const EDITS_MOST: usize = 12;
/// Where the entries of a segment begin.
const ENTRIES_AT: usize = 512;
const HEADER_BYTES: usize = 64;
const ENTRY_HEADER_BYTES: usize = 48;
/// Numbers at which something may end.
const NUMBERS: [u64; 12] =
    [0, 1, 2, 511, 512, 4095, 4096, u32::MAX as u64, 1 << 32, 1 << 53, u64::MAX - 1, u64::MAX];
const NAMES: [&str; 16] = [
    "journal",
    "journal.tmp",
    "lock",
    "segment.tmp",
    "snapshot.tmp",
    "holiday.jpg",
    "segment-0000000000000001.log",
    "segment-0000000000000004.log",
    "segment-4.log",
    "segment-18446744073709551615.log",
    "spare-0000000000000001.log",
    "spare-9.log",
    "spare-18446744073709551615.log",
    "snapshot-00000000000000000012.snap",
    "snapshot-12.snap",
    "snapshot-18446744073709551615.snap",
];

/// Whether the bytes say that checksums may be forged.
pub(crate) fn edit(files: &mut Files, script: &[u8]) -> bool {
    let mut input = Unstructured::new(script);
    let forges = input.arbitrary().unwrap_or(false);
    for _ in 0..EDITS_MOST {
        if input.is_empty() || files.is_empty() || one(files, &mut input, forges).is_err() {
            break;
        }
    }
    forges
}

fn one(files: &mut Files, input: &mut Unstructured<'_>, forges: bool) -> Result<()> {
    let names: Vec<String> = files.keys().cloned().collect();
    let name = input.choose(&names)?.clone();
    match input.int_in_range(0..=if forges { 11 } else { 7_u8 })? {
        0 | 1 => damage(files, &name, input),
        2 => resize(files, &name, input),
        3 => {
            files.remove(&name);
            Ok(())
        }
        4 => rename(files, &name, input),
        5 => copy(files, &name, input),
        6 => clear(files, &name, input),
        7 => twice(files, &name, input),
        8 => write(files, &name, input),
        9 => forge_header(files, &name, input),
        10 => forge_entry(files, &name, input),
        _ => {
            let id = id(files);
            chain(contents(files, &name), &id);
            Ok(())
        }
    }
}

fn contents<'a>(files: &'a mut Files, name: &str) -> &'a mut Vec<u8> {
    files.entry(name.to_owned()).or_default()
}

fn place(input: &mut Unstructured<'_>, bytes: &[u8]) -> Result<usize> {
    Ok(input.int_in_range(0..=u16::MAX)? as usize % bytes.len().max(1))
}

/// Some bits of one byte.
fn damage(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let bytes = contents(files, name);
    let (at, bits) = (place(input, bytes)?, input.int_in_range(1..=255_u8)?);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= bits;
    }
    Ok(())
}

fn resize(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let bytes = contents(files, name);
    let longer = if input.arbitrary()? { input.arbitrary::<u8>()?.into() } else { 0 };
    let length = if longer > 0 { bytes.len() + longer } else { place(input, bytes)? };
    bytes.resize(length, 0);
    Ok(())
}

fn rename(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let to = *input.choose(&NAMES)?;
    if let Some(bytes) = files.remove(name) {
        files.insert(to.to_owned(), bytes);
    }
    Ok(())
}

/// The file is there a second time.
fn twice(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let (to, bytes) = (*input.choose(&NAMES)?, contents(files, name).clone());
    files.insert(to.to_owned(), bytes);
    Ok(())
}

/// A write that went to another place.
fn copy(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let names: Vec<String> = files.keys().cloned().collect();
    let to = input.choose(&names)?.clone();
    let bytes = contents(files, name).clone();
    let (from, length) = (place(input, &bytes)?, input.int_in_range(1..=4096_usize)?);
    let piece = &bytes[from.min(bytes.len())..(from + length).min(bytes.len())];
    let target = contents(files, &to);
    let at = place(input, target)?;
    put(target, at, piece);
    Ok(())
}

fn put(target: &mut [u8], at: usize, piece: &[u8]) {
    let length = piece.len().min(target.len().saturating_sub(at));
    if length > 0 {
        target[at..at + length].copy_from_slice(&piece[..length]);
    }
}

fn clear(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let bytes = contents(files, name);
    let (at, length) = (place(input, bytes)?, input.int_in_range(1..=4096_usize)?);
    let end = (at + length).min(bytes.len());
    bytes[at.min(end)..end].fill(0);
    Ok(())
}

fn write(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let bytes = contents(files, name);
    let at = place(input, bytes)?;
    let length = input.int_in_range(1..=64_usize)?.min(input.len());
    put(bytes, at, input.bytes(length)?);
    Ok(())
}

fn number(input: &mut Unstructured<'_>) -> Result<u64> {
    if input.arbitrary()? { input.choose(&NUMBERS).copied() } else { input.arbitrary() }
}

/// Another field in the first 64 bytes, and the checksum that goes with it.
fn forge_header(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let bytes = contents(files, name);
    let at = *input.choose(&[8, 16, 32, 36, 40, 44, 48, 52, 56, 60])?;
    let value = number(input)?.to_le_bytes();
    let width = if input.arbitrary()? { 4 } else { 8 };
    put(bytes, at, &value[..width]);
    if bytes.len() >= HEADER_BYTES {
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..HEADER_BYTES]);
        put(bytes, 12, &crc.to_le_bytes());
    }
    Ok(())
}

fn forge_entry(files: &mut Files, name: &str, input: &mut Unstructured<'_>) -> Result<()> {
    let id = id(files);
    let bytes = contents(files, name);
    let entries = entries(bytes);
    if entries.is_empty() {
        return Ok(());
    }
    let entry = *input.choose(&entries)?;
    let at = *input.choose(&[4, 8, 16, 24, 32, 36, 40, 44, 48])?;
    let value = number(input)?.to_le_bytes();
    put(bytes, entry + at, &value[..if (8..32).contains(&at) { 8 } else { 4 }]);
    sign(bytes, entry, &id);
    Ok(())
}

/// The journal's random id, which seeds the checksums of entries.
fn id(files: &Files) -> Vec<u8> {
    files.get("journal").and_then(|bytes| bytes.get(16..32)).unwrap_or_default().to_vec()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

/// Where entries begin, as far as one follows the other.
fn entries(bytes: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = ENTRIES_AT;
    while (1..=3).contains(&u32_at(bytes, at + 44)) {
        found.push(at);
        at += (ENTRY_HEADER_BYTES + u32_at(bytes, at + 4) as usize).next_multiple_of(8);
    }
    found
}

fn sign(bytes: &mut [u8], entry: usize, id: &[u8]) -> Option<u32> {
    let end = entry + ENTRY_HEADER_BYTES + u32_at(bytes, entry + 4) as usize;
    let crc = crc32c::crc32c_append(crc32c::crc32c(id), bytes.get(entry + 4..end)?);
    put(bytes, entry, &crc.to_le_bytes());
    Some(crc)
}

/// Every entry names the one before it again.
fn chain(bytes: &mut [u8], id: &[u8]) {
    let mut previous = None;
    for entry in entries(bytes) {
        if let Some(crc) = previous {
            put(bytes, entry + 40, &u32::to_le_bytes(crc));
        }
        previous = sign(bytes, entry, id);
    }
}
