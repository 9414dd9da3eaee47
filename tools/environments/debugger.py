"""debugpy stops in a Module's forward, steps into what it calls, and shows the tensor there."""

import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x)

class Inner(torch.nn.Module):
    def forward(self, x):
        y = x.relu()
        return y

print(Net()(torch.tensor([-1.0, 2.0])))
"""


class Client:
    """Enough of the debug adapter's protocol."""

    def __init__(self, port):
        self.unread = []
        for _ in range(100):
            try:
                self.file = socket.create_connection(("127.0.0.1", port), timeout=60).makefile("rwb")
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("no debugger")

    def send(self, command, **arguments):
        body = json.dumps({"seq": 1, "type": "request", "command": command, "arguments": arguments}).encode()
        self.file.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.file.flush()

    def wait(self, kind, name):
        """The first message of that kind and name that nobody waited for yet."""
        word = "event" if kind == "event" else "command"
        while True:
            for message in self.unread:
                if message["type"] == kind and message.get(word) == name:
                    self.unread.remove(message)
                    return message.get("body")
            size = 0
            while line := self.file.readline().strip():
                size = int(line.split(b":")[1])
            self.unread.append(json.loads(self.file.read(size)))

    def ask(self, command, **arguments):
        self.send(command, **arguments)
        return self.wait("response", command)


def main():
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        path = Path(folder, "program.py")
        path.write_text(PROGRAM)
        with subprocess.Popen(
            [
                sys.executable,
                "-Xfrozen_modules=off",
                "-m",
                "debugpy",
                "--listen",
                str(port),
                "--wait-for-client",
                str(path),
            ],
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            client = Client(port)
            client.ask("initialize", adapterID="test", pathFormat="path", linesStartAt1=True)
            client.send("attach", justMyCode=True)
            client.wait("event", "initialized")
            client.ask("setBreakpoints", source={"path": str(path)}, breakpoints=[{"line": 8}])
            client.send("configurationDone")
            thread = client.wait("event", "stopped")["threadId"]
            place = client.ask("stackTrace", threadId=thread)["stackFrames"]
            assert place[0]["line"] == 8 and place[0]["name"].endswith("forward"), place
            client.ask("stepIn", threadId=thread)
            client.wait("event", "stopped")
            place = client.ask("stackTrace", threadId=thread)["stackFrames"]
            assert place[0]["line"] == 12, place
            shown = client.ask("evaluate", expression="x", frameId=place[0]["id"])
            assert shown["result"] == "tensor([-1.,  2.])", shown
            client.ask("next", threadId=thread)
            client.wait("event", "stopped")
            place = client.ask("stackTrace", threadId=thread)["stackFrames"]
            assert place[0]["line"] == 13, place
            client.send("continue", threadId=thread)
            client.wait("event", "terminated")
            client.send("disconnect")
            assert child.stdout.read().strip() == "tensor([0., 2.])"
    print("stepped into", place[0]["name"])


main()
