import time


class Work:
    def __init__(self, seconds):
        self.seconds = seconds

    def wait(self):
        time.sleep(self.seconds)
        return True


def all_reduce(seconds, async_op=False):
    if async_op:
        return Work(seconds)
    time.sleep(seconds)


def barrier():
    all_reduce(0.05)
