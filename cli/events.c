// SPDX-License-Identifier: Apache-2.0
/* `kymo events`: the events of a trace, as text or as JSON lines. */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "replay/describe.h"
#include "replay/merge.h"
#include "replay/places.h"
#include "replay/text.h"

static const char help[] =
	"usage: kymo events [options] TRACE\n"
	"\n"
	"Print the events of a trace: within a thread in recorded order, between threads in the\n"
	"order in which they ran.\n"
	"\n"
	"  --jsonl            one JSON object a line\n"
	"  --process PID      only of this process\n"
	"  --thread T         only of this thread: its native id, its number or its name\n"
	"  --from TIME        only from here on: seconds since the start, or 12ms, 30us, 5ns\n"
	"  --to TIME          only up to here\n"
	"  --kind K[,K…]      only these events, e.g. LINE,RAISE,GAP,MARK\n"
	"  --file GLOB        only of code from files like this; without a / the last part counts\n"
	"  --function GLOB    only of functions whose qualified name is like this\n"
	"  --limit N          stop after N events\n"
	"  --help             this text\n";

struct slice {
	bool as_json;
	bool has_process;
	uint64_t process;
	const char *thread;
	int64_t from_ns, to_ns;
	uint64_t kinds;
	const char *file, *function;
	uint64_t limit;
	/* the last answer to what --file and --function ask */
	const struct kymo_code *asked;
	bool is_wanted;
};

static bool wants_stream(const struct kymo_stream *stream, void *context)
{
	const struct slice *slice = context;
	char number[24];

	if (slice->has_process && stream->process->pid != slice->process)
		return false;
	if (stream->start_ns > slice->to_ns)
		return false;
	if (!slice->thread)
		return true;
	snprintf(number, sizeof number, "%" PRIu32, stream->number);
	if (!strcmp(number, slice->thread))
		return true;
	if (!stream->thread)
		return false;
	snprintf(number, sizeof number, "%" PRIu64, stream->thread->native_id);
	return !strcmp(number, slice->thread) ||
	       (stream->thread->name && !strcmp(stream->thread->name, slice->thread));
}

static bool matches_file(const char *pattern, const char *file)
{
	const char *slash = strchr(pattern, '/') ? NULL : strrchr(file, '/');

	return !fnmatch(pattern, slash ? slash + 1 : file, 0);
}

static bool wants_code(struct slice *slice, const struct kymo_code *code)
{
	if (!slice->file && !slice->function)
		return true;
	if (!code)
		return false;
	if (code != slice->asked) {
		slice->asked = code;
		slice->is_wanted =
			(!slice->file || matches_file(slice->file, code->content->file)) &&
			(!slice->function ||
			 !fnmatch(slice->function, code->content->function, 0));
	}
	return slice->is_wanted;
}

static bool wants_event(struct slice *slice, const struct kymo_event *event)
{
	return event->t_ns >= slice->from_ns && event->t_ns <= slice->to_ns &&
	       slice->kinds >> event->kind & 1 && wants_code(slice, event->code);
}

static void put_field(FILE *out, const char *name, const char *value)
{
	fputs_unlocked(name, out);
	if (value)
		kymo_json_put(out, value);
	else
		fputs_unlocked("null", out);
}

static void put_number(FILE *out, const char *name, uint64_t value)
{
	fputs_unlocked(name, out);
	kymo_text_put_u64(out, value);
}

static void put_json_place(FILE *out, const struct kymo_event *event)
{
	const struct kymo_content *content = event->code ? event->code->content : NULL;
	int64_t line = kymo_event_line(event);

	put_field(out, ",\"file\":", content ? content->file : NULL);
	put_field(out, ",\"function\":", content ? content->function : NULL);
	if (event->kind >= KYMO_KINDS)
		return;
	fputs_unlocked(",\"line\":", out);
	if (line >= 0)
		kymo_text_put_i64(out, line);
	else
		fputs_unlocked("null", out);
	if (kymo_event_has_offset(event))
		put_number(out, ",\"offset\":", event->offset * KYMO_CODE_UNIT);
	if (kymo_event_has_dest(event))
		put_number(out, ",\"dest\":", event->dest * KYMO_CODE_UNIT);
}

static void put_json(FILE *out, const struct kymo_event *event)
{
	const struct kymo_traced_thread *thread = event->stream->thread;
	const char *role = kymo_event_name_role(event);
	char why[KYMO_LOSS_TEXT_BYTES];

	put_number(out, "{\"pid\":", event->stream->process->pid);
	put_number(out, ",\"tid\":", thread ? thread->native_id : 0);
	put_number(out, ",\"n\":", event->n);
	if (event->k)
		put_number(out, ",\"k\":", event->k);
	fputs_unlocked(",\"t_ns\":", out);
	kymo_text_put_i64(out, event->t_ns);
	put_number(out, ",\"t_err_ns\":", event->t_err_ns);
	put_field(out, ",\"event\":", kymo_event_kind_name(event->kind));
	if (event->kind == KYMO_EVENT_GAP) {
		put_number(out, ",\"lost\":", event->lost);
		put_field(out, ",\"why\":", kymo_loss_text(event->lost_reasons, why));
	} else {
		put_json_place(out, event);
	}
	if (role) {
		put_field(out, *role == 'c' ? ",\"callable\":" : ",\"exception\":", event->name);
	} else if (event->kind == KYMO_EVENT_MARK) {
		put_field(out, ",\"mark\":", event->text);
	} else if (event->kind == KYMO_EVENT_BRANCH_BIT) {
		fputs_unlocked(event->is_taken ? ",\"taken\":true" : ",\"taken\":false", out);
	}
	fputs_unlocked("}\n", out);
}

static void put_text(FILE *out, const struct kymo_event *event)
{
	const struct kymo_traced_thread *thread = event->stream->thread;
	char error[KYMO_TEXT_BYTES];

	fprintf(out, "%15.9f ±%-8s %7" PRIu32 " %7" PRIu64 " %9" PRIu64 "  %-17s ",
		(double)event->t_ns / 1e9, kymo_text_duration((double)event->t_err_ns, error),
		event->stream->process->pid, thread ? thread->native_id : 0, event->n,
		kymo_event_kind_name(event->kind));
	kymo_event_put_place(out, event);
	putc_unlocked('\n', out);
}

static int print(struct kymo_timeline *timeline, struct slice *slice, struct kymo_error *error)
{
	struct kymo_merge *merge;
	struct kymo_event event;
	uint64_t printed = 0;
	int result = kymo_merge_open(&merge, timeline, slice->from_ns, wants_stream, slice, error);

	if (result)
		return result;
	while (printed < slice->limit && !ferror(stdout) &&
	       (result = kymo_merge_next(merge, &event, error)) > 0) {
		/* What comes after this one happened after its lower bound. */
		if (event.t_ns - (int64_t)event.t_err_ns > slice->to_ns)
			break;
		if (!wants_event(slice, &event))
			continue;
		if (slice->as_json)
			put_json(stdout, &event);
		else
			put_text(stdout, &event);
		printed++;
	}
	kymo_merge_close(merge);
	return result < 0 ? result : 0;
}

static bool parse_time(char **argv, const char *option, const char *text, int64_t *ns)
{
	if (kymo_parse_time(text, ns))
		return true;
	kymo_usage_error(argv, "%s: '%s' is no time; write 1.5, 12ms, 30us or 5ns", option, text);
	return false;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct slice *slice)
{
	static const struct option options[] = {
		{"jsonl", no_argument, NULL, 'j'},	  {"process", required_argument, NULL, 'p'},
		{"thread", required_argument, NULL, 't'}, {"from", required_argument, NULL, 'a'},
		{"to", required_argument, NULL, 'b'},	  {"kind", required_argument, NULL, 'k'},
		{"file", required_argument, NULL, 'f'},	  {"function", required_argument, NULL, 'F'},
		{"limit", required_argument, NULL, 'n'},  {"help", no_argument, NULL, 'h'},
		{0},
	};
	bool is_good = true;
	int option;

	while (is_good && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			slice->as_json = true;
			break;
		case 'p':
			slice->has_process = true;
			is_good = kymo_parse_number(argv, "--process", optarg, &slice->process);
			break;
		case 't':
			slice->thread = optarg;
			break;
		case 'a':
			is_good = parse_time(argv, "--from", optarg, &slice->from_ns);
			break;
		case 'b':
			is_good = parse_time(argv, "--to", optarg, &slice->to_ns);
			break;
		case 'k':
			is_good = kymo_parse_kinds(argv, optarg, &slice->kinds);
			break;
		case 'f':
			slice->file = optarg;
			break;
		case 'F':
			slice->function = optarg;
			break;
		case 'n':
			is_good = kymo_parse_number(argv, "--limit", optarg, &slice->limit);
			break;
		case 'h':
			fputs(help, stdout);
			return KYMO_EXIT_OK;
		default:
			is_good = false;
		}
	}
	return is_good ? -1 : KYMO_EXIT_USAGE;
}

int kymo_command_events(int argc, char **argv)
{
	struct slice slice = {.from_ns = INT64_MIN, .to_ns = INT64_MAX, .limit = UINT64_MAX};
	struct kymo_timeline timeline;
	struct kymo_error error;
	const char *path;
	int status = parse(argc, argv, &slice);

	if (status >= 0)
		return status;
	if (!slice.kinds)
		slice.kinds = UINT64_MAX;
	path = kymo_single_operand(argc, argv, "trace");
	if (!path)
		return KYMO_EXIT_USAGE;
	if (kymo_timeline_open(&timeline, path, 0, &error))
		return kymo_report(&error);
	/* What is not asked for need not be rebuilt. */
	if (slice.kinds != UINT64_MAX)
		timeline.rebuilt_kinds = slice.kinds;
	status = print(&timeline, &slice, &error) ? kymo_report(&error) : KYMO_EXIT_OK;
	kymo_report_damage(&timeline.trace);
	kymo_timeline_close(&timeline);
	return status;
}
