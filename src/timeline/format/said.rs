//! Finding and risk records. The figures of evidence have no type in JSON: whole numbers are bytes and words are words, and the
//! field `units` names those that are something else.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::time::Seconds;
use super::{LINE, LineError, Record, WORD, text};
use crate::domain::text::clean;
use crate::domain::{Advice, Bytes, Evidence, Finding, FindingKind, FullIn, Gpu, Pid, Quantity, Risk};

/// Figures of one finding, and tips applied to it, that are read.
const MOST: usize = 64;

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "finding")]
pub struct FindingLine<'a> {
    t: Seconds,
    n: u32,
    gpu: u32,
    kind: Cow<'a, str>,
    certainty: Cow<'a, str>,
    pid: Option<u32>,
    from: Seconds,
    to: Option<Seconds>,
    #[serde(default)]
    evidence: Figures<'a>,
    #[serde(default, skip_serializing_if = "Units::is_empty")]
    units: Units,
    #[serde(default)]
    advice: Vec<AdvicePart<'a>>,
}

#[derive(Serialize, Deserialize)]
struct AdvicePart<'a> {
    tip: Cow<'a, str>,
    saves: Option<(u64, u64)>,
    #[serde(default)]
    why: Cow<'a, str>,
}

impl<'a> FindingLine<'a> {
    pub fn of(finding: &'a Finding) -> Self {
        let advice = |advice: &'a Advice| AdvicePart {
            tip: (&*advice.tip).into(),
            saves: advice.saves.map(|(from, to)| (from.0, to.0)),
            why: (&*advice.why).into(),
        };
        let units = finding.evidence.iter().filter_map(|(name, quantity)| unit(quantity).map(|unit| (name.to_string(), unit)));
        Self {
            t: finding.t.into(),
            n: finding.n,
            gpu: finding.gpu.0,
            kind: finding.kind.to_string().into(),
            certainty: finding.certainty.to_string().into(),
            pid: finding.pid.map(|pid| pid.0),
            from: finding.from.into(),
            to: finding.to.map(Into::into),
            evidence: Figures(Cow::Borrowed(&finding.evidence)),
            units: Units(units.collect()),
            advice: finding.advice.iter().map(advice).collect(),
        }
    }

    /// None for a kind that a later version found.
    pub fn record(self) -> Result<Option<Record>, LineError> {
        let Ok(kind) = self.kind.parse::<FindingKind>() else { return Ok(None) };
        let certainty = self.certainty.parse().map_err(|_| LineError::value("certainty", self.certainty.into_owned()))?;
        let advice = |part: AdvicePart| Advice {
            tip: Cow::Owned(clean(&part.tip, WORD)),
            saves: part.saves.map(|(from, to)| (Bytes(from), Bytes(to))),
            why: text(&part.why, LINE),
        };
        let mut evidence = self.evidence.0.into_owned();
        for (name, quantity) in &mut evidence {
            if let Some(unit) = self.units.of(name) {
                *quantity = of_unit(quantity, unit);
            }
        }
        Ok(Some(Record::Finding(Arc::new(Finding {
            t: self.t.point(),
            n: self.n,
            gpu: Gpu(self.gpu),
            kind,
            certainty,
            pid: self.pid.map(Pid),
            from: self.from.point(),
            to: self.to.map(Seconds::point),
            evidence,
            advice: self.advice.into_iter().take(MOST).map(advice).collect(),
        }))))
    }
}

/// Evidence as an object in its own order.
#[derive(Default)]
struct Figures<'a>(Cow<'a, Evidence>);

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, quantity) in self.0.iter() {
            match quantity {
                Quantity::Bytes(bytes) => map.serialize_entry(name, &bytes.0)?,
                Quantity::Count(count) => map.serialize_entry(name, count)?,
                Quantity::Rate(number) | Quantity::Share(number) => map.serialize_entry(name, number)?,
                Quantity::Span(span) => map.serialize_entry(name, &Seconds::from(*span))?,
                Quantity::Text(words) => map.serialize_entry(name, &**words)?,
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Figures<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Evidence;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of figures")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Evidence, A::Error> {
                let mut evidence = Evidence::new();
                while let Some((name, figure)) = map.next_entry::<String, Figure>()? {
                    let name: Cow<'static, str> = Cow::Owned(clean(&name, WORD));
                    if evidence.iter().any(|(own, _)| *own == name) {
                        return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                    }
                    if let (Some(quantity), true) = (figure.0, evidence.len() < MOST) {
                        evidence.push((name, quantity));
                    }
                }
                Ok(evidence)
            }
        }
        deserializer.deserialize_map(Entries).map(|evidence| Figures(Cow::Owned(evidence)))
    }
}

/// One figure; none for what this version has no type for.
struct Figure(Option<Quantity>);

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Value;
        impl<'de> Visitor<'de> for Value {
            type Value = Option<Quantity>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a figure")
            }

            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Some(Quantity::Bytes(Bytes(value))))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Some(Quantity::Rate(value as f64)))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(value.is_finite().then_some(Quantity::Rate(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Some(Quantity::Text(text(value, LINE))))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(None)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
                Ok(None)
            }
        }
        deserializer.deserialize_any(Value).map(Figure)
    }
}

/// What a figure is, where JSON does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Unit {
    #[serde(rename = "B/s")]
    Rate,
    #[serde(rename = "s")]
    Span,
    #[serde(rename = "share")]
    Share,
    #[serde(rename = "count")]
    Count,
    #[serde(other, rename = "?")]
    Unknown,
}

/// The units of figures by name.
#[derive(Default)]
struct Units(Vec<(String, Unit)>);

impl Units {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of(&self, name: &str) -> Option<Unit> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, unit)| *unit)
    }
}

impl Serialize for Units {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, unit)| (name, unit)))
    }
}

impl<'de> Deserialize<'de> for Units {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Units;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of units")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Units, A::Error> {
                let mut units = Units::default();
                while let Some((name, unit)) = map.next_entry::<String, Unit>()? {
                    if units.0.len() < MOST {
                        units.0.push((name, unit));
                    }
                }
                Ok(units)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

fn unit(quantity: &Quantity) -> Option<Unit> {
    match quantity {
        Quantity::Bytes(_) | Quantity::Text(_) => None,
        Quantity::Rate(_) => Some(Unit::Rate),
        Quantity::Span(_) => Some(Unit::Span),
        Quantity::Share(_) => Some(Unit::Share),
        Quantity::Count(_) => Some(Unit::Count),
    }
}

/// A figure as it was read, with the unit that the record gives it.
fn of_unit(quantity: &Quantity, unit: Unit) -> Quantity {
    let number = match quantity {
        Quantity::Bytes(Bytes(whole)) => *whole as f64,
        Quantity::Rate(number) => *number,
        other => return other.clone(),
    };
    match (unit, quantity) {
        (Unit::Rate, _) => Quantity::Rate(number),
        (Unit::Share, _) => Quantity::Share(number),
        (Unit::Span, _) if number >= 0.0 => Quantity::Span(crate::domain::Period((number * 1e6).round() as u64)),
        (Unit::Count, Quantity::Bytes(Bytes(whole))) => Quantity::Count(*whole),
        _ => quantity.clone(),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "risk")]
pub struct RiskLine<'a> {
    t: Seconds,
    gpu: u32,
    level: Cow<'a, str>,
    full_in: Option<FullInPart>,
    job: Option<u32>,
    headroom: Option<u64>,
    request: Option<u64>,
    #[serde(default)]
    reason: Cow<'a, str>,
}

#[derive(Serialize, Deserialize)]
struct FullInPart {
    lo: Seconds,
    mid: Seconds,
    hi: Seconds,
}

impl<'a> RiskLine<'a> {
    pub fn of(risk: &'a Risk) -> Self {
        Self {
            t: risk.t.into(),
            gpu: risk.gpu.0,
            level: risk.level.to_string().into(),
            full_in: risk.full_in.map(|full| FullInPart { lo: full.lo.into(), mid: full.mid.into(), hi: full.hi.into() }),
            job: risk.job.map(|pid| pid.0),
            headroom: risk.headroom.map(|headroom| headroom.0),
            request: risk.request.map(|request| request.0),
            reason: (&*risk.reason).into(),
        }
    }

    pub fn record(self) -> Result<Record, LineError> {
        let full_in = |part: FullInPart| FullIn { lo: part.lo.span(), mid: part.mid.span(), hi: part.hi.span() };
        Ok(Record::Risk(Arc::new(Risk {
            t: self.t.point(),
            gpu: Gpu(self.gpu),
            level: self.level.parse().map_err(|_| LineError::value("level", self.level.into_owned()))?,
            full_in: self.full_in.map(full_in),
            job: self.job.map(Pid),
            headroom: self.headroom.map(Bytes),
            request: self.request.map(Bytes),
            reason: text(&self.reason, LINE),
        })))
    }
}
