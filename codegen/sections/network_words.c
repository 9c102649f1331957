/* SPDX-License-Identifier: MIT */
/* Finds the numbers of a network's layers, in which zeros are included, and names, once its steps
 * are known; for a module without steps, it says what is missing. */
#include <string.h>

#include "codegen/sections/sections.h"

/* ---- numbers ---- */

/* Returns the sum of the weights of output i. */
static int64_t weights_of(const struct section_step *s, int64_t i, int input)
{
        int64_t sum = 0;
        const int64_t each = s->weight_inputs * s->rows.kernel * s->columns.kernel;
        if (s->kind != STEP_CONV)
                return s->scale[input][i] * s->rows.kernel * s->columns.kernel;
        for (int64_t k = 0; k < each; k++)
                sum += constant_element(s->weights, i * each + k).i;
        return sum;
}

/* Folds the zeros, by which stored numbers are less, into biases and bounds. Returns false where a
 * number does not fit. */
bool network_take_zeros(struct network *n, struct section_step *s)
{
        const struct volume *y = &n->volumes[s->output];
        if (s->kind != STEP_CONV && s->kind != STEP_AVERAGE && s->kind != STEP_ADD)
                return true;
        bool fine = true;
        for (int64_t i = 0; i < y->channels; i++) {
                for (int k = 0; k < s->input_count; k++) {
                        const int64_t offset = n->volumes[s->inputs[k]].zero + s->offsets[k];
                        s->bias[i] += offset ? offset * weights_of(s, i, k) : 0;
                }
                s->bias[i] -= y->zero * (INT64_C(1) << (s->preshift[i] + s->postshift[i]));
                fine &= s->bias[i] >= INT32_MIN && s->bias[i] <= INT32_MAX;
        }
        s->low -= y->zero;
        s->high -= y->zero;
        return fine && s->low >= INT16_MIN && s->high <= INT16_MAX;
}

/* ---- names ---- */

static const char *first_of(struct arena *arena, const char *location)
{
        const char *comma = strstr(location, ", ");
        return comma ? arena_printf(arena, "%.*s", (int)(comma - location), location) : location;
}

static const char *unique_name(struct network *n, struct map *taken, const char *location,
                               const char *otherwise)
{
        const char *name = location ? first_of(n->arena, location) : otherwise, *all = name;
        for (int k = 2; map_get(taken, all, strlen(all)); k++)
                all = arena_printf(n->arena, "%s_%d", name, k);
        map_set(taken, all, strlen(all), n);
        return all;
}

void network_name_all(struct network *n)
{
        struct map *taken = map_new(n->arena), *volumes = map_new(n->arena);
        for (int k = 0; k < n->step_count; k++) {
                struct section_step *s = &n->steps[k];
                const struct value *v = s->output >= 0 ? n->volumes[s->output].value : NULL;
                const char *argument = v && v->kind == VALUE_ARGUMENT ? v->name : NULL;
                s->name =
                        s->kind == STEP_UPLOAD
                                ? n->volumes[s->inputs[0]].name
                                : unique_name(n, taken,
                                              s->op && s->op->location ? s->op->location : argument,
                                              s->kind == STEP_INPUT ? "input" : "copy");
        }
        for (int i = 0; i < n->volume_count; i++) {
                struct volume *v = &n->volumes[i];
                const char *location =
                        v->value && v->value->kind == VALUE_RESULT ? v->value->op->location : NULL;
                if (v->needed)
                        v->name = unique_name(n, volumes,
                                              v->maker >= 0 ? n->steps[v->maker].name : location,
                                              "volume");
        }
}

/* Reports what a machine for quantized layers misses in the module. */
void network_say_missing(const struct module *m, struct diag *diag)
{
        const char *whole = NULL, *floats = NULL;
        for (const struct op *op = module_entry(m)->body.first; op; op = op->next)
                if (op->code == OP_convolve || op->code == OP_dot) {
                        const bool is_float = element_is_float(op_operand(op, 0)->type->element);
                        const char *name = op->location ? op->location : op_info[op->code].name;
                        *(is_float ? &floats : &whole) = name;
                }
        if (whole)
                diag_error(diag, EXIT_UNSUPPORTED,
                           "nothing of the model is for the machine: none of its quantized layers, "
                           "such as '%s', is a "
                           "convolution of one sample whose sums become bytes by shifts "
                           "(--requantize=shift)",
                           whole);
        else if (floats)
                diag_error(diag, EXIT_UNSUPPORTED,
                           "nothing of the model is for the machine: it has no quantized "
                           "convolution, '%s' is of floats; "
                           "--calibrate=SAMPLES --quantize makes bytes of them",
                           floats);
        else
                diag_error(diag, EXIT_UNSUPPORTED,
                           "nothing of the model is for the machine: it has no convolution at all");
}
