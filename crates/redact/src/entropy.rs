//! Whether a value looks random: what a machine made up, not what a person named.

/// What a value is made of.
struct Texture {
    length: usize,
    upper: usize,
    lower: usize,
    digits: usize,
    /// How often a letter's case or a digit follows something else; separators are left out.
    changes: usize,
    separators: usize,
    hex: bool,
}

impl Texture {
    fn of(value: &[u8]) -> Option<Texture> {
        let mut texture =
            Texture { length: 0, upper: 0, lower: 0, digits: 0, changes: 0, separators: 0, hex: true };
        let mut last = None;
        for byte in value {
            let class = match byte {
                b'A'..=b'Z' => &mut texture.upper,
                b'a'..=b'z' => &mut texture.lower,
                b'0'..=b'9' => &mut texture.digits,
                b'-' | b'_' | b'.' | b'/' | b'+' | b'=' | b'~' | b':' | b'!' | b'@' | b'#' | b'%' | b'^'
                | b'*' | b'$' | b'&' => {
                    texture.separators += 1;
                    texture.hex = false;
                    continue;
                }
                _ => return None,
            };
            *class += 1;
            texture.length += 1;
            texture.hex &= byte.is_ascii_hexdigit();
            let class = (byte.is_ascii_uppercase(), byte.is_ascii_digit());
            texture.changes += usize::from(last.is_some_and(|last| last != class));
            last = Some(class);
        }
        Some(texture)
    }

    /// Changes per hundred characters.
    fn unrest(&self) -> usize {
        self.changes * 100 / self.length.max(1)
    }
}

/// Whether the value looks random. Random letters and digits change class at 62 of 100 places, without capitals at 40,
/// hexadecimal at 47; `parseJsonFromInputStream` at 33, `us-east-1-prod-db-2024` at 18. The bounds lie between.
pub(crate) fn random(value: &[u8]) -> bool {
    let Some(texture) = Texture::of(value) else { return false };
    if texture.length < 16 || texture.upper + texture.lower < 3 || bits(value) < 2.9 {
        return false;
    }
    let unrest = texture.unrest();
    match (texture.upper > 0, texture.lower > 0, texture.digits > 0) {
        (true, true, true) => unrest >= if texture.digits > 1 { 34 } else { 45 },
        (true, true, false) => texture.length >= 20 && unrest >= 42,
        (_, _, true) => unrest >= 20,
        _ => false,
    }
}

/// Whether the value looks random beyond doubt: long, with capitals, small letters and digits all through.
pub(crate) fn surely_random(value: &[u8]) -> bool {
    Texture::of(value).is_some_and(|texture| {
        texture.length >= 20
            && texture.upper > 1
            && texture.lower > 1
            && texture.digits > 1
            && texture.separators * 8 <= texture.length
            && texture.unrest() >= 40
            && bits(value) >= 3.5
    })
}

/// Whether a short value looks made up: letters and digits mixed through (`s3cr3tV4lue`), not a word with a number.
pub(crate) fn mixed(value: &[u8]) -> bool {
    Texture::of(value).is_some_and(|texture| {
        let classes =
            [texture.upper, texture.lower, texture.digits].iter().filter(|count| **count > 0).count();
        texture.length >= 8
            && texture.separators <= 1
            && texture.digits > 1
            && texture.upper + texture.lower > 1
            && texture.changes >= 2 + usize::from(classes < 3)
            && texture.unrest() >= 25
    })
}

/// Whether the value is a plain hexadecimal number, as hashes are.
pub(crate) fn hexadecimal(value: &[u8]) -> bool {
    Texture::of(value).is_some_and(|texture| texture.hex)
}

/// Whether the value has the form of a uuid.
pub(crate) fn uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Shannon's entropy: bits per byte.
pub(crate) fn bits(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let length = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length)
        .map(|share| -share * share.log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_made_up_is_random() {
        for value in [
            "Zk4vQ8rT1mXw7LpB2nYc",
            "9f86d081884c7d659a2feaa0c55ad015",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYqwXvZsDtHp",
            "q7w2e9r4t1y6u3i8o5p0",
        ] {
            assert!(random(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn what_a_person_named_is_not() {
        for value in [
            "my-super-long-descriptive-name-v2",
            "parseJsonFromInputStream",
            "us-east-1-prod-db-2024",
            "2026-11-15T09:21:55.123Z",
            "aaaaaaaaaaaaaaaaaaaaaaa1",
            "com.example.service.TokenProvider",
            "1234567890123456",
        ] {
            assert!(!random(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn short_values_must_be_mixed_through() {
        assert!(mixed(b"s3cr3tV4lue"));
        assert!(!mixed(b"v1beta2"));
        assert!(!mixed(b"production1"));
        assert!(!mixed(b"1.2.3-beta.4"));
    }
}
