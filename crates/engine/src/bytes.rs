//! A small byte format: numbers as varints, text with its length in front. Used for commands and snapshots.
//!
//! A value has exactly one encoding, so equal things are equal bytes. Reading never panics and never allocates
//! more than the bytes at hand could fill.

use std::fmt;

/// Why bytes could not be read. Nothing of them was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end in the middle of a value.
    Short,
    /// More bytes than the value needs.
    Trailing { bytes: usize },
    /// A number that stands for nothing known: damaged, or written by a newer version.
    UnknownKind { what: &'static str, kind: u64 },
    /// Read, but not allowed.
    Invalid { what: &'static str },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("the bytes end in the middle of a value"),
            Self::Trailing { bytes } => write!(f, "{bytes} bytes too many at the end"),
            Self::UnknownKind { what, kind } => {
                write!(f, "{what} of kind {kind} is unknown here; a newer version may know it")
            }
            Self::Invalid { what } => write!(f, "{what} is not valid"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Builds bytes, value by value.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many more bytes.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes);
    }

    /// Empty again, with the memory it has.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes back what was written beyond `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub fn flag(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    /// A whole number: seven bits a byte, lowest first, the top bit set on all but the last.
    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push((value as u8) | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn numbers<const N: usize>(&mut self, values: [u64; N]) {
        values.into_iter().for_each(|value| self.number(value));
    }

    /// Eight bytes, lowest first: for hashes, which varints would only lengthen.
    pub fn fixed(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Sixteen bytes, lowest first.
    pub fn fixed_wide(&mut self, value: u128) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// How many items follow.
    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// Bytes with their number in front.
    pub fn blob(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    /// A flag, and the value if there is one.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Takes bytes apart, value by value, in the order they were written.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes have not been read.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// That nothing is left over.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(DecodeError::Trailing { bytes }),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(DecodeError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    pub fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Invalid { what: "flag" }),
        }
    }

    /// Refuses what [`Writer::number`] would not have written: over 64 bits, or longer than needed.
    pub fn number(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for index in 0..10 {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (index == 9 && bits > 1) || (index > 0 && byte == 0) {
                return Err(DecodeError::Invalid { what: "number" });
            }
            value |= bits << (7 * index);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Invalid { what: "number" })
    }

    pub fn number_u32(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.number()?).map_err(|_| DecodeError::Invalid { what: "number of 32 bits" })
    }

    pub fn fixed(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.take(8)?.try_into().map_err(|_| DecodeError::Short)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn fixed_wide(&mut self) -> Result<u128, DecodeError> {
        let bytes = self.take(16)?.try_into().map_err(|_| DecodeError::Short)?;
        Ok(u128::from_le_bytes(bytes))
    }

    /// How many items follow, where each takes at least `bytes_each` (at least 1): a number that the remaining
    /// bytes cannot hold is refused before anything is allocated for it.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize, DecodeError> {
        let count = usize::try_from(self.number()?).map_err(|_| DecodeError::Short)?;
        let fits = count <= self.rest.len() / bytes_each.max(1);
        if fits { Ok(count) } else { Err(DecodeError::Short) }
    }

    pub fn blob(&mut self) -> Result<&'a [u8], DecodeError> {
        let bytes = self.count(1)?;
        self.take(bytes)
    }

    pub fn text(&mut self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.blob()?).map_err(|_| DecodeError::Invalid { what: "text" })
    }

    /// Text that parses to a name, an id, a key or a label.
    pub fn name<T: std::str::FromStr>(&mut self, what: &'static str) -> Result<T, DecodeError> {
        self.text()?.parse().map_err(|_| DecodeError::Invalid { what })
    }

    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }
}
