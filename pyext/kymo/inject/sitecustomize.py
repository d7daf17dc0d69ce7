# SPDX-License-Identifier: Apache-2.0
"""Record a Python that has no Kymo installed.

`kymo record` puts this folder first into PYTHONPATH.  Any Python may run this; old
versions do nothing here.
"""

import sys


def _join(here):
    """Record this process; true if its children are to be recorded, too."""
    extension = sys.modules.get("kymo._kymo")
    if extension is None:
        import _frozen_importlib
        import _imp
        from _frozen_importlib_external import ExtensionFileLoader

        path = here.rpartition("/")[0] + "/_kymo" + _imp.extension_suffixes()[0]
        loader = ExtensionFileLoader("kymo._kymo", path)
        extension = _frozen_importlib._load(
            _frozen_importlib.ModuleSpec("kymo._kymo", loader, origin=path)
        )
    return extension.join()


def _main():
    # Both are there: site has imported them.
    import os

    here = os.path.dirname(__file__)
    sys.path[:] = [path for path in sys.path if path != here]
    sys.path_importer_cache.pop(here, None)
    children = True
    if sys.version_info >= (3, 12) and os.environ.get("KYMO_SESSION"):
        try:
            children = _join(here)
        except Exception as error:
            sys.stderr.write("kymo: this Python is not recorded: %s\n" % error)
    if not children:
        rest = os.environ.get("PYTHONPATH", "").split(":")
        rest = [path for path in rest if path != here]
        os.environ.pop("KYMO_SESSION", None)
        if rest:
            os.environ["PYTHONPATH"] = ":".join(rest)
        else:
            os.environ.pop("PYTHONPATH", None)


_main()
# The sitecustomize that would have been found without us; if there is none, the error tells site.
del sys.modules["sitecustomize"]
import sitecustomize  # noqa: E402, F401
