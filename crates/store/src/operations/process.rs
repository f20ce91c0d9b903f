//! The process that runs an operation, and whether it still does.

use std::path::Path;

use agents::claude::process::start_of;
use serde::{Deserialize, Serialize};

/// A process, known by more than its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot.
    #[serde(default)]
    pub start: Option<u64>,
    /// Which boot of the machine.
    #[serde(default)]
    pub boot: Option<String>,
    /// In which pid namespace its id means something.
    #[serde(default)]
    pub namespace: Option<String>,
}

impl Process {
    /// This one.
    pub fn this() -> Process {
        let pid = std::process::id();
        Process { pid, start: start_of(pid), boot: boot(), namespace: namespace("self") }
    }

    /// Whether it is known to run. One of another boot is gone. One of another pid namespace runs if a process of that
    /// namespace is seen. What cannot be seen counts as gone: whatever an undo changes is guarded by locks of its own.
    pub fn is_running(&self) -> bool {
        if let (Some(theirs), Some(ours)) = (&self.boot, boot())
            && *theirs != ours
        {
            return false;
        }
        if let (Some(theirs), Some(ours)) = (&self.namespace, namespace("self"))
            && *theirs != ours
        {
            let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
            return processes
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
                .any(|name| namespace(&name).is_some_and(|namespace| namespace == *theirs));
        }
        if Path::new("/proc/self/stat").exists() {
            return start_of(self.pid).is_some_and(|start| self.start.is_none_or(|known| known == start));
        }
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }
}

fn boot() -> Option<String> {
    let id = crate::files::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

fn namespace(process: &str) -> Option<String> {
    let link = std::fs::read_link(format!("/proc/{process}/ns/pid")).ok()?;
    Some(link.to_string_lossy().into_owned())
}
