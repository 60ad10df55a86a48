"""The built-in phone as an adbd: unmodified adb and everything built upon it can drive it, over loopback only.

Bytes of the adb server come in (packets.py, connection.py, server.py), are opened as services (services.py, sync.py)
and run as commands (shell.py, *_commands.py) on what Android is around a phone (android.py). Nothing that arrives is
ever executed on the host: a command is a function here, or it is `not found`.
"""
