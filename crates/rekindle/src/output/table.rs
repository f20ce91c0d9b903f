//! The one table printer.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement};

/// A table that fits the terminal, or 80 columns where there is none.
pub(crate) struct Table {
    table: comfy_table::Table,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Table {
        let mut table = comfy_table::Table::new();
        table.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        if !table.is_tty() {
            // Output that is read by something else keeps its lines whole.
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
        table.set_header(headings.iter().map(|heading| Cell::new(heading.to_uppercase())));
        Table { table }
    }

    /// Numbers stand on the right.
    pub(crate) fn right(mut self, column: usize) -> Table {
        if let Some(column) = self.table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        self
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.table.add_row(cells.iter().map(Cell::new));
    }

    pub(crate) fn text(&self) -> String {
        self.table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }
}
