#!/bin/sh
# Makes models/tutor anew: trains, exports, grades, and verifies the files in onnxruntime and in llama.cpp.
# Debian packages: python3-torch python3-numpy python3-regex python3-onnx libopenblas0-openmp, and Node 20 or later for the verification.
#   ./make.sh            everything
#   ./make.sh verify     export, grading and verification of build/checkpoint.pt
set -e
cd "$(dirname "$0")"
if [ "$1" != verify ]; then
  ./run-train.sh --stable "${STABLE:-1900}" --decay "${DECAY:-700}"
fi
/usr/bin/python3 export.py
/usr/bin/python3 evaluate.py --json build/evaluation.json
/usr/bin/python3 verify/same_values.py
/usr/bin/python3 verify/reference.py
# The packages go to a folder outside the repository; optional ones (CUDA and Vulkan builds of llama.cpp, 600 MB) are left out.
modules="${TUTOR_MODULES:-${TMPDIR:-/tmp}/tutor-verify}"
mkdir -p "$modules"
cp verify/*.mjs verify/package.json "$modules/"
(cd "$modules" && npm install --omit=optional --ignore-scripts --no-audit --no-fund)
export TUTOR_BUILD="$PWD/build/" TUTOR_MODEL="$PWD/../../models/tutor/"
(cd "$modules" && node onnx.mjs)
(cd "$modules" && node llama.mjs --fixture "$TUTOR_MODEL/reference.json")
