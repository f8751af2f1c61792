/* SPDX-License-Identifier: MIT */
/* A folder of the test's own, for the files that it writes. */
#ifndef LOCKQ_TEST_FOLDER_H
#define LOCKQ_TEST_FOLDER_H

/* Makes it. Returns 0, or -1. The test removes its files, and then the folder. */
int folder_make(void);
const char *folder_path(void);
/* The path of a file in it; the text is valid until the next call. */
const char *path_of(const char *name);

#endif
