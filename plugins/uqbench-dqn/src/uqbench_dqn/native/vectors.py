"""Vectors of 16 floats as a type of Numba's, in LLVM's IR.

LLVM splits them where a processor's are narrower, and never reorders what is done to them: nothing
here allows it to. Addresses are a flat array and an index.
"""

# llvmlite has no types, and an intrinsic's arguments are its generated code's:
# mypy: disable-error-code="import-untyped, no-untyped-call, untyped-decorator"
# ruff: noqa: ARG001

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model

intrinsic: Any = extending.intrinsic
WIDTH = 16
"""Floats of a vector."""
FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
LANES = ir.VectorType(ir.IntType(32), WIDTH)
WORD, BYTE, INDEX, HALF = (ir.IntType(bits) for bits in (32, 8, 64, 16))
ZERO = ir.Constant(FLOATS, [0.0] * WIDTH)


class Vector(types.Type):
    """The type, in Numba's words."""

    def __init__(self) -> None:
        super().__init__("vector of 16 floats")


vector = Vector()


@register_model(Vector)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS)


class Code:
    """Writes the instructions of one intrinsic."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> None:
        self.context, self.builder, self.signature, self.args = context, builder, signature, args

    def at(self, array: int, index: Any) -> Any:
        """The address of an element of a flat array, which is argument number ``array``."""
        make = self.context.make_array(self.signature.args[array])
        data = make(self.context, self.builder, self.args[array]).data
        return self.builder.gep(self.builder.bitcast(data, ir.FloatType().as_pointer()), [index])

    def load(self, address: Any) -> Any:
        """The 16 floats from an address on."""
        whole = self.builder.bitcast(address, FLOATS.as_pointer())
        return self.builder.load(whole, align=4)

    def store(self, x: Any, address: Any) -> None:
        """Write 16 floats from an address on."""
        self.builder.store(x, self.builder.bitcast(address, FLOATS.as_pointer()), align=4)

    def splat(self, scalar: Any) -> Any:
        """16 times the same float."""
        nothing = ir.Constant(FLOATS, ir.Undefined)
        one = self.builder.insert_element(nothing, scalar, ir.Constant(WORD, 0))
        return self.builder.shuffle_vector(one, nothing, ir.Constant(LANES, [0] * WIDTH))

    def call(self, name: str, *args: Any) -> Any:
        """An operation of LLVM's on vectors."""
        kind = ir.FunctionType(FLOATS, [FLOATS] * len(args))
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, args)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """``a b + c``, rounded once."""
        return self.call(f"llvm.fma.v{WIDTH}f32", a, b, c)

    def fetch(self, address: Any) -> None:
        """Bring a cache line near."""
        pointer = BYTE.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, WORD, WORD, WORD])
        prefetch = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        modes = [ir.Constant(WORD, mode) for mode in (0, 3, 1)]  # to read, to keep, data
        self.builder.call(prefetch, [self.builder.bitcast(address, pointer), *modes])

    def shuffle(self, a: Any, b: Any, picked: Sequence[int]) -> Any:
        """A vector of picked floats, 0 to 15 of a, 16 to 31 of b."""
        return self.builder.shuffle_vector(a, b, ir.Constant(LANES, list(picked)))


def index(number: int) -> Any:
    """A constant index."""
    return ir.Constant(INDEX, number)


def _elementwise(arguments: Sequence[Any], write: Callable[..., Any]) -> Any:
    """A signature of vectors, or of scalars, and what computes a vector of them."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        return write(Code(context, builder, signature, args), *args)

    return vector(*arguments), code


@intrinsic
def load(_typing: Any, array: Any, i: Any) -> Any:
    """``array[i : i + 16]``."""
    return _elementwise((array, types.intp), lambda code, _, i: code.load(code.at(0, i)))


@intrinsic
def store(_typing: Any, array: Any, i: Any, x: Any) -> Any:
    """``array[i : i + 16] = x``."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        writes = Code(context, builder, signature, args)
        writes.store(args[2], writes.at(0, args[1]))
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), code


@intrinsic
def splat(_typing: Any, x: Any) -> Any:
    """16 times ``x``."""
    return _elementwise((types.float32,), lambda code, x: code.splat(x))


@intrinsic
def add(_typing: Any, x: Any, y: Any) -> Any:
    """``x + y``."""
    return _elementwise((vector, vector), lambda code, x, y: code.builder.fadd(x, y))


@intrinsic
def subtract(_typing: Any, x: Any, y: Any) -> Any:
    """``x − y``."""
    return _elementwise((vector, vector), lambda code, x, y: code.builder.fsub(x, y))


@intrinsic
def multiply(_typing: Any, x: Any, y: Any) -> Any:
    """``x y``."""
    return _elementwise((vector, vector), lambda code, x, y: code.builder.fmul(x, y))


@intrinsic
def fma(_typing: Any, x: Any, y: Any, z: Any) -> Any:
    """``x y + z``, rounded once."""
    return _elementwise((vector,) * 3, lambda code, *of: code.fma(*of))


@intrinsic
def rectified(_typing: Any, x: Any, y: Any) -> Any:
    """0 where ``x ≤ 0``, else ``y``: where x is NaN, too, so that it is not hidden."""

    def write(code: Code, x: Any, y: Any) -> Any:
        return code.builder.select(code.builder.fcmp_ordered("<=", x, ZERO), ZERO, y)

    return _elementwise((vector, vector), write)


@intrinsic
def greatest(_typing: Any, x: Any, y: Any) -> Any:
    """The greater of each two; y where one is NaN."""

    def write(code: Code, x: Any, y: Any) -> Any:
        return code.builder.select(code.builder.fcmp_ordered(">", x, y), x, y)

    return _elementwise((vector, vector), write)


@intrinsic
def exponential(_typing: Any, x: Any) -> Any:
    """``exp x`` within two units of the last place, for x from −87 to 88; below, of −87.

    ``2ⁿ exp r`` with the polynomial of Cephes; no processor's or library's own.
    """

    def write(code: Code, x: Any) -> Any:
        def of(number: float) -> Any:
            return ir.Constant(FLOATS, [number] * WIDTH)

        builder, rounds = code.builder, of(1.5 * 2**23)  # adding it rounds to an integer
        x = builder.select(builder.fcmp_ordered("<", x, of(-87.0)), of(-87.0), x)
        shifted = code.fma(x, of(1.4426950408889634), rounds)
        n = builder.fsub(shifted, rounds)
        r = code.fma(n, of(2.12194440e-4), code.fma(n, of(-0.693359375), x))
        sums = of(1.9875691500e-4)
        for factor in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 0.16666665459, 0.5):
            sums = code.fma(sums, r, of(factor))
        sums = builder.fadd(code.fma(builder.fmul(r, r), sums, r), of(1.0))
        bits = builder.shl(builder.bitcast(shifted, LANES), ir.Constant(LANES, [23] * WIDTH))
        bits = builder.add(bits, ir.Constant(LANES, [127 << 23] * WIDTH))
        return builder.fmul(sums, builder.bitcast(bits, FLOATS))

    return _elementwise((vector,), write)


@intrinsic
def total(_typing: Any, x: Any) -> Any:
    """The sum of the 16, by halves: 8, 4, 2, 1."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        writes, x = Code(context, builder, signature, args), args[0]
        for half in (8, 4, 2, 1):
            turned = writes.shuffle(x, x, [(j + half) % WIDTH for j in range(WIDTH)])
            x = builder.fadd(x, turned)
        return builder.extract_element(x, ir.Constant(WORD, 0))

    return types.float32(vector), code


@intrinsic
def highest(_typing: Any, x: Any) -> Any:
    """The greatest of the 16."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        writes, x = Code(context, builder, signature, args), args[0]
        for half in (8, 4, 2, 1):
            turned = writes.shuffle(x, x, [(j + half) % WIDTH for j in range(WIDTH)])
            x = builder.select(builder.fcmp_ordered(">", turned, x), turned, x)
        return builder.extract_element(x, ir.Constant(WORD, 0))

    return types.float32(vector), code


@intrinsic
def transpose(
    _typing: Any, to: Any, i: Any, to_step: Any, source: Any, j: Any, source_step: Any
) -> Any:
    """``to[i + r to_step + c] = source[j + c source_step + r]`` for r and c below 16."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        writes = Code(context, builder, signature, args)
        _, i, to_step, _, j, source_step = args

        def place(first: Any, row: int, step: Any) -> Any:
            return builder.add(first, builder.mul(index(row), step))

        rows = [writes.load(writes.at(3, place(j, row, source_step))) for row in range(WIDTH)]
        half = WIDTH // 2
        while half:  # swap the blocks off the diagonal, ever smaller ones
            kept = [c if not c & half else WIDTH + (c ^ half) for c in range(WIDTH)]
            moved = [c | half if not c & half else WIDTH + c for c in range(WIDTH)]
            for row in (row for row in range(WIDTH) if not row & half):
                a, b = rows[row], rows[row | half]
                rows[row] = writes.shuffle(a, b, kept)
                rows[row | half] = writes.shuffle(a, b, moved)
            half //= 2
        for row, x in enumerate(rows):
            writes.store(x, writes.at(0, place(i, row, to_step)))
        return context.get_dummy_value()

    return types.void(to, types.intp, types.intp, source, types.intp, types.intp), code


@intrinsic
def mark(_typing: Any, array: Any, i: Any, x: Any) -> Any:
    """Write into the 16 bits from bit ``16 i`` of an array on which of x are not 0; NaN is not."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        start = Code(context, builder, signature, args).at(0, index(0))
        bits = builder.bitcast(builder.fcmp_unordered("!=", args[2], ZERO), HALF)
        builder.store(bits, builder.gep(builder.bitcast(start, HALF.as_pointer()), [args[1]]))
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), code


@intrinsic
def marks(_typing: Any, array: Any, i: Any) -> Any:
    """The 64 bits from bit ``64 i`` of an array on."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        start = Code(context, builder, signature, args).at(0, index(0))
        words = builder.bitcast(start, INDEX.as_pointer())
        return builder.load(builder.gep(words, [args[1]]), align=4)

    return types.uint64(array, types.intp), code


@intrinsic
def fetch(_typing: Any, array: Any, i: Any) -> Any:
    """Bring the cache line of ``array[i]``, an element of four bytes, near."""

    def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
        writes = Code(context, builder, signature, args)
        writes.fetch(writes.at(0, args[1]))
        return context.get_dummy_value()

    return types.void(array, types.intp), code


def tile(rows: int, vectors: int) -> Any:
    """A block of a product as an intrinsic: each output one chain of fused steps, in order.

    ``tile(A, a, row, B, b, width, C, c, step, bits, more)`` computes ``rows`` × ``16 vectors``
    outputs in registers: ``C[c + i step + j] (+)= Σ_t A[a + i row + t] B[b + t width + j]`` over
    the t below 64 whose bit is set, added to what C has where ``more`` is not 0.
    """

    @intrinsic
    def block(
        _typing: Any, a_in: Any, a: Any, row: Any, b_in: Any, b: Any, width: Any, c_in: Any,
        c: Any, step: Any, bits: Any, more: Any,
    ) -> Any:  # fmt: skip
        """One block."""
        place = types.intp

        def code(context: Any, builder: Any, signature: Any, args: Sequence[Any]) -> Any:
            writes = Code(context, builder, signature, args)
            _, a, row, _, b, width, _, c, step, bits, more = args
            left, right, out = writes.at(0, a), writes.at(3, b), writes.at(6, c)
            cells = [
                builder.gep(out, [builder.add(builder.mul(index(i), step), index(v * WIDTH))])
                for i in range(rows)
                for v in range(vectors)
            ]
            entry = builder.block
            loads, head, body, done = (
                builder.append_basic_block(name) for name in ("loads", "head", "body", "done")
            )
            builder.cbranch(builder.icmp_signed("!=", more, index(0)), loads, head)
            builder.position_at_end(loads)
            before = [writes.load(cell) for cell in cells]
            builder.branch(head)
            builder.position_at_end(head)
            rest = builder.phi(INDEX)
            sums = [builder.phi(FLOATS) for _ in cells]
            rest.add_incoming(bits, entry)
            rest.add_incoming(bits, loads)
            for phi, old in zip(sums, before, strict=True):
                phi.add_incoming(ZERO, entry)
                phi.add_incoming(old, loads)
            builder.cbranch(builder.icmp_unsigned("!=", rest, index(0)), body, done)
            builder.position_at_end(body)
            t = builder.cttz(rest, ir.Constant(ir.IntType(1), 1))
            terms = builder.gep(left, [t])
            line = builder.gep(right, [builder.mul(t, width)])
            right_now = [writes.load(builder.gep(line, [index(v * WIDTH)])) for v in range(vectors)]
            new: list[Any] = []
            for i in range(rows):
                at = builder.gep(terms, [builder.mul(index(i), row)])
                x = writes.splat(builder.load(at, align=4))
                old_sums = sums[i * vectors : (i + 1) * vectors]
                pairs = zip(right_now, old_sums, strict=True)
                new += [writes.fma(x, y, old) for y, old in pairs]
            rest.add_incoming(builder.and_(rest, builder.sub(rest, index(1))), body)
            for phi, x in zip(sums, new, strict=True):
                phi.add_incoming(x, body)
            builder.branch(head)
            builder.position_at_end(done)
            for cell, x in zip(cells, sums, strict=True):
                writes.store(x, cell)
            return context.get_dummy_value()

        kinds = (a_in, place, place, b_in, place, place, c_in, place, place, types.uint64, place)
        return types.void(*kinds), code

    return block
