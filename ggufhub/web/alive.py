"""``python -m ggufhub.web.alive``: is this container's process alive? Exit code 0 or 1.

Without a word it asks the web server of this machine; with the name of a worker, as given to
``celery -n``, it looks for that worker's sign of life in the broker. Loads no Django application:
it runs twice a minute beside every process.
"""

import socket
import sys
from http.client import HTTPConnection, HTTPException

from redis import RedisError

from ggufhub.web import env, heartbeat
from ggufhub.web.redis_client import connect

TIMEOUT_SECONDS = 5.0


def main(words: list[str]) -> int:
    return 0 if (worker_lives(words[0]) if words else web_answers()) else 1


def web_answers() -> bool:
    """Whether the health page of the server on this machine answers."""
    port = int(env.text("GGUFHUB_BIND", "127.0.0.1:8000").rpartition(":")[2])
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def worker_lives(name: str) -> bool:
    """Whether the worker ``name`` of this machine gave a sign lately."""
    node = name.replace("%h", socket.gethostname())
    try:
        return heartbeat.lives(connect(env.secret("GGUFHUB_BROKER_URL")), node)
    except (RedisError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
