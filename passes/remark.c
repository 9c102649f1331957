#include "passes/remark.h"

#include <string.h>

const struct remark_info remark_info[REMARK_REASONS] = {
#define REMARK(pass, reason, text, doc) { #pass, #reason, text, doc },
#include "passes/remarks.def"
};

void remarks_begin(struct remarks *r, const char *pass)
{
        int kept = 0;
        for (int i = 0; i < r->count; i++)
                if (strcmp(remark_info[r->items[i].reason].pass, pass) != 0)
                        r->items[kept++] = r->items[i];
        r->count = kept;
}

static const char *location_of(struct arena *arena, const struct op *op)
{
        return op->location ? arena_string(arena, op->location) : "";
}

void remark_pair(struct remarks *r, enum remark_reason reason, const struct op *made, const struct op *read,
                 const struct op *decided)
{
        ARENA_GROW(r->arena, r->items, r->count);
        r->items[r->count++] = (struct remark){
                reason, location_of(r->arena, made), op_info[made->code].name, location_of(r->arena, read),
                op_info[read->code].name, decided && decided != read ? location_of(r->arena, decided) : NULL
        };
}
