// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "replay/library/arrow_batch.h"

#define TEXTS(which) .has_texts = true, .texts = KYMO_TEXTS_##which

const struct kymo_arrow_column_type kymo_arrow_columns[KYMO_ARROW_COLUMNS] = {
	[KYMO_COLUMN_THREAD] = {"thread", "I", 4},
	[KYMO_COLUMN_PID] = {"pid", "I", 4},
	[KYMO_COLUMN_TID] = {"tid", "L", 8, .is_nullable = true},
	[KYMO_COLUMN_THREAD_NAME] = {"thread_name", "i", 4, .is_nullable = true, TEXTS(THREADS)},
	[KYMO_COLUMN_N] = {"n", "L", 8},
	[KYMO_COLUMN_K] = {"k", "I", 4},
	[KYMO_COLUMN_T_NS] = {"t_ns", "l", 8},
	[KYMO_COLUMN_T_ERR_NS] = {"t_err_ns", "L", 8},
	[KYMO_COLUMN_INTERPRETER] = {"interpreter", "I", 4},
	[KYMO_COLUMN_TURN] = {"turn", "L", 8, .is_nullable = true},
	[KYMO_COLUMN_EVENT] = {"event", "C", 1, TEXTS(EVENTS)},
	[KYMO_COLUMN_FILE] = {"file", "i", 4, .is_nullable = true, TEXTS(FILES)},
	[KYMO_COLUMN_FUNCTION] = {"function", "i", 4, .is_nullable = true, TEXTS(FUNCTIONS)},
	[KYMO_COLUMN_LINE] = {"line", "i", 4, .is_nullable = true},
	[KYMO_COLUMN_OFFSET] = {"offset", "i", 4, .is_nullable = true},
	[KYMO_COLUMN_DEST] = {"dest", "i", 4, .is_nullable = true},
	[KYMO_COLUMN_NAME] = {"name", "i", 4, .is_nullable = true, TEXTS(NAMES)},
	[KYMO_COLUMN_LOST] = {"lost", "L", 8, .is_nullable = true},
	[KYMO_COLUMN_LOST_REASONS] = {"lost_reasons", "I", 4, .is_nullable = true},
	[KYMO_COLUMN_TASK] = {"task", "I", 4, .is_nullable = true},
	[KYMO_COLUMN_TASK_NAME] = {"task_name", "i", 4, .is_nullable = true, TEXTS(TASKS)},
};

static int find_column(const char *name, size_t length)
{
	for (int i = 0; i < KYMO_ARROW_COLUMNS; i++)
		if (strlen(kymo_arrow_columns[i].name) == length && !memcmp(kymo_arrow_columns[i].name, name, length))
			return i;
	return -1;
}

const char *kymo_arrow_shape_parse(struct kymo_arrow_shape *shape, const char *names)
{
	uint32_t seen = 0;

	shape->count = 0;
	for (uint8_t i = 0; !names && i < KYMO_ARROW_COLUMNS; i++)
		shape->columns[shape->count++] = i;
	while (names && *names) {
		size_t length = strcspn(names, ",");
		int column = find_column(names, length);

		if (column < 0 || seen & 1U << column)
			return names;
		seen |= 1U << column;
		shape->columns[shape->count++] = (uint8_t)column;
		names += length + (names[length] == ',');
	}
	return NULL;
}

/* Of a column or a dictionary; what its children and dictionary have not given away goes with it. */
static void release(struct ArrowSchema *schema)
{
	for (int64_t i = 0; i < schema->n_children; i++) {
		if (schema->children[i] && schema->children[i]->release)
			schema->children[i]->release(schema->children[i]);
		free(schema->children[i]);
	}
	free(schema->children);
	if (schema->dictionary && schema->dictionary->release)
		schema->dictionary->release(schema->dictionary);
	free(schema->dictionary);
	free(schema->private_data);
	schema->release = NULL;
}

static struct ArrowSchema *column_schema(const struct kymo_arrow_column_type *type)
{
	struct ArrowSchema *schema = calloc(1, sizeof *schema);

	if (!schema)
		return NULL;
	*schema = (struct ArrowSchema){
		.format = type->format,
		.name = type->name,
		.flags = type->is_nullable ? ARROW_FLAG_NULLABLE : 0,
		.release = release,
	};
	if (!type->has_texts)
		return schema;
	schema->dictionary = calloc(1, sizeof *schema);
	if (!schema->dictionary) {
		free(schema);
		return NULL;
	}
	*schema->dictionary = (struct ArrowSchema){.format = "u", .name = "", .release = release};
	return schema;
}

int kymo_arrow_schema(const struct kymo_arrow_shape *shape, const char *metadata, size_t metadata_bytes,
		      struct ArrowSchema *out)
{
	bool is_good;

	*out = (struct ArrowSchema){
		.format = "+s",
		.name = "",
		.children = calloc(shape->count + 1, sizeof(struct ArrowSchema *)),
		.release = release,
		.private_data = malloc(metadata_bytes + 1),
	};
	is_good = out->children && out->private_data;
	if (is_good && metadata)
		out->metadata = memcpy(out->private_data, metadata, metadata_bytes);
	for (; is_good && out->n_children < shape->count; out->n_children += is_good) {
		out->children[out->n_children] = column_schema(&kymo_arrow_columns[shape->columns[out->n_children]]);
		is_good = out->children[out->n_children];
	}
	if (!is_good)
		release(out);
	return is_good ? 0 : -ENOMEM;
}
