//! What tmux shows at one moment: every pane with its place and size, to be compared with what comes back.

use anyhow::{Context, Result, bail};

use crate::Lab;

/// A pane at one moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PaneShape {
    /// `session`, window and pane number.
    pub(super) place: Place,
    /// The window's name where its user gave one, its size, the pane's size and position, what is active and zoomed, and
    /// the directory.
    pub(super) look: String,
    /// tmux's id: not the same after a restore.
    pub(super) id: String,
    /// The process that is the pane's own.
    pub(super) pid: u32,
}

/// Where a pane is.
pub(super) type Place = (String, u32, u32);

/// Between fields, since names may hold nearly everything else.
const MARK: &str = "\u{1f}";

impl Lab {
    /// Every pane of the lab's server; none where no server runs.
    pub(super) fn shape(&self) -> Result<Vec<PaneShape>> {
        let fields = [
            "#{session_name}",
            "#{window_index}",
            "#{pane_index}",
            "#{pane_id}",
            "#{pane_pid}",
            "#{?automatic-rename,,#{window_name}} #{window_width}x#{window_height} \
             #{pane_width}x#{pane_height}+#{pane_left}+#{pane_top} \
             #{window_active}#{pane_active}#{window_zoomed_flag} \
             #{?pane_current_path,#{pane_current_path},#{pane_start_path}}",
        ];
        let done = self.tmux(&["list-panes", "-a", "-F", &fields.join(MARK)])?;
        if !done.success() {
            if done.stderr.contains("no server running") || done.stderr.contains("No such file") {
                return Ok(Vec::new());
            }
            bail!("tmux does not list its panes: {}", done.words());
        }
        // tmux prints a control character as octal digits behind a backslash.
        let text = done.stdout.replace("\\037", MARK);
        let mut panes = text.lines().map(pane).collect::<Result<Vec<_>>>()?;
        panes.sort();
        Ok(panes)
    }
}

fn pane(line: &str) -> Result<PaneShape> {
    let fields: Vec<&str> = line.split(MARK).collect();
    let [session, window, pane, id, pid, look] = fields[..] else { bail!("tmux lists {line:?}") };
    let place = (session.to_owned(), window.parse()?, pane.parse()?);
    Ok(PaneShape {
        place,
        look: look.to_owned(),
        id: id.to_owned(),
        pid: pid.parse().with_context(|| format!("no process in {line:?}"))?,
    })
}

/// What differs between what was and what is, for people; empty where nothing does.
pub(super) fn differences(before: &[PaneShape], after: &[PaneShape]) -> Vec<String> {
    let find = |panes: &[PaneShape], place: &Place| panes.iter().find(|pane| pane.place == *place).cloned();
    let mut told = Vec::new();
    for pane in before {
        match find(after, &pane.place) {
            None => told.push(format!("{} is not there", name(&pane.place))),
            Some(now) if now.look != pane.look => {
                told.push(format!("{} was {:?} and is {:?}", name(&pane.place), pane.look, now.look));
            }
            Some(_) => {}
        }
    }
    let more = after.iter().filter(|pane| find(before, &pane.place).is_none());
    told.extend(more.map(|pane| format!("{} is more than there was", name(&pane.place))));
    told
}

/// `session:window.pane`.
pub(super) fn name(place: &Place) -> String {
    format!("{}:{}.{}", place.0, place.1, place.2)
}
