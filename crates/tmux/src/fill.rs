//! Panes that are missing in a window that is there, as tmux commands: split in between the others, then laid out as saved.
//!
//! Pure: text comes out.

use crate::build::{PanePlan, ROOMY, line, split};
use crate::quoting::quote;

/// A window that is there, and all panes that it will have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillPlan {
    /// `@3`.
    pub window: String,
    /// Its panes by their numbers. At least one is there.
    pub panes: Vec<Filled>,
    /// The pane that is its current one, and stays so: `%4`.
    pub current: String,
    /// Whether that one fills the window.
    pub zoomed: bool,
    /// tmux's own description of sizes and splits, of all panes together.
    pub layout: String,
    /// The width of that.
    pub width: u32,
    /// The height of that.
    pub height: u32,
}

/// A pane of a window that is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filled {
    /// It is there: `%4`.
    There(String),
    /// It is made.
    New(PanePlan),
}

impl FillPlan {
    /// The panes that are made, to be changed.
    pub fn new_panes_mut(&mut self) -> impl Iterator<Item = &mut PanePlan> {
        self.panes.iter_mut().filter_map(|pane| match pane {
            Filled::New(pane) => Some(pane),
            Filled::There(_) => None,
        })
    }
}

/// The commands that fill windows.
pub fn fill(fills: &[FillPlan]) -> String {
    let mut out = String::new();
    for plan in fills {
        window(&mut out, plan);
    }
    out
}

fn window(out: &mut String, plan: &FillPlan) {
    let target = quote(&plan.window);
    let first = plan.panes.iter().find_map(|pane| match pane {
        Filled::There(id) => Some(quote(id)),
        Filled::New(_) => None,
    });
    let Some(first) = first else { return };
    line(out, &format!("resize-window -t {target} -x {ROOMY} -y {ROOMY}"));
    // A layout is given to panes by their numbers, so each new one stands behind its predecessor; evened out, there is
    // room for all.
    let mut before: Option<String> = None;
    for pane in &plan.panes {
        match pane {
            Filled::There(id) => before = Some(quote(id)),
            Filled::New(pane) => {
                let place = before.map_or_else(|| format!("-b -t {first}"), |before| format!("-t {before}"));
                split(out, &place, &target, pane);
                // It is the current one now.
                before = Some(target.clone());
            }
        }
    }
    line(out, &format!("resize-window -t {target} -x {} -y {}", plan.width, plan.height));
    // From now on the window follows its clients again.
    line(out, &format!("set-option -w -u -t {target} window-size"));
    if !plan.layout.is_empty() {
        line(out, &format!("select-layout -t {target} {}", quote(&plan.layout)));
    }
    line(out, &format!("select-pane -t {}", quote(&plan.current)));
    if plan.zoomed {
        line(out, &format!("resize-pane -Z -t {target}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_new_pane_stands_behind_its_predecessor() {
        let new = |mark: &str| {
            Filled::New(PanePlan {
                cwd: "/#(x)".to_owned(),
                title: String::new(),
                active: true,
                mark: mark.to_owned(),
                tag: None,
                options: std::collections::BTreeMap::new(),
                command: Vec::new(),
                variables: Vec::new(),
            })
        };
        let there = |id: &str| Filled::There(id.to_owned());
        let plan = FillPlan {
            window: "@3".to_owned(),
            panes: vec![new("a"), new("b"), there("%4"), there("%5"), new("c")],
            current: "%4".to_owned(),
            zoomed: false,
            layout: "b25d,80x24,0,0,0".to_owned(),
            width: 80,
            height: 24,
        };
        let made = fill(&[plan]);
        let splits: Vec<&str> = made.lines().filter(|line| line.starts_with("split")).collect();
        assert!(
            splits.iter().all(|line| line.contains(" ; set-option -p -t '@3' @rekindle_pane '")),
            "{made}"
        );
        let splits: Vec<&str> = splits.iter().filter_map(|line| line.split(" ; ").next()).collect();
        let expect = ["-b -t '%4'", "-t '@3'", "-t '%5'"].map(|at| format!("split-window {at} -c '/##(x)'"));
        assert_eq!(splits, expect);
        assert!(made.ends_with("select-layout -t '@3' 'b25d,80x24,0,0,0'\nselect-pane -t '%4'\n"), "{made}");
    }
}
