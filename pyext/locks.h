// SPDX-License-Identifier: Apache-2.0
/*
 * Locks for data shared by interpreters with GILs of their own.  No two are held at once, but a lock of the recorder may
 * be taken while one is held.  A forked child finds all of them free, and the data that they guard consistent.
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

/* Held for moments, or while a definition waits for the reader; never while the GIL is released. */
void kymo_lock(enum kymo_lock lock);
void kymo_unlock(enum kymo_lock lock);

#endif
