//! Lines of tmux-resurrect's files, with their columns put back where they belong.
//!
//! Its shell reads columns split at tabs, and a shell takes several tabs for one: an empty title shifts everything behind
//! it to the left, a tab in a title or a path to the right. What stands in a wrong column then was also computed from a
//! wrong process, so a mended line has no full command.

/// A `pane` line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PaneLine {
    pub(crate) session: String,
    pub(crate) window: u32,
    /// Older files name the window here, newer ones in its own line.
    pub(crate) window_name: Option<String>,
    pub(crate) window_active: bool,
    pub(crate) flags: String,
    pub(crate) index: u32,
    pub(crate) title: String,
    pub(crate) cwd: String,
    pub(crate) active: bool,
    pub(crate) command: String,
    pub(crate) full_command: String,
    /// Whether columns had to be moved.
    pub(crate) mended: bool,
}

/// A `window` line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WindowLine {
    pub(crate) session: String,
    pub(crate) index: u32,
    pub(crate) name: Option<String>,
    pub(crate) active: bool,
    pub(crate) flags: String,
    pub(crate) layout: String,
    pub(crate) automatic_rename: Option<bool>,
}

fn is_flag(text: &str) -> bool {
    matches!(text, "0" | "1")
}

fn behind_colon(text: &str) -> &str {
    text.strip_prefix(':').unwrap_or(text)
}

/// Reads a `pane` line; nothing where even its beginning makes no sense.
pub(crate) fn pane(line: &str) -> Option<PaneLine> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [_, session, window, rest @ ..] = &columns[..] else { return None };
    let mut read =
        PaneLine { session: (*session).to_owned(), window: window.parse().ok()?, ..PaneLine::default() };
    // Older files have the window's name before its flag, and no title.
    let (rest, titled) = match rest {
        [name, active, rest @ ..] if name.starts_with(':') && is_flag(active) => {
            read.window_name = Some(behind_colon(name).to_owned());
            (&columns[columns.len() - rest.len() - 1..], false)
        }
        _ => (rest, true),
    };
    let [window_active, flags, index, tail @ ..] = rest else { return None };
    if !is_flag(window_active) || !flags.starts_with(':') {
        return None;
    }
    read.window_active = *window_active == "1";
    read.flags = behind_colon(flags).to_owned();
    read.index = index.parse().ok()?;
    place(&mut read, tail, titled);
    Some(read)
}

/// Title, directory, flag, commands: wherever they stand.
fn place(read: &mut PaneLine, tail: &[&str], titled: bool) {
    let usual = usize::from(titled);
    let fits = |at: usize| {
        tail.get(at).is_some_and(|dir| dir.starts_with(':'))
            && tail.get(at + 1).is_some_and(|flag| is_flag(flag))
    };
    let begin =
        if fits(usual) { Some(usual) } else { tail.iter().position(|column| column.starts_with(":/")) };
    let Some(begin) = begin else {
        read.mended = true;
        read.title = tail.first().map(|title| (*title).to_owned()).unwrap_or_default();
        return;
    };
    let end = tail.iter().skip(begin + 1).position(|column| is_flag(column)).map(|at| begin + 1 + at);
    read.title = tail[..begin].join("\t");
    let directory = &tail[begin..end.unwrap_or(begin + 1)];
    read.cwd = behind_colon(&directory.join("\t")).replace("\\ ", " ");
    read.mended = begin != usual || directory.len() > 1 || end.is_none();
    let Some(end) = end else { return };
    read.active = tail[end] == "1";
    let command = tail.get(end + 1).filter(|command| !command.starts_with(':'));
    read.command = command.map(|command| (*command).to_owned()).unwrap_or_default();
    if !read.mended && tail.len() > end + 2 {
        read.full_command = behind_colon(&tail[end + 2..].join("\t")).to_owned();
    }
}

/// Reads a `window` line.
pub(crate) fn window(line: &str) -> Option<WindowLine> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [_, session, index, rest @ ..] = &columns[..] else { return None };
    let at = rest.windows(2).position(|pair| is_flag(pair[0]) && pair[1].starts_with(':'))?;
    let layout = rest.get(at + 2).copied().unwrap_or_default();
    let automatic_rename = match rest.get(at + 3).map(|word| behind_colon(word)) {
        Some("on") => Some(true),
        Some("off") => Some(false),
        _ => None,
    };
    Some(WindowLine {
        session: (*session).to_owned(),
        index: index.parse().ok()?,
        name: (at > 0).then(|| behind_colon(&rest[..at].join("\t")).to_owned()),
        active: rest[at] == "1",
        flags: behind_colon(rest[at + 1]).to_owned(),
        layout: layout.to_owned(),
        automatic_rename,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tail: &str, title: &str, cwd: &str, command: &str, full: &str, mended: bool) {
        let read = pane(&format!("pane\twork\t3\t1\t:*Z\t2\t{tail}")).unwrap();
        assert_eq!(
            (read.session.as_str(), read.window, read.index, read.flags.as_str()),
            ("work", 3, 2, "*Z")
        );
        assert_eq!((read.title.as_str(), read.cwd.as_str()), (title, cwd), "{tail:?}");
        assert_eq!((read.command.as_str(), read.full_command.as_str()), (command, full), "{tail:?}");
        assert_eq!((read.active, read.mended), (true, mended), "{tail:?}");
    }

    #[test]
    fn columns_are_found_where_they_belong() {
        check("host\t:/home/me\t1\tvim\t:vim a.rs", "host", "/home/me", "vim", "vim a.rs", false);
        check("host\t:/a\\ b\t1\tbash\t:", "host", "/a b", "bash", "", false);
        // A title that looks like a directory.
        check(":/x\t:/home/me\t1\tbash\t:", ":/x", "/home/me", "bash", "", false);
        // An empty title: the directory stands in its column, and the pid in that of the command.
        check(":/home/me\t1\tbash\t4711\t:", "", "/home/me", "bash", "", true);
        // A title with a tab in it.
        check("two\tparts\t:/home/me\t1\t:", "two\tparts", "/home/me", "", "", true);
        // A directory with a tab in it.
        check("host\t:/a\tb\t1\t:", "host", "/a\tb", "", "", true);
        // A command with tabs.
        check("host\t:/a\t1\tawk\t:awk -F\tx", "host", "/a", "awk", "awk -F\tx", false);
    }

    #[test]
    fn older_files_have_the_name_of_the_window_and_no_title() {
        let read = pane("pane\twork\t0\t:my window\t1\t:*\t0\t:/home\t1\tbash\t:").unwrap();
        assert_eq!((read.window_name.as_deref(), read.cwd.as_str()), (Some("my window"), "/home"));
        assert!(!read.mended && read.active);
        let read = window("window\twork\t0\t1\t:*\tb25f,80x24,0,0,0").unwrap();
        assert_eq!((read.name, read.layout.as_str()), (None, "b25f,80x24,0,0,0"));
    }

    #[test]
    fn windows_have_a_name_and_may_have_none() {
        let read = window("window\twork\t2\t:a:b\t0\t:-\tb25f,80x24,0,0,0\toff").unwrap();
        assert_eq!((read.name.as_deref(), read.automatic_rename), (Some("a:b"), Some(false)));
        let read = window("window\twork\t2\t:\t1\t:*\tb25f,80x24,0,0,0\t:").unwrap();
        assert_eq!((read.name.as_deref(), read.automatic_rename, read.active), (Some(""), None, true));
    }

    #[test]
    fn garbage_is_no_line() {
        for line in ["pane", "pane\ta", "pane\ta\tx\t1\t:*\t0", "pane\ta\t1\tyes\t:*\t0\tt"] {
            assert_eq!(pane(line), None, "{line:?}");
        }
        assert_eq!(window("window\ta\t1\tx"), None);
    }
}
