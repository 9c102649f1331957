/* SPDX-License-Identifier: MIT */
/* The rows of tflite_schema.def and tflite_ops.def become tables. */
#include "front/tflite/tflite_helpers.h"

#define TABLE(name, option) static const struct flat_field fields_##name[] = {
#define FIELD(name, member, slot, kind, preset)                                                    \
        { #member, FLAT_##kind, slot, offsetof(struct tflite_##name, member), preset },
#define END(name)                                                                                  \
        }                                                                                          \
        ;
#include "front/tflite/tflite_schema.def"

#define TABLE(name, option)                                                                        \
        const struct flat_info tflite_info_##name = { #name, fields_##name,                        \
                                                      sizeof fields_##name /                       \
                                                              sizeof *fields_##name,               \
                                                      sizeof(struct tflite_##name) };
#include "front/tflite/tflite_schema.def"

const struct flat_info *tflite_options_info(int option)
{
        static const struct {
                int option;
                const struct flat_info *info;
        } infos[] = {
#define TABLE(name, option) { option, &tflite_info_##name },
#include "front/tflite/tflite_schema.def"
        };
        for (size_t i = 0; i < sizeof infos / sizeof *infos && option; i++)
                if (infos[i].option == option)
                        return infos[i].info;
        return NULL;
}

static const struct tflite_row rows[] = {
#define TFLITE_OP(code, name, in_min, in_max, out_max, options, importer, variant)                 \
        {                                                                                          \
                code,     #name,   in_min, in_max, out_max, 0, TFLITE_OPTIONS_##options,           \
                importer, variant, 0,      0                                                       \
        },
#define TFLITE_EACH(code, name, in_min, in_max, out_max, options, importer, variant)               \
        {                                                                                          \
                code,     #name,   in_min, in_max, out_max, 0, TFLITE_OPTIONS_##options,           \
                importer, variant, 1,      0                                                       \
        },
#define TFLITE_STATE(code, name, in_min, in_max, out_max, options, importer, variant)              \
        {                                                                                          \
                code,     #name,   in_min, in_max, out_max, 0, TFLITE_OPTIONS_##options,           \
                importer, variant, 0,      1                                                       \
        },
#define TFLITE_OP_ABSENT(code, name, in_min, in_max, absent, out_max, options, importer, variant)  \
        { code,     #name,   in_min, in_max, out_max, absent, TFLITE_OPTIONS_##options,            \
          importer, variant, 0,      0 },
#include "front/tflite/tflite_ops.def"
};

int tflite_rows(const struct tflite_row **table)
{
        *table = rows;
        return sizeof rows / sizeof *rows;
}

const struct tflite_row *tflite_row_find(int64_t code)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (rows[i].code == code)
                        return &rows[i];
        return NULL;
}

const char *tflite_code_name(int64_t code)
{
        static const struct {
                int code;
                const char *name;
        } names[] = {
#define TFLITE_OP(code, name, in_min, in_max, out_max, options, importer, variant) { code, #name },
#define TFLITE_NAME(code, name) { code, #name },
#include "front/tflite/tflite_ops.def"
        };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (names[i].code == code)
                        return names[i].name;
        return NULL;
}
