"""Reports a rank's steps to Quintet: how long each took, computed and waited.

    reporter = Reporter("http://quintet:8420")  # after init_process_group
    for batch in data:
        train(batch)
        reporter.step(tokens=batch.tokens)      # of all ranks; rank 0 tells
"""
import datetime, json, os, queue, threading, time, urllib.parse, urllib.request
import torch, torch.distributed as dist

CALLS = ("all_reduce all_gather all_gather_into_tensor reduce_scatter reduce_scatter_tensor all_to_all all_to_all_single "
         "broadcast reduce barrier send recv").split()

def mark():
    if not torch.cuda.is_available():
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event

def between(a, b):
    if isinstance(a, float):
        return b - a
    b.synchronize()
    return a.elapsed_time(b) / 1e3

class Reporter:
    def __init__(self, url, job=None, rank=None):
        env = os.environ
        job = job or env.get("QUINTET_JOB") or f'{env.get("SLURM_JOB_NAME", "job")}-{env.get("SLURM_JOB_ID", "0")}'
        self.where = f'{url.rstrip("/")}/api/v1/jobs/{urllib.parse.quote(job, safe="")}/steps'
        self.rank = int(env.get("RANK", 0)) if rank is None else rank
        self.spans, self.inside, self.before, self.began = [], False, None, mark()
        self.reports, self.dropped = queue.Queue(256), 0
        threading.Thread(target=self._send, daemon=True).start()
        for name in CALLS:
            if hasattr(dist, name):
                setattr(dist, name, self._timed(getattr(dist, name)))

    def _timed(self, call):
        def timed(*args, **kwargs):
            if self.inside:  # one collective may be made of others
                return call(*args, **kwargs)
            a, self.inside = mark(), True
            try:
                work = call(*args, **kwargs)
            finally:
                self.inside = False
                self.spans.append((a, mark()))
            if work is not None and hasattr(work, "wait"):
                work = Waited(work, self)
            return work
        return timed

    def step(self, tokens=None):
        """Ends a step. It is told when the next ends: no device is waited for."""
        now = mark()
        end = datetime.datetime.now(datetime.timezone.utc).isoformat()
        self.flush()
        self.before = (end, self.began, now, self.spans, tokens)
        self.began, self.spans = now, []

    def flush(self):
        if self.before is None:
            return
        end, a, b, spans, tokens = self.before
        self.before, took, waited = None, between(a, b), sum(between(x, y) for x, y in spans)
        one = {"end": end, "seconds": took, "compute_seconds": max(0.0, took - waited), "wait_seconds": waited}
        self._put({"rank": self.rank, "steps": [one]})
        if self.rank == 0:
            self._put({"steps": [{"end": end, "seconds": took, **({"tokens": tokens} if tokens else {})}]})

    def _put(self, report):
        try:
            self.reports.put_nowait(json.dumps(report).encode())
        except queue.Full:  # training goes on whoever listens
            self.dropped += 1

    def _send(self):
        while True:
            body = self.reports.get()
            try:
                request = urllib.request.Request(self.where, body, {"Content-Type": "application/json"})
                urllib.request.urlopen(request, timeout=2).close()
            except OSError:
                self.dropped += 1
            self.reports.task_done()

    def close(self):
        self.flush()
        self.reports.join()

class Waited:
    """A handle whose wait counts as waiting."""
    def __init__(self, work, reporter):
        self.work, self.reporter = work, reporter
    def wait(self, *args, **kwargs):
        a = mark()
        try:
            return self.work.wait(*args, **kwargs)
        finally:
            self.reporter.spans.append((a, mark()))
    def __getattr__(self, name):
        return getattr(self.work, name)
