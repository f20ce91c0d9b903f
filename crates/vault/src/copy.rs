//! One file, right now, for certain: what a repair needs before it touches anything.

use std::io::{self, Read, Write};

use agents::claude::Source;
use jiff::Timestamp;

use crate::error::reading;
use crate::plan::Depth;
use crate::seen::{self, Seen};
use crate::store::{Origination, Writer};
use crate::sync::name_of;
use crate::vault::Vault;
use crate::{Error, Key};

/// A copy in the vault that was read back and is what the file was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The conversation.
    pub key: Key,
    /// The file in it.
    pub file: String,
    /// The generation that holds it.
    pub generation: u32,
    /// Its length.
    pub size: u64,
    /// The hash of its whole content, in hexadecimal.
    pub blake3: String,
}

impl Vault {
    /// Mirrors one file, comparing every byte, and reads the copy back.
    pub fn sync_one(&self, source: &Source, whose: Origination, now: Timestamp) -> Result<Copy, Error> {
        let _shared = self.share()?;
        let (key, begin) = self.key_and_begin(&source.config, source.session.as_ref());
        let forgotten = self.forgotten()?;
        let is_forgotten = |session| forgotten.has_session(&source.config, session);
        if source.session.as_ref().is_some_and(is_forgotten) {
            return Err(Error::Forgotten { key });
        }
        let base = seen::load(self)?;
        let keys = [key.clone()];
        seen::touch(self, &keys)?;
        let mut writer = Writer::open(self, &key, begin)?;
        let stored = self.with_codec(|codec| writer.store(codec, source, Depth::Whole, whose))??;
        writer.commit(now)?;
        let value = Seen {
            key: key.to_string(),
            generation: stored.generation,
            gone: false,
            shrunk: None,
            standing: stored.standing,
        };
        let entry = store::file_cache::Entry { stamp: stored.stamp, read_at_ns: stored.read_at_ns, value };
        seen::save(self, base, vec![(source.path.clone(), entry)], &keys)?;
        self.check_copy(key, source, stored.generation)
    }

    fn check_copy(&self, key: Key, source: &Source, number: u32) -> Result<Copy, Error> {
        let file = name_of(source);
        let generation = self.generation(&key, &file, Some(number))?;
        let mut copy = Hashing(blake3::Hasher::new());
        let size = self.read_generation(&key, &file, &generation, &mut copy)?;
        let read = reading(&source.path);
        let mut original = Hashing(blake3::Hasher::new());
        let input = store::files::open(&source.path).map_err(&read)?;
        io::copy(&mut input.take(size), &mut original).map_err(&read)?;
        let blake3 = copy.0.finalize();
        if original.0.finalize() != blake3 {
            return Err(Error::Unsteady { path: source.path.clone() });
        }
        Ok(Copy { key, file, generation: number, size, blake3: blake3.to_hex().to_string() })
    }
}

struct Hashing(blake3::Hasher);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
