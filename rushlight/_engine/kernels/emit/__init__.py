"""From expressions to LLVM IR, and from LLVM IR to object code of a target.

Begin with meaning.py (what a kernel computes), scalar_code.py (its body), codegen.py (its loops), target.py
(LLVM). atom_code.py is the table of atoms' code; llvm_ir.py and lanes.py are the words that it is written
with.
"""
