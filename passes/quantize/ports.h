/* SPDX-License-Identifier: MIT */
/* --quantize-port: says which inputs and outputs are whole numbers, and in which steps. */
#ifndef PASSES_QUANTIZE_PORTS_H
#define PASSES_QUANTIZE_PORTS_H

#include "ir/tensor/tensor.h"
#include "passes/calibrate/calibration.h"

enum port_steps {
        PORT_ROWS,                      /* The port has numbers of s8, with a scale for each row
                                         * that is found at run time. */
        PORT_CAST,                      /* The port has floats of 16 bits. */
        PORT_NUMBERS,                   /* The option gives the scale and the zero point. */
        PORT_RANGES                     /* pass_quantize chooses the steps by ranges. */
};
struct port_choice {
        const char *option;             /* Messages show the option as it was given. */
        const char *name;               /* The port has this name; * stands for any characters. */
        enum port_steps steps;
        enum element to;
        struct affine affine;           /* PORT_NUMBERS has these steps. */
        bool used;
};

/* The steps of such a port are the same for all of it, as the header says. */
struct port_affine {
        const char *name;               /* The model itself has this name for it. */
        bool output;
        enum element to;
        struct affine affine;
};

struct quantized_ports {
        struct port_choice *choices;
        int choice_count;
        struct port_affine *items;      /* These ports were quantized. */
        int count;
        bool done;                      /* The pass has run. */
};

/* Parses "NAME=rows", "NAME=f16" (bf16), "NAME=u8" (s8, u16, s16) or "NAME=u8,SCALE[,ZERO]".
 * Returns false if the text is none of these. The choice is valid as long as text is. */
bool port_choice_parse(struct arena *arena, const char *text, struct port_choice *choice);
/* Returns the last choice that names the port; NULL: none does. */
struct port_choice *port_choice_find(const struct quantized_ports *ports, const char *name);
/* Returns the steps of a port; NULL: they are not known. */
const struct port_affine *port_affine_find(const struct quantized_ports *ports, const char *name,
                                           bool output);
void port_affine_add(struct arena *arena, struct quantized_ports *ports, struct port_affine item);

#endif
