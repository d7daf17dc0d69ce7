// SPDX-License-Identifier: Apache-2.0
#include "replay/debugger/dap_files.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/trace/sources.h"

static int compare_files(const void *left, const void *right)
{
	const struct kymo_dap_file *a = left, *b = right;

	int order = strcmp(a->recorded, b->recorded);

	return order ? order : ((uintptr_t)a->kept > (uintptr_t)b->kept) - ((uintptr_t)a->kept < (uintptr_t)b->kept);
}

static struct kymo_dap_file file_of(const struct kymo_dap *dap, const struct kymo_content *content)
{
	const struct kymo_definitions *definitions = &dap->trace.timeline.definitions;

	return (struct kymo_dap_file){
		.recorded = content->file,
		.process = kymo_traced_find(definitions, content->process),
		.content = content,
		.kept = content->source ? kymo_content_source_place(definitions, NULL, content) : NULL,
	};
}

/* "<string>", "<frozen os>": names that are no paths. */
static bool is_path(const char *recorded)
{
	return *recorded && *recorded != '<';
}

/* @file in @folder, without "." and "..", as far as its text goes. */
static char *join(const char *folder, const char *file)
{
	char *path = malloc(strlen(folder) + strlen(file) + 3), *end = path;
	const char *parts[] = {*file == '/' ? "" : folder, file};

	for (size_t i = 0; path && i < 2; i++)
		for (const char *at = parts[i]; *at;) {
			size_t length = strcspn(at, "/");

			if (length == 2 && !memcmp(at, "..", 2)) {
				while (end > path && *--end != '/')
					;
			} else if (length && !(length == 1 && *at == '.')) {
				*end++ = '/';
				memcpy(end, at, length);
				end += length;
			}
			at += length;
			at += *at == '/';
		}
	if (path)
		*end = '\0';
	return path;
}

/* The text of @file in the trace.  False: it has none. */
static bool read_text(struct kymo_dap *dap, const struct kymo_dap_file *file, struct kymo_source *text)
{
	if (kymo_content_source(&dap->trace.timeline, file->process, file->content, text, NULL))
		return false;
	if (text->text)
		return true;
	kymo_source_release(text);
	return false;
}

/* True if the regular file @path holds @text. */
static bool holds(const char *path, const struct kymo_source *text)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char block[65536];
	struct stat facts;
	size_t at = 0;
	ssize_t got = 0;

	if (fd < 0)
		return false;
	if (!fstat(fd, &facts) && S_ISREG(facts.st_mode) && (size_t)facts.st_size == text->bytes) {
		while ((got = read(fd, block, sizeof(block))) > 0 && (size_t)got <= text->bytes - at &&
		       !memcmp(block, text->text + at, (size_t)got))
			at += (size_t)got;
		got = got || at != text->bytes;
	} else {
		got = 1;
	}
	close(fd);
	return !got;
}

static bool is_regular(const char *path)
{
	struct stat facts;

	return !stat(path, &facts) && S_ISREG(facts.st_mode);
}

/* The place of @file below the source root: where it was, or where what it ends with lies there and is the same. */
static void find_below_root(struct kymo_dap *dap, struct kymo_dap_file *file)
{
	size_t length = strlen(dap->source_root);
	struct kymo_source text;
	bool has_text;

	if (!strncmp(file->path, dap->source_root, length) && file->path[length] == '/') {
		file->is_named = true;
		return;
	}
	has_text = read_text(dap, file, &text);
	for (const char *end = file->path; end && !file->is_named; end = strchr(end + 1, '/')) {
		char *path = join(dap->source_root, end + 1);

		if (path && (has_text ? holds(path, &text) : is_regular(path))) {
			free(file->path);
			file->path = path;
			file->is_named = file->is_known = file->is_on_disk = true;
			break;
		}
		free(path);
	}
	if (has_text)
		kymo_source_release(&text);
}

static int find_path(struct kymo_dap *dap, struct kymo_dap_file *file, struct kymo_error *error)
{
	const Kymo__Process *process = file->process ? file->process->definition : NULL;

	if (!is_path(file->recorded))
		return 0;
	file->path = join(process ? process->working_directory : "", file->recorded);
	if (!file->path)
		return kymo_fail(error, -ENOMEM, "out of memory");
	if (dap->source_root)
		find_below_root(dap, file);
	return 0;
}

int kymo_dap_set_source_root(struct kymo_dap *dap, const char *folder, struct kymo_error *error)
{
	char *here = get_current_dir_name();

	free(dap->source_root);
	dap->source_root = here ? join(here, folder) : NULL;
	free(here);
	return dap->source_root ? 0 : kymo_fail(error, -ENOMEM, "out of memory");
}

int kymo_dap_list_files(struct kymo_dap *dap, struct kymo_error *error)
{
	const struct kymo_hits *hits = &dap->trace.index.hits;
	size_t count = 0;
	int result = 0;

	dap->files = calloc(hits->content_count + 1, sizeof(*dap->files));
	if (!dap->files)
		return kymo_fail(error, -ENOMEM, "out of memory");
	for (uint32_t i = 1; i < hits->content_count; i++)
		dap->files[count++] = file_of(dap, hits->contents[i].content);
	dap->shown = (struct kymo_shown_files){0};
	kymo_shown_files_read(&dap->shown, &dap->trace.timeline.definitions);
	qsort(dap->files, count, sizeof(*dap->files), compare_files);
	for (size_t i = 0; i < count && !result; i++) {
		struct kymo_dap_file *last = &dap->files[dap->file_count];

		if (dap->file_count && !compare_files(last - 1, &dap->files[i]))
			continue;
		*last = dap->files[i];
		dap->file_count++;
		result = find_path(dap, last, error);
	}
	return result;
}

void kymo_dap_forget_files(struct kymo_dap *dap)
{
	for (size_t i = 0; i < dap->file_count; i++)
		free(dap->files[i].path);
	free(dap->files);
	dap->files = NULL;
	dap->file_count = 0;
}

struct kymo_dap_file *kymo_dap_file(const struct kymo_dap *dap, const struct kymo_content *content)
{
	const struct kymo_dap_file wanted = file_of(dap, content);

	return bsearch(&wanted, dap->files, dap->file_count, sizeof(wanted), compare_files);
}

static int64_t reference(const struct kymo_dap *dap, const struct kymo_dap_file *file)
{
	return file - dap->files + 1;
}

#define FILE_SCHEME "file://"

static bool is_plain(unsigned char character)
{
	return isalnum(character) || strchr("/-._~", character);
}

/* @path as a file: URI; NULL: no memory. */
static char *encode_path(const char *path)
{
	static const char digits[] = "0123456789ABCDEF";
	char *uri = malloc(sizeof(FILE_SCHEME) + 3 * strlen(path)), *at = uri;

	if (!uri)
		return NULL;
	at = stpcpy(at, FILE_SCHEME);
	for (; *path; path++) {
		unsigned char byte = (unsigned char)*path;

		if (is_plain(byte)) {
			*at++ = *path;
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	*at = '\0';
	return uri;
}

static int digit(char character)
{
	return isdigit((unsigned char)character) ? character - '0' : isxdigit((unsigned char)character) ? (character | 0x20) - 'a' + 10 : -1;
}

/* The path that @uri, of this machine, stands for, or @uri itself where it is none; NULL: no memory. */
static char *decode_path(const char *uri)
{
	const char *path = strncmp(uri, FILE_SCHEME, strlen(FILE_SCHEME)) ? NULL : strchr(uri + strlen(FILE_SCHEME), '/');
	char *text = strdup(path ? path : uri), *to = text;

	for (const char *at = text; path && to && *at; to++) {
		int high = *at == '%' ? digit(at[1]) : -1, low = high < 0 ? -1 : digit(at[2]);

		*to = low < 0 ? *at : (char)(high << 4 | low);
		at += low < 0 ? 1 : 3;
	}
	if (path && to)
		*to = '\0';
	return text;
}

bool kymo_dap_names_file(const struct kymo_dap *dap, const json_t *source, const struct kymo_dap_file *file)
{
	int64_t wanted = kymo_dap_integer(source, "sourceReference", 0);
	const char *told = kymo_dap_string(source, "path");
	char *path;
	bool is_named;

	if (wanted)
		return wanted == reference(dap, file);
	path = told && dap->has_uris ? decode_path(told) : NULL;
	told = path ? path : told;
	is_named = told && (!strcmp(told, file->recorded) || (file->path && !strcmp(told, file->path)));
	free(path);
	return is_named;
}

void kymo_dap_name_file(struct kymo_dap_file *file)
{
	if (!file->is_named) {
		file->is_named = true;
		file->is_known = false;
	}
}

/* True if the client can open the file at its path itself: there is no other text, or it is the same. */
static bool is_on_disk(struct kymo_dap *dap, struct kymo_dap_file *file)
{
	struct kymo_source text;

	if (file->is_known)
		return file->is_on_disk;
	file->is_known = true;
	file->is_on_disk = true;
	if (read_text(dap, file, &text)) {
		file->is_on_disk = file->path && file->is_named && holds(file->path, &text);
		kymo_source_release(&text);
	}
	return file->is_on_disk;
}

json_t *kymo_dap_source_of(struct kymo_dap *dap, struct kymo_dap_file *file)
{
	const char *slash = file->path ? strrchr(file->path, '/') : NULL;
	json_t *source = json_pack("{s:o}", "name", kymo_dap_text(slash ? slash + 1 : file->recorded));
	char *uri = file->path && dap->has_uris ? encode_path(file->path) : NULL;

	if (file->path)
		json_object_set_new(source, "path", kymo_dap_text(uri ? uri : file->path));
	free(uri);
	if (!is_on_disk(dap, file)) {
		json_object_set_new(source, "sourceReference", json_integer(reference(dap, file)));
		json_object_set_new(source, "origin", json_string("as recorded"));
	} else if (!file->path) {
		json_object_set_new(source, "presentationHint", json_string("deemphasize"));
	}
	return source;
}

/* As text: what is no UTF-8 is taken for Latin-1, of which any bytes are some text. */
static json_t *decode(const struct kymo_source *source)
{
	json_t *text = json_stringn(source->text, source->bytes);
	char *copy = text ? NULL : malloc(2 * source->bytes + 1);
	size_t length = 0;

	for (size_t i = 0; copy && i < source->bytes; i++) {
		unsigned char byte = (unsigned char)source->text[i];

		if (byte >= 0x80)
			copy[length++] = (char)(0xC0 | byte >> 6);
		copy[length++] = (char)(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte);
	}
	if (copy)
		text = json_stringn(copy, length);
	free(copy);
	return text;
}

int kymo_dap_source(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	int64_t wanted = kymo_dap_integer(arguments, "sourceReference", 0);
	struct kymo_source text;
	int result;

	if (!wanted)
		wanted = kymo_dap_integer(json_object_get(arguments, "source"), "sourceReference", 0);
	if (wanted < 1 || (uint64_t)wanted > dap->file_count)
		return kymo_fail(error, -EINVAL, "unknown sourceReference");
	result = kymo_content_source(&dap->trace.timeline, dap->files[wanted - 1].process, dap->files[wanted - 1].content, &text, error);
	if (result)
		return result;
	if (text.text)
		result = kymo_dap_answer(
			body, json_pack("{s:o, s:s}", "content", decode(&text), "mimeType", "text/x-python"), error);
	else
		result = kymo_fail(error, -ENOENT, "%s: %s", dap->files[wanted - 1].recorded, text.missing);
	kymo_source_release(&text);
	return result;
}

int kymo_dap_loaded_sources(struct kymo_dap *dap, const json_t *arguments, json_t **body, struct kymo_error *error)
{
	json_t *sources = json_array();

	(void)arguments;
	for (size_t i = 0; i < dap->file_count; i++)
		json_array_append_new(sources, kymo_dap_source_of(dap, &dap->files[i]));
	return kymo_dap_answer(body, json_pack("{s:o}", "sources", sources), error);
}
