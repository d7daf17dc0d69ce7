// SPDX-License-Identifier: Apache-2.0
/* Arguments of the console's commands, and what is said of wrong ones. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "replay/debugger/console_state.h"
#include "replay/trace/text.h"

void kymo_console_fail(struct kymo_console *console, const char *format, ...)
{
	va_list arguments;
	char *message;

	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		message = NULL;
	va_end(arguments);
	kymo_text_put(console->out, message ? message : "out of memory");
	free(message);
	putc('\n', console->out);
	console->has_failed = true;
}

char *kymo_console_word(char **text)
{
	char *word = *text + strspn(*text, " \t");
	char *end = word + strcspn(word, " \t");

	*text = end + strspn(end, " \t");
	if (*end)
		*end = '\0';
	return word;
}

bool kymo_console_number(const char *text, uint64_t *number)
{
	char *end;

	*number = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end;
}
