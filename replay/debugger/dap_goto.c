// SPDX-License-Identifier: Apache-2.0
/* Going to moments at which a line ran. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/dap_files.h"
#include "replay/moves/replay_hits.h"

static bool is_in_file(const struct kymo_break *at, const struct kymo_walker *walker, uint64_t hits)
{
	(void)hits;
	return !strcmp(at->context, walker->event.code->content->file);
}

static void add_target(struct kymo_dap *dap, json_t *targets, const char *label, int64_t line,
		       const struct kymo_moment *moment)
{
	char text[96];

	if (kymo_grow(&dap->targets, &dap->target_capacity, dap->target_count + 1, sizeof(*dap->targets)))
		return;
	snprintf(text, sizeof(text), "%s, at %.6f s", label, (double)moment->t_ns / 1e9);
	dap->targets[dap->target_count++] = (struct kymo_dap_target){++dap->last_target_id, *moment};
	json_array_append_new(targets, json_pack("{s:I, s:s, s:I}", "id", (json_int_t)dap->last_target_id, "label",
						 text, "line", (json_int_t)(line - 1 + dap->lines_from)));
}

/* The times nearest to this moment that @line of @file ran, and the first and the last time. */
static int find_targets(struct kymo_dap *dap, struct kymo_dap_file *file, int64_t line, json_t *targets,
			struct kymo_error *error)
{
	struct kymo_moment now = kymo_moment_of(&dap->trace.timeline, kymo_replay_event(&dap->replay));
	struct kymo_moment first = kymo_before_all(), end = kymo_after_all(), found;
	const struct {
		const char *label;
		const struct kymo_moment *from;
		bool is_forwards;
	} kinds[] = {
		{"the time before", &now, false},
		{"the next time", &now, true},
		{"the first time", &first, true},
		{"the last time", &end, false},
	};
	struct kymo_break *at = kymo_break_at_line(&dap->side.breaks, file->recorded, line);
	int result = at ? 0 : kymo_fail(error, -ENOMEM, "out of memory");

	if (!at)
		return result;
	at->context = (void *)file->recorded;
	at->wants = is_in_file;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && result >= 0; i++) {
		result = kinds[i].is_forwards ? kymo_replay_hit_after(&dap->side, kinds[i].from, &found, error)
					      : kymo_replay_hit_before(&dap->side, kinds[i].from, &found, error);
		if (result > 0)
			add_target(dap, targets, kinds[i].label, line, &found);
	}
	kymo_break_remove(&dap->side.breaks, at->id);
	return result < 0 ? result : 0;
}

int kymo_dap_goto_targets(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	const json_t *source = json_object_get(arguments, "source");
	int64_t line = kymo_dap_integer(arguments, "line", 0) + 1 - dap->lines_from;
	json_t *targets = json_array();
	int result = 0;

	dap->target_count = 0;
	for (size_t i = 0; i < dap->file_count && !result; i++)
		/* Texts of one name lie one behind the other. */
		if (kymo_dap_names_file(dap, source, &dap->files[i]) &&
		    !(json_array_size(targets) && !strcmp(dap->files[i - 1].recorded, dap->files[i].recorded)))
			result = find_targets(dap, &dap->files[i], line, targets, error);
	if (result) {
		json_decref(targets);
		return result;
	}
	return kymo_dap_answer(body, json_pack("{s:o}", "targets", targets), error);
}

int kymo_dap_goto(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	int64_t id = kymo_dap_integer(arguments, "targetId", 0);

	(void)body;
	for (size_t i = 0; i < dap->target_count; i++) {
		const struct kymo_dap_target *target = &dap->targets[i];
		size_t stream = kymo_replay_stream(&dap->replay);
		int result;

		if (target->id != id)
			continue;
		result = kymo_replay_seek(&dap->replay, target->moment.stream, target->moment.at, error);
		if (!result) {
			kymo_dap_tell_leaving(dap, stream);
			kymo_dap_stopped(dap, "goto", NULL, NULL);
		}
		return result;
	}
	return kymo_fail(error, -EINVAL, "unknown targetId");
}
