//! Getting conversations back out: every byte is checked on its way.

use std::io::Write;
use std::path::Path;

use store::durable::{self, Kept};

use crate::compare::id_of;
use crate::frame::FrameError;
use crate::replay::Generation;
use crate::vault::Vault;
use crate::{Error, Key};

impl Vault {
    /// Writes one generation of a file, byte for byte as it was; no generation given means the newest.
    pub fn read(
        &self,
        key: &Key,
        file: &str,
        generation: Option<u32>,
        out: &mut dyn Write,
    ) -> Result<u64, Error> {
        let _shared = self.share()?;
        let generation = self.generation(key, file, generation)?;
        self.read_generation(key, file, &generation, out)
    }

    /// The end of one generation of a file: so many bytes or a little more, and where they begin.
    pub fn read_end(
        &self,
        key: &Key,
        file: &str,
        generation: u32,
        least: u64,
    ) -> Result<(Vec<u8>, u64), Error> {
        let _shared = self.share()?;
        let mut generation = self.generation(key, file, Some(generation))?;
        let mut wanted = 0;
        let last = generation.frames.iter().rev().take_while(|frame| {
            let goes_on = wanted < least;
            wanted += u64::from(frame.raw);
            goes_on
        });
        let before = generation.frames.len() - last.count();
        let begin = generation.frames.drain(..before).map(|frame| u64::from(frame.raw)).sum();
        let mut bytes = Vec::new();
        self.read_generation(key, file, &generation, &mut bytes)?;
        Ok((bytes, begin))
    }

    /// Puts one generation of a file at a path, whole or not at all.
    pub fn restore_to(
        &self,
        key: &Key,
        file: &str,
        generation: Option<u32>,
        path: &Path,
        kept: Kept,
    ) -> Result<u64, Error> {
        let _shared = self.share()?;
        let generation = self.generation(key, file, generation)?;
        let mut length = Ok(0);
        let written = durable::replace_like(path, kept, |out| {
            length = self.read_generation(key, file, &generation, out);
            if length.is_ok() { Ok(()) } else { Err(std::io::Error::other("the vault's copy is damaged")) }
        });
        // What was wrong with the copy says more than that the write was given up.
        let length = length?;
        written?;
        Ok(length)
    }

    pub(crate) fn generation(&self, key: &Key, file: &str, number: Option<u32>) -> Result<Generation, Error> {
        let state = self.state(key)?;
        if let Some(what) = state.foreign {
            return Err(Error::Foreign { key: key.clone(), what });
        }
        let unknown = || Error::Unknown {
            what: match number {
                Some(number) => format!("version {number} of {file} of {key}"),
                None => format!("{file} of {key}"),
            },
        };
        let generations = &state.files.get(file).ok_or_else(unknown)?.generations;
        let found = match number {
            Some(number) => generations.iter().rev().find(|generation| generation.number == number),
            None => generations.last(),
        };
        found.cloned().ok_or_else(unknown)
    }

    pub(crate) fn read_generation(
        &self,
        key: &Key,
        file: &str,
        generation: &Generation,
        out: &mut dyn Write,
    ) -> Result<u64, Error> {
        if generation.gap {
            return Err(Error::Gap {
                key: key.clone(),
                file: file.to_owned(),
                generation: generation.number,
            });
        }
        let id = id_of(key);
        let mut at = 0;
        for (number, frame) in generation.frames.iter().enumerate() {
            let to = at + u64::from(frame.raw);
            let damaged = |source| Error::Frame {
                key: key.clone(),
                file: file.to_owned(),
                frame: number,
                from: at,
                to,
                source,
            };
            let data = self.data(key, frame.place.as_deref()).map_err(|e| damaged(FrameError::Io(e)))?;
            self.with_codec(|codec| {
                let bytes = codec.unpack(&data, frame, id.as_bytes()).map_err(damaged)?;
                out.write_all(bytes)
                    .map_err(|source| Error::Write(durable::Error::new("write", Path::new(file), source)))
            })??;
            at = to;
        }
        Ok(at)
    }
}
