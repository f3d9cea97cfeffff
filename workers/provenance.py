"""Where a number comes from: versions, machine and commit, as text beside every result."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch

from designspace.job import Job

GIT_TIMEOUT_SECONDS = 5
CPU_INFO = Path("/proc/cpuinfo")


def provenance(job: Job, device: torch.device) -> dict[str, str]:
    """What is needed to repeat `job`: its identity, the versions, the machine and the commit of this code."""
    return {
        "fingerprint": job.fingerprint,
        "task": job.task,
        "protocol": job.protocol,
        "seed": str(job.seed),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "threads": str(torch.get_num_threads()),
        "process": str(os.getpid()),
        **machine(),
    }


@cache
def machine() -> dict[str, str]:
    """Versions and machine, the same for every run of this process."""
    return {
        "sextant": version("sextant-search"),
        "torch": torch.__version__,
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "host": platform.node(),
        "cpu": _cpu(),
        "commit": _commit(Path(__file__).parent),
    }


def _cpu() -> str:
    """The processor's name, or its architecture where the system does not tell."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit(folder: Path) -> str:
    """The commit checked out around `folder`, marked `-dirty` if files differ, or `unknown` outside a repository."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=GIT_TIMEOUT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip()
