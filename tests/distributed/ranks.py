"""Runs a program once for each rank, as a launcher does, and reads what each prints."""
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
RUSHLIGHT = (sys.executable, "-m", "rushlight")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(program, *arguments, world=2, python=RUSHLIGHT, timeout=60):
    """The JSON that each rank prints last; AssertionError with its standard error where one fails or is late."""
    port = str(free_port())
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(world):
            env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world),
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
            if python is not RUSHLIGHT:
                env.pop("PYTHONPATH", None)
            with open(f"{folder}/{rank}.out", "w") as out, open(f"{folder}/{rank}.err", "w") as err:
                ranks.append(subprocess.Popen([*python, str(PROGRAMS / program), *map(str, arguments)], env=env,
                                              stdout=out, stderr=err))
        try:
            codes = [process.wait(timeout) for process in ranks]
        except subprocess.TimeoutExpired:
            codes = [process.poll() for process in ranks]
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        told = "\n".join(f"rank {rank}, exit status {code}:\n{Path(folder, f'{rank}.err').read_text()[-3000:]}"
                         for rank, code in enumerate(codes))
        assert codes == [0] * world, told
        return [json.loads(Path(folder, f"{rank}.out").read_text().splitlines()[-1]) for rank in range(world)]
