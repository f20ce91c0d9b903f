//! One command is one operation: `history` lists it, `undo` takes back all of it, `redo` does it again.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "throwaway files are damaged on purpose, and a test that cannot go on panics"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use lab::home::Home;
use lab::talk;
use serde_json::{Value, json};

fn session(number: usize) -> String {
    format!("{number}7777777-aaaa-4aaa-8aaa-aaaaaaaaaaaa")
}

/// A home with so many damaged conversations, and their bytes.
fn damaged(count: usize) -> (Home, Vec<(PathBuf, Vec<u8>)>) {
    let home = Home::new().unwrap();
    let put = |number: usize| {
        let path = home.put_dangling(&session(number), 4, 2).unwrap();
        (path.clone(), fs::read(path).unwrap())
    };
    let files = (0..count).map(put).collect();
    (home, files)
}

fn bytes(files: &[(PathBuf, Vec<u8>)]) -> Vec<Vec<u8>> {
    files.iter().map(|(path, _)| fs::read(path).unwrap()).collect()
}

fn before(files: &[(PathBuf, Vec<u8>)]) -> Vec<Vec<u8>> {
    files.iter().map(|(_, bytes)| bytes.clone()).collect()
}

fn operations(home: &Home) -> Vec<Value> {
    home.rekindle_json(&["history"]).unwrap()["operations"].as_array().unwrap().clone()
}

fn statuses(told: &Value) -> Vec<String> {
    let effects = told["effects"].as_array().unwrap().iter();
    effects.map(|effect| effect["status"].as_str().unwrap().to_owned()).collect()
}

/// A process that has a transcript open for writing, as an agent has.
struct Owner(Child);

impl Owner {
    fn of(path: &PathBuf) -> Owner {
        let mut command = Command::new("sh");
        command.args(["-c", "exec 3>>\"$1\"; echo open; read -r _", "sh"]).arg(path);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "open\n");
        Owner(child)
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// The clock was ahead during the first of two repairs.
#[test]
fn undo_takes_back_what_was_done_last_whatever_the_clock_said() {
    let (home, files) = damaged(2);
    assert!(home.rekindle(&["repair", &session(0)]).unwrap().success());
    let folder = home.state().join("operations");
    let written = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut value: Value = serde_json::from_slice(&fs::read(&written).unwrap()).unwrap();
    value["startedAt"] = json!("2999-01-01T00:00:00Z");
    let id = value["id"].as_str().unwrap().to_owned();
    fs::write(folder.join(format!("29990101T000000.000Z-{id}.json")), value.to_string()).unwrap();
    fs::remove_file(written).unwrap();
    assert!(home.rekindle(&["repair", &session(1)]).unwrap().success());
    let repaired = bytes(&files);

    let shown = home.rekindle(&["history"]).unwrap();
    let lines: Vec<&str> = shown.stdout.lines().skip(1).collect();
    assert!(lines[0].contains(" ago ") && lines[1].contains(" in "), "{}", shown.stdout);
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(bytes(&files), [repaired[0].clone(), files[1].1.clone()]);
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(bytes(&files), before(&files));
    // The undo of the first came last, so it is the first to be done again.
    assert!(home.rekindle(&["redo"]).unwrap().success());
    assert_eq!(bytes(&files), [repaired[0].clone(), files[1].1.clone()]);
}

#[test]
fn repair_all_is_one_operation_one_undo_and_one_redo() {
    let (home, files) = damaged(3);
    assert!(home.rekindle(&["repair", "--all"]).unwrap().success());
    let repaired = bytes(&files);
    assert!(files.iter().zip(&repaired).all(|((_, old), new)| old != new));
    let listed = operations(&home);
    assert_eq!(listed.len(), 1, "{listed:?}");
    let one = &listed[0];
    assert_eq!((&one["command"], &one["state"]), (&json!("repair --all"), &json!("done")), "{one}");
    assert_eq!((&one["undoable"], one["effects"].as_array().unwrap().len()), (&json!(true), 3), "{one}");

    let would = home.rekindle_json(&["undo", "--dry-run"]).unwrap();
    assert_eq!((&would["operation"]["id"], &would["dryRun"]), (&one["id"], &json!(true)), "{would}");
    assert_eq!(bytes(&files), repaired);
    let undone = home.rekindle_json(&["undo"]).unwrap();
    assert_eq!(statuses(&undone), ["undone"; 3], "{undone}");
    assert_eq!(bytes(&files), before(&files));
    assert_eq!(operations(&home)[0]["state"], "undone");
    let again = home.rekindle(&["undo"]).unwrap();
    assert_eq!((again.code(), again.stdout.as_str()), (Some(3), ""), "{}", again.words());

    // What is shown can be typed.
    let shown = home.rekindle(&["history"]).unwrap();
    let short = one["shortId"].as_str().unwrap();
    assert!(shown.stdout.contains(short) && shown.stdout.contains("repair --all"), "{}", shown.words());
    let redone = home.rekindle_json(&["redo", short]).unwrap();
    assert_eq!(statuses(&redone), ["redone"; 3], "{redone}");
    assert_eq!(bytes(&files), repaired);
    assert_eq!(operations(&home).len(), 1);
    assert_eq!(operations(&home)[0]["state"], "done");
    assert_eq!(home.rekindle(&["redo"]).unwrap().code(), Some(3), "nothing is left to redo");
    assert!(home.rekindle(&["undo", short]).unwrap().success());
    assert_eq!(bytes(&files), before(&files));
}

#[test]
fn what_an_owner_keeps_from_being_undone_is_undone_the_second_time() {
    let (home, files) = damaged(3);
    assert!(home.rekindle(&["repair", "--all"]).unwrap().success());
    let repaired = bytes(&files);
    let owner = Owner::of(&files[1].0);
    let partly = home.rekindle(&["undo", "--json"]).unwrap();
    assert_eq!(partly.code(), Some(4), "{}", partly.words());
    let told: Value = serde_json::from_str(&partly.stdout).unwrap();
    let mut each = statuses(&told);
    each.sort();
    assert_eq!(each, ["refused", "undone", "undone"], "{told}");
    assert!(partly.stdout.contains("owns it"), "{}", partly.words());
    assert_eq!(bytes(&files), [files[0].1.clone(), repaired[1].clone(), files[2].1.clone()]);
    assert_eq!(operations(&home)[0]["state"], "done");
    owner.end();
    let rest = home.rekindle_json(&["undo"]).unwrap();
    assert_eq!(
        (statuses(&rest), &rest["effects"][0]["sessionId"]),
        (vec!["undone".to_owned()], &json!(session(1)))
    );
    assert_eq!(bytes(&files), before(&files));
    assert_eq!(operations(&home)[0]["state"], "undone");
}

#[test]
fn of_a_session_only_its_own_change_is_undone() {
    let (home, files) = damaged(3);
    assert!(home.rekindle(&["repair", "--all"]).unwrap().success());
    let repaired = bytes(&files);
    let undone = home.rekindle(&["undo", &session(2)]).unwrap();
    assert!(undone.success(), "{}", undone.words());
    assert!(undone.stderr.contains("Only this change is undone"), "{}", undone.words());
    assert_eq!(bytes(&files), [repaired[0].clone(), repaired[1].clone(), files[2].1.clone()]);
    let undone = home.rekindle_json(&["undo"]).unwrap();
    assert_eq!(statuses(&undone), ["undone"; 2], "{undone}");
    assert_eq!(bytes(&files), before(&files));
    let nothing = home.rekindle(&["undo", &session(2)]).unwrap();
    assert_eq!(nothing.code(), Some(3), "{}", nothing.words());
}

/// Version 0.1.0 wrote no operations: its repairs are operations of their own.
#[test]
fn what_an_older_version_repaired_is_listed_undone_and_redone() {
    let (home, files) = damaged(2);
    assert!(home.rekindle(&["repair", "--all"]).unwrap().success());
    let repaired = bytes(&files);
    fs::remove_dir_all(home.state().join("operations")).unwrap();
    let listed = operations(&home);
    let commands: Vec<&Value> = listed.iter().map(|one| &one["command"]).collect();
    assert_eq!(commands, ["repair", "repair"]);
    assert!(!home.state().join("operations").exists(), "looking writes nothing");
    let newest = listed[0]["id"].as_str().unwrap();
    let undone = home.rekindle_json(&["undo"]).unwrap();
    assert_eq!((statuses(&undone), &undone["operation"]["id"]), (vec!["undone".to_owned()], &json!(newest)));
    let states: Vec<Value> = operations(&home).iter().map(|one| one["state"].clone()).collect();
    assert_eq!(states, ["undone", "done"]);
    assert!(home.rekindle(&["redo"]).unwrap().success());
    assert_eq!(bytes(&files), repaired);
    assert!(home.rekindle(&["undo", newest]).unwrap().success());
    assert!(home.rekindle(&["undo", listed[1]["shortId"].as_str().unwrap()]).unwrap().success());
    assert_eq!(bytes(&files), before(&files));
}

#[test]
fn a_redo_keeps_what_was_said_since_and_refuses_what_changed() {
    let (home, files) = damaged(1);
    let (path, old) = &files[0];
    assert!(home.rekindle(&["repair", "--all"]).unwrap().success());
    let repaired = fs::read(path).unwrap();
    assert!(home.rekindle(&["undo"]).unwrap().success());
    let last = talk::talk(&session(0), &home.project(), 4);
    let parent = last.uuid(last.reply(3).unwrap());
    let rows = talk::turn_rows(&session(0), &home.project(), 4, &parent);
    let since: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::File::options().append(true).open(path).unwrap().write_all(since.as_bytes()).unwrap();
    let redone = home.rekindle_json(&["redo"]).unwrap();
    assert_eq!(redone["effects"][0]["keptSince"], since.len(), "{redone}");
    assert_eq!(fs::read(path).unwrap(), [repaired, since.clone().into_bytes()].concat());

    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert_eq!(fs::read(path).unwrap(), [old.clone(), since.into_bytes()].concat());
    let other = talk::talk("another", &home.project(), 9).bytes();
    fs::write(path, &other).unwrap();
    let refused = home.rekindle(&["redo"]).unwrap();
    assert_eq!((refused.code(), refused.stdout.as_str()), (Some(3), ""), "{}", refused.words());
    assert!(refused.stderr.contains("has changed since the undo"), "{}", refused.words());
    assert_eq!(fs::read(path).unwrap(), other);
}

#[test]
fn what_the_vault_put_back_is_taken_away_and_put_back_again() {
    let home = Home::new().unwrap();
    let path = home.put_talk(&session(0), 4).unwrap();
    let whole = fs::read(&path).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    fs::remove_file(&path).unwrap();
    assert!(home.rekindle(&["vault", "restore", &session(0)]).unwrap().success());
    let listed = operations(&home);
    assert_eq!(
        (&listed[0]["command"], &listed[0]["effects"][0]["kind"]),
        (&json!("vault restore"), &json!("put_back"))
    );
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert!(!path.exists());
    assert!(home.rekindle(&["redo"]).unwrap().success());
    assert_eq!(fs::read(&path).unwrap(), whole);
    assert!(home.rekindle(&["undo"]).unwrap().success());
    assert!(!path.exists());
    fs::write(&path, "{}\n").unwrap();
    let refused = home.rekindle(&["redo"]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    assert_eq!(fs::read(&path).unwrap(), b"{}\n");
}

/// What was said in a conversation that had been put back is never taken away with it.
#[test]
fn a_conversation_that_went_on_after_it_was_put_back_stays() {
    let home = Home::new().unwrap();
    let path = home.put_talk(&session(0), 4).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    fs::remove_file(&path).unwrap();
    assert!(home.rekindle(&["vault", "restore", &session(0)]).unwrap().success());
    let talked = talk::talk(&session(0), &home.project(), 5).bytes();
    fs::write(&path, &talked).unwrap();
    let refused = home.rekindle(&["undo"]).unwrap();
    assert_eq!((refused.code(), refused.stdout.as_str()), (Some(3), ""), "{}", refused.words());
    assert!(refused.stderr.contains("the transcript stays"), "{}", refused.words());
    assert_eq!(fs::read(&path).unwrap(), talked);
}

/// What cannot be undone is listed, with the reason.
#[test]
fn what_cannot_be_undone_says_why() {
    let (home, _) = damaged(1);
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    assert!(home.rekindle(&["repair", &session(0), "--as-copy"]).unwrap().success());
    assert!(home.rekindle(&["vault", "forget", &session(0), "--yes"]).unwrap().success());
    let listed = operations(&home);
    let commands: Vec<&Value> = listed.iter().map(|one| &one["command"]).collect();
    assert_eq!(commands, ["vault forget", "repair --as-copy"]);
    for one in &listed {
        assert!(one["undoable"] == false && one["why"].is_string(), "{one}");
        let refused = home.rekindle(&["undo", one["shortId"].as_str().unwrap()]).unwrap();
        assert_eq!((refused.code(), refused.stdout.as_str()), (Some(3), ""), "{}", refused.words());
        assert!(refused.stderr.contains(one["why"].as_str().unwrap()), "{}", refused.words());
    }
    let refused = home.rekindle(&["undo"]).unwrap();
    assert_eq!(refused.code(), Some(3), "{}", refused.words());
    assert!(refused.stderr.contains("(vault forget) cannot be undone"), "{}", refused.words());
}

#[test]
fn what_changes_nothing_is_no_operation() {
    let home = Home::new().unwrap();
    home.put_talk(&session(0), 4).unwrap();
    assert!(home.rekindle(&["repair", &session(0)]).unwrap().success());
    assert!(operations(&home).is_empty());
    let (home, files) = damaged(1);
    let owner = Owner::of(&files[0].0);
    assert_eq!(home.rekindle(&["repair", &session(0)]).unwrap().code(), Some(3));
    owner.end();
    assert!(operations(&home).is_empty());
    let said = home.rekindle(&["history"]).unwrap();
    assert_eq!((said.code(), said.stdout.as_str()), (Some(0), "No operations yet.\n"));
    for words in [&["undo", "nosuchop"][..], &["redo", "kkkkkkkk"], &["history", "-n", "x"]] {
        let wrong = home.rekindle(words).unwrap();
        assert_eq!((wrong.code(), wrong.stdout.as_str()), (Some(2), ""), "{words:?}: {}", wrong.words());
    }
}

/// `forget` must be able to erase everything, so operations hold no text.
#[test]
fn operations_hold_no_text_of_conversations() {
    let (home, files) = damaged(2);
    assert!(home.rekindle(&["repair", "--all"]).unwrap().success());
    assert!(home.rekindle(&["undo"]).unwrap().success());
    let text = String::from_utf8(files[0].1.clone()).unwrap();
    let said = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let said: Vec<String> =
        said.filter_map(|row| Some(row["message"]["content"].as_str()?.to_owned())).collect();
    assert!(!said.is_empty());
    for entry in fs::read_dir(home.state().join("operations")).unwrap() {
        let written = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(said.iter().all(|said| !written.contains(said.as_str())), "{written}");
    }
}

#[test]
fn an_emptied_record_is_listed_as_damaged_and_named() {
    let (home, _) = damaged(1);
    assert!(home.rekindle(&["repair", &session(0)]).unwrap().success());
    let listed = home.rekindle_json(&["history"]).unwrap();
    let id = listed["operations"][0]["id"].as_str().unwrap().to_owned();
    // The record in the backup: the operation stays, and says why it cannot be undone.
    let folder = listed["operations"][0]["effects"][0]["backupPath"].as_str().unwrap();
    let backup = PathBuf::from(folder).join("repair.json");
    let whole = fs::read(&backup).unwrap();
    fs::write(&backup, b"").unwrap();
    let listed = home.rekindle_json(&["history"]).unwrap();
    let operation = &listed["operations"][0];
    assert_eq!((&operation["id"], &operation["undoable"]), (&json!(id), &json!(false)), "{listed:#}");
    assert_eq!(operation["effects"][0]["state"], "damaged");
    let undo = home.rekindle(&["undo", &id]).unwrap();
    assert_eq!(undo.code(), Some(3), "{}", undo.words());
    assert!(undo.stderr.contains("damaged"), "{}", undo.stderr);
    fs::write(&backup, whole).unwrap();
    // The operation's own record: it is named by what its file is called.
    let mut files = fs::read_dir(home.state().join("operations")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    fs::write(&file, b"").unwrap();
    let listed = home.rekindle_json(&["history"]).unwrap();
    assert_eq!(listed["damaged"][0]["id"], json!(id), "{listed:#}");
    assert_eq!(listed["damaged"][0]["path"], json!(file), "{listed:#}");
    assert!(listed["damaged"][0]["startedAt"].is_string(), "{listed:#}");
    let shown = home.rekindle(&["history"]).unwrap().stdout;
    assert!(shown.contains("damaged") && shown.contains(&id), "{shown}");
    let undo = home.rekindle(&["undo", "--dry-run"]).unwrap();
    assert!(undo.stderr.contains("record is damaged"), "{}", undo.words());
    assert_eq!(home.rekindle(&["undo", &id]).unwrap().code(), Some(3));
}

/// A restore put a conversation back, and its agent has gone on with it since: an undo of the restore keeps the transcript.
#[test]
fn what_an_undo_has_kept_is_recorded_as_kept() {
    let home = Home::new().unwrap();
    let path = home.put_talk(&session(0), 4).unwrap();
    let whole = fs::read(&path).unwrap();
    assert!(home.rekindle(&["vault", "sync"]).unwrap().success());
    fs::remove_file(&path).unwrap();
    assert!(home.rekindle(&["vault", "restore", &session(0)]).unwrap().success());
    let file = fs::read_dir(home.state().join("operations")).unwrap().next().unwrap().unwrap().path();
    let mut operation: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let restore = json!({"kind": "restore", "state": "undone", "restoreId": "gone"});
    operation["effects"].as_array_mut().unwrap().push(restore);
    fs::write(&file, operation.to_string()).unwrap();
    fs::write(&path, talk::talk(&session(0), &home.project(), 5).bytes()).unwrap();

    let undo = home.rekindle(&["undo"]).unwrap();
    assert_eq!(undo.code(), Some(3), "{}", undo.words());
    let effects = operations(&home)[0]["effects"].as_array().unwrap().clone();
    let states: Vec<&Value> = effects.iter().map(|effect| &effect["state"]).collect();
    assert_eq!(states, ["kept", "undone"]);
    assert!(!undo.words().contains("rekindle redo"), "nothing was undone: {}", undo.words());
    // Nothing older is undone in its place, unless its user names it.
    let next = home.rekindle(&["undo"]).unwrap();
    assert_eq!(next.code(), Some(3), "{}", next.words());
    assert!(next.stderr.contains("cannot be undone: an undo has kept it"), "{}", next.words());
    assert!(next.stderr.contains("`rekindle undo "), "{}", next.words());
    // Its user can still undo it by name, once nothing speaks against it.
    fs::write(&path, &whole).unwrap();
    assert!(home.rekindle(&["undo", &session(0)]).unwrap().success());
    assert!(!path.exists());
    assert_eq!(operations(&home)[0]["effects"][0]["state"], "undone");
}
