"""Expensive user functions in a pool of threads, while the eddy goes on with other batches.

A tile is cut into *morsels*. A morsel that is routed to an operator with an expensive function is handed to a worker,
and comes back later; each such operator has a bounded queue. Where it is full, tuples visit their
other operators first, which may spare them the function; a morsel that needs nothing else waits. What a morsel
counts on its way is added up when it comes back, in the thread of the engine, so workers share nothing that changes.

Threads help functions that wait or release the interpreter's lock: requests, sleeping, most of numpy. Functions in
plain Python take turns, whatever the number of threads; a vectorized one may hand its arrays to processes of its own,
and waits for them here while others run.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue
from threading import Thread
from time import perf_counter_ns
from weakref import finalize

from cacq.data.batch import Batch
from cacq.eddy import tickets
from cacq.eddy.eddy import Eddy
from cacq.eddy.routing import Policy
from cacq.eddy.sorting import Batches, part
from cacq.eddy.tables import Tables
from cacq.filters.operator import Operator

MORSEL = 256
QUEUE = 4
"""Morsels that may be with the workers for one operator; two for each worker where that is more."""
EXPENSIVE = 5_000.0 * MORSEL / (MORSEL + tickets.VISIT_TUPLES)
"""The cost from which on a function is worth a worker: 5 us a tuple in a whole morsel."""


class Job:
    """One visit of a morsel. `batch` is the answer once it has landed, or `error` says why there is none."""

    def __init__(self, index: int, operator: Operator, batch: Batch, had_choice: bool, flight: Flight) -> None:
        self.index = index
        self.operator = operator
        self.twin = operator.twin()
        self.failures, batch.failures = batch.failures, []
        self.batch = batch
        self.taken = len(batch)
        self.had_choice = had_choice
        self.spent = 0
        self.error: BaseException | None = None
        self._flight = flight

    def run(self) -> None:
        """Do the visit, in a worker."""
        if self._flight.abandoned:
            return
        started = perf_counter_ns()
        try:
            self.batch = self.twin.process(self.batch)
        except BaseException as error:  # whatever it is, it is the push that has to end with it
            self.error = error
        self.spent = perf_counter_ns() - started
        self._flight.landed.put(self)


Jobs = SimpleQueue[Job | None]


class Workers:
    """Threads that are started with the first job and end with this object, or with the program."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: Jobs = SimpleQueue()
        self._started = False

    def __len__(self) -> int:
        return self._count

    def put(self, job: Job) -> None:
        """Have some thread run the job."""
        if not self._started:
            self._started = True
            for number in range(self._count):
                Thread(target=_work, args=(self._jobs,), name=f"cacq-function-{number}", daemon=True).start()
            finalize(self, _end, self._jobs, self._count)
        self._jobs.put(job)


def _work(jobs: Jobs) -> None:
    while (job := jobs.get()) is not None:
        job.run()
        del job


def _end(jobs: Jobs, count: int) -> None:
    for _ in range(count):
        jobs.put(None)


class Flight:
    """The morsels of one tile that are with the workers."""

    def __init__(self, workers: Workers) -> None:
        self.landed: SimpleQueue[Job] = SimpleQueue()
        self.abandoned = False
        self._workers = workers
        self._flying: dict[int, Operator] = {}
        self._morsels: dict[int, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def has_room(self, index: int) -> bool:
        """Whether the operator's queue takes one more morsel."""
        return self._morsels.get(index, 0) < max(QUEUE, 2 * len(self._workers))

    def start(self, job: Job) -> None:
        """Hand a morsel to the workers."""
        operator = self._flying[job.index] = job.operator
        self._morsels[job.index] = self._morsels.get(job.index, 0) + 1
        self._count += 1
        operator.account.waiting += job.taken
        operator.counters.queue = max(operator.counters.queue, operator.account.waiting)
        self._workers.put(job)

    def next(self, wait: bool) -> Job | None:
        """A morsel that has come back; None if there is none, which happens only where one does not wait."""
        try:
            job = self.landed.get(block=wait)
        except Empty:
            return None
        self._count -= 1
        self._morsels[job.index] -= 1
        job.operator.account.waiting -= job.taken
        return job

    def abandon(self) -> None:
        """Forget what has not come back: jobs that have not begun never will, and nobody looks at the others."""
        self.abandoned = True
        for operator in self._flying.values():
            operator.account.waiting = 0


class PooledEddy(Eddy):
    """An eddy that has several morsels on their way where functions are expensive."""

    def __init__(self, policy: Policy, workers: Workers) -> None:
        super().__init__(policy)
        self._workers = workers

    def _drain(self, tables: Tables, batches: Batches) -> None:
        if not any(map(is_expensive, tables.operators.values())):
            super()._drain(tables, batches)
            return
        tile = batches.waiting.pop()
        batches.waiting += [part(tile, slice(start, start + MORSEL)) for start in range(0, len(tile), MORSEL)]
        flight = Flight(self._workers)
        try:
            self._fly(flight, tables, batches)
        finally:
            flight.abandon()

    def _fly(self, flight: Flight, tables: Tables, batches: Batches) -> None:
        """Route all batches that wait until none is left, here or with the workers."""
        blocked: list[Batch] = []
        while batches.waiting or blocked or len(flight):
            if len(flight) and (job := flight.next(wait=not batches.waiting)) is not None:
                self._land(job, tables, batches)
                batches.waiting += blocked[-1:]
                del blocked[-1:]
                continue
            batch = batches.waiting.pop() if batches.waiting else blocked.pop()
            ready = tables.ready(batch)
            having_room = [index for index in ready if flight.has_room(index)]
            if not having_room:
                blocked.append(batch)
                continue
            batch, index = self._choose(batch, having_room, tables, batches)
            if is_expensive(tables.operators[index]):
                flight.start(Job(index, tables.operators[index], batch, len(ready) > 1, flight))
            else:
                self._visit(index, batch, len(ready) > 1, tables, batches)

    def _land(self, job: Job, tables: Tables, batches: Batches) -> None:
        """Take a morsel back."""
        if job.error is not None:
            raise job.error
        batch, operator = job.batch, job.operator
        job.failures += batch.failures
        batch.failures = job.failures
        operator.absorb(job.twin)
        staying, leaving = self._return(job.index, batch, tables, batches)
        operator.counters.record(job.taken, staying + leaving, job.spent)
        tickets.record(operator, job.taken, staying, job.spent, job.had_choice)


def is_expensive(operator: Operator) -> bool:
    """Whether the operator runs code of users that takes long; it is taken to until it has been measured."""
    account = operator.account
    return operator.calls_functions and (not account.timed or account.cost >= EXPENSIVE)
