//! The field `why` of a record: for fields that are null, the reason as a screen shows it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::WORD;
use crate::domain::text::clean;
use crate::domain::{Missing, Reading};

/// What a value is said to be that stands in no field and has no reason.
const NOT_RECORDED: &str = "not in the recording";
/// Fields that reasons are kept of.
const MOST: usize = 32;

/// Reasons by field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Why(Vec<(Cow<'static, str>, Missing)>);

impl Why {
    /// Nothing is missing, or nothing is known of why.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a reading for its field; where there is none, the reason is kept.
    pub fn put<'r, T>(&mut self, field: &'static str, reading: &'r Reading<T>) -> Option<&'r T> {
        match reading {
            Ok(value) => Some(value),
            Err(missing) => {
                self.keep(field, missing);
                None
            }
        }
    }

    /// As [`Why::put`] of a fact that may be known not to exist: then its field is null and has no reason.
    pub fn put_fact<'r, T>(&mut self, field: &'static str, reading: &'r Reading<Option<T>>) -> Option<&'r T> {
        match reading {
            Ok(value) => value.as_ref(),
            Err(missing) => {
                self.0.push((Cow::Borrowed(field), missing.clone()));
                None
            }
        }
    }

    fn keep(&mut self, field: &'static str, missing: &Missing) {
        if *missing != not_recorded() {
            self.0.push((Cow::Borrowed(field), missing.clone()));
        }
    }

    /// The reading of a field.
    pub fn take<T>(&self, field: &str, value: Option<T>) -> Reading<T> {
        value.ok_or_else(|| self.of(field).cloned().unwrap_or_else(not_recorded))
    }

    /// The fact of a field.
    pub fn take_fact<T>(&self, field: &str, value: Option<T>) -> Reading<Option<T>> {
        match (value, self.of(field)) {
            (None, Some(missing)) => Err(missing.clone()),
            (value, _) => Ok(value),
        }
    }

    fn of(&self, field: &str) -> Option<&Missing> {
        self.0.iter().find(|(own, _)| own == field).map(|(_, missing)| missing)
    }
}

fn not_recorded() -> Missing {
    Missing::Unsupported(Cow::Borrowed(NOT_RECORDED))
}

/// The kind and the driver's words, `lost: GPU is lost`.
fn words(missing: &Missing) -> (&'static str, &str) {
    match missing {
        Missing::Pending => ("pending", ""),
        Missing::Unsupported(text) => ("unsupported", text),
        Missing::Denied(text) => ("denied", text),
        Missing::Lost(text) => ("lost", text),
        Missing::Failed(text) => ("failed", text),
    }
}

fn missing(text: &str) -> Missing {
    let (kind, words) = text.split_once(": ").unwrap_or((text, ""));
    let words = || Cow::Owned(clean(words, WORD));
    match kind {
        "pending" => Missing::Pending,
        "unsupported" => Missing::Unsupported(words()),
        "denied" => Missing::Denied(words()),
        "lost" => Missing::Lost(words()),
        "failed" => Missing::Failed(words()),
        _ => Missing::Failed(Cow::Owned(clean(text, WORD))),
    }
}

impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (field, missing) in &self.0 {
            let (kind, words) = words(missing);
            if *missing == Missing::Pending {
                map.serialize_entry(field, kind)?;
            } else {
                map.serialize_entry(field, &format_args!("{kind}: {words}"))?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Why {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reasons;
        impl<'de> Visitor<'de> for Reasons {
            type Value = Why;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of reasons")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Why, A::Error> {
                let mut why = Why::default();
                while let Some((field, text)) = map.next_entry::<String, String>()? {
                    if why.0.len() < MOST {
                        why.0.push((Cow::Owned(field), missing(&text)));
                    }
                }
                Ok(why)
            }
        }
        deserializer.deserialize_map(Reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_back_as_they_were() {
        for reason in [
            Missing::Pending,
            Missing::Unsupported("by this: device".into()),
            Missing::Denied("".into()),
            Missing::Lost("GPU is lost".into()),
            Missing::Failed("NVML error 999".into()),
        ] {
            let mut why = Why::default();
            assert_eq!(why.put::<u32>("used", &Err(reason.clone())), None);
            let text = serde_json::to_string(&why).expect("words");
            let back: Why = serde_json::from_str(&text).expect(&text);
            assert_eq!(back.take::<u32>("used", None), Err(reason), "{text}");
            assert_eq!(back.take("used", Some(1)), Ok(1));
        }
    }

    #[test]
    fn without_a_reason_it_is_not_in_the_recording_and_that_is_not_written() {
        let absent = Why::default().take::<u32>("total", None);
        assert_eq!(absent, Err(not_recorded()));
        let mut why = Why::default();
        why.put("total", &absent);
        assert!(why.is_empty());
        assert_eq!(missing("a new kind: of reason"), Missing::Failed("a new kind: of reason".into()));
    }
}
