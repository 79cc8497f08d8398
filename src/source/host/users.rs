//! Names of users. The local list is read at once; directories (LDAP) are asked in a thread of their own, since they may take seconds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::procfs;
use crate::domain::{Period, Timestamp, text};

/// Directories are asked at most this often.
const PATIENCE: Period = Period::secs(60);

/// Names by user number.
#[derive(Debug, Default)]
pub struct Users {
    names: Mutex<HashMap<u32, Arc<str>>>,
    /// A number without a name was met.
    wanted: AtomicBool,
    /// Names came in since [`Users::take_changed`].
    changed: AtomicBool,
    asked: Mutex<Option<Timestamp>>,
}

impl Users {
    /// The users of `/etc/passwd`.
    pub fn local() -> Self {
        let mut buffer = Vec::new();
        let names = match procfs::read("/etc/passwd", 4 << 20, &mut buffer) {
            Some(()) => parse(&String::from_utf8_lossy(&buffer)),
            None => HashMap::new(),
        };
        Self { names: Mutex::new(names), ..Self::default() }
    }

    /// The name of a user.
    pub fn name(&self, uid: u32) -> Option<Arc<str>> {
        let name = self.names.lock().unwrap_or_else(PoisonError::into_inner).get(&uid).cloned();
        if name.is_none() {
            self.wanted.store(true, Ordering::Relaxed);
        }
        name
    }

    /// Whether names came in since the last call.
    pub fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// Starts asking the directories where a name is missing. Returns at once.
    pub fn ask_directories(self: &Arc<Self>, now: Timestamp) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.is_some_and(|then| now.since(then) < PATIENCE) || !self.wanted.swap(false, Ordering::Relaxed) {
            return;
        }
        *asked = Some(now);
        let users = Arc::clone(self);
        // Without a thread the numbers stay: a number is a name of a kind.
        let _ = thread::Builder::new().name("users".into()).spawn(move || {
            let Ok(list) = sysinfo::Users::new_with_refreshed_list() else { return };
            let mut names = users.names.lock().unwrap_or_else(PoisonError::into_inner);
            let before = names.len();
            for user in &list {
                names.entry(**user.id()).or_insert_with(|| text::clean(user.name(), 64).into());
            }
            if names.len() > before {
                users.changed.store(true, Ordering::Release);
            }
        });
    }
}

/// `name:password:uid:…`; the first name of a number counts, as for `getpwuid`.
fn parse(passwd: &str) -> HashMap<u32, Arc<str>> {
    let mut names = HashMap::new();
    for line in passwd.lines() {
        let mut fields = line.split(':');
        if let (Some(name), Some(Ok(uid))) = (fields.next(), fields.nth(1).map(str::parse)) {
            names.entry(uid).or_insert_with(|| text::clean(name, 64).into());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_of_a_number_counts() {
        let names = parse("root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/root:/bin/sh\n# no\nuser1:x:1000:\n");
        assert_eq!(names.get(&0).map(|name| &**name), Some("root"));
        assert_eq!(names.get(&1000).map(|name| &**name), Some("user1"));
        assert_eq!(names.len(), 2);
    }
}
