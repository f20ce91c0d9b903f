//! Which columns a terminal has room for, and how wide each may be.

/// What stands between two columns.
pub(super) const GAP: &str = "  ";

/// What a column may lose where the terminal is narrow. `Drop` numbers say in which order columns go: the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Nothing: an id, or a word that decides.
    Whole,
    /// The ends of its texts, down to so many columns.
    Cut(usize),
    /// The beginnings of its paths, down to so many columns.
    CutPath(usize),
    /// The whole column.
    Drop(u8),
    /// The ends of its texts, and then the whole column.
    CutThenDrop(usize, u8),
    /// The beginnings of its paths, and then the whole column.
    CutPathThenDrop(usize, u8),
    /// Nothing: its texts take several lines, each at least so wide, or lines of their own below the row.
    Wrap(usize),
}

impl Fit {
    /// How narrow the column can be, of this width.
    fn least(self, width: usize) -> usize {
        match self {
            Fit::Whole | Fit::Drop(_) => width,
            Fit::Cut(least) | Fit::CutPath(least) | Fit::Wrap(least) => least.min(width),
            Fit::CutThenDrop(least, _) | Fit::CutPathThenDrop(least, _) => least.min(width),
        }
    }

    fn dropped(self) -> Option<u8> {
        match self {
            Fit::Drop(order) | Fit::CutThenDrop(_, order) | Fit::CutPathThenDrop(_, order) => Some(order),
            Fit::Whole | Fit::Cut(_) | Fit::CutPath(_) | Fit::Wrap(_) => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the row, so wide.
    Row(usize),
    /// Below the row.
    Below,
    Nowhere,
}

/// Where the texts of each column stand.
#[derive(Debug)]
pub(super) struct Layout(Vec<Place>);

impl Layout {
    /// Finds room in a terminal of so many columns: all of it is there where nothing is known.
    pub(super) fn new(fits: &[Fit], widths: &[usize], columns: Option<usize>) -> Layout {
        let place = |width: &usize| if *width == 0 { Place::Nowhere } else { Place::Row(*width) };
        let mut layout = Layout(widths.iter().map(place).collect());
        if let Some(columns) = columns {
            layout.make_room(fits, columns);
        }
        layout
    }

    /// The columns in the row, and how wide each is.
    pub(super) fn shown(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().enumerate().filter_map(|(at, place)| match place {
            Place::Row(width) => Some((at, *width)),
            Place::Below | Place::Nowhere => None,
        })
    }

    /// The columns whose texts stand below the row.
    pub(super) fn below(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, place)| **place == Place::Below).map(|(at, _)| at)
    }

    fn make_room(&mut self, fits: &[Fit], columns: usize) {
        // Columns go one by one until the others can be made narrow enough; then texts that wrap go below.
        while self.total(|at, width| fits[at].least(width)) > columns {
            let next = self.shown().filter_map(|(at, _)| Some((fits[at].dropped()?, at))).min();
            let wraps =
                || self.shown().map(|(at, _)| at).filter(|at| matches!(fits[*at], Fit::Wrap(_))).last();
            match (next, wraps()) {
                (Some((_, at)), _) => self.0[at] = Place::Nowhere,
                (None, Some(at)) => self.0[at] = Place::Below,
                (None, None) => break,
            }
        }
        // Text that wraps loses nothing, so it is made narrower first; of the others the widest.
        while self.total(|_, width| width) > columns {
            let wraps = |at: &usize| matches!(fits[*at], Fit::Wrap(_));
            let can = self.shown().filter(|(at, width)| fits[*at].least(*width) < *width);
            let Some((_, width, at)) = can.map(|(at, width)| (wraps(&at), width, at)).max() else { break };
            self.0[at] = Place::Row(width - 1);
        }
    }

    /// How wide the row is: a blank, the columns, and what stands between them.
    fn total(&self, width: impl Fn(usize, usize) -> usize) -> usize {
        let widths: Vec<usize> = self.shown().map(|(at, now)| width(at, now)).collect();
        1 + widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }
}
