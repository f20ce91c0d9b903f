//! Which sessions and windows are made, so that every pane without a seat gets one.

use std::collections::{BTreeMap, BTreeSet};

use mux::{LinkPlan, PanePlan, PaneShot, Session, SessionPlan, Shot, Window, WindowPlan};

use super::PaneStep;
use crate::seats::Seat;

/// The sessions of a saved server that are to be made or filled. Some numbers of their windows may be taken by others that
/// are made together with them.
pub(super) fn sessions<'s>(
    saved: &Shot,
    live: Option<&Shot>,
    taken: impl Fn(&str) -> BTreeSet<u32>,
    step: impl Fn(&str) -> Option<&'s PaneStep>,
) -> Vec<SessionPlan> {
    let mut plans: Vec<SessionPlan> = Vec::new();
    // Where each window is made: whoever shows it too is linked to it.
    let mut homes: BTreeMap<&str, Option<(String, u32)>> = BTreeMap::new();
    let mut groups: BTreeMap<&str, &str> = BTreeMap::new();
    // A group keeps its name where the session comes first that it is called after.
    let mut ordered: Vec<&Session> = saved.sessions.iter().collect();
    ordered.sort_by_key(|session| session.group.as_ref() != Some(&session.name));
    for session in ordered {
        let there = live.and_then(|live| live.sessions.iter().find(|known| known.name == session.name));
        let mut plan = SessionPlan {
            name: session.name.clone(),
            there: there.map(|there| there.id.clone()),
            ..SessionPlan::default()
        };
        if let Some(group) = session.group.as_deref() {
            if let Some(first) = groups.get(group) {
                // Where nothing of the group is made, its user has closed this session.
                let made = plans.iter().find(|plan| plan.name == **first);
                if let (None, Some(host)) = (there, made) {
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
            match homes.get(window.id.as_str()) {
                Some(Some((owner, from))) => {
                    let (session, from) = (owner.clone(), *from);
                    plan.links.push(LinkPlan { session, from, index: numbers.take(link.index) });
                }
                Some(None) => {}
                None => {
                    let made = windows(window, link.index, &step, &mut numbers);
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
    plans
}

fn show(plan: &mut SessionPlan, session: &Session, made: impl Fn(u32) -> bool) {
    let number = |link: Option<&mux::Link>| link.map(|link| link.index).filter(|index| made(*index));
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

/// A window none of whose panes is there is made whole. Where some are, its layout is its user's by now: agents without
/// a pane get windows of their own.
fn windows<'s>(
    window: &Window,
    index: u32,
    step: &impl Fn(&str) -> Option<&'s PaneStep>,
    numbers: &mut Numbers,
) -> Vec<WindowPlan> {
    let is_new = |pane: &&PaneShot| step(&pane.id).is_some_and(|step| step.seat == Seat::New);
    let new: Vec<&PaneShot> = window.panes.iter().filter(is_new).collect();
    let made = |index: u32, panes: Vec<PanePlan>, layout: String| WindowPlan {
        index,
        name: window.name.clone(),
        renames_itself: window.automatic_rename,
        layout,
        width: window.width,
        height: window.height,
        zoomed: window.zoomed && panes.len() > 1,
        panes,
    };
    let pane = |pane: &PaneShot| {
        step(&pane.id).map(|step| PanePlan {
            cwd: pane.cwd.clone(),
            title: pane.title.clone(),
            active: pane.active,
            mark: step.mark.clone(),
            tag: step.session.as_ref().map(ToString::to_string),
            options: pane.options.clone(),
            command: Vec::new(),
            variables: Vec::new(),
        })
    };
    if new.is_empty() {
        return Vec::new();
    }
    if new.len() == window.panes.len() {
        let panes = new.into_iter().filter_map(pane).collect();
        return vec![made(numbers.take(index), panes, window.layout.clone())];
    }
    let agents = new.into_iter().filter(|pane| step(&pane.id).is_some_and(|step| step.session.is_some()));
    agents.filter_map(|shot| Some(made(numbers.take(index), vec![pane(shot)?], String::new()))).collect()
}
