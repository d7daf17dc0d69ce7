"""ApiModule.__makeattr: whoever comes second finds that the first access was made, and not yet what it makes."""
import sys
import types

import apipkg

CAUSE = ("apipkg/__init__.py", ['target = self.__map__.pop("__onfirstaccess__")', "raise AttributeError(name)"])


def make_package(name):
    implementation = types.ModuleType(name + "_implementation")
    sys.modules[name + "_implementation"] = implementation
    module = types.ModuleType(name)
    sys.modules[name] = module

    def on_first_access():
        for number in range(2):
            setattr(implementation, f"filler{number}", number)
        setattr(sys.modules[name], "made", 42)

    implementation.on_first_access = on_first_access
    apipkg.initpkg(name, {"__onfirstaccess__": f"{name}_implementation:on_first_access"})
    return sys.modules[name]


def test_two_ask_at_once(in_threads):
    for number in range(1):
        package = make_package(f"package{number}")
        in_threads(lambda: package.made, lambda: package.made)
