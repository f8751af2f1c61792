/* SPDX-License-Identifier: MIT */
/* A list of loans that may be given: building it, keeping its order, each loan once. */
#include "list/list.h"

#include <inttypes.h>
#include <stdlib.h>

#include "handle/bounds.h"

static const char *const sources[] = {
	[LIST_QUERY] = "query", [LIST_CROWDED] = "crowded", [LIST_ELSEWHERE] = "elsewhere",
	[LIST_REPLICA] = "replica", [LIST_HAND_OVER] = "hand-over"
};

const char *
list_source_name(enum list_source source)
{
	return sources[source];
}

bool
list_was_queried(enum list_source source)
{
	return source != LIST_HAND_OVER;
}

bool
list_is_hint(enum list_source source)
{
	return source == LIST_REPLICA;
}

uint64_t
list_enough(uint64_t wanted)
{
	return wanted * 2 + LIST_SPARE;
}

bool
list_may_say_empty(enum list_source source, const struct list *list)
{
	/* If LIMIT cut the list, more loans may be available, and so may one that was dropped. */
	return list_was_queried(source) && !list_is_hint(source) && list->complete &&
	    list->unsure == 0;
}

void
list_clear(struct list *list)
{
	free(list->list);
	*list = (struct list){ .list = NULL };
}

enum db_rc
list_add(struct list *list, uint64_t loan_id, uint64_t version, uint32_t position)
{
	if (list->n == list->size) {
		size_t size = list->size * 2 + 1024;
		struct candidate *bigger = realloc(list->list, size * sizeof(*bigger));

		if (bigger == NULL)
			return DB_ENOMEM;
		list->list = bigger;
		list->size = size;
	}
	list->list[list->n++] = (struct candidate){
		.loan_id = loan_id, .version = version, .position = position
	};
	return DB_OK;
}

void
list_forget_gone(struct list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (!list->list[i].gone)
			list->list[kept++] = list->list[i];
	}
	list->n = kept;
	list->next = 0;
}

/* By loan_id, and of one loan by its place in the list, so that its first place stays. */
static int
compare_place(const void *a, const void *b)
{
	const struct candidate *const *x = a, *const *y = b;

	if ((*x)->loan_id != (*y)->loan_id)
		return (*x)->loan_id < (*y)->loan_id ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

enum db_rc
list_once(struct list *list)
{
	struct candidate **sorted = calloc(list->n + 1, sizeof(struct candidate *));

	if (sorted == NULL)
		return DB_ENOMEM;
	for (size_t i = 0; i < list->n; i++)
		sorted[i] = &list->list[i];
	qsort(sorted, list->n, sizeof(struct candidate *), compare_place);
	for (size_t i = 1; i < list->n; i++)
		sorted[i]->gone = sorted[i]->loan_id == sorted[i - 1]->loan_id;
	free(sorted);
	list_forget_gone(list);
	return DB_OK;
}

void
list_json(const struct list *list, size_t from, size_t n, struct text *json)
{
	for (size_t i = from; i < from + n; i++)
		text_add(json, "%s[%" PRIu64 ",%" PRIu64 "]", i == from ? "[" : ",",
		    list->list[i].loan_id, list->list[i].version);
	text_add(json, n == 0 ? "[]" : "]");
}
