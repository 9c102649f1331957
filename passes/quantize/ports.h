/* SPDX-License-Identifier: MIT */
/* --quantize-port: which inputs and outputs are whole numbers, and in which steps. */
#ifndef PASSES_QUANTIZE_PORTS_H
#define PASSES_QUANTIZE_PORTS_H

#include "ir/tensor/tensor.h"
#include "passes/calibrate/calibration.h"

enum port_steps {
        PORT_ROWS,                      /* s8, a scale for each row, found at run time */
        PORT_NUMBERS,                   /* the scale and zero point that the option gives */
        PORT_RANGES                     /* those that pass_quantize chooses by ranges */
};
struct port_choice {
        const char *option;             /* as it was given, for messages */
        const char *name;               /* of the port; * stands for any characters */
        enum port_steps steps;
        enum element to;
        struct affine affine;           /* of PORT_NUMBERS */
        bool used;
};

/* a port whose steps are the same for all of it: what the header says */
struct port_affine {
        const char *name;               /* the model's own */
        bool output;
        enum element to;
        struct affine affine;
};

struct quantized_ports {
        struct port_choice *choices;
        int choice_count;
        struct port_affine *items;      /* what became of them */
        int count;
};

/* "NAME=rows", "NAME=u8" (s8, u16, s16) or "NAME=u8,SCALE[,ZERO]"; false: it is none of these.
 * What is NULL or as `text` lives as long as text. */
bool port_choice_parse(struct arena *arena, const char *text, struct port_choice *choice);
/* the last choice that names it; NULL: none does */
struct port_choice *port_choice_find(const struct quantized_ports *ports, const char *name);
/* the steps of a port; NULL: not known */
const struct port_affine *port_affine_find(const struct quantized_ports *ports, const char *name,
                                           bool output);
void port_affine_add(struct arena *arena, struct quantized_ports *ports, struct port_affine item);

#endif
