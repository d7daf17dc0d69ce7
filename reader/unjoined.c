// SPDX-License-Identifier: Apache-2.0
#include "reader/unjoined.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/atomics.h"
#include "reader/run.h"

/* Explain an errno of a process that makes its files in the session. */
static void explain(int error, const char *session_dir, char *text, size_t bytes)
{
	const char *why = NULL;

	if (error == EACCES || error == EPERM || error == EROFS)
		why = "it runs as another user, or has no write permission";
	else if ((error == ENOENT || error == ENOTDIR) && access(session_dir, F_OK))
		why = "the session's folder was removed";
	else if (error == ENOENT || error == ENOTDIR)
		why = "it is in a chroot or in another mount namespace";
	else if (error == ENOSPC || error == EDQUOT)
		why = "the session's file system is full";
	else if (error == EMFILE || error == ENFILE)
		why = "it has no free file descriptor";
	snprintf(text, bytes, "cannot create its files in the session: %s%s%s%s", strerror(error), why ? " (" : "",
		 why ? why : "", why ? ")" : "");
}

static void tell(struct kymo_reader *reader, const struct kymo_unjoined *entry, const char *session_dir)
{
	Kymo__Unrecorded unrecorded = KYMO__UNRECORDED__INIT;
	char folder[KYMO_FOLDER_BYTES], reason[256];

	memcpy(folder, entry->forked_from, sizeof folder);
	folder[sizeof folder - 1] = 0;
	/* Folders have plain names; nothing else is passed on. */
	for (char *at = folder; *at; at++)
		if (*at < '!' || *at > '~')
			*at = '?';
	unrecorded.pid = entry->pid;
	unrecorded.forked_from = folder;
	unrecorded.reason = reason;
	explain(entry->error > 0 && entry->error < 4096 ? entry->error : EIO, session_dir, reason, sizeof reason);
	kymo_unrecorded_tell(reader, &unrecorded);
}

/* Returns how many were reported. */
static uint32_t take(struct kymo_reader *reader, const char *session_dir)
{
	struct kymo_session_page *page = reader->session.page;
	uint32_t told = 0;

	for (uint32_t i = 0; i < KYMO_UNJOINED; i++) {
		struct kymo_unjoined *entry = &page->unjoined[i];

		/* Acquire: the entry comes with the word.  Pairs with the release store in tell_unjoined(). */
		if (kymo_load_acquire_u32(&entry->state) != KYMO_UNJOINED_TOLD)
			continue;
		tell(reader, entry, session_dir);
		told++;
		if (reader->access != KYMO_ACCESS_DRAIN)
			continue;
		kymo_store_release_u32(&entry->state, KYMO_UNJOINED_FREE);
		kymo_add_u32(&page->processes_unrecorded, UINT32_MAX);
	}
	return told;
}

void kymo_unjoined_take(struct kymo_reader *reader, const char *session_dir)
{
	/* Relaxed: the entries' own words are looked at next; one that comes later is taken later. */
	if (kymo_load_relaxed_u32(&reader->session.page->processes_unrecorded))
		take(reader, session_dir);
}

void kymo_unjoined_finish(struct kymo_reader *reader, const char *session_dir)
{
	Kymo__Unrecorded others = KYMO__UNRECORDED__INIT;
	static char reason[] = "could not create its files in the session; the details did not fit";
	uint32_t told = take(reader, session_dir);

	others.count = kymo_load_relaxed_u32(&reader->session.page->processes_unrecorded);
	if (reader->access != KYMO_ACCESS_DRAIN)
		others.count -= told < others.count ? told : others.count;
	others.reason = reason;
	if (others.count)
		kymo_unrecorded_tell(reader, &others);
}
