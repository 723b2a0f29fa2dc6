"""Mixed Markdown cut into tokens, the same at every run: prose, lists, tables and code as a model writes them."""

from __future__ import annotations

import re
from itertools import cycle, islice

SECTION = """## Part {n}: what the *measurement* shows

The quick summary is that **every call** of the answer ran at once, so the batch took as long as its slowest
member and not as long as all of them together. See `executor.py` for the details, and [the notes](https://example.org/{n})
for how it was measured.

- the first point, with `inline code` and a number: {n}.{n}
- the second point, which runs on for long enough that it has to be wrapped on a narrow screen, twice perhaps
  - a nested point with **bold** text
- [ ] an open task

| name | value | share |
|:-----|------:|:-----:|
| alpha | {n}00 | 12 % |
| beta | {n}50 | 88 % |

```python
def fold(values: list[int], seed: int = {n}) -> int:
    total = seed
    for value in values:
        total += value * 2  # twice, for the look of it
    return total
```

> A quoted line that ends the part.

"""


def tokens(count: int) -> list[str]:
    """`count` tokens of about four characters, ending in the word `finis`."""
    pieces = (piece for n in cycle(range(1, 10)) for piece in re.findall(r"\s?\S{1,5}|\s+", SECTION.format(n=n)))
    return [*islice(pieces, count - 2), "\n\n", "finis"]
