/* SPDX-License-Identifier: MIT */
/* What seedloans prints, as text for people or as JSON. */
#ifndef LOCKQ_CMD_SEEDLOANS_OUTPUT_H
#define LOCKQ_CMD_SEEDLOANS_OUTPUT_H

#include "seedloans/seed.h"

void seedloans_print(bool json, const struct seed_options *options,
    const struct seed_report *report);

#endif
