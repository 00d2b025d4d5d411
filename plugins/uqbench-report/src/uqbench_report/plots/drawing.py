"""The process that draws: calls of vl-convert come by its standard input, as pickles."""

import os
import pickle
import sys
from pathlib import Path


def main() -> None:
    """Draw what comes, until nobody asks any more.

    If this machine has the font, too, the renderer would read the file some 30 times a text. It
    looks for fonts when it first draws.
    """
    os.environ["FONTCONFIG_FILE"] = str(Path(__file__).with_name("fonts.conf"))
    import vl_convert

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the renderer prints is no answer
    while True:
        try:
            function, given, named = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            made = getattr(vl_convert, function)(*given, **named)
        except Exception as error:  # the renderer's, of a wrong specification
            made = ValueError(str(error))
        pickle.dump(made, answers)
        answers.flush()


if __name__ == "__main__":
    main()
