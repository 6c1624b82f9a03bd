# As much of torch as the reporter needs. A device is there if STUB_CUDA says so:
# its events take the time when they are recorded, and tell it only when they were
# waited for.
import os, time
from . import distributed


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at, self.over = time.perf_counter(), False

    def synchronize(self):
        assert cuda.device == 0, "the thread is on no device, or another's"
        self.over = True

    def elapsed_time(self, end):
        assert end.over, "asked before it was over"
        return (end.at - self.at) * 1e3


class Stream:
    def record_event(self, event):
        event.record()
        return event


class cuda:
    Event, current_stream, device = Event, Stream, None

    @staticmethod
    def is_available():
        return "STUB_CUDA" in os.environ

    @staticmethod
    def current_device():
        return 0

    @classmethod
    def set_device(cls, device):
        cls.device = device
