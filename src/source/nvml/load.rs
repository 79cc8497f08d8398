//! Opening the library, and saying which of the many reasons it is when that fails.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::calls::Call;
use super::raw;
use crate::domain::text;
use crate::sampler::Caller;
use crate::source::{SourceError, SourceErrorKind};

/// What the loader finds on its own on Linux. The name without `.1` belongs to the development files and is often missing.
const LIBRARY: &str = "libnvidia-ml.so.1";
/// Where WSL2 keeps it, outside the loader's path.
const WSL: &str = "/usr/lib/wsl/lib/libnvidia-ml.so.1";
/// What does not work.
const NO_DRIVER: &str = "no usable NVIDIA driver";
/// What always works.
const DEMO: &str = "Without a GPU: `vramscope demo` shows a simulated node.";

/// Opens the library and keeps it for ever: a call that hangs in it can't be taken back.
pub fn open(library: Option<&Path>, caller: &mut Caller) -> Result<&'static Nvml, SourceError> {
    let paths: Vec<PathBuf> = match library {
        // A bare name is a file here before it is one in the loader's path, since the user named a file.
        Some(path) => vec![std::path::absolute(path).ok().filter(|path| path.exists()).unwrap_or_else(|| path.into())],
        None => [Some(LIBRARY), Path::new(WSL).exists().then_some(WSL)].into_iter().flatten().map(PathBuf::from).collect(),
    };
    let mut first = None;
    for path in paths {
        if let Some(trouble) = unreadable(&path) {
            return Err(trouble);
        }
        match caller.call(Call::Init as u8, || Nvml::builder().lib_path(path.as_os_str()).init()) {
            Ok(nvml) => {
                let nvml: &'static Nvml = Box::leak(Box::new(nvml));
                raw::remember(nvml);
                return Ok(nvml);
            }
            Err(error) => {
                let not_found = matches!(error, NvmlError::LibloadingError(_));
                let told = explain(&path, library.is_some(), error);
                if !not_found {
                    return Err(told);
                }
                first.get_or_insert(told);
            }
        }
    }
    Err(first.unwrap_or_else(|| trouble("no library to open".into(), "")))
}

/// No device, or none that answers.
pub fn no_device(why: String, denied: bool) -> SourceError {
    let fix = if denied {
        "Ask for access to /dev/nvidia* (often the groups `video` or `render`); in a container, to the device itself."
    } else {
        "Check `lspci | grep -i nvidia` and `nvidia-smi -L`; in a container, start it with the GPUs (`--gpus all`)."
    };
    SourceError { what: "no usable NVIDIA device".into(), ..trouble(why, fix) }
}

fn trouble(why: String, fix: &str) -> SourceError {
    let space = if fix.is_empty() { "" } else { " " };
    SourceError { kind: SourceErrorKind::Driver, what: NO_DRIVER.into(), why, fix: format!("{fix}{space}{DEMO}") }
}

fn explain(path: &Path, named: bool, error: NvmlError) -> SourceError {
    let file = text::clean(&path.to_string_lossy(), 200);
    match error {
        NvmlError::LibloadingError(error) => {
            let words = text::clean(&error.to_string(), 300);
            let exists = path.exists();
            if exists && path.is_dir() {
                trouble(format!("{file} is a directory"), "Name the file with --nvml-lib.")
            } else if exists && !starts_as_library(path) {
                trouble(
                    format!("{file} is no library ({words})"),
                    "Name libnvidia-ml.so.1 of the installed driver with --nvml-lib.",
                )
            } else if exists {
                trouble(format!("{file} can't be loaded: {words}"), "It must be built for this machine, and readable.")
            } else if named {
                trouble(format!("there is no file {file} ({words})"), "Check the path given with --nvml-lib.")
            } else {
                trouble(
                    format!("the library {file} was not found ({words})"),
                    "Install the NVIDIA driver (then `nvidia-smi` works), or name the library with --nvml-lib.",
                )
            }
        }
        NvmlError::FailedToLoadSymbol(_) => trouble(
            format!("{file} is no NVML library: it has no function nvmlInit_v2"),
            "Name libnvidia-ml.so.1 of the installed driver with --nvml-lib.",
        ),
        NvmlError::DriverNotLoaded => trouble(
            "nvmlInit_v2: the NVIDIA kernel module is not loaded".into(),
            "Load it (`sudo modprobe nvidia`; after a kernel update the module may need a rebuild); in a container, start it with the GPUs.",
        ),
        NvmlError::LibRmVersionMismatch => trouble(
            format!(
                "nvmlInit_v2: driver/library version mismatch: {file} is of another version than the loaded kernel module{}",
                kernel_module().map(|version| format!(" {version}")).unwrap_or_default()
            ),
            "The driver was upgraded while it ran: reboot, or reload the module (`sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia; sudo modprobe nvidia`).",
        ),
        NvmlError::NoPermission | NvmlError::OperatingSystem => trouble(
            format!("nvmlInit_v2: no permission to talk to the driver ({error})"),
            "Ask for access to /dev/nvidiactl and /dev/nvidia* (often the groups `video` or `render`).",
        ),
        NvmlError::UnexpectedVariant(code) => trouble(
            format!("nvmlInit_v2 failed with code {code}"),
            "See whether `nvidia-smi` works, and what `dmesg` says of NVRM.",
        ),
        other => trouble(
            format!("nvmlInit_v2: {}", text::clean(&other.to_string(), 200)),
            "See whether `nvidia-smi` works, and what `dmesg` says of NVRM.",
        ),
    }
}

/// What the loader would say badly or not survive of a file that is there: no permission, or cut short, which kills the
/// program by SIGBUS when the loader touches a page that the file no longer has (glibc 2.36).
fn unreadable(path: &Path) -> Option<SourceError> {
    let file = text::clean(&path.to_string_lossy(), 200);
    match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Some(trouble(
            format!("no permission to read {file}"),
            "Ask for the right to read it, or name another with --nvml-lib.",
        )),
        Ok(mut library) => {
            let length = library.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
            let needed = loaded_length(&mut library)?;
            (needed > length).then(|| {
                trouble(
                    format!("{file} is cut short: it has {length} bytes, fewer than its own header says"),
                    "Copy or install it again, or name another with --nvml-lib.",
                )
            })
        }
        // That there is none is for the loader to say, which searches further.
        Err(_) => None,
    }
}

/// The end of the last loaded part of a 64-bit little-endian ELF file by its program headers; none for anything else.
fn loaded_length(file: &mut File) -> Option<u64> {
    let mut header = [0; 64];
    file.read_exact(&mut header).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let word = |bytes: &[u8], at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(header.get(at..at + 2)?.try_into().ok()?));
    let (entry, count) = (usize::from(half(54)?), half(56)?);
    file.seek(SeekFrom::Start(word(&header, 32)?)).ok()?;
    let mut end = 0;
    let mut program = vec![0; entry];
    for _ in 0..count {
        if file.read_exact(&mut program).is_err() {
            // Not even the program headers are there.
            return Some(u64::MAX);
        }
        if program.starts_with(&1_u32.to_le_bytes()) {
            end = end.max(word(&program, 8)?.saturating_add(word(&program, 32)?));
        }
    }
    Some(end)
}

fn starts_as_library(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"\x7fELF"
}

/// The version of the loaded kernel module.
fn kernel_module() -> Option<String> {
    let version = std::fs::read_to_string("/sys/module/nvidia/version").ok()?;
    Some(text::clean(version.trim(), 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_cut_short_is_not_given_to_the_loader() {
        let whole = std::env::current_exe().expect("this test");
        assert_eq!(unreadable(&whole), None);
        let cut = tempfile::NamedTempFile::new().expect("a file");
        for length in [64, 300, 3_000] {
            let bytes = std::fs::read(&whole).expect("readable");
            std::fs::write(cut.path(), &bytes[..length]).expect("written");
            assert!(unreadable(cut.path()).is_some_and(|told| told.why.contains("cut short")), "{length} bytes");
        }
        std::fs::write(cut.path(), "no library at all").expect("written");
        assert_eq!(unreadable(cut.path()), None, "for the loader to say");
    }

    #[test]
    fn each_reason_has_its_own_words_and_names_the_demo() {
        let path = Path::new("/x/libnvidia-ml.so.1");
        for (error, words) in [
            (NvmlError::FailedToLoadSymbol("x".into()), "no NVML library"),
            (NvmlError::DriverNotLoaded, "not loaded"),
            (NvmlError::LibRmVersionMismatch, "version mismatch"),
            (NvmlError::NoPermission, "no permission"),
            (NvmlError::UnexpectedVariant(27), "code 27"),
            (NvmlError::Unknown, "internal driver error"),
        ] {
            let told = explain(path, true, error);
            assert!(told.why.contains(words), "{told}");
            assert!(told.fix.contains("vramscope demo"), "{told}");
            assert_eq!(told.kind, SourceErrorKind::Driver);
        }
        assert!(explain(path, true, NvmlError::LibRmVersionMismatch).fix.contains("reboot"));
        assert!(no_device("0 devices".into(), true).fix.contains("/dev/nvidia"));
    }
}
