//! Where a process id means something: a machine, a boot of it, and a pid namespace.
//!
//! A container has a namespace of its own, so the process that is 40 in there is another one out here, or none. Whether a
//! process of another namespace lives can be told from the initial namespace alone, which sees them all.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use crate::files;

/// What was known of a process when it was heard of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PidDomain {
    /// The machine, by `/etc/machine-id`. Containers often have another one than their host, or none.
    pub machine: Option<String>,
    /// The boot. All containers of a machine have the same.
    pub boot: Option<String>,
    /// The pid namespace, such as `pid:[4026531836]`.
    pub namespace: Option<String>,
}

/// What a process id of another domain means here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The same as here: the process table tells whether it runs.
    Here,
    /// Nothing: whatever ran there is gone.
    Gone,
    /// It cannot be told from here.
    Unknown {
        /// Why not.
        why: &'static str,
    },
}

/// This process's own domain, and the namespaces of all processes where they can be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vantage {
    /// This process's own domain.
    pub own: PidDomain,
    /// The namespace of every process; nothing where some cannot be seen.
    pub namespaces: Option<BTreeSet<String>>,
}

/// The kernel gives the initial pid namespace this number, on every machine (`PROC_PID_INIT_INO`).
const INITIAL: &str = "pid:[4026531836]";

impl PidDomain {
    /// This process's own.
    pub fn own() -> PidDomain {
        let read = |path: &str| files::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok();
        PidDomain {
            machine: read("/etc/machine-id").filter(|machine| !machine.is_empty()),
            boot: read("/proc/sys/kernel/random/boot_id"),
            namespace: namespace.map(|namespace| namespace.display().to_string()),
        }
    }

    /// Machine and namespace as agents write them; nothing where the system tells no namespace.
    pub fn text(&self) -> Option<String> {
        Some(format!("linux:{}:{}", self.machine.as_deref().unwrap_or_default(), self.namespace.as_ref()?))
    }

    /// Reads machine and namespace as agents write them: `linux:<machine id>:pid:[4026531836]`.
    pub fn parse(text: &str) -> PidDomain {
        let parts = text.split_once(':').and_then(|(_, rest)| rest.split_once(':'));
        let (machine, namespace) = parts.unzip();
        let known = |part: &str| Some(part.to_owned()).filter(|part| !part.is_empty());
        PidDomain { machine: machine.and_then(known), boot: None, namespace: namespace.and_then(known) }
    }
}

impl Vantage {
    /// Looks at this process and, from the initial namespace, at all others.
    pub fn look() -> Vantage {
        let own = PidDomain::own();
        let initial = own.namespace.as_deref() == Some(INITIAL);
        Vantage { namespaces: initial.then(|| all_namespaces(Path::new("/proc"))).flatten(), own }
    }

    /// What a process id of this domain means here.
    pub fn reach(&self, theirs: &PidDomain) -> Reach {
        let differ = |a: &Option<String>, b: &Option<String>| matches!((a, b), (Some(a), Some(b)) if a != b);
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        let same_boot = same(&self.own.boot, &theirs.boot);
        let same_machine = same_boot || same(&self.own.machine, &theirs.machine);
        if !same_boot && differ(&self.own.machine, &theirs.machine) {
            return Reach::Unknown { why: "it ran on another machine or in another container" };
        }
        if differ(&self.own.boot, &theirs.boot) {
            return Reach::Gone;
        }
        if !differ(&self.own.namespace, &theirs.namespace) {
            return Reach::Here;
        }
        match (&self.namespaces, &theirs.namespace) {
            (Some(all), Some(theirs)) if same_machine && !all.contains(theirs) => Reach::Gone,
            (Some(_), _) => {
                Reach::Unknown { why: "it ran in a container (pid namespace) that may still run" }
            }
            (None, _) => Reach::Unknown {
                why: "it ran in another container (pid namespace), whose processes cannot be seen from here",
            },
        }
    }
}

/// The namespace of every process; nothing where one of another namespace cannot be looked at.
fn all_namespaces(proc: &Path) -> Option<BTreeSet<String>> {
    // A table that hides processes (`hidepid`) hides the first one, too.
    files::read(proc.join("1/status")).ok()?;
    let mut all = BTreeSet::new();
    for entry in std::fs::read_dir(proc).ok()? {
        let folder = entry.ok()?.path();
        let is_process = folder.file_name()?.to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        if !is_process {
            continue;
        }
        match namespace(&folder) {
            Ok(Some(namespace)) => {
                all.insert(namespace);
            }
            Ok(None) => {}
            // It has ended meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
            Err(_) => return None,
        }
    }
    Some(all)
}

/// The namespace of a process; nothing for one that is in ours for certain and does not let us look.
fn namespace(folder: &Path) -> io::Result<Option<String>> {
    match std::fs::read_link(folder.join("ns/pid")) {
        Ok(link) => Ok(Some(link.display().to_string())),
        // Another user's. Anybody may read its ids, one for each namespace from here down to its own.
        Err(denied) if denied.kind() == io::ErrorKind::PermissionDenied => {
            let status = files::read_to_string(folder.join("status"))?;
            let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
            match ids.map(|ids| ids.split_ascii_whitespace().count()) {
                Some(1) => Ok(None),
                _ => Err(denied),
            }
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(machine: &str, boot: &str, namespace: &str) -> PidDomain {
        let known = |part: &str| Some(part.to_owned()).filter(|part| !part.is_empty());
        PidDomain { machine: known(machine), boot: known(boot), namespace: known(namespace) }
    }

    #[test]
    fn a_process_id_means_something_only_in_its_own_domain() {
        let check = |visible: Option<&[&str]>, theirs: PidDomain, expect: &str| {
            let namespaces =
                visible.map(|visible| visible.iter().map(ToString::to_string).collect::<BTreeSet<_>>());
            let vantage = Vantage { own: domain("m", "b", "pid:[1]"), namespaces };
            let reach = match vantage.reach(&theirs) {
                Reach::Here => "here",
                Reach::Gone => "gone",
                Reach::Unknown { .. } => "unknown",
            };
            assert_eq!(reach, expect, "{visible:?} {theirs:?}");
        };
        let both: Option<&[&str]> = Some(&["pid:[1]", "pid:[2]"]);
        check(both, domain("m", "b", "pid:[1]"), "here");
        check(both, domain("m", "a", "pid:[1]"), "gone");
        check(both, domain("m", "a", "pid:[2]"), "gone");
        check(both, domain("n", "a", "pid:[1]"), "unknown");
        // A container has another machine id than its host, and the same boot.
        check(both, domain("n", "b", "pid:[1]"), "here");
        check(both, domain("m", "b", "pid:[2]"), "unknown");
        check(both, domain("m", "b", "pid:[3]"), "gone");
        check(both, domain("n", "b", "pid:[3]"), "gone");
        check(None, domain("m", "b", "pid:[3]"), "unknown");
        // A registry does not say the boot.
        check(both, domain("m", "", "pid:[3]"), "gone");
        check(both, domain("m", "", "pid:[2]"), "unknown");
        check(both, domain("", "", "pid:[3]"), "unknown");
        check(both, domain("m", "", "pid:[1]"), "here");
        check(both, domain("", "", ""), "here");
    }

    #[test]
    fn reads_what_agents_write() {
        assert_eq!(PidDomain::parse("linux:m:pid:[4026531836]"), domain("m", "", INITIAL));
        assert_eq!(PidDomain::parse("linux::pid:[7]"), domain("", "", "pid:[7]"));
        assert_eq!(PidDomain::parse("garbage"), PidDomain::default());
    }

    #[test]
    fn this_process_is_in_its_own_namespace() {
        let vantage = Vantage::look();
        assert!(vantage.own.boot.is_some() && vantage.own.namespace.is_some());
        if let (Some(all), Some(own)) = (&vantage.namespaces, &vantage.own.namespace) {
            assert!(all.contains(own));
        }
        assert_eq!(vantage.reach(&vantage.own), Reach::Here);
    }
}
