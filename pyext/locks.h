// SPDX-License-Identifier: Apache-2.0
/*
 * Locks for what interpreters with GILs of their own share.  No two are held at once, but a lock of the recorder's may be
 * taken within one.  A forked child finds all of them free, and what they guard whole.
 */
#ifndef KYMO_PYEXT_LOCKS_H
#define KYMO_PYEXT_LOCKS_H

enum kymo_lock {
	KYMO_LOCK_PYTHONS,
	KYMO_LOCK_RECORDING,
	KYMO_LOCK_FILTER,
	KYMO_LOCK_CONTENTS,
	KYMO_LOCK_STRINGS,
	KYMO_LOCKS,
};

/* Held for moments, or as long as a definition waits for the reader; never while the GIL is let go. */
void kymo_lock(enum kymo_lock lock);
void kymo_unlock(enum kymo_lock lock);

#endif
