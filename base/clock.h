/* SPDX-License-Identifier: MIT */
/* Processor time is what a compilation costs, whatever else the machine does meanwhile. Wall time
 * is that of those who wait for it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);             /* Returns the seconds that this program has used up to
                                         * now. */
double clock_thread(void);              /* Returns those that this thread has used. */
double clock_wall(void);                /* Returns the seconds that have gone by since some moment;
                                         * a signal handler may ask. */

#endif
