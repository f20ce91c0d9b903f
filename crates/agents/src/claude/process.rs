//! The process table, as far as it can tell whether an agent runs.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::pid_domain::{PidDomain, Vantage};
use super::time_namespace::{StartInside, host_ticks, offset_of, own_offset};

pub(super) const PROC: &str = "/proc";

/// Among the flags of a process: it is a part of the kernel, and has no arguments.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Among the flags of a process: the kernel is taking it apart, which takes a large one a second on a busy machine.
const EXITING: u32 = 0x4;

/// Among the signals that wait for a process: it was killed, and runs nothing more.
const KILLED: u32 = 1 << 8;

/// Every process at one moment.
pub struct Processes {
    all: Vec<Process>,
    readable: bool,
    /// Every file that is open, with who has it by which descriptor; looked for when it is first asked for.
    open: OnceLock<HashMap<PathBuf, Vec<(usize, OsString)>>>,
    /// From where the table is seen; looked for when it is first asked for.
    vantage: OnceLock<Vantage>,
}

/// One process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot, as the host counts them.
    pub start_ticks: u64,
    /// When it started, in milliseconds since 1970.
    pub started_ms: Option<i64>,
    /// The process that started it, or took it over.
    pub parent: u32,
    /// Its controlling terminal as the kernel numbers it; 0 without one.
    pub tty: u32,
    arguments: Vec<String>,
}

impl Processes {
    /// Lists the processes. Those that end meanwhile are left out; those of other users show little.
    pub fn look() -> Processes {
        let Ok(entries) = std::fs::read_dir(PROC) else {
            return Processes {
                all: Vec::new(),
                readable: false,
                open: OnceLock::new(),
                vantage: OnceLock::new(),
            };
        };
        let boot = boot_time_ms();
        let own = std::process::id();
        let mut all = Vec::new();
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if pid != own
                && let Some(process) = Process::read(pid, boot)
            {
                all.push(process);
            }
        }
        // A table in which not even the first process shows is some other `/proc`.
        let readable = Path::new(PROC).join("self/stat").exists();
        Processes { all, readable, open: OnceLock::new(), vantage: OnceLock::new() }
    }

    /// From where the table is seen.
    pub fn vantage(&self) -> &Vantage {
        self.vantage.get_or_init(Vantage::look)
    }

    /// Whether the table could be read at all.
    pub fn readable(&self) -> bool {
        self.readable
    }

    /// All of them, but this one.
    pub fn all(&self) -> &[Process] {
        &self.all
    }

    /// The process with this id.
    pub fn get(&self, pid: u32) -> Option<&Process> {
        self.all.iter().find(|process| process.pid == pid)
    }

    /// The agent that has this id in another pid namespace of this boot, where its processes are seen from here.
    pub(crate) fn in_namespace(&self, domain: &PidDomain, pid: u32, start: u64) -> Option<&Process> {
        let namespace = domain.namespace.as_deref()?;
        let is_it = |process: &&Process| {
            process.is_agent()
                && process.has_started_at(start) == Some(true)
                && process.namespace_id().is_some_and(|(theirs, id)| theirs == namespace && id == pid)
        };
        self.all.iter().find(is_it)
    }

    /// A process that has this file open for writing.
    pub fn writing(&self, path: &Path) -> Option<&Process> {
        let path = std::fs::canonicalize(path).ok()?;
        let holders = self.open.get_or_init(|| self.open_files()).get(&path)?;
        let writes = |(at, descriptor): &&(usize, OsString)| {
            let process = self.all.get(*at).map(Process::folder);
            process.is_some_and(|folder| opened_for_writing(&folder.join("fdinfo").join(descriptor)))
        };
        self.all.get(holders.iter().find(writes)?.0)
    }

    /// The files that a process has open.
    pub(crate) fn opened_by(&self, process: &Process) -> Vec<&Path> {
        let is_its =
            |(at, _): &(usize, OsString)| self.all.get(*at).is_some_and(|other| other.pid == process.pid);
        let open = self.open.get_or_init(|| self.open_files()).iter();
        open.filter(|(_, holders)| holders.iter().any(is_its)).map(|(path, _)| path.as_path()).collect()
    }

    /// Once for all of them: a restore asks for a hundred conversations, and there may be thousands of descriptors.
    fn open_files(&self) -> HashMap<PathBuf, Vec<(usize, OsString)>> {
        let mut open: HashMap<PathBuf, Vec<(usize, OsString)>> = HashMap::new();
        for (at, process) in self.all.iter().enumerate() {
            let Ok(descriptors) = std::fs::read_dir(process.folder().join("fd")) else { continue };
            for entry in descriptors.flatten() {
                if let Ok(target) = std::fs::read_link(entry.path())
                    && target.is_absolute()
                {
                    open.entry(target).or_default().push((at, entry.file_name()));
                }
            }
        }
        open
    }
}

/// What the kernel says of a process in one line.
pub(crate) struct Stat {
    pub(crate) pid: u32,
    pub(crate) comm: String,
    pub(crate) start_ticks: u64,
    pub(crate) parent: u32,
    pub(crate) tty: u32,
    of_kernel: bool,
    /// Whether it runs nothing more: dead and not yet waited for, or on its way there.
    ended: bool,
}

impl Stat {
    /// Of a process, by its id or `self`.
    pub(crate) fn read(process: &str) -> Option<Stat> {
        let stat = Stat::of(&read_small(&Path::new(PROC).join(process).join("stat"))?)?;
        Some(Stat { start_ticks: host_ticks(stat.start_ticks), ..stat })
    }

    fn of(stat: &[u8]) -> Option<Stat> {
        // The name in parentheses may hold anything, so fields are counted from the last one.
        let (open, close) =
            (stat.iter().position(|byte| *byte == b'(')?, stat.iter().rposition(|byte| *byte == b')')?);
        let pid = std::str::from_utf8(stat.get(..open)?).ok()?.trim().parse().ok()?;
        let comm = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
        let fields: Vec<&str> =
            std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
        let (flags, pending) = (number(6).unwrap_or_default(), number(28).unwrap_or_default());
        Some(Stat {
            pid,
            comm,
            start_ticks: fields.get(19)?.parse().ok()?,
            parent: number(1)?,
            tty: number(4).unwrap_or_default(),
            of_kernel: flags & KERNEL_THREAD != 0,
            ended: matches!(*fields.first()?, "Z" | "X") || flags & EXITING != 0 || pending & KILLED != 0,
        })
    }
}

/// Whether nothing runs under this id any more. Within a short time it is not given to another process.
pub fn is_gone(pid: u32) -> bool {
    Stat::read(&pid.to_string()).is_none_or(|stat| stat.ended)
}

impl Process {
    fn read(pid: u32, boot: Option<i64>) -> Option<Process> {
        let stat = Stat::read(&pid.to_string()).filter(|stat| !stat.ended)?;
        let Stat { start_ticks, parent, tty, of_kernel, .. } = stat;
        let ticks_ms = i64::try_from(start_ticks.checked_mul(1_000)? / ticks_per_second()).ok()?;
        let cmdline = if of_kernel { Vec::new() } else { cmdline(&pid.to_string()) };
        let arguments =
            cmdline.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).trim().to_owned());
        let arguments = arguments.filter(|argument| !argument.is_empty()).collect();
        Some(Process {
            pid,
            start_ticks,
            started_ms: boot.map(|boot| boot + ticks_ms),
            parent,
            tty,
            arguments,
        })
    }

    /// Its program and arguments, but for empty ones.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Whether it looks like an agent: `claude` itself, or Node with its script.
    pub fn is_agent(&self) -> bool {
        super::chain::is_agent(&self.arguments)
    }

    /// Whether it is the process that started then, by a number that rekindle or the agent itself wrote down; nothing where the
    /// two cannot be compared. An agent, and a hook of an earlier rekindle beside it, write what they read in the agent's own time
    /// namespace.
    pub fn has_started_at(&self, start: u64) -> Option<bool> {
        if self.start_ticks == start {
            return Some(true);
        }
        match self.start_inside() {
            StartInside::AsOutside => Some(false),
            inside @ StartInside::At(_) => Some(inside.is(self.start_ticks, start)),
            // Any other process has the id of an agent that is gone.
            StartInside::Unknown => (!self.is_agent()).then_some(false),
        }
    }

    /// When it started as it reads that itself.
    pub fn start_inside(&self) -> StartInside {
        match offset_of(&self.pid.to_string()) {
            Some(0) if own_offset() == 0 => StartInside::AsOutside,
            Some(offset) => StartInside::At(self.start_ticks.saturating_add_signed(offset)),
            None => StartInside::Unknown,
        }
    }

    /// Its pid namespace, and its id in there.
    fn namespace_id(&self) -> Option<(String, u32)> {
        Some((self.namespace()?, self.innermost_id()?))
    }

    /// Its pid namespace; `None` where that cannot be read, as of another user's process.
    pub(super) fn namespace(&self) -> Option<String> {
        Some(self.link("ns/pid")?.display().to_string())
    }

    /// Its id in its own pid namespace. Anybody may read it.
    pub(super) fn innermost_id(&self) -> Option<u32> {
        let status = crate::files::read_to_string(self.folder().join("status")).ok()?;
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        ids.split_ascii_whitespace().next_back()?.parse().ok()
    }

    /// Whether its arguments tell it to resume or begin this session.
    pub fn names_session(&self, session: &str) -> bool {
        self.named_sessions().any(|named| named == session)
    }

    /// The sessions its arguments name.
    pub fn named_sessions(&self) -> impl Iterator<Item = &str> {
        const FLAGS: [&str; 3] = ["--resume", "-r", "--session-id"];
        let pairs =
            self.arguments.windows(2).filter(|pair| FLAGS.contains(&pair[0].as_str())).map(|pair| &*pair[1]);
        let joined = self
            .arguments
            .iter()
            .filter_map(|argument| argument.split_once('=').filter(|(flag, _)| FLAGS.contains(flag)))
            .map(|(_, value)| value);
        pairs.chain(joined)
    }

    /// Where it works.
    pub fn cwd(&self) -> Option<String> {
        self.link("cwd")?.into_os_string().into_string().ok()
    }

    /// The environment it was started with; `None` where that cannot be read.
    pub fn environment(&self) -> Option<Vec<(OsString, OsString)>> {
        let environment = crate::files::read(self.folder().join("environ")).ok()?;
        let variables = environment.split(|byte| *byte == 0).filter_map(|variable| {
            let equals = variable.iter().position(|byte| *byte == b'=')?;
            let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_os_string();
            Some((text(&variable[..equals]), text(&variable[equals + 1..])))
        });
        Some(variables.collect())
    }

    /// Where it keeps its transcripts, by its environment; `None` where that cannot be read.
    pub fn projects(&self) -> Option<PathBuf> {
        let environment = self.environment()?;
        let value = |name: &str| {
            let found = environment.iter().find(|(variable, _)| variable == name);
            found.map(|(_, value)| value).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let config = value("CLAUDE_CONFIG_DIR").or_else(|| value("HOME").map(|home| home.join(".claude")))?;
        Some(config.join("projects"))
    }

    /// Whether it keeps its transcripts in this folder; nothing where that cannot be told. Its path is followed from its own
    /// root: in a container the same path may be another folder, and another path the same.
    pub fn works_in(&self, projects: &Path) -> Option<bool> {
        let theirs = self.projects()?;
        let behind_root = theirs.strip_prefix("/").ok()?;
        let theirs = std::fs::metadata(self.folder().join("root").join(behind_root)).ok()?;
        let ours = std::fs::metadata(projects).ok()?;
        Some((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()))
    }

    fn link(&self, name: &str) -> Option<PathBuf> {
        std::fs::read_link(self.folder().join(name)).ok()
    }

    fn folder(&self) -> PathBuf {
        Path::new(PROC).join(self.pid.to_string())
    }
}

/// When a process started, in the kernel's ticks since boot as the host counts them; nothing where it has ended.
pub fn start_of(pid: u32) -> Option<u64> {
    Stat::read(&pid.to_string()).filter(|stat| !stat.ended).map(|stat| stat.start_ticks)
}

/// The arguments of a process, each with a NUL behind it; nothing where they cannot be read.
pub(crate) fn cmdline(process: &str) -> Vec<u8> {
    read_small(&Path::new(PROC).join(process).join("cmdline")).unwrap_or_default()
}

/// Reads a file of the kernel, whose size nobody knows beforehand: asked for in small pieces, it takes ten system calls.
#[expect(
    clippy::disallowed_methods,
    reason = "a file of the kernel: always regular, and there are thousands"
)]
pub(super) fn read_small(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut buffer = [0; 4096];
    let length = file.read(&mut buffer).ok()?;
    let mut bytes = buffer[..length].to_vec();
    if length == buffer.len() {
        file.read_to_end(&mut bytes).ok()?;
    }
    Some(bytes)
}

fn opened_for_writing(fdinfo: &Path) -> bool {
    let text = crate::files::read_to_string(fdinfo).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).map(str::trim).unwrap_or_default();
    // The lowest two bits are the access mode; 0 is reading.
    u32::from_str_radix(flags, 8).is_ok_and(|flags| flags & 0o3 != 0)
}

/// Machine and pid namespace as the agent writes them: a pid means something only inside of both.
pub fn pid_domain() -> Option<String> {
    // Images of containers often have no machine id, and the namespace matters all the same.
    PidDomain::own().text()
}

/// When this machine was started, in milliseconds since 1970.
pub(super) fn boot_time_ms() -> Option<i64> {
    let stat = crate::files::read_to_string("/proc/stat").ok()?;
    let seconds: i64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    // The kernel takes the offset of this process's time namespace from it.
    let per_second = i64::try_from(ticks_per_second()).ok()?;
    Some(seconds * 1_000 + own_offset().checked_mul(1_000)?.checked_div(per_second)?)
}

pub(super) fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A busy machine takes a second to take a large process apart: until then it is in the list, and runs nothing.
    #[test]
    fn who_was_killed_is_gone() {
        let line = |state: &str, flags: u32, pending: u32| {
            format!(
                "7 (a) b) {state} 3 7 7 34816 7 {flags} 0 0 0 0 1 1 0 0 20 0 9 0 4242 1 1 1 1 1 1 1 1 {pending} 0 0 0\n"
            )
        };
        let alive = Stat::of(line("S", 0x40_0000, 0).as_bytes()).unwrap();
        assert_eq!((alive.start_ticks, alive.parent, alive.tty, alive.of_kernel), (4242, 3, 34816, false));
        assert!(Stat::of(line("S", KERNEL_THREAD, 0).as_bytes()).unwrap().of_kernel);
        assert_eq!((alive.pid, alive.comm.as_str(), alive.ended), (7, "a) b", false));
        for gone in [line("Z", 0, 0), line("R", EXITING, 0), line("R", 0, KILLED)] {
            assert!(Stat::of(gone.as_bytes()).unwrap().ended, "{gone}");
        }
        assert!(Stat::of(b"7 (a) S 3").is_none() && !is_gone(std::process::id()) && is_gone(u32::MAX));
        assert!(Processes::look().get(std::process::id()).is_none(), "all but this one");
        assert!(Processes::look().all().len() > 1);
    }
}
