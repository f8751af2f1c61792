/* SPDX-License-Identifier: MIT */
#ifndef LOCKQ_CMD_LOCKQSTAT_REPORT_STYLE_H
#define LOCKQ_CMD_LOCKQSTAT_REPORT_STYLE_H

/* The page's CSS: its colours in the light and in the dark, on a phone, on paper. */
extern const char report_style[];

#endif
