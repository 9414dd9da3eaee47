"""From expressions to LLVM IR, and from LLVM IR to object code of a target."""
