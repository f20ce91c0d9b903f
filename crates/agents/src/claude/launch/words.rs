//! The words of a command line, understood as the agent understands them (commander's rules, read in 2.1.325).

use semver::Version;

use super::argv::Refusal;
use super::flags::{Flag, Value, commands, find};
use super::program::program_length;

/// A command line that starts an agent in a conversation. What was said to it is not kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The agent and what runs it.
    pub(super) program: &'a [String],
    /// The flags, in order.
    pub(super) items: Vec<Item>,
}

/// One flag as it was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Which one it is.
    pub(super) flag: Flag,
    /// The name that was used.
    pub(super) typed: String,
    /// Its values.
    pub(super) values: Vec<String>,
    /// Its words; of combined short flags, its own alone.
    pub(super) words: Vec<String>,
}

/// Reads a command line as an agent of this version does.
pub(super) fn read<'a>(all: &'a [String], version: &Version) -> Result<Line<'a>, Refusal> {
    let length = program_length(all)
        .ok_or_else(|| Refusal::NotAnAgent(all.first().cloned().unwrap_or_else(|| "nothing".to_owned())))?;
    let (program, words) = all.split_at(length);
    let mut reader = Reader { version, words, at: 0 };
    let mut items = Vec::new();
    let mut spoken = false;
    while let Some(word) = reader.next() {
        if word == "--" {
            // What stands behind it is said, all of it.
            if let Some(first) = reader.next().filter(|_| !spoken) {
                no_command(first, version)?;
            }
            break;
        }
        if looks_like_flag(word) {
            reader.flag(word, &mut items)?;
        } else if !spoken {
            // Only the first operand can be a sub-command; flags may follow a prompt.
            no_command(word, version)?;
            spoken = true;
        }
    }
    Ok(Line { program, items })
}

/// A command line without what was said to its agent: the program and its flags. A line that cannot be read keeps its program
/// alone.
pub fn without_prompt(all: &[String], version: &Version) -> Vec<String> {
    match read(all, version) {
        Ok(line) => {
            let flags = line.items.into_iter().flat_map(|item| item.words);
            line.program.iter().cloned().chain(flags).collect()
        }
        Err(_) => all.iter().take(1).cloned().collect(),
    }
}

fn no_command(word: &str, version: &Version) -> Result<(), Refusal> {
    let is_command = commands(version).any(|command| command == word);
    if is_command { Err(Refusal::SubCommand(word.to_owned())) } else { Ok(()) }
}

fn looks_like_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

struct Reader<'a> {
    version: &'a Version,
    words: &'a [String],
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a String> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    fn next_value(&mut self) -> Option<&'a String> {
        self.words.get(self.at).filter(|word| !looks_like_flag(word))?;
        self.next()
    }

    fn flag(&mut self, word: &str, items: &mut Vec<Item>) -> Result<(), Refusal> {
        if let Some(flag) = find(word, self.version) {
            items.push(self.whole(flag, word)?);
            return Ok(());
        }
        if !word.starts_with("--") {
            return self.combined(word, items);
        }
        let (typed, value) = word.split_once('=').unwrap_or((word, ""));
        let flag = find(typed, self.version).filter(|flag| flag.value != Value::None);
        let flag = flag.ok_or_else(|| self.unknown(typed))?;
        let (typed, values) = (typed.to_owned(), vec![value.to_owned()]);
        items.push(Item { flag, typed, values, words: vec![word.to_owned()] });
        Ok(())
    }

    /// A flag that is a word of its own, with the values behind it.
    fn whole(&mut self, flag: Flag, word: &str) -> Result<Item, Refusal> {
        let mut values = Vec::new();
        match flag.value {
            Value::None | Value::Attached => {}
            Value::Optional => values.extend(self.next_value().cloned()),
            Value::Required | Value::Variadic => {
                let value = self.next().ok_or_else(|| Refusal::MissingValue(word.to_owned()))?;
                values.push(value.clone());
            }
        }
        if flag.value == Value::Variadic {
            while let Some(value) = self.next_value() {
                values.push(value.clone());
            }
        }
        let words = [word.to_owned()].into_iter().chain(values.iter().cloned()).collect();
        Ok(Item { flag, typed: word.to_owned(), values, words })
    }

    /// Short flags in one word: `-pc`, `-rID`, `-pn NAME`. The first that can take a value takes the rest of the word.
    fn combined(&mut self, word: &str, items: &mut Vec<Item>) -> Result<(), Refusal> {
        let letters = word.char_indices().skip(1);
        for (at, letter) in letters {
            let typed = format!("-{letter}");
            let rest = &word[at + letter.len_utf8()..];
            let flag = find(&typed, self.version).ok_or_else(|| self.unknown(&typed))?;
            if rest.is_empty() {
                items.push(self.whole(flag, &typed)?);
            } else if flag.value == Value::None {
                items.push(Item { flag, words: vec![typed.clone()], typed, values: Vec::new() });
            } else {
                let words = vec![format!("{typed}{rest}")];
                items.push(Item { flag, typed, values: vec![rest.to_owned()], words });
                break;
            }
        }
        Ok(())
    }

    fn unknown(&self, flag: &str) -> Refusal {
        Refusal::UnknownFlag { flag: flag.to_owned(), version: self.version.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_at_the_start_goes_and_the_flags_stay() {
        let check = |words: &[&str], expect: &str| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            assert_eq!(without_prompt(&words, &Version::new(2, 1, 325)).join(" "), expect, "{words:?}");
        };
        let plan = ["claude", "--permission-mode", "plan", "paint the zebrafish"];
        check(&plan, "claude --permission-mode plan");
        check(&["claude", "paint it", "--model", "opus"], "claude --model opus");
        check(&["claude", "--", "paint", "it"], "claude");
        check(&["claude", "--no-such-flag", "paint it"], "claude");
    }
}
