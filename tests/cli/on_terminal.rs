//! The program on a terminal of its own: what it shows, which keys it reads, and what the
//! terminal is like afterwards.
#![cfg(unix)]

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, Termios, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a slow machine may take for anything.
const AT_MOST: Duration = Duration::from_secs(60);
/// What leaves the other screen of a terminal.
pub const LEAVES: &str = "\u{1b}[?1049l";

/// The program on a terminal with 80 columns and 24 rows.
pub struct Session {
    pub child: Child,
    terminal: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Session {
    pub fn start(command: &mut Command) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None::<&Termios>).expect("a terminal");
        let end = || Stdio::from(pty.slave.try_clone().expect("a descriptor"));
        let child = command
            .env("TERM", "xterm-256color")
            // As a shell starts it: Ctrl-C is for this group, and not for that of the tests.
            .process_group(0)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("the program starts");
        let terminal = File::from(pty.master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let mut output = terminal.try_clone().expect("a descriptor");
        let kept = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            // The other end is gone when the program has ended.
            while let Ok(read) = output.read(&mut part) {
                if read == 0 {
                    break;
                }
                let mut kept = kept.lock().expect("nothing panics here");
                kept.extend_from_slice(&part[..read]);
            }
        });
        Self { child, terminal, shown }
    }

    pub fn text(&self) -> String {
        let shown = self.shown.lock().expect("nothing panics there");
        String::from_utf8_lossy(&shown).into_owned()
    }

    /// Waits until a word was shown beyond so many bytes. What a terminal has already is not
    /// written again, so only words at whose place there was something else can be waited for.
    pub fn wait_for(&self, word: &str, after: usize) {
        let began = Instant::now();
        loop {
            let text = self.text();
            if text.get(after..).is_some_and(|rest| rest.contains(word)) {
                return;
            }
            assert!(began.elapsed() < AT_MOST, "{word}: {text:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Presses keys.
    pub fn type_in(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).expect("it reads");
    }

    /// Presses keys, and waits for a word that is shown because of them.
    pub fn press(&mut self, keys: &str, word: &str) {
        let before = self.text().len();
        self.type_in(keys);
        self.wait_for(word, before);
    }

    /// Whether what is typed is shown by the terminal itself, as in a shell.
    pub fn echoes(&self) -> bool {
        let settings = tcgetattr(&self.terminal).expect("a terminal");
        settings.local_flags.contains(LocalFlags::ECHO)
    }

    pub fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                return status;
            }
            assert!(began.elapsed() < AT_MOST, "{:?}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It has ended already unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
