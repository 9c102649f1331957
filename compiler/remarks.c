/* SPDX-License-Identifier: MIT */
/* --remarks and --explain show what passes say of what they did (passes/remark.h), on standard
 * error:
 *
 *      fuse: A conv1 (convolve), B relu1 (max): one kernel
 *      fuse: A relu1 (max), B conv2 (convolve): two kernels: contracted: B is a ...
 *      schedule: A conv1 (convolve_packed): the schedule of least predicted time: columns=14 ...
 *
 * --explain=NODE shows those about a node, each with what docs/remarks.md says. */
#include <string.h>

#include "base/json.h"
#include "base/suggest.h"
#include "compiler/report.h"
#include "passes/remark.h"

static bool is_asked(const char *list, const char *pass)
{
        size_t length = strlen(pass);
        for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
                if (strcspn(p, ",") == length && !strncmp(p, pass, length))
                        return true;
        return !list || !*list;
}

bool remarks_prepare(struct run *run)
{
        const struct options *o = &run->options;
        if (!o->remarks && !o->explain && !o->report && !o->stats)
                return true;
        for (const char *p = o->remarks ? o->remarks : ""; *p;
             p += strcspn(p, ","), p += *p == ',') {
                size_t length = strcspn(p, ",");
                struct suggest known = suggest_new(run->arena, p, length);
                bool found = false;
                for (const struct remark_pass *pass = remark_passes; pass->name; pass++) {
                        suggest_add(&known, pass->name);
                        found |= strlen(pass->name) == length && !strncmp(p, pass->name, length);
                }
                if (!found) {
                        diag_error(&run->diag, EXIT_USAGE,
                                   "--remarks: no pass with remarks is called '%s'%s",
                                   text_argument_part(run->arena, p, length),
                                   suggest_text(&known, true));
                        return false;
                }
        }
        run->context.remarks = ARENA_NEW(run->arena, struct remarks);
        run->context.remarks->arena = run->arena;
        return true;
}

static bool is_about(const struct remark *r, const char *node)
{
        return !node || text_lists(r->made, node) || text_lists(r->read, node);
}

static const char *node_text(struct arena *arena, const char *nodes, const char *operation)
{
        return *nodes ? arena_printf(arena, "%s (%s)", nodes, operation) : operation;
}

static void put_remark(struct run *run, const struct remark *r, bool explained)
{
        const struct remark_info *info = &remark_info[r->reason];
        const char *reader = !r->read_by ? ""
                                         : arena_printf(run->arena, ", B %s",
                                                        node_text(run->arena, r->read, r->read_by));
        const char *refused =
                !info->left ? "" : arena_printf(run->arena, "%s: %s: ", info->left, info->reason);
        const char *detail = r->detail ? arena_printf(run->arena, ": %s", r->detail) : "";
        const char *decided = !r->because ? ""
                              : *r->because
                                      ? arena_printf(run->arena, " (decided at %s)", r->because)
                                      : " (decided at another reader)";
        diag_say(&run->diag, "%s: A %s%s: %s%s%s%s\n", info->pass,
                 node_text(run->arena, r->made, r->made_by), reader, refused, info->text, detail,
                 decided);
        if (explained)
                diag_say(&run->diag, "        %s\n", info->doc);
}

bool remarks_put(struct run *run)
{
        const struct options *o = &run->options;
        const struct remarks *all = run->context.remarks;
        const char *node =
                o->explain ? text_safe(run->arena, o->explain, strlen(o->explain)) : NULL;
        bool found = false;
        if (!o->remarks && !o->explain)
                return true;
        for (int i = 0; i < all->count; i++) {
                const struct remark *r = &all->items[i];
                if (!is_about(r, node) || !is_asked(o->remarks, remark_info[r->reason].pass))
                        continue;
                put_remark(run, r, node);
                found = true;
        }
        if (found || !node)
                return true;
        struct suggest known = suggest_new(run->arena, node, strlen(node));
        struct map *added = map_new(run->arena);
        for (int i = 0; i < all->count; i++) {
                const char *made = all->items[i].made;
                if (!*made || strstr(made, ", ") || map_get(added, made, strlen(made)))
                        continue;
                map_set(added, made, strlen(made), run);
                suggest_add(&known, made);
        }
        diag_error(&run->diag, EXIT_USAGE, "--explain=%s: no remark is about a node of this name%s",
                   text_argument(run->arena, o->explain), suggest_text(&known, true));
        return false;
}

void remarks_json(const struct run *run, FILE *out)
{
        const struct remarks *all = run->context.remarks;
        for (int i = 0; all && i < all->count; i++) {
                const struct remark *r = &all->items[i];
                const struct remark_info *info = &remark_info[r->reason];
                json_member(out, i ? ",\n    {" : "\n    {", "pass", info->pass);
                json_member(out, ", ", "location", r->made);
                json_member(out, ", ", "operation", r->made_by);
                if (r->read_by) {
                        json_member(out, ", ", "reader", r->read);
                        json_member(out, ", ", "reader_operation", r->read_by);
                }
                fprintf(out, ", \"done\": %s", info->left ? "false" : "true");
                json_member(out, ", ", "reason", info->reason);
                json_member(out, ", ", "why", info->text);
                if (r->detail)
                        json_member(out, ", ", "detail", r->detail);
                fputs("}", out);
        }
}
