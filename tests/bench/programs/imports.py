# SPDX-License-Identifier: Apache-2.0
"""A hundred modules of the standard library, imported: thousands of code objects that run once."""
import importlib
import sys

ROUNDS = 1
MODULES = """
abc argparse ast asyncio base64 bdb bisect calendar cmd code codeop collections.abc colorsys compileall
concurrent.futures configparser contextlib copy csv ctypes dataclasses datetime decimal difflib dis doctest
email.message email.parser enum filecmp fileinput fnmatch fractions ftplib functools getopt getpass gettext glob
graphlib gzip hashlib heapq hmac html.parser http.client http.cookies http.cookiejar http.server imaplib importlib.metadata
importlib.resources inspect io ipaddress json keyword linecache locale logging.config logging.handlers mailbox
mimetypes modulefinder multiprocessing.pool netrc numbers operator optparse pathlib pdb pickle pickletools pkgutil
platform plistlib poplib pprint pstats py_compile pyclbr pydoc queue quopri random re reprlib rlcompleter runpy
sched secrets selectors shelve shlex shutil smtplib socket socketserver statistics string stringprep
subprocess symtable sysconfig tabnanny tarfile tempfile textwrap threading timeit tokenize trace traceback tracemalloc
types typing unittest.mock urllib.parse urllib.request urllib.robotparser uuid venv warnings wave weakref
webbrowser wsgiref.simple_server xml.dom.minidom xml.etree.ElementTree xml.sax xmlrpc.client xmlrpc.server zipapp zipfile zipimport
""".split()


def main(rounds):
    imported = 0
    for name in MODULES:
        try:
            importlib.import_module(name)
            imported += 1
        except ImportError:
            pass  # left out of this interpreter
    return imported * 1000003 + sum(name in sys.modules for name in MODULES)
