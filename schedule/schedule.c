#include "schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct field { const char *name; int preset, least, most; size_t offset; };
static const struct field fields[] = {
#define FIELD(name_, preset_, least_, most_, doc_) \
        { #name_, preset_, least_, most_, offsetof(struct schedule, name_) },
#include "schedule/schedule.def"
};
enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static int *field_of(struct schedule *schedule, int i)
{
        return (int *)((char *)schedule + fields[i].offset);
}

struct schedule schedule_preset(void)
{
        return (struct schedule){
#define FIELD(name_, preset_, least_, most_, doc_) .name_ = preset_,
#include "schedule/schedule.def"
        };
}

const char *schedule_text(struct arena *arena, const struct schedule *schedule)
{
        struct text text = { 0 };
        struct schedule copy = *schedule;
        for (int i = 0; i < FIELD_COUNT; i++)
                if (*field_of(&copy, i) != fields[i].preset)
                        text_add(&text, "%s%s=%d", text.length ? " " : "", fields[i].name,
                                 *field_of(&copy, i));
        const char *result = text.length ? arena_string(arena, text.data) : "unroll=4";
        text_free(&text);
        return result;
}

/* "name=value" at p; its length, or 0 */
static size_t parse_word(struct schedule *schedule, const char *p)
{
        size_t name = strcspn(p, "= "), length = strcspn(p, " ;");
        for (int i = 0; i < FIELD_COUNT && p[name] == '='; i++) {
                if (strlen(fields[i].name) != name || strncmp(fields[i].name, p, name) ||
                    length - name < 2 || length - name > 11 ||
                    strspn(p + name + 1, "0123456789") != length - name - 1)
                        continue;
                long long value = strtoll(p + name + 1, NULL, 10);
                if (value < fields[i].least || value > fields[i].most)
                        return 0;
                *field_of(schedule, i) = (int)value;
                return length;
        }
        return 0;
}

bool schedule_parse(const struct op *op, struct schedule *schedule, struct diag *diag)
{
        *schedule = schedule_preset();
        for (const char *p = op->schedule; *p && *p != ';'; p += strspn(p, " ")) {
                size_t length = parse_word(schedule, p);
                if (!length && !diag)
                        return false;
                if (!length) {
                        diag_error(diag, EXIT_INVALID,
                                   "node '%s' (%s): a schedule cannot say '%.*s'",
                                   op->location ? op->location : "", op_info[op->code].name,
                                   (int)strcspn(p, " "), p);
                        return false;
                }
                p += length;
        }
        return true;
}
