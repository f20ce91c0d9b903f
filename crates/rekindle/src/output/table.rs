//! The one table printer.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Color, ContentArrangement};

use super::words::{cut, cut_path, width};

/// What a column may lose where the terminal is narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Nothing.
    Whole,
    /// The ends of its texts, down to so many columns.
    Cut(usize),
    /// The beginnings of its paths, down to so many columns.
    CutPath(usize),
    /// All of it; the lowest number goes first.
    Drop(u8),
    /// The ends of its texts, and then all of it.
    CutThenDrop(usize, u8),
    /// The beginnings of its paths, and then all of it.
    CutPathThenDrop(usize, u8),
}

impl Fit {
    fn least(self) -> Option<usize> {
        match self {
            Fit::Whole | Fit::Drop(_) => None,
            Fit::Cut(least) | Fit::CutPath(least) => Some(least),
            Fit::CutThenDrop(least, _) | Fit::CutPathThenDrop(least, _) => Some(least),
        }
    }

    fn dropped(self) -> Option<u8> {
        match self {
            Fit::Drop(order) | Fit::CutThenDrop(_, order) | Fit::CutPathThenDrop(_, order) => Some(order),
            Fit::Whole | Fit::Cut(_) | Fit::CutPath(_) => None,
        }
    }

    fn shorten(self, text: &str, most: usize) -> String {
        match self {
            Fit::CutPath(_) | Fit::CutPathThenDrop(..) => cut_path(text, most),
            _ => cut(text, most),
        }
    }
}

/// A table that fits the terminal.
pub(crate) struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<(String, Option<Color>)>>,
    right: Vec<usize>,
    fits: Option<Vec<Fit>>,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Table {
        let headings = headings.iter().map(|heading| heading.to_uppercase()).collect();
        Table { headings, rows: Vec::new(), right: Vec::new(), fits: None }
    }

    /// Numbers stand on the right.
    pub(crate) fn right(mut self, column: usize) -> Table {
        self.right.push(column);
        self
    }

    /// Columns are cut and left out instead of being broken into several lines.
    pub(crate) fn fit(mut self, fits: &[Fit]) -> Table {
        self.fits = Some(fits.to_vec());
        self
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| (cell.clone(), None)).collect());
    }

    /// A row of which some cells have a colour.
    pub(crate) fn coloured(&mut self, cells: Vec<(String, Option<Color>)>) {
        self.rows.push(cells);
    }

    /// The lines, for a terminal of this width; whole ones where there is none: output that is read by something else.
    pub(crate) fn text(&self) -> String {
        self.text_in(super::columns())
    }

    fn text_in(&self, columns: Option<usize>) -> String {
        let widths = self.widths();
        let mut kept: Vec<Option<usize>> = widths.iter().map(|width| Some(*width)).collect();
        if let (Some(fits), Some(columns)) = (&self.fits, columns) {
            // A column that says nothing makes room for others.
            for at in (0..fits.len()).filter(|at| fits[*at].dropped().is_some()) {
                if self.rows.iter().all(|row| row.get(at).is_none_or(|(text, _)| text.is_empty())) {
                    kept[at] = None;
                }
            }
            fit(fits, &mut kept, columns);
        }
        let mut table = comfy_table::Table::new();
        table.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if self.fits.is_none() && table.is_tty() {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        let shown: Vec<usize> = (0..widths.len()).filter(|at| kept[*at].is_some()).collect();
        table.set_header(shown.iter().map(|at| Cell::new(&self.headings[*at])));
        for row in &self.rows {
            table.add_row(shown.iter().filter_map(|at| {
                let (text, colour) = row.get(*at)?;
                let fit = self.fits.as_ref().map_or(Fit::Whole, |fits| fits[*at]);
                let most = kept[*at].unwrap_or_default();
                let cell = Cell::new(if width(text) > most { fit.shorten(text, most) } else { text.clone() });
                Some(match colour {
                    Some(colour) if super::colour() => cell.fg(*colour),
                    _ => cell,
                })
            }));
        }
        for (at, column) in shown.iter().enumerate().filter(|(_, column)| self.right.contains(column)) {
            if let Some(column) = table.column_mut(at).filter(|_| *column < widths.len()) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let cells =
            |at: usize| self.rows.iter().filter_map(move |row| row.get(at)).map(|(text, _)| width(text));
        let widest = |at: usize| cells(at).max().unwrap_or_default().max(width(&self.headings[at]));
        (0..self.headings.len()).map(widest).collect()
    }
}

/// A blank on each side of every cell.
const PADDING: usize = 2;

/// Leaves columns out, one by one, until the rest can be cut to fit, and cuts the widest ones.
fn fit(fits: &[Fit], kept: &mut [Option<usize>], columns: usize) {
    let least = |at: usize, width: usize| fits[at].least().map_or(width, |least| least.min(width));
    let total = |kept: &[Option<usize>], smallest: bool| -> usize {
        let one = |(at, width): (usize, &Option<usize>)| {
            width.map(|width| if smallest { least(at, width) } else { width } + PADDING)
        };
        kept.iter().enumerate().filter_map(one).sum()
    };
    // The last blank is trimmed, so one column more is there than it seems.
    while total(kept, true) > columns + 1 {
        let next = (0..fits.len()).filter(|at| kept[*at].is_some());
        let Some((_, at)) = next.filter_map(|at| Some((fits[at].dropped()?, at))).min() else { break };
        kept[at] = None;
    }
    while total(kept, false) > columns + 1 {
        let can = (0..fits.len()).filter_map(|at| Some((kept[at]?, at)));
        let Some((width, at)) = can.filter(|(width, at)| least(*at, *width) < *width).max() else { break };
        kept[at] = Some(width - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_cut_and_then_left_out() {
        let fits = [Fit::Whole, Fit::Cut(6), Fit::CutPathThenDrop(8, 2), Fit::Drop(1)];
        let mut table = Table::new(&["id", "task", "cwd", "age"]).fit(&fits);
        let row = ["1a2b", "mend the cart of the shop", "~/code/work/shop", "12 m"];
        table.row(&row.map(str::to_owned));
        let check = |columns: Option<usize>, expect: &str| {
            let text = table.text_in(columns);
            assert_eq!(text.lines().last(), Some(expect));
            assert!(columns.is_none_or(|most| text.lines().all(|line| width(line) <= most)), "{text}");
        };
        check(None, " 1a2b  mend the cart of the shop  ~/code/work/shop  12 m");
        check(Some(80), " 1a2b  mend the cart of the shop  ~/code/work/shop  12 m");
        check(Some(46), " 1a2b  mend the cart…  …/work/shop  12 m");
        check(Some(27), " 1a2b  mend the…  …/shop");
        check(Some(14), " 1a2b  mend…");
    }
}
