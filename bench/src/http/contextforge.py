"""Starts ContextForge before one server, and makes it known there. `start PORT FOLDER` or `register PORT FOLDER URL`."""

import json
import os
import secrets
import subprocess
import sys
import urllib.request

mode, port, folder = sys.argv[1:4]
token_file = os.path.join(folder, "token")


def start():
    os.environ.update(
        DATABASE_URL=f"sqlite:///{folder}/contextforge.db",
        JWT_SECRET_KEY=secrets.token_urlsafe(40),
        AUTH_ENCRYPTION_SECRET=secrets.token_urlsafe(40),
        BASIC_AUTH_PASSWORD=secrets.token_urlsafe(20) + "a1!",
        PLATFORM_ADMIN_PASSWORD=secrets.token_urlsafe(20) + "a1!",
        CACHE_TYPE="memory",
        LOG_LEVEL="ERROR",
        MCPGATEWAY_UI_ENABLED="false",
        RATE_LIMITING_ENABLED="false",
        SSRF_ALLOW_LOCALHOST="true",
        SSRF_ALLOW_PRIVATE_NETWORKS="true",
    )
    make = [sys.executable, "-m", "mcpgateway.utils.create_jwt_token", "-u", "admin@example.com", "--admin", "-e", "60"]
    with open(token_file, "w") as file:
        words = subprocess.run(make, capture_output=True, text=True, check=True, cwd=folder).stdout.split()
        file.write(words[-1])
    os.chdir(folder)
    program = os.path.join(os.path.dirname(sys.executable), "mcpgateway")
    os.execv(program, [program, "--host", "127.0.0.1", "--port", port, "--log-level", "error", "--no-access-log"])


def register(url):
    with open(token_file) as file:
        token = file.read()

    def ask(path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    ask("/gateways", {"name": "bench", "url": url, "transport": "STREAMABLEHTTP"})
    tool = ask("/tools")[0]
    server = ask("/servers", {"server": {"name": "bench", "associated_tools": [tool["id"]]}})
    print(f"/servers/{server['id']}/mcp", tool["name"], token)


start() if mode == "start" else register(sys.argv[4])
