"""
What an instruction computes, as pure functions over arrays, and the casts.

A factory chooses the fast path once, from dtypes and flags, and returns a *kernel*:
`kernel(out, *ins)` writes its output arrays in place, and is right also when an output
is the very same view as an input. Arrays have the storage dtype of their `DType`.

Kernels assume that the caller holds `np.errstate(all="ignore")`: IEEE exceptions are
part of what the hardware computes, and entering the context costs as much as a small
instruction.

`rules.collect_rules()` lists what is documented, inferred and our choice.
"""
