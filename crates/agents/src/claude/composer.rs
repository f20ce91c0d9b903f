//! The line that an agent's user types into, read from the screen with its colours.
//!
//! The colours matter: suggestions stand where typed text would stand, and are told from it by being faint (measured on
//! 2.1.31, 2.1.100 and 2.1.325). What cannot be read for sure is no composer: nothing is then typed.

use std::iter::Peekable;
use std::str::Chars;

/// What is typed and not yet sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composer {
    /// What Enter would do with it.
    pub mode: Mode,
    /// What is typed; suggestions are not.
    pub typed: String,
    /// Whether all of it shows: a small pane hides the beginning of a long text.
    pub whole: bool,
    /// Whether the agent offers to be interrupted: it works on a turn.
    pub interruptible: bool,
    /// The command that Enter would run in place of what is typed, where the agent offers to complete it.
    pub completion: Option<String>,
}

/// What Enter does with the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The agent gets it.
    Prompt,
    /// A shell runs it.
    Shell,
}

impl Composer {
    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.whole && self.mode == Mode::Prompt && self.typed.is_empty()
    }

    /// Whether it holds this text as a prompt, and nothing else: all of it, its visible end, or the agent's sign for a
    /// long text.
    pub fn holds(&self, text: &str) -> bool {
        if self.mode == Mode::Shell || self.typed.trim().is_empty() {
            return false;
        }
        let sign = SIGNS.iter().any(|sign| self.typed.starts_with(sign)) && self.typed.ends_with(']');
        let (typed, text) = (letters(&self.typed), letters(text));
        // 2.1.325 scrolls within the composer: it looks whole, and shows the end.
        let end = !self.whole || self.typed.lines().count() > 2;
        sign || nearly(&typed, &text) || (end && text.ends_with(&typed[..]))
    }
}

/// Whether what is seen is the text, with a stray letter or two: emoji and Hebrew leave some behind (seen on 2.1.31).
fn nearly(seen: &[char], text: &[char]) -> bool {
    let mut rest = seen.iter();
    seen.len() <= text.len() + 2 && text.iter().all(|letter| rest.any(|seen| seen == letter))
}

/// What agents show in place of a long text (seen on all three versions; the second one read in the program).
const SIGNS: [&str; 2] = ["[Pasted text #", "[...Truncated text #"];

/// Letters and digits alone: lines are broken anew in a pane, and terminals show some signs in another way.
fn letters(text: &str) -> Vec<char> {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A character on the screen, and whether it is faint: dim, or the cell that the cursor covers.
#[derive(Debug, Clone, Copy)]
struct Cell {
    letter: char,
    dim: bool,
    covered: bool,
}

type Line = Vec<Cell>;

/// The composer of a screen that was captured with its escape sequences; nothing where none shows.
pub fn composer(screen: &str) -> Option<Composer> {
    let lines = lines(screen);
    let bottom = lines.iter().rposition(is_rule)?;
    let top = lines[..bottom].iter().rposition(|line| is_rule(line) || is_labelled_rule(line));
    let inside = &lines[top.map_or(0, |top| top + 1)..bottom];
    let first = inside.first()?;
    // Where the pane is too narrow for a suggestion, 2.1.31 breaks the line at this very gap.
    let wrapped = inside[1..].iter().any(|line| matches!(&line[..], [only] if only.letter == GAP));
    let gap = first.get(1).is_some_and(|cell| cell.letter == GAP || (wrapped && cell.letter == ' '));
    let mode = match first.first()?.letter {
        '❯' if gap => Some(Mode::Prompt),
        '!' if gap => Some(Mode::Shell),
        _ => None,
    };
    // Lines after the first are indented like it; that is all that shows where the pane is too small for the first.
    let indented = |line: &Line| line.iter().take(2).all(|cell| matches!(cell.letter, ' ' | GAP));
    let after = if mode.is_some() { &inside[1..] } else { inside };
    if !after.iter().all(indented) || (mode.is_none() && top.is_some()) {
        return None;
    }
    let typed: Vec<String> = typed(inside).iter().map(|line| text(line)).collect();
    let below: String = lines[bottom + 1..].iter().map(|line| text(line) + " ").collect();
    Some(Composer {
        mode: mode.unwrap_or(Mode::Prompt),
        typed: typed.join("\n").trim_end().to_owned(),
        whole: mode.is_some() && top.is_some(),
        interruptible: below.contains("esc to interrupt"),
        completion: completion(&lines, top, bottom),
    })
}

/// A screen without its colours.
pub fn plain(screen: &str) -> String {
    lines(screen).iter().map(|line| text(line) + "\n").collect()
}

/// The sign that text begins with is followed by this and not by a space, which an older prompt has.
const GAP: char = '\u{a0}';

fn text(line: &[Cell]) -> String {
    let text: String = line.iter().map(|cell| cell.letter).collect();
    text.trim_end().to_owned()
}

fn is_rule(line: &Line) -> bool {
    line.len() >= 8 && line.iter().all(|cell| cell.letter == '─')
}

/// Newer agents write the conversation's name into the upper rule (measured on 2.1.100 and 2.1.325).
fn is_labelled_rule(line: &Line) -> bool {
    line.len() >= 8
        && line.iter().take(2).all(|cell| cell.letter == '─')
        && line.last().is_some_and(|cell| cell.letter == '─')
}

/// What is typed in these lines, without the two columns before it. A suggestion is dim but for the cell that the cursor
/// covers: where the rest of it is dim, that cell is part of it.
fn typed(inside: &[Line]) -> Vec<Line> {
    let mut typed: Vec<Line> = inside.iter().map(|line| line.get(2..).unwrap_or_default().to_vec()).collect();
    let shows = |cell: &&Cell| !cell.letter.is_whitespace();
    let letters = || inside.iter().flat_map(|line| line.iter().skip(2)).filter(shows);
    let suggested = letters().any(|cell| cell.dim) && letters().all(|cell| cell.dim || cell.covered);
    if suggested {
        typed.iter_mut().for_each(Vec::clear);
    }
    // Dim words behind typed ones are suggestions too: how a command goes on.
    typed.iter_mut().for_each(|line| line.retain(|cell| !cell.dim || cell.letter.is_whitespace()));
    typed
}

/// The first of the commands that are offered: below the composer, or above it with the cursor on it (2.1.325).
fn completion(lines: &[Line], top: Option<usize>, bottom: usize) -> Option<String> {
    let command = |line: &Line| {
        let text = text(line);
        let offered = text.trim_start_matches(['❯', ' ']).strip_prefix('/')?;
        let name = offered.split_whitespace().next().unwrap_or_default();
        // The name and then, far off, what it does: a line of talk is not written like that.
        let gap = offered[name.len()..].starts_with("   ");
        gap.then(|| format!("/{name}"))
    };
    if let Some(first) = lines.get(bottom + 1).and_then(command) {
        return Some(first);
    }
    let above = lines[..top?].iter().rev().take_while(|line| command(line).is_some());
    let chosen = above.filter(|line| text(line).trim_start().starts_with('❯')).last();
    chosen.and_then(command)
}

/// The screen as cells; colours go on over line ends.
fn lines(screen: &str) -> Vec<Line> {
    let (mut dim, mut covered) = (false, false);
    let mut lines = Vec::new();
    for text in screen.lines() {
        let mut line = Line::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\u{1b}' => {
                    for number in escape(&mut letters) {
                        match number {
                            0 => (dim, covered) = (false, false),
                            2 => dim = true,
                            7 => covered = true,
                            22 => dim = false,
                            27 => covered = false,
                            _ => {}
                        }
                    }
                }
                letter if letter.is_control() => {}
                letter => line.push(Cell { letter, dim, covered }),
            }
        }
        while line.last().is_some_and(|cell| cell.letter == ' ') {
            line.pop();
        }
        lines.push(line);
    }
    lines
}

/// Reads an escape sequence to its end, and returns what it says about looks: the numbers of `ESC [ … m`, but for those
/// of colours, which are followed by others that mean something else.
fn escape(letters: &mut Peekable<Chars<'_>>) -> Vec<u32> {
    match letters.next() {
        Some('[') => {
            let mut body = String::new();
            for letter in letters.by_ref() {
                if ('@'..='~').contains(&letter) {
                    return if letter == 'm' { looks(&body) } else { Vec::new() };
                }
                body.push(letter);
            }
            Vec::new()
        }
        Some(']') => {
            // A link: up to BEL, or ESC and a backslash.
            while let Some(letter) = letters.next() {
                if letter == '\u{7}' || (letter == '\u{1b}' && letters.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn looks(body: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    let mut parts = body.split(';').map(|part| part.parse::<u32>().unwrap_or_default());
    while let Some(number) = parts.next() {
        match number {
            38 | 48 | 58 => match parts.next() {
                Some(5) => drop(parts.next()),
                Some(2) => drop(parts.by_ref().take(3).count()),
                _ => {}
            },
            number => numbers.push(number),
        }
    }
    numbers
}

#[cfg(test)]
#[path = "composer_tests.rs"]
mod tests;
