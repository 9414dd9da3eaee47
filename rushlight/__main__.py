"""python -m rushlight PROGRAM ...: run an unmodified PyTorch program on Rushlight."""

from rushlight.launcher import main

if __name__ == "__main__":
    main()
