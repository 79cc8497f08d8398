//! The fake driver library itself, through the crate that reads the real one.

use std::ffi::{CStr, c_char};
use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use vramscope::domain::{Gpu, Period, Timestamp};

use crate::support::scenario::{staged, world};

/// A library of its own, with its time in the test's hand.
struct Fake {
    nvml: Nvml,
    hold: libloading::Library,
    _dir: tempfile::TempDir,
}

impl Fake {
    fn open(scenario: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = staged(dir.path(), scenario);
        let hold = library(&path);
        let nvml = Nvml::builder().lib_path(path.as_os_str()).init().unwrap();
        let fake = Self { nvml, hold, _dir: dir };
        fake.at(Timestamp::ZERO);
        fake
    }

    #[expect(unsafe_code, reason = "a control of the fake library is a C function")]
    fn at(&self, t: Timestamp) {
        // SAFETY: the symbol has this type in `fake_nvml::control`.
        unsafe { self.hold.get::<unsafe extern "C" fn(u64)>(b"fake_nvml_set_time_us").unwrap()(t.0) };
    }

    fn calls(&self, name: &CStr) -> u64 {
        calls(&self.hold, name)
    }
}

#[expect(unsafe_code, reason = "a control of the fake library is a C function")]
fn calls(hold: &libloading::Library, name: &CStr) -> u64 {
    // SAFETY: the symbol has this type in `fake_nvml::control`.
    unsafe { hold.get::<unsafe extern "C" fn(*const c_char) -> u64>(b"fake_nvml_calls").unwrap()(name.as_ptr()) }
}

#[expect(unsafe_code, reason = "a control of the fake library is a C function")]
fn release(hold: &libloading::Library) {
    // SAFETY: the symbol has this type in `fake_nvml::control`.
    unsafe { hold.get::<unsafe extern "C" fn()>(b"fake_nvml_release").unwrap()() };
}

#[expect(unsafe_code, reason = "loading a library runs its code")]
fn library(path: &Path) -> libloading::Library {
    // SAFETY: it is our own library, which runs nothing when it is loaded.
    unsafe { libloading::Library::new(path).unwrap() }
}

#[test]
fn figures_and_lists_are_those_of_the_scenario() {
    let (fake, world) = (Fake::open("eight"), world("eight"));
    let t = Timestamp::secs(61);
    fake.at(t);
    assert_eq!(fake.nvml.device_count().unwrap(), 8);
    for index in 0..8 {
        let device = fake.nvml.device_by_index(index).unwrap();
        let (figures, memory) = (world.figures(Gpu(index), t).unwrap(), device.memory_info().unwrap());
        assert_eq!((memory.total, memory.free, memory.used), (figures.total.0, figures.free.0, figures.used().0));
        assert_eq!(Some(memory.reserved), figures.reserved.map(|bytes| bytes.0));
        let mut rows = Vec::new();
        world.rows(Gpu(index), t, &mut rows);
        let listed: Vec<(u32, UsedGpuMemory)> =
            device.running_compute_processes().unwrap().into_iter().map(|p| (p.pid, p.used_gpu_memory)).collect();
        let expected: Vec<(u32, UsedGpuMemory)> = rows.iter().map(|row| (row.pid.0, UsedGpuMemory::Used(row.used.0))).collect();
        assert_eq!(listed, expected);
        assert_eq!(*device.uuid().unwrap(), *world.place(Gpu(index)).unwrap().device.id.0);
        let bus = device.pci_info().unwrap().bus_id;
        assert_eq!(fake.nvml.device_by_pci_bus_id(bus).unwrap().index().unwrap(), index);
        assert!(device.running_graphics_processes().unwrap().is_empty());
    }
    assert_eq!(fake.nvml.sys_cuda_driver_version().unwrap(), 12080);
    assert_eq!(fake.calls(c"nvmlDeviceGetMemoryInfo_v2"), 8);
    assert!(matches!(fake.nvml.device_by_index(8), Err(NvmlError::InvalidArg)));
}

#[test]
fn several_scenarios_live_in_one_process() {
    let (two, sixteen) = (Fake::open("idle"), Fake::open("sixteen"));
    assert_eq!((two.nvml.device_count().unwrap(), sixteen.nvml.device_count().unwrap()), (2, 16));
}

#[test]
fn old_drivers_lack_symbols() {
    let fake = Fake::open("old-driver-v1");
    let device = fake.nvml.device_by_index(0).unwrap();
    assert!(matches!(device.memory_info(), Err(NvmlError::FailedToLoadSymbol(_))));
    assert!(matches!(device.running_compute_processes(), Err(NvmlError::FailedToLoadSymbol(_))));
    assert_eq!(device.running_compute_processes_v2().unwrap().len(), 1);
    let old = Fake::open("old-lists");
    assert!(old.nvml.device_by_index(0).unwrap().running_compute_processes_v2().is_err());
}

#[test]
fn a_lost_card_fails_and_its_old_handle_stays_dead() {
    let fake = Fake::open("lost");
    let old = fake.nvml.device_by_index(1).unwrap();
    let uuid = old.uuid().unwrap();
    fake.at(Timestamp::secs(6));
    assert!(matches!(old.memory_info(), Err(NvmlError::GpuLost)));
    assert!(matches!(fake.nvml.device_by_uuid(uuid.as_str()), Err(NvmlError::GpuLost)));
    assert!(fake.nvml.device_by_index(0).unwrap().memory_info().is_ok());
    fake.at(Timestamp::secs(21));
    assert!(matches!(old.memory_info(), Err(NvmlError::GpuLost)));
    assert!(fake.nvml.device_by_uuid(uuid).unwrap().memory_info().is_ok());
}

#[test]
fn a_lost_card_may_come_back_elsewhere() {
    let text =
        "[[device]]\nname = \"X\"\ncopies = 3\ntotal = \"8GiB\"\n[[lost]]\ndevice = 0\nfrom = \"1s\"\nto = \"2s\"\nindex = 2\n";
    let fake = Fake::open(text);
    let uuid = fake.nvml.device_by_index(0).unwrap().uuid().unwrap();
    fake.at(Timestamp::secs(3));
    let device = fake.nvml.device_by_uuid(uuid).unwrap();
    assert_eq!(device.index().unwrap(), 2);
    assert_eq!(device.minor_number().unwrap(), 0);
}

#[test]
fn instances_hang_under_their_card_and_go_stale() {
    let fake = Fake::open("mig");
    let card = fake.nvml.device_by_index(0).unwrap();
    assert_eq!(card.mig_mode().unwrap().current, 1);
    assert_eq!(fake.nvml.device_by_index(1).unwrap().mig_mode().unwrap().current, 0);
    let small = card.mig_device_by_index(1).unwrap();
    assert!(small.name().unwrap().contains("MIG 1g.10gb"));
    assert!(matches!(small.utilization_rates(), Err(NvmlError::NotSupported)));
    assert_eq!(small.mig_parent_device().unwrap().uuid().unwrap(), card.uuid().unwrap());
    assert_eq!(small.running_compute_processes().unwrap().first().unwrap().gpu_instance_id, Some(9));
    assert!(matches!(card.mig_device_by_index(3), Err(NvmlError::NotFound)));
    fake.at(Timestamp::secs(65));
    assert!(matches!(small.memory_info(), Err(NvmlError::InvalidArg)));
    assert!(card.mig_device_by_index(3).is_ok());
}

#[test]
fn faults_strike_as_the_file_says() {
    let text = "[[device]]\nname = \"X\"\ncopies = 2\ntotal = \"8GiB\"\n\
        [[fault]]\ncall = \"nvmlDeviceGetMemoryInfo_v2\"\ndevice = 1\nfrom = \"5s\"\nto = \"6s\"\nerror = \"no_permission\"\n\
        [[fault]]\ncall = \"nvmlDeviceGetUUID\"\npanic = true\n\
        [[fault]]\ncall = \"nvmlDeviceGetName\"\nlatency = \"3ms\"\n\
        [[fault]]\ncall = \"nvmlDeviceGetTemperature\"\nhang = true\nto = \"1s\"\n";
    let fake = Fake::open(text);
    let (other, device) = (fake.nvml.device_by_index(0).unwrap(), fake.nvml.device_by_index(1).unwrap());
    assert!(device.memory_info().is_ok());
    fake.at(Timestamp::secs(5));
    assert!(matches!(device.memory_info(), Err(NvmlError::NoPermission)));
    assert!(other.memory_info().is_ok());
    fake.at(Timestamp::secs(6));
    assert!(device.memory_info().is_ok());
    assert!(matches!(device.uuid(), Err(NvmlError::Unknown)));
    assert_eq!(device.name().unwrap(), "X");
    fake.at(Timestamp::ZERO);
    let sensor = nvml_wrapper::enum_wrappers::device::TemperatureSensor::Gpu;
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| device.temperature(sensor));
        while fake.calls(c"nvmlDeviceGetTemperature") == 0 {
            std::thread::yield_now();
        }
        assert!(!hanging.is_finished());
        fake.at(Timestamp::ZERO + Period::secs(1));
        assert!(hanging.join().unwrap().is_ok());
    });
}

#[test]
fn a_library_that_does_not_open_says_why() {
    for code in ["driver_not_loaded", "lib_rm_version_mismatch", "no_permission"] {
        let text = format!("[driver]\ninit_error = \"{code}\"\n[[device]]\nname = \"X\"\ntotal = \"8GiB\"\n");
        let dir = tempfile::tempdir().unwrap();
        let path = staged(dir.path(), &text);
        let error = Nvml::builder().lib_path(path.as_os_str()).init().unwrap_err();
        let fits = match code {
            "driver_not_loaded" => matches!(error, NvmlError::DriverNotLoaded),
            "no_permission" => matches!(error, NvmlError::NoPermission),
            _ => matches!(error, NvmlError::LibRmVersionMismatch),
        };
        assert!(fits, "{error}");
    }
}

#[test]
fn an_opening_that_hangs_ends_when_it_is_released() {
    let dir = tempfile::tempdir().unwrap();
    let path = staged(dir.path(), "hang-init");
    let hold = library(&path);
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| Nvml::builder().lib_path(path.as_os_str()).init().map(drop));
        while calls(&hold, c"nvmlInit_v2") == 0 {
            std::thread::yield_now();
        }
        assert!(!opening.is_finished());
        release(&hold);
        assert!(opening.join().unwrap().is_ok());
    });
}

/// Reads a list through the raw symbol into bytes that say whether they were written.
#[expect(unsafe_code, reason = "what is tested is a C function")]
fn raw_list(fake: &Fake, room: u32) -> (u32, u32, Vec<u8>) {
    type List = unsafe extern "C" fn(nvml_wrapper_sys::bindings::nvmlDevice_t, *mut u32, *mut u8) -> u32;
    let device = fake.nvml.device_by_index(0).unwrap();
    let mut count = room;
    let mut bytes = vec![0xa5_u8; 4096];
    // SAFETY: the symbol has this type, the buffer is larger than any list asked for, and the handle is the library's.
    let code = unsafe {
        let list = fake.hold.get::<List>(b"nvmlDeviceGetComputeRunningProcesses_v3").unwrap();
        list(device.handle(), &raw mut count, bytes.as_mut_ptr())
    };
    (code, count, bytes)
}

#[test]
fn rows_of_five_fields_take_32_bytes_and_nothing_after_them_is_touched() {
    for (scenario, stride, rows) in [("five-field", 32, 40), ("hang", 24, 1)] {
        let (code, count, bytes) = raw_list(&Fake::open(scenario), 64);
        assert_eq!((code, count), (0, rows));
        let end = stride * rows as usize;
        assert!(bytes[end..].iter().all(|&byte| byte == 0xa5), "{scenario}");
        assert!(bytes[end - 1] != 0xa5 && bytes[4..8] == [0xa5; 4], "{scenario}");
    }
}

#[test]
fn a_list_may_grow_after_its_length_was_asked_for() {
    let text = "[driver]\nlist_growth = 2\n[[device]]\nname = \"X\"\ntotal = \"80GiB\"\n[[process]]\npid = 5\ncopies = 9\n\
        command = \"x\"\non = [{ phases = [{ context = { size = \"1GiB\", in = \"0s\" } }] }]\n";
    let fake = Fake::open(text);
    let answers: Vec<(u32, u32)> = [0, 7, 9].map(|room| raw_list(&fake, room)).map(|(code, count, _)| (code, count)).into();
    assert_eq!(answers, [(7, 7), (7, 9), (0, 9)]);
}
