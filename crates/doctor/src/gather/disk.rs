//! File systems: how much room they have, and whether they are far away.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sessions::alarm::{Space, space};

use super::Places;

/// The room on each file system that holds something of interest, under the first name that leads there.
pub(super) fn spaces(places: &Places) -> Vec<(PathBuf, Space)> {
    let configs = places.sites.iter().map(|site| site.config.path());
    let mut devices = Vec::new();
    let mut found = Vec::new();
    for path in [places.state.as_path()].into_iter().chain(configs) {
        let Some(there) = nearest(path) else { continue };
        let device = std::fs::metadata(there).map(|meta| meta.dev()).ok();
        if !devices.contains(&device)
            && let Some(space) = space(there)
        {
            devices.push(device);
            found.push((path.to_path_buf(), space));
        }
    }
    found
}

/// The path itself, or what is there of it.
fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors().find(|above| above.exists())
}

/// The network file system that a path lies on; nothing for a local one.
#[cfg(target_os = "linux")]
pub(super) fn network(path: &Path) -> Option<&'static str> {
    kind(rustix::fs::statfs(nearest(path)?).ok()?.f_type)
}

/// Not told on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn network(_path: &Path) -> Option<&'static str> {
    None
}

/// By the numbers in linux/magic.h and the file systems' own headers; their type differs between processors.
#[cfg(target_os = "linux")]
fn kind(number: impl Into<i64>) -> Option<&'static str> {
    match number.into() & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x0102_1997 => Some("9P"),
        0x00c3_6400 => Some("Ceph"),
        // sshfs and its like; local ones with FUSE are slow in the same way.
        0x6573_5546 => Some("FUSE"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_their_number() {
        assert_eq!(kind(0x6969), Some("NFS"));
        // As a signed number of 32 bits.
        assert_eq!(kind(0xff53_4d42_u32.cast_signed()), Some("SMB"));
        assert_eq!(kind(0xef53), None);
        assert_eq!(network(Path::new("/proc/none/of/this")), None);
    }
}
