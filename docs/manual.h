/* SPDX-License-Identifier: MIT */
/* Pages of man that come from the tables (manual_pages.c), on standard output. */
#ifndef DOCS_MANUAL_H
#define DOCS_MANUAL_H

void print_man(void);                   /* dnncc(1) */
void print_man_ir(void);                /* dnncc-ir(5): .dnn and .loops */
void print_man_schedule(void);          /* dnncc-schedule(5): files of schedules */

#endif
