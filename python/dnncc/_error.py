# SPDX-License-Identifier: MIT
"""What is raised."""


class Error(Exception):
    """code: an exit code of the command line (1 usage, 2 cannot read or write, 3 invalid model, 4 unsupported, 5 budget
    exceeded, 70 internal error), or the negative code that a run ended with. text: what was said."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code, self.text = code, text

    def __reduce__(self):
        return type(self), (self.code, self.text)


class ArgumentError(Error, ValueError):
    """wrong arguments, code 1"""

    def __init__(self, text):
        super().__init__(1, text)

    def __reduce__(self):
        return type(self), (self.text,)
