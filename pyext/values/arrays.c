// SPDX-License-Identifier: Apache-2.0
/*
 * numpy's arrays and scalars, by the layout that its C interface has fixed since 1.7; numpy is neither needed nor loaded.
 *
 * Items are read only if the memory is numpy's own, or belongs to an object that keeps it: reading a mapped file may
 * fault.
 */
#include "pyext/cpython/object_layout.h"

#include <math.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pyext/values/arrays.h"
#include "pyext/values/put.h"

/* Of arrays with more, only the type is recorded; numpy's own limit is 64. */
#define MAX_DIMENSIONS 64
#define MAX_VIEWS 8
#define DTYPE_TEXT 48

/* NPY_ARRAY_OWNDATA */
#define OWNS_DATA 4

struct dtype {
	PyObject_HEAD
	PyTypeObject *scalar;
	char kind, letter, byte_order, flags;
	int number; /* enum NPY_TYPES */
	union {
		struct {
			int bytes, alignment;
			void *parts[5]; /* subarray, fields, names, functions, metadata */
			const struct time_unit *unit; /* of DATETIME and TIMEDELTA, as below */
		} before_2;
		struct {
			uint64_t flags;
			Py_ssize_t bytes, alignment;
			PyObject *metadata;
			Py_hash_t hash;
			void *parts[5]; /* two that are reserved; subarray, fields, names */
			const struct time_unit *unit;
		} since_2;
	} size;
};

/* What a tick is: PyArray_DatetimeDTypeMetaData. */
struct time_unit {
	void *free, *clone, *reserved[2];
	struct tick {
		int unit, count;
	} tick;
};

enum number {
	BOOL,
	INT8,
	UINT8,
	INT16,
	UINT16,
	INT32,
	UINT32,
	LONG,
	ULONG,
	LONGLONG,
	ULONGLONG,
	FLOAT,
	DOUBLE,
	LONGDOUBLE,
	CFLOAT,
	CDOUBLE,
	CLONGDOUBLE,
	OBJECT,
	STRING,
	UNICODE,
	VOID,
	DATETIME,
	TIMEDELTA,
	HALF,
};

/* No type has more flags than 32, and none an alignment of 0. */
static Py_ssize_t item_bytes(const struct dtype *dtype)
{
	return dtype->size.before_2.alignment ? dtype->size.before_2.bytes : dtype->size.since_2.bytes;
}

static bool is_swapped(const struct dtype *dtype)
{
	return dtype->byte_order == (PY_LITTLE_ENDIAN ? '>' : '<');
}

/* The text for a tick after "datetime64" or "timedelta64", as in numpy; "": it has no unit. */
static void put_tick(char text[24], const struct tick *tick)
{
	static const char *const names[] = {"Y", "M", "W", NULL, "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};
	size_t unit = tick && tick->unit >= 0 ? (size_t)tick->unit : sizeof(names);

	*text = '\0';
	if (unit >= sizeof(names) / sizeof(names[0]) || !names[unit])
		return;
	if (tick->count == 1)
		snprintf(text, 24, "[%s]", names[unit]);
	else
		snprintf(text, 24, "[%d%s]", tick->count, names[unit]);
}

/* Types made of a class have no tick; all others of this kind are numpy's own. */
static const struct tick *tick_of(const struct dtype *dtype)
{
	const struct time_unit *unit = dtype->size.before_2.alignment ? dtype->size.before_2.unit : dtype->size.since_2.unit;

	return (dtype->number == DATETIME || dtype->number == TIMEDELTA) && unit ? &unit->tick : NULL;
}

/* As str() of the dtype, except for the fields of structures. */
static void name_dtype(const struct dtype *dtype, char text[DTYPE_TEXT])
{
	long bytes = (long)item_bytes(dtype);
	const char *name = NULL;
	char tick[24];

	put_tick(tick, tick_of(dtype));
	if (is_swapped(dtype) && !strchr("SOV", dtype->kind)) {
		snprintf(text, DTYPE_TEXT, ">%c%ld%s", dtype->kind, dtype->kind == 'U' ? bytes / 4 : bytes, tick);
	} else {
		switch (dtype->kind) {
		case 'b':
			name = "bool";
			break;
		case 'O':
			name = "object";
			break;
		case 'i':
			snprintf(text, DTYPE_TEXT, "int%ld", 8 * bytes);
			break;
		case 'u':
			snprintf(text, DTYPE_TEXT, "uint%ld", 8 * bytes);
			break;
		case 'f':
			snprintf(text, DTYPE_TEXT, "float%ld", 8 * bytes);
			break;
		case 'c':
			snprintf(text, DTYPE_TEXT, "complex%ld", 8 * bytes);
			break;
		case 'M':
		case 'm':
			snprintf(text, DTYPE_TEXT, "%s%s", dtype->kind == 'M' ? "datetime64" : "timedelta64", tick);
			break;
		case 'U':
			snprintf(text, DTYPE_TEXT, "<U%ld", bytes / 4);
			break;
		case 'S':
		case 'V':
			snprintf(text, DTYPE_TEXT, "|%c%ld", dtype->kind, bytes);
			break;
		default:
			name = "?";
		}
	}
	if (name)
		strcpy(text, name);
}

bool kymo_value_begin_array(struct kymo_value_writer *w, PyObject *object, const char *dtype, int dimensions)
{
	if (kymo_value_room(w) < 3 * KYMO_VALUE_HEAD + (size_t)dimensions * KYMO_VARINT_MAX_BYTES) {
		kymo_put_kind(w, KYMO_VALUE_CUT);
		return false;
	}
	kymo_put_kind(w, KYMO_VALUE_ARRAY);
	kymo_put_type(w, object);
	kymo_put_id(w, object);
	/* Written whole, whatever the limit of a text: a cut name could be that of another type. */
	kymo_put_number(w, strlen(dtype));
	kymo_put_number(w, strlen(dtype));
	kymo_put_fixed(w, dtype, strlen(dtype));
	kymo_put_number(w, (uint64_t)dimensions);
	return true;
}

static void put_uint64(struct kymo_value_writer *w, uint64_t number)
{
	if (number <= INT64_MAX) {
		kymo_value_put_int64(w, (int64_t)number);
		return;
	}
	kymo_put_kind(w, KYMO_VALUE_LONG);
	*w->at++ = 0;
	kymo_put_number(w, sizeof(number));
	kymo_put_number(w, sizeof(number));
	kymo_put_fixed(w, &number, sizeof(number));
}

static void put_complex(struct kymo_value_writer *w, double real, double imaginary)
{
	kymo_put_kind(w, KYMO_VALUE_COMPLEX);
	kymo_put_fixed(w, &real, sizeof(real));
	kymo_put_fixed(w, &imaginary, sizeof(imaginary));
}

/* IEEE 754 binary16. */
static double half(uint16_t bits)
{
	double magnitude = bits & 0x3ff;
	int exponent = bits >> 10 & 0x1f;

	if (exponent == 0x1f)
		magnitude = magnitude != 0 ? (double)NAN : (double)INFINITY;
	else
		magnitude = ldexp(exponent ? magnitude + 0x400 : magnitude, (exponent ? exponent : 1) - 25);
	return bits & 0x8000 ? -magnitude : magnitude;
}

#define READ(type)                                      \
	({                                              \
		type value_;                            \
		memcpy(&value_, item, sizeof(value_));  \
		value_;                                 \
	})

/* A number of fixed size, at any alignment; false: another kind. */
static bool put_number(struct kymo_value_writer *w, int kind, const char *item)
{
	switch (kind) {
	case BOOL:
		kymo_put_kind(w, *item ? KYMO_VALUE_TRUE : KYMO_VALUE_FALSE);
		return true;
	case INT8:
		return kymo_value_put_int64(w, READ(int8_t)), true;
	case UINT8:
		return kymo_value_put_int64(w, READ(uint8_t)), true;
	case INT16:
		return kymo_value_put_int64(w, READ(int16_t)), true;
	case UINT16:
		return kymo_value_put_int64(w, READ(uint16_t)), true;
	case INT32:
		return kymo_value_put_int64(w, READ(int32_t)), true;
	case UINT32:
		return kymo_value_put_int64(w, READ(uint32_t)), true;
	case LONG:
		return kymo_value_put_int64(w, READ(long)), true;
	case LONGLONG:
	case DATETIME: /* ticks */
	case TIMEDELTA:
		return kymo_value_put_int64(w, READ(int64_t)), true;
	case ULONG:
		return put_uint64(w, READ(unsigned long)), true;
	case ULONGLONG:
		return put_uint64(w, READ(uint64_t)), true;
	case FLOAT:
		return kymo_value_put_float(w, (double)READ(float)), true;
	case DOUBLE:
		return kymo_value_put_float(w, READ(double)), true;
	case LONGDOUBLE:
		return kymo_value_put_float(w, (double)READ(long double)), true;
	case HALF:
		return kymo_value_put_float(w, half(READ(uint16_t))), true;
	case CFLOAT: {
		float real = READ(float);

		item += sizeof(float);
		return put_complex(w, (double)real, (double)READ(float)), true;
	}
	case CDOUBLE: {
		double real = READ(double);

		item += sizeof(double);
		return put_complex(w, real, READ(double)), true;
	}
	default:
		return false;
	}
}

/* Of fixed length; shorter texts are padded with zeros. */
static void put_string(struct kymo_value_writer *w, const char *item, Py_ssize_t bytes)
{
	while (bytes && !item[bytes - 1])
		bytes--;
	kymo_put_kind(w, KYMO_VALUE_BYTES);
	kymo_value_put_bytes(w, item, (size_t)bytes);
}

static void put_unicode(struct kymo_value_writer *w, const char *item, Py_ssize_t length)
{
	while (length && !((const Py_UCS4 *)(const void *)item)[length - 1])
		length--;
	kymo_put_kind(w, KYMO_VALUE_STR);
	kymo_put_number(w, (uint64_t)length);
	kymo_value_put_characters(w, PyUnicode_4BYTE_KIND, item, length);
}

static void put_item(struct kymo_value_writer *w, const struct dtype *dtype, const char *item)
{
	Py_ssize_t bytes = item_bytes(dtype);

	if (put_number(w, dtype->number, item))
		return;
	if (dtype->number == OBJECT) {
		PyObject *object = READ(PyObject *);

		kymo_value_write(w, object ? object : Py_None); /* numpy takes NULL for None */
	} else if (dtype->number == STRING) {
		put_string(w, item, bytes);
	} else {
		put_unicode(w, item, bytes / 4);
	}
}

static bool is_readable(const struct dtype *dtype, const char *data)
{
	int number = dtype->number;

	if (number == UNICODE && (uintptr_t)data % sizeof(Py_UCS4))
		return false;
	return (number >= BOOL && number <= UNICODE && number != CLONGDOUBLE && (number <= INT8 || number == UINT8 || !is_swapped(dtype))) ||
	       ((number == DATETIME || number == TIMEDELTA || number == HALF) && !is_swapped(dtype));
}

static bool is_array(const PyTypeObject *type)
{
	while (type && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE && !strcmp(type->tp_name, "numpy.ndarray")))
		type = type->tp_base;
	return type;
}

bool kymo_array_is_held(const struct kymo_array *array)
{
	for (unsigned int i = 0; array->base && i < MAX_VIEWS; i++) {
		const PyObject *base = array->base;

		if (PyBytes_CheckExact(base) || PyByteArray_CheckExact(base))
			return true;
		if (!is_array(Py_TYPE(base)))
			return false;
		array = (const void *)base;
	}
	/* Memory that C code put into an array without an owner may be gone already. */
	return !array->base && array->flags & OWNS_DATA;
}

/* The next item in C order: @at counts each dimension, the last one fastest. */
static const char *next_item(const struct kymo_array *array, Py_ssize_t at[MAX_DIMENSIONS], const char *item)
{
	for (int i = array->dimensions; i-- > 0;) {
		item += array->strides[i];
		if (++at[i] < array->shape[i])
			return item;
		item -= array->strides[i] * array->shape[i];
		at[i] = 0;
	}
	return item;
}

const struct kymo_array *kymo_array_of(PyObject *object)
{
	const struct kymo_array *array = (const void *)object;

	/* Objects of other types may be shorter. */
	if (!is_array(Py_TYPE(object)) || array->dimensions < 0 || array->dimensions > MAX_DIMENSIONS || !array->dtype)
		return NULL;
	return array;
}

bool kymo_array_is_of(const struct kymo_array *array, const char *kinds)
{
	char kind = ((const struct dtype *)(const void *)array->dtype)->kind;

	return kind && strchr(kinds, kind);
}

struct kymo_array kymo_array_part(const struct kymo_array *array, Py_ssize_t i)
{
	struct kymo_array part = *array;

	part.data += i * array->strides[0];
	part.dimensions--;
	part.shape++;
	part.strides++;
	return part;
}

/* Item @i of a list that can be read; NULL: there is none. */
static const char *item_at(const struct kymo_array *array, Py_ssize_t i)
{
	const struct dtype *dtype = (const void *)array->dtype;

	if (array->dimensions != 1 || i < 0 || i >= array->shape[0] || !is_readable(dtype, array->data) || !kymo_array_is_held(array))
		return NULL;
	return array->data + i * array->strides[0];
}

PyObject *kymo_array_object(const struct kymo_array *array, Py_ssize_t i)
{
	const char *item = kymo_array_is_of(array, "O") ? item_at(array, i) : NULL;

	return item ? READ(PyObject *) : NULL;
}

int64_t kymo_array_int64(const struct kymo_array *array, Py_ssize_t i)
{
	const char *item = kymo_array_is_of(array, "i") && item_bytes((const void *)array->dtype) == sizeof(int64_t) ? item_at(array, i) : NULL;

	return item ? READ(int64_t) : -1;
}

void kymo_value_write_items(struct kymo_value_writer *w, PyObject *object, const struct kymo_array *array)
{
	const struct dtype *dtype = (const void *)array->dtype;
	Py_ssize_t at[MAX_DIMENSIONS] = {0};
	const char *item = array->data;
	struct kymo_value_list list;
	uint64_t count = 1;
	char name[DTYPE_TEXT];

	name_dtype(dtype, name);
	if (!kymo_value_begin_array(w, object, name, array->dimensions))
		return;
	for (int i = 0; i < array->dimensions; i++) {
		kymo_put_number(w, (uint64_t)array->shape[i]);
		count *= (uint64_t)array->shape[i];
	}
	list = kymo_value_list_begin(w, count);
	if (is_readable(dtype, item) && kymo_array_is_held(array)) {
		for (; kymo_value_list_next(w, &list) && kymo_value_room(w) > KYMO_VALUE_HEAD; list.done++) {
			put_item(w, dtype, item);
			item = next_item(array, at, item);
		}
	}
	kymo_value_list_end(w, &list);
}

void kymo_value_write_array(struct kymo_value_writer *w, PyObject *object)
{
	const struct kymo_array *array = kymo_array_of(object);

	if (array)
		kymo_value_write_items(w, object, array);
	else
		kymo_value_write_object(w, object);
}

/* PyDatetimeScalarObject */
struct time_scalar {
	PyObject_HEAD
	int64_t ticks;
	struct tick tick;
};

/* Written as an array without dimensions: so its dtype is recorded, and with it the length of a tick. */
static void write_time(struct kymo_value_writer *w, PyObject *object, int kind)
{
	const struct time_scalar *scalar = (const void *)object;
	char name[DTYPE_TEXT], tick[24];

	put_tick(tick, &scalar->tick);
	snprintf(name, sizeof(name), "%s%s", kind == DATETIME ? "datetime64" : "timedelta64", tick);
	if (!kymo_value_begin_array(w, object, name, 0))
		return;
	kymo_put_number(w, 1);
	kymo_put_number(w, 1);
	kymo_value_put_int64(w, scalar->ticks);
}

void kymo_value_write_scalar(struct kymo_value_writer *w, PyObject *object, int kind)
{
	if (kind == DATETIME || kind == TIMEDELTA) {
		write_time(w, object, kind);
		return;
	}
	kymo_put_kind(w, KYMO_VALUE_SUBCLASS);
	kymo_put_type(w, object);
	put_number(w, kind, (const char *)object + sizeof(PyObject));
}

uint64_t kymo_array_fingerprint(const struct kymo_value_limits *limits, const struct kymo_array *array)
{
	const struct dtype *dtype = (const void *)array->dtype;
	Py_ssize_t at[MAX_DIMENSIONS] = {0};
	const char *item = array->data;
	uint64_t print = 0, count = 1;

	for (int i = 0; i < array->dimensions; i++) {
		count *= (uint64_t)array->shape[i];
		print = XXH3_64bits_withSeed(&array->shape[i], sizeof(array->shape[i]), print);
	}
	if (!is_readable(dtype, item) || !kymo_array_is_held(array))
		return print;
	for (uint64_t i = 0; i < count && i < limits->items; i++) {
		print = XXH3_64bits_withSeed(item, (size_t)item_bytes(dtype), print);
		item = next_item(array, at, item);
	}
	return print;
}
