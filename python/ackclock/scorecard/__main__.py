"""Runs each question once with an algorithm: `python -m ackclock.scorecard ALGORITHM ROW…`.

`ackclock evaluate` starts it, because a C file that crashes ends the process. Each row is printed
before it runs.
"""

import sys

from ackclock.base.errors import AckclockError
from ackclock.results.result import run
from ackclock.scorecard.run import QUESTIONS, first_run

algorithm, *rows = sys.argv[1:]
for question in QUESTIONS:
    if question.row in rows:
        print(question.row, flush=True)
        try:
            run(first_run(question, algorithm))
        except AckclockError as error:
            sys.exit(f"error: {error}")
