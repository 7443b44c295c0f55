"""Laws tried on millions of random inputs: `make fuzz`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # some of the inputs are those of tests
