use serde::{Deserialize, Serialize};

/// What `stat` tells about one version of a file; two equal stamps mean the same bytes as far as the kernel can tell.
///
/// The change time is part of it because a program can set the modification time but not that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time, nanoseconds since 1970.
    pub ctime_ns: i64,
}

impl Stamp {
    /// From the metadata of an open file or a path.
    pub fn of(meta: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime_ns: nanoseconds(meta.mtime(), meta.mtime_nsec()),
            ctime_ns: nanoseconds(meta.ctime(), meta.ctime_nsec()),
        }
    }

    // The field types of `stat` differ between platforms; all of them fit.
    #[allow(clippy::unnecessary_cast, reason = "u64 on Linux, smaller elsewhere")]
    pub(crate) fn of_stat(stat: &rustix::fs::Stat) -> Self {
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime_ns: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

// Saturates for years past 2262: such a file is merely never called unchanged.
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
