// SPDX-License-Identifier: Apache-2.0
#include "cli/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add_word(struct kymo_words *list, const char *word, size_t length)
{
	char *copy = strndup(word, length);
	char **grown = copy ? reallocarray(list->words, list->count + 2, sizeof *grown) : NULL;

	if (!grown) {
		free(copy);
		return -ENOMEM;
	}
	list->words = grown;
	grown[list->count++] = copy;
	grown[list->count] = NULL;
	return 0;
}

int kymo_words_add(struct kymo_words *list, const char *word)
{
	return add_word(list, word, strlen(word));
}

int kymo_words_split(struct kymo_words *list, const char *text)
{
	int result = 0;

	while (*text && !result) {
		size_t length = strcspn(text, ":");

		if (length)
			result = add_word(list, text, length);
		text += length + (text[length] != '\0');
	}
	return result;
}

void kymo_words_free(struct kymo_words *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->words[i]);
	free(list->words);
	*list = (struct kymo_words){0};
}
