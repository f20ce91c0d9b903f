//! The one table printer. It measures what is seen, so colour does not shift a column, and it fits the terminal: long texts
//! wrap or are cut, unimportant columns go, and an id is never broken.

mod fit;

pub(crate) use fit::Fit;

use fit::{GAP, Layout};

use super::words::{cut, cut_path, width};
use super::{paint, wrap};

/// A column: its heading, what it may lose in a narrow terminal, and on which side its texts stand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    heading: &'static str,
    fit: Fit,
    right: bool,
}

impl Column {
    pub(crate) const fn new(heading: &'static str, fit: Fit) -> Column {
        Column { heading, fit, right: false }
    }

    /// A column of numbers.
    pub(crate) const fn right(heading: &'static str, fit: Fit) -> Column {
        Column { heading, fit, right: true }
    }
}

/// The colours that cells have. The terminal says what each looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Yellow,
    Green,
    Grey,
}

impl Colour {
    /// A text in this colour, where the terminal wants colour.
    pub(crate) fn paint(self, text: &str) -> String {
        paint(text, self.code(), super::colour())
    }

    fn code(self) -> &'static str {
        match self {
            Colour::Red => "31",
            Colour::Yellow => "33",
            Colour::Green => "32",
            Colour::Grey => "90",
        }
    }
}

/// One line of text in a row.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    colour: Option<Colour>,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Cell {
        let text: String = text.into();
        // A control character would move the cursor or paint the rest of the screen.
        let text = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Cell { text, colour: None }
    }

    pub(crate) fn painted(text: impl Into<String>, colour: Option<Colour>) -> Cell {
        Cell { colour, ..Cell::new(text) }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(text)
    }
}

/// A table that fits the terminal.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(N, self.columns.len(), "a cell for each column");
        self.rows.push(cells.into());
    }

    /// The lines, as wide as the terminal at most. Output that another program reads is not cut.
    pub(crate) fn text(&self) -> String {
        self.text_in(super::columns(), super::colour())
    }

    fn text_in(&self, columns: Option<usize>, colours: bool) -> String {
        let layout = Layout::new(&self.fits(), &self.widths(), columns);
        let shown = self.tightened(&layout);
        let headings: Vec<Cell> =
            self.columns.iter().map(|column| column.heading.to_uppercase().into()).collect();
        let mut lines = self.lines(&headings, &shown, false);
        for row in &self.rows {
            lines.extend(self.lines(row, &shown, colours));
            lines.extend(self.lines_below(row, &layout, columns));
        }
        lines.join("\n")
    }

    /// The columns in the row, each as wide as its widest text: one that is cut at a word or a folder needs less.
    fn tightened(&self, layout: &Layout) -> Vec<(usize, usize)> {
        let widest = |(at, most): (usize, usize)| {
            let column = &self.columns[at];
            let cells = self.rows.iter().flat_map(|row| column.fit.lines(&row[at].text, most));
            (at, cells.map(|text| width(&text)).max().unwrap_or_default().max(width(column.heading)))
        };
        layout.shown().map(widest).collect()
    }

    /// The lines of one row: several where a cell wraps.
    fn lines(&self, row: &[Cell], shown: &[(usize, usize)], colours: bool) -> Vec<String> {
        let cells: Vec<Vec<String>> =
            shown.iter().map(|(at, most)| self.columns[*at].fit.lines(&row[*at].text, *most)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        (0..height)
            .map(|number| {
                let mut line = String::new();
                for ((at, most), texts) in shown.iter().zip(&cells) {
                    let text = texts.get(number).map_or("", String::as_str);
                    let blanks = " ".repeat(most.saturating_sub(width(text)));
                    let painted = match row[*at].colour {
                        Some(colour) if !text.is_empty() => paint(text, colour.code(), colours),
                        _ => text.to_owned(),
                    };
                    line.push_str(if line.is_empty() { " " } else { GAP });
                    line.push_str(&if self.columns[*at].right {
                        blanks + &painted
                    } else {
                        painted + &blanks
                    });
                }
                line.trim_end().to_owned()
            })
            .collect()
    }

    /// Texts that are too long for a column of their own stand below their row.
    fn lines_below(&self, row: &[Cell], layout: &Layout, columns: Option<usize>) -> Vec<String> {
        const INDENT: &str = "    ";
        let most = columns.unwrap_or(80).saturating_sub(INDENT.len());
        let texts = layout.below().map(|at| &row[at].text).filter(|text| !text.is_empty());
        texts.flat_map(|text| wrap(text, most)).map(|line| format!("{INDENT}{line}")).collect()
    }

    /// What each column may lose. A text that wraps needs room for its longest word: paths and ids are not broken.
    fn fits(&self) -> Vec<Fit> {
        let longest_word = |at: usize| {
            let words = self.rows.iter().flat_map(|row| row[at].text.split_whitespace());
            words.map(width).max().unwrap_or_default()
        };
        let fit = |(at, column): (usize, &Column)| match column.fit {
            Fit::Wrap(least) => Fit::Wrap(least.max(longest_word(at))),
            fit => fit,
        };
        self.columns.iter().enumerate().map(fit).collect()
    }

    /// The widest text of each column; 0 for one that says nothing.
    fn widths(&self) -> Vec<usize> {
        let widest = |(at, column): (usize, &Column)| {
            let widest = self.rows.iter().map(|row| width(&row[at].text)).max().unwrap_or_default();
            if widest == 0 { 0 } else { widest.max(width(column.heading)) }
        };
        self.columns.iter().enumerate().map(widest).collect()
    }
}

impl Fit {
    /// A text in lines of so many columns.
    fn lines(self, text: &str, most: usize) -> Vec<String> {
        if width(text) <= most {
            return vec![text.to_owned()];
        }
        match self {
            Fit::Whole | Fit::Drop(_) => vec![text.to_owned()],
            Fit::Cut(_) | Fit::CutThenDrop(..) => vec![cut(text, most)],
            Fit::CutPath(_) | Fit::CutPathThenDrop(..) => vec![cut_path(text, most)],
            Fit::Wrap(_) => wrap(text, most),
        }
    }
}

#[cfg(test)]
mod tests;
