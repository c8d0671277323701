# SPDX-License-Identifier: GPL-2.0
"""A browser without a window, which opens pages, clicks, and takes pictures. It is led over two
pipes by its DevTools protocol: JSON objects, each with a NUL behind it."""

import base64
import contextlib
import json
import os
import selectors
import shlex
import subprocess
import tempfile
import time

# The directory that scripts/browser has printed, if any.
DIRECTORY = os.environ.get("BROWSER", "")
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
PROGRAM = "/usr/lib/chromium/chromium-headless-shell"
# There is no display, no network, and root has no sandbox.
OPTIONS = ("--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
	   "--no-first-run", "--disable-background-networking", "--force-color-profile=srgb",
	   "--proxy-server=127.0.0.1:9")
# Seconds for an answer.
LIMIT = 60


class Browser:
	"""A browser with one page. Close it by contextlib.closing()."""

	def __init__(self):
		self.home = tempfile.TemporaryDirectory()
		down, self.down = os.pipe()
		self.up, up = os.pipe()
		libraries = DIRECTORY + LIBRARIES
		words = (DIRECTORY + PROGRAM, *OPTIONS, f"--user-data-dir={self.home.name}")
		with contextlib.ExitStack() as stack:
			for fd in (down, up):
				stack.callback(os.close, fd)
			# It reads from 3 and writes to 4.
			self.process = subprocess.Popen(
				("bash", "-c", f"exec {shlex.join(words)} 3<&{down} 4>&{up}"),
				stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
				stderr=subprocess.DEVNULL, pass_fds=(down, up),
				env=os.environ | {"HOME": self.home.name, "LD_LIBRARY_PATH":
						  f"{libraries}:{libraries}/pulseaudio"})
		self.number = 0
		self.pending = b""
		self.session = ""
		# What the page has asked the network for, and what went wrong in it.
		self.requests = []
		self.troubles = []
		target = self.call("Target.createTarget", url="about:blank")["targetId"]
		attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
		self.session = attached["sessionId"]
		for domain in ("Page", "Runtime", "Network", "Log"):
			self.call(f"{domain}.enable")

	def close(self):
		"""End it."""
		self.process.kill()
		self.process.wait()
		os.close(self.down)
		os.close(self.up)
		self.home.cleanup()

	def call(self, method, **parameters):
		"""Have METHOD done, and return what comes of it."""
		self.number += 1
		message = {"id": self.number, "method": method, "params": parameters}
		if self.session:
			message["sessionId"] = self.session
		os.write(self.down, json.dumps(message).encode() + b"\0")
		while True:
			answer = self._read()
			if answer.get("id") == self.number:
				assert "error" not in answer, (method, answer["error"])
				return answer["result"]

	def _read(self):
		"""The next message; events are noted."""
		deadline = time.monotonic() + LIMIT
		with selectors.DefaultSelector() as selector:
			selector.register(self.up, selectors.EVENT_READ)
			while b"\0" not in self.pending:
				assert selector.select(deadline - time.monotonic()), "the browser hangs"
				data = os.read(self.up, 1 << 16)
				assert data, f"the browser has ended: {self.process.wait()}"
				self.pending += data
		first, self.pending = self.pending.split(b"\0", 1)
		message = json.loads(first)
		if message.get("method") == "Network.requestWillBeSent":
			self.requests.append(message["params"]["request"]["url"])
		elif message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
			self.troubles.append(message["params"])
		return message

	def open(self, address, width=1280, height=900, dark=False):
		"""Open ADDRESS in a window of that size, where people like it DARK or light."""
		self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
			  deviceScaleFactor=1, mobile=False)
		self.call("Emulation.setEmulatedMedia", features=[
			{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
		# The same file with another fragment would not be loaded again.
		self.call("Page.navigate", url="about:blank")
		self.call("Page.navigate", url=address)
		deadline = time.monotonic() + LIMIT
		while self.value("location.href === 'about:blank' || document.readyState") != "complete":
			assert time.monotonic() < deadline, "the page is not loaded"

	def value(self, expression):
		"""The value of EXPRESSION in the page."""
		found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
		assert "exceptionDetails" not in found, found["exceptionDetails"]
		return found["result"].get("value")

	def text(self, selector):
		"""What can be read in the element of SELECTOR."""
		return self.value(f"document.querySelector({json.dumps(selector)}).innerText")

	def click(self, x, y):
		"""Click at a place of the window."""
		for kind in ("mousePressed", "mouseReleased"):
			self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
				  clickCount=1)

	def press(self, key):
		"""Press a key that has a name."""
		for kind in ("keyDown", "keyUp"):
			self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

	def picture(self):
		"""A picture of all of the page, as a PNG."""
		found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
		return base64.b64decode(found["data"])
