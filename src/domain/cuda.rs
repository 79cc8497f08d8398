//! What CUDA makes of the devices of a machine: which it sees, and by which number.
//!
//! `CUDA_VISIBLE_DEVICES` lists numbers, UUIDs or beginnings of them, and MIG instances; CUDA stops at the first entry that it
//! can't use, and gives those before it the numbers from 0 on. Numbers in the list count the cards as `CUDA_DEVICE_ORDER` says:
//! by bus like the driver's tools, or, which is the default, the fastest first. How fast a card is nobody else can tell, but
//! cards of one model are alike and stay in the order of the bus.

use std::sync::Arc;

use super::text::clean;
use super::{DeviceId, DeviceView, Gpu, Snapshot};

/// What the variables say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visible {
    entries: Vec<Arc<str>>,
    by_bus: bool,
}

/// A GPU, as far as CUDA's choice depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its UUID.
    pub id: DeviceId,
    /// The driver's index, which is the order of the bus.
    pub index: u32,
    /// The product's name.
    pub model: Option<Arc<str>>,
    /// Its MIG instances with the numbers of GPU instance and compute instance.
    pub instances: Vec<(DeviceId, Option<(u32, u32)>)>,
}

/// Why it can't be told what CUDA sees, or that it sees nothing. The texts are for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Blind {
    /// The list starts with what hides everything.
    #[error("CUDA_VISIBLE_DEVICES=`{0}` shows no GPU to CUDA")]
    Nothing(String),
    /// A device stands there twice.
    #[error("CUDA_VISIBLE_DEVICES=`{0}` names a GPU twice, with which CUDA shows none")]
    Twice(String),
    /// A number where the order is not known.
    #[error("which GPU CUDA_VISIBLE_DEVICES=`{0}` means can't be told: CUDA counts the fastest first, and they differ")]
    Order(String),
    /// A number where some GPU is cut into instances.
    #[error("which GPU CUDA_VISIBLE_DEVICES=`{0}` means can't be told: some are cut into MIG instances")]
    Cut(String),
}

/// More entries than any machine has devices.
const MOST: usize = 1_024;

/// How an entry is written: CUDA takes one kind in a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number(u32),
    Name,
}

impl Visible {
    /// Of the values of `CUDA_VISIBLE_DEVICES` and, where it is set, `CUDA_DEVICE_ORDER`.
    pub fn new(list: &str, order: Option<&str>) -> Self {
        let entries = list.split(',').take(MOST).map(|entry| entry.trim().into()).collect();
        Self { entries, by_bus: order == Some("PCI_BUS_ID") }
    }

    /// The devices that CUDA sees, by its numbers: GPUs, or one MIG instance. `is_ordered` is whether the order of cards is
    /// known to be that of the bus, whatever `units` are known.
    ///
    /// # Errors
    /// It sees none, or what the list means can't be told.
    pub fn resolve(&self, units: &[Unit], is_ordered: bool) -> Result<Vec<DeviceId>, Blind> {
        let mut seen: Vec<DeviceId> = Vec::new();
        let mut first = None;
        for entry in &self.entries {
            let kind = Kind::of(entry);
            let is_number = |kind: Kind| matches!(kind, Kind::Number(_));
            if *first.get_or_insert(is_number(kind)) != is_number(kind) {
                break;
            }
            let (id, is_instance) = match kind {
                Kind::Number(number) => {
                    if units.iter().any(|unit| !unit.instances.is_empty()) {
                        return Err(Blind::Cut(self.text()));
                    }
                    if !(is_ordered || self.by_bus || are_alike(units)) {
                        return Err(Blind::Order(self.text()));
                    }
                    let Some(unit) = units.iter().find(|unit| unit.index == number) else { break };
                    (unit.id.clone(), false)
                }
                Kind::Name => match find(entry, units) {
                    Some(found) => found,
                    None => break,
                },
            };
            if seen.contains(&id) {
                return Err(Blind::Twice(self.text()));
            }
            // An instance stands alone.
            if is_instance && !seen.is_empty() {
                break;
            }
            seen.push(id);
            if is_instance {
                break;
            }
        }
        if seen.is_empty() { Err(Blind::Nothing(self.text())) } else { Ok(seen) }
    }

    /// Whether no guess about the order of the cards is needed: the variables name it, or no numbers.
    pub fn is_exact(&self) -> bool {
        self.by_bus || self.entries.iter().all(|entry| Kind::of(entry) == Kind::Name)
    }

    fn text(&self) -> String {
        clean(&self.entries.join(","), 60)
    }
}

/// CUDA's numbers of the devices of a picture that it sees; none where they can't be derived. `is_ordered` as in
/// [`Visible::resolve`].
pub fn ordinals(snapshot: &Snapshot, visible: &Visible, is_ordered: bool) -> Vec<(Gpu, usize)> {
    let instances = |parent: &DeviceId| {
        let of = |view: &&Arc<DeviceView>| view.device.parent.as_ref() == Some(parent);
        snapshot.devices.iter().filter(of).map(|view| (view.device.id.clone(), None)).collect()
    };
    let unit = |view: &Arc<DeviceView>| {
        let model = view.device.name.as_ref().ok().cloned();
        let id = view.device.id.clone();
        Some(Unit { index: view.device.index?, instances: instances(&id), id, model })
    };
    let units: Vec<Unit> = snapshot.devices.iter().filter_map(unit).collect();
    let seen = visible.resolve(&units, is_ordered).unwrap_or_default();
    let gpu = |id: &DeviceId| snapshot.devices.iter().find(|view| view.device.id == *id).map(|view| view.gpu());
    seen.iter().enumerate().filter_map(|(number, id)| Some((gpu(id)?, number))).collect()
}

impl Kind {
    fn of(entry: &str) -> Self {
        let digits = !entry.is_empty() && entry.bytes().all(|b| b.is_ascii_digit());
        match entry.parse() {
            Ok(number) if digits => Self::Number(number),
            // -1 is a number that no card has; so is what is too large for one.
            _ if digits || entry.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())) => {
                Self::Number(u32::MAX)
            }
            _ => Self::Name,
        }
    }
}

/// Whether all cards are of one model.
fn are_alike(units: &[Unit]) -> bool {
    let model = units.first().and_then(|unit| unit.model.as_ref());
    model.is_some() && units.iter().all(|unit| unit.model.as_ref() == model)
}

/// The only device of that name or beginning of one, and whether it is a MIG instance.
fn find(entry: &str, units: &[Unit]) -> Option<(DeviceId, bool)> {
    let names = |prefix: &str, id: &DeviceId| entry.len() > prefix.len() && entry.starts_with(prefix) && id.0.starts_with(entry);
    let instances = || units.iter().flat_map(|unit| unit.instances.iter().map(move |instance| (unit, instance)));
    let mut found: Vec<(DeviceId, bool)> =
        units.iter().filter(|unit| names("GPU-", &unit.id)).map(|unit| (unit.id.clone(), false)).collect();
    // Before R470 an instance had no UUID of its own: MIG-GPU-UUID/GPU instance/compute instance.
    let old = entry.strip_prefix("MIG-").filter(|rest| rest.starts_with("GPU-"));
    found.extend(instances().filter_map(|(unit, (id, numbers))| {
        let is_it = names("MIG-", id)
            || old.is_some_and(|old| numbers.is_some_and(|(gpu, compute)| old == format!("{}/{gpu}/{compute}", unit.id.0)));
        is_it.then(|| (id.clone(), true))
    }));
    if found.len() == 1 { found.pop() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(index: u32, id: &str, model: &str, instances: &[(&str, (u32, u32))]) -> Unit {
        Unit {
            id: DeviceId(id.into()),
            index,
            model: Some(model.into()),
            instances: instances.iter().map(|(id, numbers)| (DeviceId((*id).into()), Some(*numbers))).collect(),
        }
    }

    fn resolve(list: &str, order: Option<&str>, units: &[Unit]) -> Result<String, Blind> {
        let seen = Visible::new(list, order).resolve(units, false)?;
        Ok(seen.iter().map(|id| &*id.0).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn alike_cards_are_counted_by_the_bus() {
        let units = [unit(0, "GPU-aa1", "A", &[]), unit(1, "GPU-aa2", "A", &[]), unit(2, "GPU-b", "A", &[])];
        for (list, seen) in [
            ("0", "GPU-aa1"),
            ("2,0", "GPU-b GPU-aa1"),
            (" 1 , 2", "GPU-aa2 GPU-b"),
            ("1,7,0", "GPU-aa2"),
            ("1,-1,0", "GPU-aa2"),
            ("1,,0", "GPU-aa2"),
            ("1,99999999999", "GPU-aa2"),
            ("GPU-b", "GPU-b"),
            ("GPU-b,GPU-aa2", "GPU-b GPU-aa2"),
            ("GPU-b,GPU-aa,GPU-aa1", "GPU-b"),
            ("0,GPU-b", "GPU-aa1"),
            ("GPU-b,0", "GPU-b"),
        ] {
            assert_eq!(resolve(list, None, &units).as_deref(), Ok(seen), "{list:?}");
        }
        for none in ["", "-1", "NoDevFiles", "7,0", "GPU-", "GPU-aa", "MIG-1", "x,0", "\u{1b}[2J"] {
            let error = resolve(none, None, &units).expect_err(none);
            assert!(matches!(error, Blind::Nothing(_)) && !error.to_string().contains('\u{1b}'), "{none:?}: {error}");
        }
        for twice in ["0,0", "0,1,0", "GPU-b,GPU-b"] {
            assert_eq!(resolve(twice, None, &units), Err(Blind::Twice(twice.to_owned())));
        }
    }

    #[test]
    fn numbers_of_cards_that_differ_need_the_order_of_the_bus() {
        let units = [unit(0, "GPU-a", "A", &[]), unit(1, "GPU-b", "B", &[])];
        assert_eq!(resolve("1", None, &units), Err(Blind::Order("1".to_owned())));
        assert_eq!(resolve("1", Some("FASTEST_FIRST"), &units), Err(Blind::Order("1".to_owned())));
        assert_eq!(resolve("1", Some("PCI_BUS_ID"), &units).as_deref(), Ok("GPU-b"));
        assert_eq!(resolve("GPU-b", None, &units).as_deref(), Ok("GPU-b"));
        let unnamed = [Unit { model: None, ..units[0].clone() }];
        assert_eq!(resolve("0", None, &unnamed), Err(Blind::Order("0".to_owned())));
        assert_eq!(Visible::new("1", None).resolve(&units, true), Ok(vec![DeviceId("GPU-b".into())]));
    }

    #[test]
    fn an_instance_stands_alone() {
        let units = [unit(0, "GPU-a", "A", &[("MIG-11", (2, 0)), ("MIG-12", (9, 0))]), unit(1, "GPU-b", "A", &[])];
        for (list, seen) in [
            ("MIG-12", "MIG-12"),
            ("MIG-12,MIG-11", "MIG-12"),
            ("MIG-GPU-a/9/0", "MIG-12"),
            ("GPU-b,MIG-12", "GPU-b"),
            ("GPU-a", "GPU-a"),
        ] {
            assert_eq!(resolve(list, None, &units).as_deref(), Ok(seen), "{list}");
        }
        assert_eq!(resolve("0", Some("PCI_BUS_ID"), &units), Err(Blind::Cut("0".to_owned())));
        assert!(matches!(resolve("MIG-GPU-a/9/1", None, &units), Err(Blind::Nothing(_))));
        assert!(matches!(resolve("MIG-1", None, &units), Err(Blind::Nothing(_))), "it could be either");
    }
}
