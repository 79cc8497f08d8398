//! The driver's functions that are called, by their names: for errors, for stalls, and for nothing else.

/// A function of the library, as an index into [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Call {
    /// Opens the library.
    Init,
    /// How many devices there are.
    Count,
    /// The driver's version.
    DriverVersion,
    /// The CUDA version.
    CudaVersion,
    /// A handle by index; attaches to the device.
    HandleByIndex,
    /// A handle by UUID.
    HandleByUuid,
    /// The UUID.
    Uuid,
    /// The index.
    Index,
    /// The name.
    Name,
    /// PCI facts.
    Pci,
    /// The number of its node.
    Minor,
    /// The NUMA node of the device's memory.
    NumaNode,
    /// How the device translates addresses.
    AddressingMode,
    /// Memory, with `reserved` (R510).
    MemoryV2,
    /// Memory.
    MemoryV1,
    /// Compute processes (R510).
    ComputeV3,
    /// Compute processes (R450).
    ComputeV2,
    /// Compute processes.
    ComputeV1,
    /// Graphics processes (R510).
    GraphicsV3,
    /// Graphics processes (R450).
    GraphicsV2,
    /// Graphics processes.
    GraphicsV1,
    /// MPS clients (R510).
    MpsV3,
    /// MPS clients (R450).
    MpsV2,
    /// MPS clients.
    MpsV1,
    /// Load.
    Utilization,
    /// Temperature.
    Temperature,
    /// Power.
    Power,
    /// Load of each process.
    ProcessUtilization,
    /// Whether the driver keeps accounts of processes.
    AccountingMode,
    /// A process's account.
    AccountingStats,
    /// Whether the device is cut into instances.
    MigMode,
    /// How many instances there can be.
    MigCount,
    /// An instance.
    MigHandle,
    /// An instance's GPU instance.
    GpuInstanceId,
    /// An instance's compute instance.
    ComputeInstanceId,
}

/// The names, in the order of [`Call`].
pub const NAMES: &[&str] = &[
    "nvmlInit_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetIndex",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetNumaNodeId",
    "nvmlDeviceGetAddressingMode",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetProcessUtilization",
    "nvmlDeviceGetAccountingMode",
    "nvmlDeviceGetAccountingStats",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetComputeInstanceId",
];

impl Call {
    /// The function's name.
    pub fn name(self) -> &'static str {
        NAMES.get(self as usize).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_the_order_of_the_calls() {
        assert_eq!(NAMES.len(), Call::ComputeInstanceId as usize + 1);
        for (call, name) in [
            (Call::Init, "nvmlInit_v2"),
            (Call::MemoryV2, "nvmlDeviceGetMemoryInfo_v2"),
            (Call::ComputeV3, "nvmlDeviceGetComputeRunningProcesses_v3"),
            (Call::GraphicsV1, "nvmlDeviceGetGraphicsRunningProcesses"),
            (Call::Minor, "nvmlDeviceGetMinorNumber"),
            (Call::Power, "nvmlDeviceGetPowerUsage"),
            (Call::AccountingStats, "nvmlDeviceGetAccountingStats"),
            (Call::ComputeInstanceId, "nvmlDeviceGetComputeInstanceId"),
        ] {
            assert_eq!(call.name(), name);
        }
    }
}
