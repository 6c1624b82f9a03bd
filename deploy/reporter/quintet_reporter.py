"""Reports a rank's steps to Quintet: how long each took, computed and waited.

    reporter = Reporter("http://quintet:8420", job="llama-70b")  # after init_process_group
    for batch in data:
        train(batch)
        reporter.step(tokens=batch.tokens)  # of all ranks in the step; or mfu=0.4

It times the collectives that are called through torch.distributed, and the waiting
for those that were begun asynchronously. The training thread only notes instants:
events on its stream, or the monotonic clock where there is no device. Another
thread waits for them and for the network. What cannot be told is dropped and
counted (reporter.dropped); reporter.queue.join() waits until all was told.
"""
import datetime, functools, json, os, queue, threading, time, torch, torch.distributed as dist, urllib.parse, urllib.request

def mark():
    return torch.cuda.current_stream().record_event(torch.cuda.Event(True)) if torch.cuda.is_available() else time.perf_counter()

def between(a, b): return b - a if isinstance(a, float) else b.synchronize() or a.elapsed_time(b) / 1e3

class Reporter:
    def __init__(self, url, job=os.environ.get("QUINTET_JOB", "job"), rank=os.environ.get("RANK", 0)):
        self.where = f"{url.rstrip('/')}/api/v1/jobs/{urllib.parse.quote(job, safe='')}/steps"
        self.rank, self.began, self.spans, self.queue, self.dropped = int(rank), mark(), [], queue.Queue(256), 0
        threading.Thread(target=self.send, args=[torch.cuda.is_available() and torch.cuda.current_device()], daemon=True).start()
        dist.Work.wait = lambda work, *args, call=dist.Work.wait, **kwargs: self.timed(call, work, *args, **kwargs)
        for name in ("all_reduce all_gather all_gather_into_tensor reduce_scatter reduce_scatter_tensor all_to_all "
                     "all_to_all_single broadcast reduce barrier send recv").split():
            setattr(dist, name, functools.partial(self.timed, getattr(dist, name)))

    def timed(self, call, /, *args, **kwargs):
        began, at, work = mark(), len(self.spans), call(*args, **kwargs)
        self.spans[at:] = [(began, mark())]  # in the place of those that it is made of
        return work

    def step(self, **told):
        end, began, spans, self.began, self.spans = datetime.datetime.now().astimezone(), self.began, self.spans, mark(), []
        self.dropped += self.queue.full() or self.queue.put((end, began, self.began, spans, told)) or 0

    def send(self, device):
        device is False or torch.cuda.set_device(device)  # or this thread would use memory of the first
        for end, a, b, spans, told in iter(self.queue.get, None):
            try:
                took, wait = between(a, b), sum(between(*s) for s in spans)
                step = {"end": end.isoformat(), "seconds": took, "compute_seconds": max(0, took - wait), "wait_seconds": wait, **told}
                body = json.dumps({"rank": self.rank, "steps": [step]}).encode()
                urllib.request.urlopen(urllib.request.Request(self.where, body, {"Content-Type": "application/json"}), timeout=2).close()
            except Exception: self.dropped += 1  # training goes on, whoever listens
            self.queue.task_done()
