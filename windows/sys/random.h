/* SPDX-License-Identifier: MIT */
#ifndef WINDOWS_SYS_RANDOM_H
#define WINDOWS_SYS_RANDOM_H

int getentropy(void *into, size_t bytes);

#endif
