/* SPDX-License-Identifier: MIT */
/* Processor time: what a compilation costs, whatever else the machine does meanwhile. And the
 * time of those who wait for it. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);             /* that this program has used up to now */
double clock_wall(void);                /* that have gone by since some moment; a signal handler may
                                         * ask */

#endif
