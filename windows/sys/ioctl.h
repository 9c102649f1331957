/* SPDX-License-Identifier: MIT */
/* This says how wide the terminal is. */
#ifndef WINDOWS_SYS_IOCTL_H
#define WINDOWS_SYS_IOCTL_H

struct winsize { unsigned short ws_row, ws_col; };
enum { TIOCGWINSZ };
int ioctl(int fd, int what, struct winsize *size);

#endif
