"""Names for the numpy arrays that move between operators and kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Octets = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

NO_NULLS: Bools = np.empty(0, np.bool_)
"""What a kernel takes for `valid` where no value is NULL."""

NO_PAIRS: Words = np.empty(0, np.uint64)
"""The sparse results of a record where no sparse query wants a row of it."""
