//! Which sessions and windows are made, so that every pane without a seat gets one.

use std::collections::{BTreeMap, BTreeSet};

use tmux::{
    FillPlan, Filled, LinkPlan, PanePlan, PaneShot, ServerSnapshot, Session, SessionPlan, Window, WindowPlan,
};

use super::PaneStep;
use crate::pane_match::Match;
use crate::selector::Selector;

/// What a saved server's places are drawn from.
pub(super) struct Ground<'a> {
    /// The server as it was.
    pub(super) saved: &'a ServerSnapshot,
    /// The server as it is.
    pub(super) live: Option<&'a ServerSnapshot>,
    /// Where each saved pane is.
    pub(super) seats: &'a BTreeMap<String, Match>,
    /// Which of them were asked for.
    pub(super) only: &'a Selector,
    /// The windows that another life of the server fills already.
    pub(super) filled: BTreeSet<&'a str>,
}

/// What is made on a server.
#[derive(Default)]
pub(super) struct Layout {
    /// The sessions to be made, or to get windows.
    pub(super) sessions: Vec<SessionPlan>,
    /// The windows to get panes.
    pub(super) fills: Vec<FillPlan>,
}

/// What becomes of a window.
enum Made {
    Nothing,
    Windows(Vec<WindowPlan>),
    Filled(FillPlan),
}

impl Ground<'_> {
    /// What is to be made of a saved server. Some numbers of windows may be taken by others that are made together with them.
    pub(super) fn layout<'s>(
        &self,
        taken: impl Fn(&str) -> BTreeSet<u32>,
        step: impl Fn(&str) -> Option<&'s PaneStep>,
    ) -> Layout {
        let saved = self.saved;
        let mut layout = Layout::default();
        let plans = &mut layout.sessions;
        // Where each window is made: whoever shows it too is linked to it.
        let mut homes: BTreeMap<&str, Option<(String, u32)>> = BTreeMap::new();
        let mut groups: BTreeMap<&str, &str> = BTreeMap::new();
        // A group keeps its name where the session comes first that it is called after.
        let mut ordered: Vec<&Session> = saved.sessions.iter().collect();
        ordered.sort_by_key(|session| session.group.as_ref() != Some(&session.name));
        for session in ordered {
            let there =
                self.live.and_then(|live| live.sessions.iter().find(|known| known.name == session.name));
            let mut plan = SessionPlan {
                name: session.name.clone(),
                there: there.map(|there| there.id.clone()),
                ..SessionPlan::default()
            };
            if let Some(group) = session.group.as_deref() {
                if let Some(first) = groups.get(group) {
                    // Where nothing of the group is made, its user has closed this session.
                    let made = plans.iter().find(|plan| plan.name == **first);
                    if let (None, Some(host), true) = (there, made, self.only.has_session(saved, session)) {
                        let shown = host.numbers();
                        plan.shares_with = Some((*first).to_owned());
                        show(&mut plan, session, |index| shown.contains(&index));
                        plans.push(plan);
                    }
                    continue;
                }
                groups.insert(group, &session.name);
            }
            let mut numbers = Numbers::of(session, there, taken(&session.name));
            for link in &session.windows {
                let Some(window) = saved.window(&link.window) else { continue };
                if !window.panes.iter().any(|pane| self.only.has_in(saved, session, &pane.id)) {
                    continue;
                }
                match homes.get(window.id.as_str()) {
                    Some(Some((owner, from))) => {
                        let (session, from) = (owner.clone(), *from);
                        plan.links.push(LinkPlan { session, from, index: numbers.take(link.index) });
                    }
                    Some(None) => {}
                    None => {
                        let made = match self.window(window, link.index, &step, &mut numbers) {
                            Made::Nothing => Vec::new(),
                            Made::Windows(made) => made,
                            Made::Filled(fill) => {
                                layout.fills.push(fill);
                                Vec::new()
                            }
                        };
                        let whole = made.first().filter(|made| made.panes.len() == window.panes.len());
                        homes.insert(&window.id, whole.map(|made| (session.name.clone(), made.index)));
                        plan.windows.extend(made);
                    }
                }
            }
            if !plan.windows.is_empty() || !plan.links.is_empty() {
                let made = plan.numbers();
                show(&mut plan, session, |index| made.contains(&index));
                plans.push(plan);
            }
        }
        layout
    }

    /// A window none of whose panes is there is made, whole where all of them were asked for. Where some are there, the others
    /// are split in between if that makes it the window that it was; else its layout is its user's by now, and each of them
    /// gets a window of its own.
    fn window<'s>(
        &self,
        window: &Window,
        index: u32,
        step: &impl Fn(&str) -> Option<&'s PaneStep>,
        numbers: &mut Numbers,
    ) -> Made {
        let is_new = |pane: &PaneShot| self.seats.get(&pane.id) == Some(&Match::New);
        let new: Vec<PanePlan> = window
            .panes
            .iter()
            .filter(|pane| is_new(pane))
            .filter_map(|pane| Some(pane_plan(pane, step(&pane.id)?)))
            .collect();
        let made = |index: u32, panes: Vec<PanePlan>, whole: bool| WindowPlan {
            index,
            name: window.name.clone(),
            renames_itself: window.automatic_rename,
            layout: if whole { window.layout.clone() } else { String::new() },
            width: window.width,
            height: window.height,
            zoomed: window.zoomed && whole && panes.len() > 1,
            panes,
        };
        if new.is_empty() {
            return Made::Nothing;
        }
        let is_there = |pane: &PaneShot| matches!(self.seats.get(&pane.id), Some(Match::There { .. }));
        if !window.panes.iter().any(is_there) {
            let whole = new.len() == window.panes.len();
            return Made::Windows(vec![made(numbers.take(index), new, whole)]);
        }
        match self.fill(window, step) {
            Some(fill) => Made::Filled(fill),
            None => Made::Windows(
                new.into_iter().map(|pane| made(numbers.take(index), vec![pane], false)).collect(),
            ),
        }
    }

    /// A window that is there with some of its panes, in their order and without any others, and gets all that are missing.
    fn fill<'s>(&self, window: &Window, step: &impl Fn(&str) -> Option<&'s PaneStep>) -> Option<FillPlan> {
        let filled = |pane: &PaneShot| match self.seats.get(&pane.id)? {
            Match::There { pane, .. } => Some(Filled::There(pane.clone())),
            Match::New => Some(Filled::New(pane_plan(pane, step(&pane.id)?))),
            _ => None,
        };
        let panes = window.panes.iter().map(filled).collect::<Option<Vec<Filled>>>()?;
        let there: Vec<&str> = panes
            .iter()
            .filter_map(|pane| match pane {
                Filled::There(id) => Some(id.as_str()),
                Filled::New(_) => None,
            })
            .collect();
        let same =
            |known: &&Window| known.panes.iter().map(|pane| pane.id.as_str()).eq(there.iter().copied());
        let known = self.live?.windows.iter().find(same)?;
        if self.filled.contains(known.id.as_str()) {
            return None;
        }
        let current = known.panes.iter().find(|pane| pane.active).or(known.panes.first())?.id.clone();
        Some(FillPlan {
            window: known.id.clone(),
            panes,
            current,
            zoomed: known.zoomed,
            layout: window.layout.clone(),
            width: window.width,
            height: window.height,
        })
    }
}

fn pane_plan(pane: &PaneShot, step: &PaneStep) -> PanePlan {
    PanePlan {
        cwd: pane.cwd.clone(),
        title: pane.title.clone(),
        active: pane.active,
        mark: step.mark.clone(),
        tag: step.session.as_ref().map(ToString::to_string),
        options: pane.options.clone(),
        command: Vec::new(),
        variables: Vec::new(),
    }
}

fn show(plan: &mut SessionPlan, session: &Session, made: impl Fn(u32) -> bool) {
    let number = |link: Option<&tmux::Link>| link.map(|link| link.index).filter(|index| made(*index));
    plan.shown = number(session.windows.iter().find(|link| link.active));
    plan.last = number(session.windows.iter().find(|link| link.last));
}

/// Numbers of windows: its own where that is free, else one behind all others.
struct Numbers {
    used: BTreeSet<u32>,
    behind: u32,
}

impl Numbers {
    fn of(saved: &Session, there: Option<&Session>, mut used: BTreeSet<u32>) -> Numbers {
        let numbers =
            |session: &Session| session.windows.iter().map(|link| link.index).collect::<BTreeSet<_>>();
        used.extend(there.into_iter().flat_map(numbers));
        let behind = used.union(&numbers(saved)).last().map_or(0, |last| last + 1);
        Numbers { used, behind }
    }

    fn take(&mut self, wanted: u32) -> u32 {
        if self.used.insert(wanted) {
            return wanted;
        }
        self.behind += 1;
        self.used.insert(self.behind - 1);
        self.behind - 1
    }
}
