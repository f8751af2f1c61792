/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[] = "/tmp/lockq-test-XXXXXX";

int
folder_make(void)
{
	return mkdtemp(folder) != NULL ? 0 : -1;
}

const char *
folder_path(void)
{
	return folder;
}

const char *
path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}
