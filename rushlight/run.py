"""python -m rushlight.run: start a program in several processes, as torchrun does (distributed/run.py)."""

from rushlight.distributed.run import main

if __name__ == "__main__":
    main()
