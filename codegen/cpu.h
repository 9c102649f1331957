/* What the processor this program runs on can do. */
#ifndef CODEGEN_CPU_H
#define CODEGEN_CPU_H

#include <stdbool.h>

/* All of a comma list of features as compilers name them ("avx2,fma"), switched on by the operating system, too. */
bool cpu_has(const char *features);

#endif
