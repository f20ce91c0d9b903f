use super::*;

const COLUMNS: [Column; 4] = [
    Column::new("id", Fit::Whole),
    Column::new("task", Fit::Cut(6)),
    Column::new("cwd", Fit::CutPathThenDrop(8, 2)),
    Column::right("age", Fit::Drop(1)),
];

/// What a terminal shows of painted text.
fn seen(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)).collect::<String>()
}

#[test]
fn columns_are_cut_and_then_left_out() {
    let mut table = Table::new(&COLUMNS);
    table.row(["1a2b", "mend the cart of the shop", "~/code/work/shop", "2 m"].map(Cell::from));
    let check = |columns: Option<usize>, expect: &str| {
        let text = table.text_in(columns, false);
        assert_eq!(text.lines().last(), Some(expect));
        assert!(columns.is_none_or(|most| text.lines().all(|line| width(line) <= most)), "{text}");
    };
    check(None, " 1a2b  mend the cart of the shop  ~/code/work/shop  2 m");
    check(Some(80), " 1a2b  mend the cart of the shop  ~/code/work/shop  2 m");
    check(Some(45), " 1a2b  mend the cart…  …/work/shop  2 m");
    check(Some(26), " 1a2b  mend the…  …/shop");
    check(Some(13), " 1a2b  mend…");
}

#[test]
fn colour_takes_no_room() {
    let mut table = Table::new(&COLUMNS);
    let red = Cell::painted("a task", Some(Colour::Red));
    table.row([Cell::from("1"), red, "/a".into(), "12 m".into()]);
    table.row(["2", "another task", "/b", "1 m"].map(Cell::from));
    let plain = " ID  TASK          CWD   AGE\n 1   a task        /a   12 m\n 2   another task  /b    1 m";
    assert_eq!(table.text_in(Some(80), false), plain);
    let painted = table.text_in(Some(80), true);
    assert!(painted.contains("\u{1b}[31ma task\u{1b}[0m"), "{painted:?}");
    assert_eq!(seen(&painted), plain);
}

#[test]
fn a_reason_wraps_beside_its_row_or_below_it() {
    let columns = [Column::new("pane", Fit::Whole), Column::new("why", Fit::Wrap(12))];
    let mut table = Table::new(&columns);
    table.row(["work:1.0", "the directory is gone"].map(Cell::from));
    table.row(["work:1.1", ""].map(Cell::from));
    let beside = " PANE      WHY\n work:1.0  the directory\n           is gone\n work:1.1";
    assert_eq!(table.text_in(Some(24), false), beside);
    assert_eq!(table.text_in(Some(20), false), " PANE\n work:1.0\n    the directory is\n    gone\n work:1.1");
}

#[test]
fn an_id_is_never_broken_and_what_nobody_said_has_no_column() {
    let mut table = Table::new(&COLUMNS);
    table.row(["019a2b3c-4d5e", "", "", "\u{1b}[2Jx\ny"].map(Cell::from));
    assert_eq!(table.text_in(Some(8), false), " ID\n 019a2b3c-4d5e");
    assert_eq!(table.text_in(None, false), " ID                 AGE\n 019a2b3c-4d5e   [2Jx y");
}
