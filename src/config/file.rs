//! The configuration file: TOML with one key per setting.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::settings::{SETTINGS, index_of};
use super::{ConfigError, Environment, Layers, Origin};
use crate::domain::text::{clean, distance};

/// The longest configuration file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Adds what the file says: the named one, which must exist, or the default one, which may be missing.
///
/// # Errors
/// A file that can't be read or is no TOML, a key that is no setting, a value of a kind that no setting has.
pub fn push_file(layers: &mut Layers, named: Option<(Origin, &Path)>, env: &Environment) -> Result<(), ConfigError> {
    let (origin, path, must) = match named {
        Some((origin, path)) => (origin, path.to_owned(), true),
        None => match env.default_file() {
            Some(path) => (Origin::Default, path, false),
            None => return Ok(()),
        },
    };
    let shown = clean(&path.to_string_lossy(), 300);
    match read(&path) {
        Ok(text) => push_text(layers, &shown, &text),
        Err(error) if !must && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(ConfigError::Unreadable { origin, path: shown, why: error.to_string() }),
    }
}

/// Reads a file of settings. A pipe would wait for its writer, and a device has no end.
fn read(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is larger than {} KiB", LONGEST / 1024)));
    }
    Ok(text)
}

/// Adds what a file's text says; `path` is for messages.
///
/// # Errors
/// As [`push_file`].
pub fn push_text(layers: &mut Layers, path: &str, text: &str) -> Result<(), ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_of(text, span.start)),
        why: clean(error.message(), 200),
    })?;
    // A table is sorted by name; mistakes are reported in the order of the file.
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let line = line_of(text, key.span().start);
        let Some(index) = index_of(key.get_ref()) else {
            let key = clean(key.get_ref(), 60);
            return Err(ConfigError::UnknownKey { path: path.to_owned(), line, hint: hint(&key), key });
        };
        let origin = Origin::File { path: path.to_owned(), line, key: SETTINGS.get(index).map_or("", |setting| setting.name) };
        match written(value.get_ref()) {
            Some(text) => layers.push(index, origin, text),
            None => return Err(ConfigError::Value { origin, why: format!("a {} is no value here", value.get_ref().type_str()) }),
        }
    }
    Ok(())
}

/// A value as a flag would have it: a list becomes `0,2`.
fn written(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Array(items) => {
            let items: Option<Vec<String>> = items.iter().map(|item| written(item.get_ref())).collect();
            items.map(|items| items.join(","))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|&b| b == b'\n').count() + 1
}

/// The setting most like a wrong key.
fn hint(key: &str) -> String {
    let near = SETTINGS.iter().map(|setting| (distance(key, setting.name), setting.name)).min();
    match near {
        Some((distance, name)) if distance <= 2.max(key.len() / 3) => format!("; did you mean `{name}`?"),
        _ => format!("; the settings are {}", SETTINGS.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Interval, Settings, SourceName};
    use crate::domain::Period;

    fn read(text: &str) -> Result<Settings, ConfigError> {
        let mut layers = Layers::new();
        push_text(&mut layers, "c.toml", text)?;
        Settings::merge(&layers)
    }

    #[test]
    fn values_are_written_as_toml_has_them() {
        let settings = read("source = 'demo'\ngpus = [0, 'GPU-8f']\ninterval = 0.25\nmouse = false\nspeed = 4\n").expect("good");
        assert_eq!(settings.source, SourceName::Demo(None));
        assert_eq!(settings.gpus, vec!["0".into(), "GPU-8f".into()]);
        assert_eq!(settings.interval, Interval::Fixed(Period::millis(250)));
        assert!(!settings.mouse);
    }

    #[test]
    fn mistakes_name_file_line_and_remedy() {
        for (text, message) in [
            ("\nintervall = '1s'\n", "c.toml:2: `intervall` is not a setting; did you mean `interval`?"),
            ("process_interval = '1s'", "c.toml:1: `process_interval` is not a setting; did you mean `process-interval`?"),
            ("# x\n\nzzzzzz = 1", "c.toml:3: `zzzzzz` is not a setting; the settings are source, nvml-lib, gpus,"),
            ("mouse = true\ntimeout = '1x'", "c.toml:2: timeout: `1x` is not a duration"),
            ("source = {a = 1}", "c.toml:1: source: a table is no value here"),
            ("mouse = true\nmouse = true", "c.toml:2: duplicate key"),
            ("a = ", "c.toml:1: "),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
