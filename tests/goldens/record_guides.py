"""Record how the user guides' fragments end under PyTorch: python tests/goldens/record_guides.py"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
subprocess.run(
    [sys.executable, str(HERE.parent / "guides" / "run_fragments.py"), str(HERE / "guides.json")], check=True
)
