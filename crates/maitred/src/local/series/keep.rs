//! The series over a restart: as bytes beside the history.
//!
//! They are kept as they are behind one record, whenever a snapshot is made, before it, and when the node stops. The
//! second engine starts again from the newest snapshot, which is behind no later record than that, takes the records
//! between without counting them twice, and goes on counting behind it: so nothing is lost, also not by a kill. Where
//! there are none, or a shared journal has a newer snapshot of another node, the series begin with the snapshot, and
//! say so (`known_since`).

use std::collections::HashMap;

use maitred_engine::{
    bytes::{DecodeError, Reader, Writer},
    names::Namespace,
    time::Millis,
};

use super::{Book, COARSE_MS, FINE_MS, Orphan, Series, Space, Track, Tracks};

const FORMAT: u64 = 1;

impl Series {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.book().encode(&mut w);
        w.into_bytes()
    }

    /// Takes the place of what is there; of bytes that cannot be read nothing is taken.
    pub fn restore(&self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut r = Reader::new(bytes);
        let mut book = self.book();
        let (fine_kept_ms, coarse_kept_ms, spaces) = read_book(&mut r)?;
        r.finish()?;
        let all = spaces.values().flat_map(|space| space.limits.values());
        book.rows = all.map(Tracks::rows).sum();
        (book.fine_kept_ms, book.coarse_kept_ms, book.spaces) = (fine_kept_ms, coarse_kept_ms, spaces);
        Ok(())
    }
}

impl Book {
    fn encode(&self, w: &mut Writer) {
        w.numbers([FORMAT, self.fine_kept_ms, self.coarse_kept_ms]);
        w.count(self.spaces.len());
        for (namespace, space) in &self.spaces {
            w.text(namespace.as_str());
            space.encode(w);
        }
    }
}

type Read = (Millis, Millis, HashMap<Namespace, Space>);

fn read_book(r: &mut Reader<'_>) -> Result<Read, DecodeError> {
    let format = r.number()?;
    if format != FORMAT {
        return Err(DecodeError::UnknownKind { what: "format", kind: format });
    }
    let (fine_kept_ms, coarse_kept_ms) = (r.number()?, r.number()?);
    let mut spaces = HashMap::new();
    for _ in 0..r.count(3)? {
        spaces.insert(r.name("namespace")?, Space::decode(r)?);
    }
    Ok((fine_kept_ms, coarse_kept_ms, spaces))
}

impl Space {
    fn encode(&self, w: &mut Writer) {
        w.count(self.limits.len());
        for (limit, tracks) in &self.limits {
            w.text(limit.as_str());
            w.number(tracks.since);
            w.option(tracks.granted_at, Writer::number);
            tracks.fine.encode(w);
            tracks.coarse.encode(w);
        }
        w.count(self.orphans.len());
        for (slot, orphan) in &self.orphans {
            w.text(slot.as_str());
            w.number(orphan.ended_at);
            w.count(orphan.limits.len());
            orphan.limits.iter().for_each(|limit| w.text(limit.as_str()));
        }
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut space = Space::default();
        for _ in 0..r.count(10)? {
            let limit = r.name("limit")?;
            let (since, granted_at) = (r.number()?, r.option(Reader::number)?);
            let (fine, coarse) = (Track::decode(FINE_MS, r)?, Track::decode(COARSE_MS, r)?);
            space.limits.insert(limit, Tracks { fine, coarse, since, granted_at });
        }
        for _ in 0..r.count(3)? {
            let slot = r.name("slot")?;
            let ended_at = r.number()?;
            let limits = (0..r.count(2)?).map(|_| r.name("limit")).collect::<Result<_, _>>()?;
            space.orphans.insert(slot, Orphan { ended_at, limits });
        }
        Ok(space)
    }
}
