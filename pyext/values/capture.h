// SPDX-License-Identifier: Apache-2.0
/*
 * Which values are recorded, and how they become records VALUES.
 *
 * One recorder for each interpreter, made with its first recording of values and never freed.  All functions: its GIL held.
 */
#ifndef KYMO_PYEXT_VALUES_CAPTURE_H
#define KYMO_PYEXT_VALUES_CAPTURE_H

#include "pyext/codes.h"
#include "pyext/values/writer.h"

/* A value of a chunk, which is written as SAME if it comes again. */
struct kymo_same {
	uint64_t epoch; /* of the chunk */
	uint64_t hash;	/* of its bytes */
	uint32_t at, bytes;
};

/* What a variable held when it was last recorded. */
struct kymo_told {
	const PyObject *object;
	uint64_t fingerprint;
};

/* A frame whose variables have been recorded. */
struct kymo_told_frame {
	const void *frame;
	const PyCodeObject *code;
	uint64_t epoch; /* of the chunk that has them */
	uint64_t first; /* number of its first variable among all that were ever recorded */
};

#define KYMO_SAME_BITS 10
#define KYMO_TOLD_BITS 14
#define KYMO_FRAME_BITS 10

struct kymo_value_recorder {
	Kymo__Values__Scope scope;
	bool is_flow;
	uint32_t max_bytes; /* of one event's values, names not included */
	struct kymo_value_writer writer;
	/* the block that is being written */
	struct kymo_producer *producer;
	uint8_t *block;
	/* values that may come again */
	struct kymo_same same[1 << KYMO_SAME_BITS];
	/* The newest are kept, by their number; frames by their address, two in a place. */
	uint64_t told_count;
	struct kymo_told told[1 << KYMO_TOLD_BITS];
	struct kymo_told_frame frames[1 << KYMO_FRAME_BITS][2];
};

/* Begin to record the values of @config in @python, or none; false with an exception set. */
bool kymo_values_begin(struct kymo_python *python, const Kymo__Config *config);

/* Whether events of @kind have values. */
bool kymo_values_are_at(const struct kymo_python *python, enum kymo_kind kind);

/* Decide whether values of @known's code are recorded, and which; @file: its co_filename. */
void kymo_values_decide(struct kymo_python *python, struct kymo_code *known, const char *file);

/* In a recording from which lines are rebuilt: true if the lines of @known are recorded, for variables that change there. */
bool kymo_values_need_lines(const struct kymo_python *python, const struct kymo_code *known);

/* Bytes that the values of an event of @known may take in a chunk. */
kymo_inline uint32_t kymo_values_room(const struct kymo_value_recorder *values, const struct kymo_code *known)
{
	return values->max_bytes + known->values.room;
}

/*
 * A block of values, in the open chunk of @p, which has room for it: open, add, close.  Closing makes it a record, unless nothing
 * was added.  Not committed: the next event does that.
 */
void kymo_values_open(struct kymo_value_recorder *values, struct kymo_producer *p);
void kymo_values_add(struct kymo_value_recorder *values, const struct kymo_code *known, uint64_t name, PyObject *object);
void kymo_values_close(struct kymo_value_recorder *values);

/* Add the arguments that @frame, of @known, has at its start. */
void kymo_values_add_arguments(struct kymo_value_recorder *values, const struct kymo_code *known, const void *frame);

/*
 * Add the variables of @frame, of @known, that changed after they were last recorded; all that have a value if the chunk has
 * none of this frame's, or the frame @is_new.
 */
void kymo_values_add_variables(struct kymo_value_recorder *values, const struct kymo_code *known, const void *frame, bool is_new);

/* The next record will have all variables of @frame. */
void kymo_values_forget_frame(struct kymo_value_recorder *values, const void *frame);

/* A record was taken back: it is no longer known which variables were recorded. */
void kymo_values_forget(struct kymo_value_recorder *values);

#endif
