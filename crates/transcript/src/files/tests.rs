use std::os::unix::net::UnixListener;
use std::sync::mpsc;

use super::*;

fn refusal(error: &io::Error) -> Option<Refusal> {
    error.get_ref()?.downcast_ref().copied()
}

/// A test that hangs says nothing: whoever waits longer than this has hung.
fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || done.send(act()));
    result.recv_timeout(Duration::from_secs(20)).unwrap()
}

#[test]
fn what_is_no_regular_file_is_named_and_never_waited_for() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    let at = |name: &str| dir.join(name);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    std::os::unix::fs::symlink("fifo", at("link")).unwrap();
    std::os::unix::fs::symlink("loop", at("loop")).unwrap();
    let expected = [
        (at("fifo"), "a FIFO"),
        (at("link"), "a FIFO"),
        (at("socket"), "a socket"),
        (dir.to_path_buf(), "a directory"),
        ("/dev/zero".into(), "a device"),
        ("/dev/tty".into(), "a device"),
    ];
    for (path, kind) in expected {
        let error = soon({
            let path = path.clone();
            move || read(&path).unwrap_err()
        });
        assert_eq!(refusal(&error), Some(Refusal::NotRegular(kind)), "{}", path.display());
        assert_eq!(error.to_string(), format!("it is {kind}, not a regular file"));
    }
    assert!(read(at("loop")).is_err());
    assert_eq!(read(at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(read(dir).unwrap_err().kind(), io::ErrorKind::IsADirectory);
}

/// The path is looked at before it is opened; here it changes in between.
#[test]
fn a_fifo_that_takes_the_place_of_a_file_is_refused_without_waiting() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    let (fifo, file) = (dir.join("fifo"), dir.join("file"));
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    std::fs::write(&file, "x").unwrap();
    let (one, other) = (fifo.clone(), file.clone());
    let (stop, stopped) = mpsc::channel::<()>();
    let swapping = std::thread::spawn(move || {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        while stopped.try_recv().is_err() {
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
        }
    });
    soon(move || {
        for _ in 0..20_000 {
            match read(&file) {
                Ok(bytes) => assert_eq!(bytes, b"x"),
                Err(error) => assert_eq!(refusal(&error), Some(Refusal::NotRegular("a FIFO"))),
            }
        }
    });
    stop.send(()).unwrap();
    swapping.join().unwrap();
}

#[test]
fn a_file_of_another_user_is_read_only_where_the_owner_does_not_matter() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    let file = dir.join("file");
    std::fs::write(&file, "x").unwrap();
    assert_eq!(read_own(&file).unwrap(), b"x");
    // Only root can give files away.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&file, Some(12345), None).unwrap();
        assert_eq!(read(&file).unwrap(), b"x");
        assert_eq!(refusal(&read_own(&file).unwrap_err()), Some(Refusal::OtherUser(12345)));
    }
}

#[test]
fn nothing_is_read_without_end() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    let file = dir.join("file");
    std::fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(refusal(&read(&file).unwrap_err()), Some(Refusal::TooLarge));
}
