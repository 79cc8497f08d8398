"""Checks a document of `once --json` from standard input: the sums hold to the byte, unknown is null and never zero."""
import json
import sys

document = json.load(sys.stdin)
assert document["version"] == 1, document["version"]
devices = document["devices"]
assert devices, "no device"
known = 0
for device in devices:
    gpu, total, free, used = (device[name] for name in ("gpu", "total", "free", "used"))
    if None not in (total, free, used):
        assert total == free + (device["reserved"] or 0) + used, f"GPU {gpu}: total is not free + reserved + used"
        assert device["used_includes_reserved"] == (device["reserved"] is None), f"GPU {gpu}: reserved"
        known += 1
    holders = device["holders"]
    if used is None or holders is None:
        assert device["unattributed"] is None and device["excess"] is None, f"GPU {gpu}: unattributed of what is unknown"
        continue
    sizes = [holder["used"] for holder in holders]
    if None in sizes:
        assert device["unattributed"] is None and device["excess"] is None, f"GPU {gpu}: a size is missing"
        assert device["unexplained"] == max(0, used - sum(size or 0 for size in sizes)), f"GPU {gpu}: unexplained"
    else:
        assert used == sum(sizes) + device["unattributed"] - device["excess"], f"GPU {gpu}: used is not Σ holders"
        assert device["unexplained"] is None, f"GPU {gpu}: unexplained"
holders = sum(len(device["holders"] or []) for device in devices)
print(f"{len(devices)} devices, {holders} holders: the sums hold ({known} with memory figures)")
