/* Processor time: what a compilation costs, whatever else the machine does meanwhile. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_seconds(void);             /* that this program has used up to now */

#endif
