//! Windows and panes that change places while their agents work.

use anyhow::Result;

use super::random::Random;
use super::stage::Stage;

impl Stage {
    /// Swaps, moves and renumbers windows and panes a few times.
    pub(super) fn reorder(&mut self, random: &mut Random) -> Result<()> {
        for _ in 0..random.between(1..=4) {
            let windows = self.listed_ids("list-windows", "#{window_id}")?;
            let panes = self.listed_ids("list-panes", "#{pane_id}")?;
            let (one, other) = (random.pick(&windows).clone(), random.pick(&windows).clone());
            let (pane, beside) = (random.pick(&panes).clone(), random.pick(&panes).clone());
            let words = match random.between(0..=3) {
                0 => vec!["swap-window", "-d", "-s", &one, "-t", &other],
                1 => vec!["move-window", "-r", "-t", &one],
                2 => vec!["swap-pane", "-d", "-s", &pane, "-t", &beside],
                _ => vec!["rotate-window", "-t", &one],
            };
            let done = self.lab.tmux(&words)?;
            self.log.say(&format!("{words:?} {}", done.words()));
            self.observe()?;
        }
        Ok(())
    }

    fn listed_ids(&self, list: &str, format: &str) -> Result<Vec<String>> {
        let listed = self.lab.tmux(&[list, "-a", "-F", format])?.stdout;
        Ok(listed.lines().map(str::to_owned).collect())
    }
}
