//! Edits of one row's bytes: a value is replaced where it stands, everything else stays.

use crate::json::{Outline, encode};

/// Replaces the value of a top-level key, or adds the key in front.
pub(super) fn set_member(row: &[u8], key: &str, value: &[u8]) -> Option<Vec<u8>> {
    let outline = Outline::parse(row)?;
    if !outline.is_object() {
        return None;
    }
    let range = match outline.get(key) {
        Some(old) => old.range.clone(),
        None => {
            let start = outline.range.start + 1;
            let mut member = encode(key);
            member.push(b':');
            member.extend_from_slice(value);
            if !outline.members().is_empty() {
                member.push(b',');
            }
            return Some(splice(row, start..start, &member));
        }
    };
    Some(splice(row, range, value))
}

/// As [`set_member`]; a new key stands before the key `next`.
pub(super) fn set_member_before(row: &[u8], key: &str, value: &[u8], next: &str) -> Option<Vec<u8>> {
    let outline = Outline::parse(row)?;
    let before =
        outline.members().iter().position(|member| member.key == next).and_then(|at| at.checked_sub(1));
    let Some(before) = before.filter(|_| outline.get(key).is_none()) else {
        return set_member(row, key, value);
    };
    let end = outline.members()[before].value.range.end;
    Some(splice(row, end..end, &[b",", &encode(key)[..], b":", value].concat()))
}

/// Replaces a range.
pub(super) fn splice(bytes: &[u8], range: std::ops::Range<usize>, with: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + with.len());
    out.extend_from_slice(&bytes[..range.start]);
    out.extend_from_slice(with);
    out.extend_from_slice(&bytes[range.end..]);
    out
}

/// The JSON text of an id, or `null`.
pub(super) fn id_value(id: Option<u128>) -> Vec<u8> {
    match id {
        Some(id) => encode(&uuid::Uuid::from_u128(id).to_string()),
        None => b"null".to_vec(),
    }
}

/// A new row that copies the ambient fields of `model` (session, directory, version, …) and nothing of what it said.
pub(super) fn new_row(model: &[u8], members: &[(&str, Vec<u8>)]) -> Option<Vec<u8>> {
    const AMBIENT: [&str; 9] = [
        "isSidechain",
        "userType",
        "entrypoint",
        "cwd",
        "sessionId",
        "version",
        "gitBranch",
        "slug",
        "promptId",
    ];
    let outline = Outline::parse(model)?;
    // The newest agent's index of large files expects rows to begin with `parentUuid` and `uuid` to stand before
    // `timestamp` (read from 2.1.325).
    let mut out = Vec::from(b"{");
    let mut put = |key: &str, value: &[u8]| {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend(encode(key));
        out.push(b':');
        out.extend_from_slice(value);
    };
    let (parent, rest) = members.split_first()?;
    put(parent.0, &parent.1);
    for key in AMBIENT {
        if let Some(value) = outline.get(key) {
            put(key, &model[value.range.clone()]);
        }
    }
    for (key, value) in rest {
        put(key, value);
    }
    out.push(b'}');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::set_member;

    fn check(row: &str, key: &str, value: &str, expect: &str) {
        let got = set_member(row.as_bytes(), key, value.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(got).unwrap(), expect);
    }

    #[test]
    fn one_value_changes() {
        check(r#"{"a":1, "b" : {"a":2},"c":1.0}"#, "a", "null", r#"{"a":null, "b" : {"a":2},"c":1.0}"#);
        check(r#"{"a":1,"a":2}"#, "a", "3", r#"{"a":1,"a":3}"#);
        check(r#"{"\u0061":1}"#, "a", "3", r#"{"\u0061":3}"#);
        check(r#"{"b":1}"#, "a", "3", r#"{"a":3,"b":1}"#);
        check("{}", "a", "3", r#"{"a":3}"#);
        check("{\"a\":\"\u{2028}x\"}\r", "a", "3", "{\"a\":3}\r");
    }
}
