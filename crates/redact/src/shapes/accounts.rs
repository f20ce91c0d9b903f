//! Passwords in command lines of tools for accounts: password managers, key stores, directories, and tools that log in to other
//! machines. The forms are those of the tools' manuals.

use crate::shape::{Judge, Shape, command, within};

/// A word of the shell, quoted or up to a blank; no option, and without the bracket that ends `$(…)`.
macro_rules! word {
    () => {
        r#"(?:\\{0,3}'([^'\\\n]+)|\\{0,3}"([^"\\\n]+)|([^\s"'`\\|<>&;()-][^\s"'`\\()]*))"#
    };
}

/// What may stand between a command and the option: other options and words of the same command.
macro_rules! others {
    () => {
        r"[ \t](?:[^\n|;]{0,300}?[ \t])?"
    };
}

const fn password(triggers: &'static [&'static str], pattern: &'static str) -> Shape {
    command("password", Judge::Password, triggers, pattern)
}

/// The tools of impacket that run something on another machine.
const EXECUTING: &[&str] = &[
    "psexec.py ",
    "smbexec.py ",
    "wmiexec.py ",
    "atexec.py ",
    "dcomexec.py ",
    "secretsdump.py ",
    "smbclient.py ",
    "mssqlclient.py ",
    "lookupsid.py ",
    "reg.py ",
    "services.py ",
    "rpcdump.py ",
    "samrdump.py ",
    "netview.py ",
    "ticketer.py ",
    "addcomputer.py ",
    "ntlmrelayx.py ",
    "smbserver.py ",
    "impacket-",
];

pub(super) static SHAPES: [Shape; 16] = [
    // Where the word is not the last one or followed by an option, it is part of a sentence.
    password(
        &["bw unlock "],
        concat!(
            r"bw[ \t]+unlock(?:[ \t]+--(?:raw|quiet|response|pretty|nointeraction|cleanexit))*[ \t]+",
            word!(),
            r#"\\{0,3}["']?[ \t]*(?:\z|[\r\n|;&)`\\]|--|\xe2[\x94\x95])"#
        ),
    ),
    password(
        &["bw login "],
        concat!(
            r#"bw[ \t]+login(?:[ \t]+--(?:raw|quiet|response|pretty|nointeraction|cleanexit))*[ \t]+["']?[^\s@"']+@[^\s"']+["']?[ \t]+"#,
            word!()
        ),
    ),
    within(
        "session key",
        Judge::Token,
        &["bw_session=", "op_session_"],
        r#"(?i:bw_session|op_session_[a-z0-9_]+)=\\{0,3}["']?([A-Za-z0-9+/=_-]{20,})"#,
    ),
    command(
        "session key",
        Judge::Token,
        &["bw "],
        r#"bw[ \t][^\n|;]{0,300}?--session[ =]+\\{0,3}["']?([A-Za-z0-9+/=]{40,})"#,
    ),
    // A quoted login may hold blanks. Before the next one: of two that begin alike, the first that finds something counts.
    password(
        EXECUTING,
        r#"[A-Za-z-]+(?:\.py)?[ \t](?:[^\n|;]{0,300}?[ \t])?(?:'(?:[^'/:@\n]+/)?[^'/:@\n]+:([^'\n]+)'|"(?:[^"/:@\n]+/)?[^"/:@\n]+:([^"\n]+)")@"#,
    ),
    // impacket: `[[domain/]user[:password]@]host`.
    password(
        EXECUTING,
        r#"[A-Za-z-]+(?:\.py)?[ \t](?:[^\n|;]{0,300}?[ \t])?["']?(?:[^\s/:"'@]+[/\\]{1,2})?[^\s/:"'@-][^\s/:"'@]*:\\{0,3}["']?([^\s"'`]+)\\{0,3}["']?@[A-Za-z0-9.\[\]:_-]+(?:\z|[\s"'`|])"#,
    ),
    // The same without a host: these ask the domain's own server.
    password(
        &[
            "getuserspns",
            "getnpusers",
            "gettgt",
            "getst.py",
            "getadusers",
            "getadcomputers",
            "finddelegation",
            "getpac",
            "addcomputer",
            "rbcd.py",
            "dacledit",
            "owneredit",
            "changepasswd.py",
            "impacket-get",
        ],
        r#"(?:impacket-)?[A-Za-z]+(?:\.py)?[ \t](?:[^\n|;]{0,300}?[ \t])?["']?[A-Za-z0-9._-]+/[^\s/:"'@-][^\s/:"'@]*:\\{0,3}["']?([^\s"'`@]+)"#,
    ),
    // Its tools take the hash of a password in place of the password.
    within(
        "password hash",
        Judge::Shape,
        &["-hashes "],
        r#"-hashes[ \t]+["']?((?:[0-9A-Fa-f]{32})?:[0-9A-Fa-f]{32})\b"#,
    ),
    password(
        &["smbmap ", "bloodhound-python ", "hydra ", "medusa ", "certipy "],
        concat!("[a-z-]+", others!(), r"-p[ \t=]+", word!()),
    ),
    password(
        &["security unlock-keychain", "security create-keychain", "security set-key-partition-list"],
        concat!("security[ \t]+[a-z-]+", others!(), r"-[pk][ \t]+", word!()),
    ),
    password(
        &["security add-generic-password", "security add-internet-password"],
        concat!("security[ \t]+[a-z-]+", others!(), r"-w[ \t]+", word!()),
    ),
    password(
        &["mkpasswd "],
        concat!(
            r"mkpasswd(?:[ \t]+(?:-[mSR][ \t]*[^\s]+|--[a-z]+=[^\s]+))*[ \t]+",
            word!(),
            r#"["']?[ \t]*(?:\z|[\r\n|;&)])"#
        ),
    ),
    password(
        &["openssl passwd "],
        concat!(r"openssl[ \t]+passwd(?:[ \t]+-(?:salt[ \t]+[^\s]+|[a-z0-9]+))*[ \t]+", word!()),
    ),
    password(
        &["pdftotext ", "pdfimages ", "pdfinfo ", "pdftoppm ", "pdftk "],
        concat!("[a-z]+", others!(), r"(?:-[uo]pw|(?:input|user|owner)_pw)[ \t]+", word!()),
    ),
    password(
        &["kadmin ", "ipa-client-install ", "dsconf "],
        concat!(r"[a-z-]+", others!(), r"-w[ \t]+", word!()),
    ),
    password(
        &["samba-tool user "],
        concat!(r"samba-tool[ \t]+user[ \t]+(?:create|add)[ \t]+[^\s-][^\s]*[ \t]+", word!()),
    ),
];
