//! What a round begins with: sessions, windows, panes, and who is in them. A value, drawn from the seed.

use std::ops::RangeInclusive;

use super::random::Random;

/// A round's tmux.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Its sessions.
    pub sessions: Vec<SessionScene>,
    /// Whether tmux is told to call the program at every change, as `init --tmux` does it.
    pub hooked: bool,
}

/// A session.
#[derive(Debug, Clone)]
pub struct SessionScene {
    /// Its name.
    pub name: String,
    /// Its windows.
    pub windows: Vec<WindowScene>,
}

/// A window.
#[derive(Debug, Clone)]
pub struct WindowScene {
    /// Its number.
    pub index: usize,
    /// Its name; without one tmux renames it by itself.
    pub name: Option<String>,
    /// How its panes are laid out.
    pub layout: &'static str,
    /// Whether its active pane fills it.
    pub zoomed: bool,
    /// Its panes.
    pub panes: Vec<PaneScene>,
}

/// A pane.
#[derive(Debug, Clone)]
pub struct PaneScene {
    /// Which folder it is in: 0 is the project.
    pub folder: usize,
    /// Who is in it, if not a shell.
    pub agent: Option<AgentScene>,
}

/// An agent.
#[derive(Debug, Clone)]
pub struct AgentScene {
    /// The word that only its conversation knows.
    pub word: String,
    /// How it starts.
    pub start: Start,
    /// Whether it is typed into a shell, or is its pane's own command.
    pub typed: bool,
}

/// How an agent comes to its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// `claude PROMPT`.
    New,
    /// `claude --session-id ID PROMPT`.
    Named,
    /// `claude --resume ID PROMPT` in a conversation of so many turns.
    Resumed(u8),
}

/// The folders of a round below its project, which is the first of all.
pub const FOLDERS: [&str; 2] = ["side b", "#(touch chaos-ran)"];

/// Names that begin like others, or that a shell or tmux would read.
const NAMES: [&str; 9] =
    ["work", "work-2", "wor", "two words", "it's", "#(touch chaos-ran)", "a;b", "über 🚀", "$HOME {x}"];

const LAYOUTS: [&str; 4] = ["tiled", "main-horizontal", "main-vertical", "even-vertical"];

/// More in one window would be too small to read an agent's screen.
const IN_A_WINDOW: usize = 6;

/// Draws a scene with so many panes.
pub(super) fn draw(random: &mut Random, panes: &RangeInclusive<usize>) -> Scene {
    let panes = random.between(panes.clone());
    let mut left: Vec<PaneScene> =
        (0..panes).map(|_| PaneScene { folder: folder(random), agent: None }).collect();
    let agents = agents(random, panes);
    for (number, pane) in left.iter_mut().take(agents).enumerate() {
        pane.agent = Some(agent(random, number));
    }
    random.shuffle(&mut left);
    let mut names = NAMES;
    random.shuffle(&mut names);
    let mut sessions = Vec::new();
    for name in names {
        if left.is_empty() {
            break;
        }
        sessions.push(SessionScene { name: name.to_owned(), windows: windows(random, &mut left) });
    }
    // Whoever is left over moves in with the last window of the last session.
    if let Some(last) = sessions.last_mut().and_then(|session| session.windows.last_mut()) {
        last.panes.append(&mut left);
    }
    Scene { sessions, hooked: random.chance(40) }
}

/// Agents cost a second of a core each, twice: a few are enough, and now and then some more.
fn agents(random: &mut Random, panes: usize) -> usize {
    let many = if random.chance(10) { random.between(5..=6) } else { random.between(2..=4) };
    many.min(panes)
}

/// Most share one folder, where the newest transcript is somebody else's.
fn folder(random: &mut Random) -> usize {
    if random.chance(70) { 0 } else { random.between(1..=FOLDERS.len()) }
}

fn agent(random: &mut Random, number: usize) -> AgentScene {
    let start = match random.between(0..=3) {
        0 => Start::Named,
        1 => Start::Resumed(3),
        _ => Start::New,
    };
    AgentScene {
        word: format!("heron-{number}-{:06x}", random.next() & 0xff_ffff),
        start,
        typed: random.chance(50),
    }
}

fn windows(random: &mut Random, left: &mut Vec<PaneScene>) -> Vec<WindowScene> {
    let mut index = 0;
    let mut windows = Vec::new();
    for _ in 0..random.between(1..=3) {
        if left.is_empty() {
            break;
        }
        let many = random.between(1..=IN_A_WINDOW).min(left.len());
        windows.push(WindowScene {
            index,
            name: random.chance(70).then(|| (*random.pick(&NAMES)).to_owned()),
            layout: random.pick::<&str>(&LAYOUTS),
            zoomed: many > 1 && random.chance(20),
            panes: left.drain(..many).collect(),
        });
        // Gaps: the numbers are the user's.
        index += if random.chance(25) { 3 } else { 1 };
    }
    windows
}

impl Scene {
    /// Every pane.
    pub fn panes(&self) -> impl Iterator<Item = &PaneScene> {
        self.sessions.iter().flat_map(|session| &session.windows).flat_map(|window| &window.panes)
    }
}
