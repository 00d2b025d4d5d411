"""Numbers of a column of a file or frame that a user hands over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from uqbench.contract.errors import UqbenchError
from uqbench.results.numbers import number


def numbers(values: Any, what: str, *, commas: bool = False) -> NDArray[np.float64]:
    """The numbers of a column, exactly; NaN where there is none.

    Args:
        values: typed numbers, or texts.
        what: it is, for errors.
        commas: see :func:`number`.

    Raises:
        UqbenchError: one is no number, is complex, or some are percentages and some are not.
    """
    column = pd.Series(values)
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(np.float64, na_value=np.nan))
    codes, texts = pd.factorize(column.map(str))
    read = []
    for text in texts:
        try:
            read.append(number(text, commas=commas))
        except ValueError as error:
            separated = ": decimal commas are read where ; separates the columns"
            if commas:
                separated = ": expected no separator of thousands beside the decimal comma"
            complex_one = ": a complex one has no order" * (text.rstrip(") ")[-1:] in "jJ")
            hint = separated * ("," in text) or complex_one
            raise UqbenchError(f"{what} {error}{hint}.") from None
    given = [text.strip() for text, value in zip(texts, read, strict=True) if not math.isnan(value)]
    if len({text.endswith("%") for text in given}) > 1:
        raise UqbenchError(f"{what}: some are percentages, some are not: expected one of them.")
    return np.array(read, np.float64)[np.asarray(codes, np.intp)]
