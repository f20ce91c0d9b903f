//! Whether a value is a secret, a placeholder for one, or code.

use crate::{MARK, entropy, letters};

/// Where a value stands, from what leaves least doubt to what leaves most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// In quotes: a literal.
    Quoted,
    /// Behind an option, in a variable of the environment or in a query: code cannot stand there.
    Given,
    /// In a section of an INI file: no code, but an interpolation may be.
    Section,
    /// All that a line has behind its name, as in YAML and INI files.
    Line,
    /// The same with blanks around the sign, as in INI files and in code.
    Assigned,
    /// Anywhere else: may be code or prose.
    Loose,
}

/// How much of a value is judged: more than keys have.
const JUDGED: usize = 256;

/// Whether this is somebody's password. Any literal is, unless it is known not to be.
pub(crate) fn is_password(value: &[u8], setting: Setting) -> bool {
    let value = judged(value);
    let core = trim(value);
    if core.len() < 3 || is_placeholder(value) || is_place(value) || one_of(core, NO_PASSWORDS) {
        return false;
    }
    let has = |wanted: fn(&u8) -> bool| value.iter().any(wanted);
    let odd =
        has(u8::is_ascii_digit) || has(|byte| !byte.is_ascii_alphanumeric() && !b"_-.,:?!".contains(byte));
    match setting {
        Setting::Quoted | Setting::Section if has(u8::is_ascii_whitespace) => !is_label(value),
        _ if starts_with(value, b"required") => false,
        Setting::Quoted => true,
        Setting::Given => !value.starts_with(b"("),
        Setting::Section => !is_call(value),
        Setting::Line => !is_code(value) || letters::random(value),
        Setting::Assigned if letters::random(value) || is_phrase(value) => true,
        Setting::Assigned | Setting::Loose => {
            odd && !is_code(value) && (has(u8::is_ascii_alphabetic) || value.len() >= 6)
        }
    }
}

/// Whether this is a key or a token, behind a name that says so.
pub(crate) fn is_token(value: &[u8], setting: Setting) -> bool {
    let value = judged(value);
    let short =
        !matches!(setting, Setting::Loose | Setting::Assigned) && value.len() < 24 && entropy::mixed(value);
    could_be_token(value) && (entropy::uuid(value) || entropy::random(value) || short)
}

/// Whether this is a key or a token, behind a name that may mean something else.
pub(crate) fn is_surely_token(value: &[u8], setting: Setting) -> bool {
    let value = judged(value);
    let given = setting == Setting::Given && entropy::random(value) && !entropy::uuid(value);
    could_be_token(value) && (given || (entropy::surely_random(value) && !entropy::hexadecimal(value)))
}

/// The part of a value that is judged: its beginning.
fn judged(value: &[u8]) -> &[u8] {
    &value[..value.len().min(JUDGED)]
}

fn could_be_token(value: &[u8]) -> bool {
    // Base64 may begin with a slash too; no path is so long and random all through.
    let path = value.starts_with(b"/")
        && value.iter().filter(|byte| **byte == b'/').count() > 2
        && !(value.len() >= 40 && entropy::surely_random(value));
    let digest = [&b"sha1"[..], b"sha256", b"sha384", b"sha512", b"md5", b"blake3", b"#"];
    !path
        && !is_placeholder(value)
        && !value.iter().any(|byte| b"()[]{}<>,;|\\".contains(byte))
        && !contains(value, b"://")
        && !contains(value, b"::")
        && !digest.iter().any(|digest| starts_with(value, digest))
}

/// Whether this stands where a secret goes: `<token>`, `${TOKEN}`, `xxxx`, and what was redacted before.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    let filler =
        |text: &str| text.chars().all(|letter| "xX*.-_#? \u{2022}\u{25cf}\u{2026}\u{b7}".contains(letter));
    let variable =
        |rest: &[u8]| rest.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_:.".contains(byte));
    std::str::from_utf8(value).is_ok_and(filler)
        || value.starts_with(b"<")
        || value.starts_with(b"{")
        || (value.starts_with(b"[") && value.ends_with(b"]"))
        || value.strip_prefix(b"$").is_some_and(variable)
        || value.strip_prefix(b":").is_some_and(variable)
        || value.strip_prefix(b"%").is_some_and(|rest| rest.len() < 2 || rest.ends_with(b"%"))
        || ["${", "$(", "{{", "#{", "%(", "<%", "%{", MARK]
            .iter()
            .any(|sign| contains(value, sign.as_bytes()))
        || is_sample(value)
        || STANDINS.iter().any(|word| contains(value, word.as_bytes()))
}

/// Whether a value of a provider's shape is one for show: `AKIA…EXAMPLE`, `ghp_xxxxxxxx`.
pub(crate) fn is_sample(value: &[u8]) -> bool {
    let value = judged(value);
    let tail = &value[value.len() / 3..];
    SAMPLES.iter().any(|word| contains(value, word.as_bytes()))
        || (tail.len() > 7 && entropy::bits(tail) < 1.6)
}

/// Long enough not to stand in a random value by chance.
const SAMPLES: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replaceme",
    "replace_me",
    "replace-me",
    "redacted",
    "xxxxxx",
    "your_",
    "your-",
    "yourtoken",
    "yourkey",
    "yourpass",
    "your unique phrase",
    "******",
    "......",
    MARK,
];

/// Where a value comes from, in place of the value.
const STANDINS: &[&str] = &[
    "process.env",
    "os.environ",
    "import.meta",
    "getenv",
    "secrets.",
    "env[",
    "env.",
    "op://",
    "keyring:",
    "vault:",
    "arn:aws:",
    "insert_",
    "insert-",
    "todo",
    "dummy",
    "...",
    "\u{2026}",
    "%s",
    "{}",
];

/// Types, answers and messages that stand behind the name of a password.
const NO_PASSWORDS: &str = "\
    u8 u16 u32 u64 u128 i8 i16 i32 i64 f32 f64 usize int32 int64 uint32 password passwort passwd passphrase pass pwd string str text varchar char bytes int integer number \
    boolean bool object array any unknown never void type true false null none nil undefined required \
    optional hidden empty missing invalid incorrect wrong unset set secret token value input prompt stdin \
    file env yes off disabled enabled default and the for with not that this from your flag option argument \
    when then instead via has was are must should will can may auth authentication authenticated failed \
    accepted changed updated reset expired hash hashed encrypted bcrypt scrypt argon2 argon2id sha256 sha512 \
    md5 utf8 base64 self user username sensitive masked omitted field schema models request response \
    contraseña passord kennwort unchanged inherit plain plaintext login email here only manager policy \
    prompts if or is to in on as it no an of tls ssl foobared please";

/// A path or an address: where something is, not what it is.
fn is_place(value: &[u8]) -> bool {
    [&b"/"[..], b"./", b"../", b"~/", b"file:"].iter().any(|start| value.starts_with(start))
        || contains(value, b"://")
        || matches!(value, [_, b':', b'\\', ..])
}

/// A sentence for people: several plain words, with one that such sentences have, a capital or a sign at the end.
fn is_label(value: &[u8]) -> bool {
    let plain =
        |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii() || b" ,.:;!?'()-\"\\/\n".contains(byte);
    let words = || value.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let told = words().any(|word| one_of(word, NO_PASSWORDS) || one_of(word, "enter please characters"));
    let shaped = value.first().is_some_and(u8::is_ascii_uppercase)
        || value.last().is_some_and(|b| b".:!?".contains(b));
    told || (shaped && value.iter().all(plain))
}

/// Three words or more between hyphens, as people and generators make passwords; code subtracts with blanks.
fn is_phrase(value: &[u8]) -> bool {
    value.iter().filter(|byte| **byte == b'-').count() > 1
        && value
            .split(|byte| *byte == b'-')
            .all(|word| word.len() > 1 && word.iter().all(u8::is_ascii_alphabetic))
}

/// Whether several words are a password and not an instruction.
pub(crate) fn is_phrase_of_words(value: &[u8]) -> bool {
    let mut words = value.split(u8::is_ascii_whitespace);
    !words.any(|word| one_of(word, NO_PASSWORDS) || one_of(word, "you one chose please characters"))
}

/// A call, an index or a path of a language.
fn is_call(value: &[u8]) -> bool {
    value.ends_with(b")") || value.ends_with(b"]") || contains(value, b"::") || contains(value, b"->")
}

/// An expression: a call, an index, a path of names, a name with a hump, a number of C.
fn is_code(value: &[u8]) -> bool {
    let number = value.starts_with(b"0x") || value.starts_with(b"_");
    let name = |part: &[u8]| {
        part.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let path = contains(value, b".") && value.split(|byte| *byte == b'.').all(name);
    let letters = value.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    let hump = value.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    path || number
        || (letters && (hump || contains(value, b"_")))
        || value.iter().any(|byte| b"()[]{}".contains(byte))
        || contains(value, b"::")
        || contains(value, b"->")
        || matches!(value.first(), Some(b'&' | b'*' | b'!' | b'@' | b'|' | b'+'))
            && value[1..].iter().all(|b| b.is_ascii_alphabetic() || *b == b'_' || *b == b'.')
}

/// The value without the signs around it.
fn trim(value: &[u8]) -> &[u8] {
    let sign = |byte: &u8| b".,;:!?()[]{}<>\"'`*".contains(byte);
    let start = value.iter().take_while(|byte| sign(byte)).count();
    let end = value[start..].iter().rev().take_while(|byte| sign(byte)).count();
    &value[start..value.len() - end]
}

fn one_of(value: &[u8], list: &str) -> bool {
    list.split_ascii_whitespace().any(|known| value.eq_ignore_ascii_case(known.as_bytes()))
}

fn starts_with(value: &[u8], start: &[u8]) -> bool {
    value.len() >= start.len() && value[..start.len()].eq_ignore_ascii_case(start)
}

/// Whether the value has the words in it, in small letters or capitals.
fn contains(value: &[u8], words: &[u8]) -> bool {
    value.windows(words.len()).any(|part| part.eq_ignore_ascii_case(words))
}
