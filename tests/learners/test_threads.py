"""Work in threads: results in order, errors kept, nothing lost."""

import threading
import time

import pytest

from c2rf.learners.threads import in_threads
from c2rf.progress import progress_callback


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
class TestInThreads:
    def test_results_are_in_the_order_of_the_calls(self, n_jobs):
        def late(n):
            time.sleep(0.001 * (7 - n))
            return n * n

        assert in_threads(late, [(n,) for n in range(7)], n_jobs) == [n * n for n in range(7)]

    def test_nothing_to_do(self, n_jobs):
        assert in_threads(print, [], n_jobs) == []

    def test_threads_within_threads(self, n_jobs):
        def rows(n):
            return sum(in_threads(pow, [(n, 2), (n, 3), (n, 4)], n_jobs))

        expected = [n**2 + n**3 + n**4 for n in range(5)]
        assert in_threads(rows, [(n,) for n in range(5)], n_jobs) == expected

    def test_the_first_error_is_raised_and_the_rest_is_left(self, n_jobs):
        done = []

        def work(n):
            if n == 1:
                raise ValueError("the second")
            time.sleep(0.001)
            done.append(n)

        with pytest.raises(ValueError, match="the second"):
            in_threads(work, [(n,) for n in range(100)], n_jobs)
        assert len(done) < 50

    def test_a_listener_can_stop_it(self, n_jobs):
        running = threading.active_count()

        def stop(event):
            raise KeyboardInterrupt

        with progress_callback(stop), pytest.raises(KeyboardInterrupt):
            in_threads(time.sleep, [(0.001,)] * 50, n_jobs, "sleeping")
        assert threading.active_count() == running

    def test_progress_counts_every_call(self, n_jobs):
        events = []
        with progress_callback(events.append):
            in_threads(time.sleep, [(0.001,)] * 6, n_jobs, "sleeping")
        assert (events[-1].phase, events[-1].done, events[-1].total) == ("sleeping", 6, 6)
