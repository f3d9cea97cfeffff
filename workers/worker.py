"""The plain worker as a process: trains jobs of a server one at a time, without Ray.

    python -m workers.worker http://127.0.0.1:8000 --spool FOLDER

Exit codes are those of the executor.
"""

import argparse
import signal
import sys
from pathlib import Path

import torch

from workers.client import PATIENCE_SECONDS, Client, RejectedError, ServerGoneError
from workers.evaluate import evaluation
from workers.loop import run_worker, worker_name

EXIT_SERVER_GONE = 3
EXIT_REJECTED = 4


def main(arguments: list[str] | None = None) -> int:
    """Runs the worker until no more jobs will come; SIGTERM ends it as Ctrl-C does."""
    parser = argparse.ArgumentParser(prog="python -m workers.worker", description="Train jobs of a server, one by one.")
    parser.add_argument("url", help="the server, such as http://127.0.0.1:8000")
    parser.add_argument("--spool", type=Path, required=True, help="folder for results that wait, one per worker")
    parser.add_argument("--study", help="take jobs of this study only")
    parser.add_argument("--patience", type=float, default=PATIENCE_SECONDS, help="seconds without the server")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    torch.set_num_threads(1)
    with Client(options.url, worker=worker_name("plain"), patience_seconds=options.patience) as client:
        try:
            run_worker(client, evaluation=evaluation, spool_folder=options.spool, study=options.study)
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        except ServerGoneError as error:
            sys.stderr.write(f"{error}\n")
            return EXIT_SERVER_GONE
        except RejectedError as error:
            sys.stderr.write(f"{error}\n")
            return EXIT_REJECTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
