"""Commands about apps: `am`, `pm`, `monkey`, `ime`."""

from distrl.devices.sim.adbd.android import KEYBOARD, PLAIN_KEYBOARD, Android, Result, complain, say
from distrl.devices.sim.adbd.input_commands import broadcast

HOME_CATEGORY = "android.intent.category.HOME"


def am(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`am start|force-stop|broadcast ...`."""
    kind, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if kind in ("start", "start-activity"):
        return _start(android, rest)
    if kind == "force-stop" and rest:
        app_id = android.app_of(rest[-1])
        if app_id:
            android.stop_app(app_id)
        return Result()
    if kind == "broadcast":
        return broadcast(android, rest)
    if kind == "stack" and rest == ["list"]:
        package, name = android.component()
        component = f"{package}/{package}{name}"
        return say(f"  taskId=12: {component} visible=true topActivity=ComponentInfo{{{component}}}\n")
    return complain(f"Unknown command: {kind}\n", status=255)


def _start(android: Android, words: list[str]) -> Result:
    intent = f"Starting: Intent {{ {' '.join(words)} }}\n"
    if HOME_CATEGORY in words:
        android.phone.home()
        return say(intent)
    target = words[words.index("-n") + 1] if "-n" in words[:-1] else (words[-1] if words else "")
    package = target.partition("/")[0]
    app_id = android.app_of(package)
    if app_id is None:
        problem = f"Error type 3\nError: Activity class {{{target}}} does not exist.\n"
        return Result(out=intent.encode(errors="replace"), err=problem.encode(errors="replace"), status=1)
    android.open_app(app_id)
    return say(intent)


def pm(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`pm list packages|clear|path ...`."""
    if arguments[:2] == ["list", "packages"]:
        wanted = next((a for a in arguments[2:] if not a.startswith("-")), "")
        return say("".join(f"package:{name}\n" for name in android.packages() if wanted in name))
    if arguments[:1] == ["clear"] and len(arguments) > 1:
        app_id = android.app_of(arguments[-1])
        if app_id is None:
            return say("Failed\n", status=1)
        android.clear_app(app_id)
        return say("Success\n")
    if arguments[:1] == ["path"] and len(arguments) == 2:
        is_there = arguments[1] in android.packages()
        return say(f"package:/data/app/{arguments[1]}/base.apk\n" if is_there else "", status=0 if is_there else 1)
    return complain(f"Unknown command: {' '.join(arguments[:1])}\n", status=255)


def monkey(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`monkey -p PACKAGE 1`, which everybody uses to start an app; it plays no further."""
    package = arguments[arguments.index("-p") + 1] if "-p" in arguments[:-1] else ""
    app_id = android.app_of(package)
    if app_id is None:
        return say("** No activities found to run, monkey aborted.\n", status=252)
    android.open_app(app_id)
    return say("Events injected: 1\n## Network stats: elapsed time=1ms\n")


def ime(android: Android, arguments: list[str], stdin: bytes) -> Result:
    """`ime list|set`: the input methods."""
    known = [PLAIN_KEYBOARD, *([KEYBOARD] if android.has_adb_keyboard else [])]
    if arguments[:1] == ["list"]:
        return say("".join(f"{name}\n" for name in known))
    if arguments[:1] in (["set"], ["enable"]) and len(arguments) == 2:
        if arguments[1] not in known:
            return complain(f"Unknown input method {arguments[1]} cannot be selected for user #0\n", status=255)
        if arguments[0] == "set":
            android.settings[("secure", "default_input_method")] = arguments[1]
        return say(f"Input method {arguments[1]} selected for user #0\n")
    return complain("usage: ime list|enable|set\n", status=255)


PACKAGE_COMMANDS = {"am": am, "pm": pm, "monkey": monkey, "ime": ime}
