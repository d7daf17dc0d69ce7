"""tqdm.__init__: the set of all bars is walked without the lock while other threads add theirs."""
import io

from tqdm import tqdm

CAUSE = ("tqdm/_tqdm.py", ["positions = set(abs(inst.pos) for inst in cls._instances",
                           "self.pos = self._get_free_pos(self)", "cls._instances.add(instance)"])


def test_bars_in_threads(in_threads):
    tqdm.monitor_interval = 0
    shown = []

    def show():
        shown.extend(tqdm(total=1, file=io.StringIO()) for _ in range(25))

    def hide():
        assert all(bar.pos >= 0 for bar in [tqdm(total=1, disable=True) for _ in range(25)])

    show()
    in_threads(show, hide)
    assert len(shown) == 50
