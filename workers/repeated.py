"""What a worker does every few seconds, in the process that takes messages, beside taking them."""

from typing import Any

from celery import bootsteps


class Repeated(bootsteps.StartStopStep):
    """A step of a consumer: calls ``act(consumer)`` every ``seconds`` while messages are taken.

    It starts anew after every reconnection, and ends with the connection.
    """

    requires = {"celery.worker.consumer.tasks:Tasks"}
    seconds: float

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._entry: Any = None

    def act(self, consumer: Any) -> None:
        raise NotImplementedError

    def start(self, consumer: Any) -> None:
        self._entry = consumer.timer.call_repeatedly(self.seconds, self.act, (consumer,))

    def stop(self, consumer: Any) -> None:
        if self._entry is not None:
            self._entry.cancel()
            self._entry = None
