//! Which frames exist anywhere in the vault, so that a fork finds those of its origin.
//!
//! Derived: a hint that is checked against the stored bytes before it is used. Deleted, it is rebuilt.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use store::durable::{self, Sync};

use crate::frame::{Digest, Frame};
use crate::vault::Vault;
use crate::{Error, Key};

const MAGIC: &[u8; 8] = b"rkframe1";
/// Half a hash, the conversation, and where the frame stands in it: offset, length.
const RECORD: usize = 16 + 8 + 8 + 4;

pub(crate) struct FrameIndex {
    path: PathBuf,
    table: Mutex<Option<Table>>,
}

#[derive(Default)]
struct Table {
    frames: HashMap<[u8; 16], Place>,
    conversations: HashMap<u64, Key>,
}

#[derive(Clone, Copy)]
struct Place {
    conversation: u64,
    offset: u64,
    length: u32,
}

/// Where a frame with some content may be.
pub(crate) struct Hint {
    pub(crate) key: Key,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

impl FrameIndex {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, table: Mutex::new(None) }
    }

    pub(crate) fn find(&self, vault: &Vault, digest: &Digest) -> Result<Option<Hint>, Error> {
        self.with(vault, |table| {
            let place = table.frames.get(&half(digest))?;
            let key = table.conversations.get(&place.conversation)?.clone();
            Some(Hint { key, offset: place.offset, length: place.length })
        })
    }

    /// Makes frames known, once a synced manifest names them; before that nobody may refer to them.
    pub(crate) fn publish(&self, vault: &Vault, key: &Key, frames: &[Frame]) -> Result<(), Error> {
        let own: Vec<&Frame> = frames.iter().filter(|frame| frame.place.is_none()).collect();
        if own.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(own.len() * RECORD);
        self.with(vault, |table| {
            for frame in own {
                bytes.extend_from_slice(&record(key, frame));
                table.add(key, frame);
            }
        })?;
        durable::append(&self.path, &bytes, Sync::No)?;
        Ok(())
    }

    fn with<T>(&self, vault: &Vault, work: impl FnOnce(&mut Table) -> T) -> Result<T, Error> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.is_none() {
            *table = Some(self.load(vault)?);
        }
        Ok(work(table.get_or_insert_default()))
    }

    fn load(&self, vault: &Vault) -> Result<Table, Error> {
        let keys = vault.keys()?;
        let mut table = Table::default();
        table.conversations.extend(keys.iter().map(|key| (number(key), key.clone())));
        match store::files::read_own(&self.path) {
            Ok(bytes) if bytes.starts_with(MAGIC) => table.read(&bytes[MAGIC.len()..]),
            _ => self.rebuild(vault, &keys, &mut table)?,
        }
        Ok(table)
    }

    fn rebuild(&self, vault: &Vault, keys: &[Key], table: &mut Table) -> Result<(), Error> {
        let mut bytes = MAGIC.to_vec();
        for key in keys {
            for frame in vault.state(key)?.frames().filter(|frame| frame.place.is_none()) {
                bytes.extend_from_slice(&record(key, frame));
                table.add(key, frame);
            }
        }
        durable::replace(&self.path, &bytes)?;
        Ok(())
    }

    /// Throws the index away, after frames have gone or moved.
    pub(crate) fn forget(&self) -> Result<(), Error> {
        *self.table.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(durable::remove(&self.path)?)
    }
}

impl Table {
    fn add(&mut self, key: &Key, frame: &Frame) {
        let conversation = number(key);
        self.conversations.entry(conversation).or_insert_with(|| key.clone());
        let place = Place { conversation, offset: frame.offset, length: frame.length };
        self.frames.insert(half(&frame.blake3), place);
    }

    fn read(&mut self, bytes: &[u8]) {
        let (records, _) = bytes.as_chunks::<RECORD>();
        self.frames.reserve(records.len());
        for record in records {
            let mut hash = [0; 16];
            hash.copy_from_slice(&record[..16]);
            let place = Place {
                conversation: number_at(record, 16),
                offset: number_at(record, 24),
                length: u32::from_le_bytes([record[32], record[33], record[34], record[35]]),
            };
            self.frames.insert(hash, place);
        }
    }
}

fn record(key: &Key, frame: &Frame) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..16].copy_from_slice(&half(&frame.blake3));
    record[16..24].copy_from_slice(&number(key).to_le_bytes());
    record[24..32].copy_from_slice(&frame.offset.to_le_bytes());
    record[32..].copy_from_slice(&frame.length.to_le_bytes());
    record
}

fn number_at(record: &[u8; RECORD], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn half(digest: &Digest) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&digest.0[..16]);
    half
}

fn number(key: &Key) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&blake3::hash(key.as_str().as_bytes()).as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}
