// SPDX-License-Identifier: Apache-2.0
/* Moving to where a watched variable changes. */
#include "replay/moves/replay_walks.h"
#include "replay/moves/variable_watch.h"

int kymo_find_watched(struct kymo_replay *replay, bool is_forward, const struct kymo_moment *until, struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(replay->timeline, &replay->walker.event), best = {0}, found;
	enum kymo_watch_stop best_stop = KYMO_WATCH_NONE;
	int result;

	for (uint32_t i = 0; i < replay->watch_count; i++) {
		const struct kymo_watchpoint *watch = &replay->watches[i];
		const struct kymo_moment *limit = best_stop ? &best : until;
		int order = -1;

		result = is_forward ? kymo_watchpoint_after(replay, watch, &now, &found, error)
				    : kymo_watchpoint_before(replay, watch, &now, &found, error);
		if (result < 0)
			return result;
		if (!result)
			continue;
		if (limit)
			order = kymo_moment_compare(replay->timeline, &found, limit);
		if (!is_forward)
			order = limit ? -order : order;
		/* The end of a frame is less interesting. */
		if (order > 0 || (!order && (result == KYMO_WATCH_OVER || best_stop == KYMO_WATCH_CHANGED)))
			continue;
		replay->watched = watch;
		if (order || best_stop) {
			best = found;
			best_stop = (enum kymo_watch_stop)result;
		}
	}
	if (!best_stop)
		return 0;
	result = kymo_replay_seek(replay, best.stream, best.at, error);
	return result ? result : best_stop == KYMO_WATCH_CHANGED ? KYMO_STOP_WATCH : KYMO_STOP_WATCH_OVER;
}
