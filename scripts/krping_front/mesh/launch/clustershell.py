# SPDX-License-Identifier: GPL-2.0
"""A launcher with ClusterShell, whose engine runs in a thread of its own."""

import asyncio
import contextlib
import os
import shlex
import threading
from typing import Any

from krping_front.errors import Quit

from .base import PATIENCE, Audience, Launcher

try:
	from ClusterShell.Event import EventHandler
	from ClusterShell.NodeSet import NodeSet
	from ClusterShell.Task import Task, task_self
except ImportError:
	EventHandler = object
	Task = None

TOPOLOGY = "/etc/clustershell/topology.conf"
# Seconds between two looks for the end of the engine.
LOOK = 0.02
# The most bytes that are kept of stderr.
KEPT = 400
# Seconds for a connection.
CONNECT = 10


class Events(EventHandler):
	"""Hears what the engine says, in its thread, and tells the event loop's."""

	def __init__(self, launcher: "ClusterShell") -> None:
		super().__init__()
		self.launcher = launcher
		self.errors: dict[str, str] = {}

	def ev_read(self, _worker: Any, node: str, sname: str, msg: bytes) -> None:
		"""NODE has written the line MSG."""
		text = msg.decode(errors="replace")
		if sname == "stderr":
			self.errors[node] = f"{self.errors.get(node, '')} {text}".strip()[-KEPT:]
		else:
			self.launcher.tell(self.launcher.audience.said, str(node), text)

	def ev_hup(self, _worker: Any, node: str, rc: int) -> None:
		"""The command on NODE has ended."""
		said = self.errors.pop(node, "it said nothing")
		self.launcher.tell(self.launcher.audience.ended, str(node), f"{said} (status {rc})")

	def ev_msg(self, _port: Any, msg: bytes | None) -> None:
		"""MSG is for all nodes; None ends their stdin."""
		worker = self.launcher.worker
		if msg is None:
			worker.set_write_eof()
		else:
			worker.write(msg)


class ClusterShell(Launcher):
	"""Runs the command by ClusterShell: ssh or what its configuration says, and through
	gateways where topology.conf has some."""

	NEEDS = "ClusterShell cannot be imported; install python3-clustershell"

	def __init__(self, words: list[str], audience: Audience) -> None:
		super().__init__(words, audience)
		self.loop = asyncio.get_running_loop()
		self.worker: Any = None
		self.port: Any = None
		self.task: Any = None
		self.hosts: list[str] = []
		self.ready = threading.Event()
		# Why it could not begin.
		self.trouble: Exception | None = None
		self.thread = threading.Thread(target=self._run, name="ClusterShell", daemon=True)

	@classmethod
	def usable(cls) -> bool:
		return Task is not None

	def start(self, hosts: list[str]) -> None:
		self.hosts = hosts
		self.thread.start()
		self.ready.wait()
		if self.trouble:
			self.thread.join()
			raise Quit("--launcher clustershell: "
				   f"{type(self.trouble).__name__}: {self.trouble}") from self.trouble

	def tell(self, function: Any, *arguments: str) -> None:
		"""Call FUNCTION in the event loop's thread."""
		# The loop may have ended.
		with contextlib.suppress(RuntimeError):
			self.loop.call_soon_threadsafe(function, *arguments)

	def _run(self) -> None:
		"""The thread of the engine."""
		try:
			self.task = task_self()
			# None of these ends before all have begun, so none may wait for its turn.
			self.task.set_info("fanout", max(len(self.hosts), 1))
			self.task.set_info("connect_timeout", CONNECT)
			self.task.set_default("stdout_msgtree", False)
			self.task.set_default("stderr_msgtree", False)
			if os.path.exists(TOPOLOGY):
				self.task.load_topology(TOPOLOGY)
			events = Events(self)
			self.port = self.task.port(handler=events, autoclose=True)
			self.worker = self.task.shell(
				f"exec {shlex.join(self.words)}", nodes=NodeSet.fromlist(self.hosts),
				handler=events, stderr=True, stdin=True)
		except Exception as error:
			# Such as a topology that makes no sense.
			self.trouble = error
			return
		finally:
			self.ready.set()
		reason = "ClusterShell has ended"
		try:
			self.task.resume()
		except Exception as error:
			reason += f": {error}"
		for host in self.hosts:
			self.tell(self.audience.ended, host, reason)

	def send(self, line: str) -> None:
		if self.port and self.thread.is_alive():
			self.port.msg_send(line.encode())

	async def stop(self) -> None:
		if self.thread.is_alive() and self.port:
			self.port.msg_send(None)
		if not await self._joined() and self.task:
			self.task.abort()
			await self._joined()

	async def _joined(self) -> bool:
		"""Wait for the end of the engine, and return whether it came."""
		deadline = self.loop.time() + PATIENCE
		while self.thread.is_alive() and self.loop.time() < deadline:
			await asyncio.sleep(LOOK)
		return not self.thread.is_alive()
