# SPDX-License-Identifier: Apache-2.0


class Recorder:
    """The fixture `kymo_recorder`.  It does nothing if nothing is recorded."""

    @property
    def is_recording(self) -> bool:
        from kymo import is_recording

        return is_recording()

    def mark(self, text: str) -> None:
        """Put an event with this text into the trace, here."""
        from kymo import mark

        mark(text)
