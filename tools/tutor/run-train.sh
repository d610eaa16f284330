#!/bin/sh
# Starts train.py with settings that matter on few, shared cores: OpenBLAS over the same OpenMP threads as PyTorch, threads that sleep
# while they wait, and freed memory kept by the process (fresh pages are costly in a small virtual machine).
cd "$(dirname "$0")" || exit 1
for lib in /usr/lib/*/openblas-openmp; do [ -d "$lib" ] && export LD_LIBRARY_PATH="$lib"; done
export OMP_WAIT_POLICY=passive MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_TOP_PAD_=268435456
exec /usr/bin/python3 train.py "$@"
