"""A stand-in for the owner of the store: the three messages over a queue in memory, and the faults a test wants."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from designspace.job import Job


def make_job(number: int) -> Job:
    return Job(id=number, attempt=1, fingerprint="0" * 12, spec={}, task="parity", seed=number)


class Owner:
    """Hands out each job once, keeps every delivery, and is done when all jobs have a result that ends them."""

    def __init__(self, jobs: int, *, lease_seconds: float = 60.0) -> None:
        self.queue = [make_job(number) for number in range(1, jobs + 1)]
        self.open = {job.id for job in self.queue}
        self.lease_seconds = lease_seconds
        self.deliveries: list[dict] = []
        self.beats: list[dict] = []
        self.lost: set[int] = set()
        self.given: dict[str, list[Job]] = {}
        self.lock = threading.Lock()

    def answer(self, path: str, body: dict) -> tuple[int, dict]:
        with self.lock:
            return 200, getattr(self, path.rpartition("/")[2])(body)

    def claims(self, body: dict) -> dict:
        key = body["idempotency_key"]
        if key not in self.given:
            self.given[key] = [self.queue.pop(0) for _ in range(min(body["max"], len(self.queue)))]
        return {
            "jobs": [job.model_dump(mode="json") for job in self.given[key]],
            "lease_seconds": self.lease_seconds,
            "done": not self.given[key] and not self.open,
        }

    def results(self, body: dict) -> dict:
        for result in body["results"]:
            self.deliveries.append(result)
            if result["status"] in ("lost", "cancelled"):
                retry = make_job(result["job_id"]).model_copy(update={"attempt": result["attempt"] + 1})
                self.queue.append(retry)
            else:
                self.open.discard(result["job_id"])
        return {"accepted": [result["job_id"] for result in body["results"]], "duplicate": [], "unknown": []}

    def heartbeats(self, body: dict) -> dict:
        self.beats.append(body)
        return {"lost": sorted(self.lost & {lease["job_id"] for lease in body["jobs"]})}

    @property
    def transport(self) -> httpx.MockTransport:
        """The owner as a network for httpx."""

        def handle(request: httpx.Request) -> httpx.Response:
            status, content = self.answer(request.url.path, json.loads(request.content))
            return httpx.Response(status, json=content)

        return httpx.MockTransport(handle)

    @contextmanager
    def listening(self):
        """The owner on a port of the loopback; its address."""
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, content = owner.answer(self.path, body)
                payload = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *arguments):
                """Silence."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
