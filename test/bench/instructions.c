/* SPDX-License-Identifier: MIT */
/* A plugin of QEMU that counts instructions by function: exactly, and the same again each time.
 *
 *      gcc -std=gnu11 -O2 -fPIC -shared -o instructions.so instructions.c
 *      qemu-aarch64 -plugin ./instructions.so -d plugin -D counts.txt ./program
 *
 * counts.txt has a line for each function, "COUNT NAME", its own instructions without those of what it calls. Options: begin=NAME and end=NAME:
 * what is counted is what runs from calls of the one function to the next call of the other, their own instructions left out; the line "COUNT [most]"
 * is the largest of these stretches. Debian has QEMU without qemu-plugin.h, so the few entries of version 1 of its interface (QEMU 7.2) that are used stand here. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*)(plugin_id id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int operation, void *counter, uint64_t by);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned cpu, void *), int registers, void *);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*)(plugin_id id, void *), void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t i);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);
void qemu_plugin_outs(const char *);

#define EXPORT __attribute__((visibility("default")))
extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count, char **options);

/* in a list: translated code keeps the addresses of counters */
static struct function { char *name; uint64_t count, begun, kept; struct function *next; } *functions;

static const char *begin, *end;         /* names, or NULL */
static uint64_t most;                   /* of the stretches from begin to end */

static void on_begin(unsigned cpu, void *context)
{
        (void)cpu, (void)context;
        for (struct function *f = functions; f; f = f->next)
                f->begun = f->count;
}

static void on_end(unsigned cpu, void *context)
{
        (void)cpu, (void)context;
        uint64_t all = 0;
        for (struct function *f = functions; f; f = f->next) {
                f->kept += f->count - f->begun;
                all += f->count - f->begun;
                f->begun = f->count;
        }
        most = all > most ? all : most;
}

static struct function *find(const char *name)
{
        struct function *f = functions;
        while (f && strcmp(f->name, name))
                f = f->next;
        if (f)
                return f;
        f = calloc(1, sizeof *f);
        if (!f || !(f->name = strdup(name)))
                abort();
        f->next = functions;
        return functions = f;
}

static void translate(plugin_id id, struct qemu_plugin_tb *block)
{
        (void)id;
        for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
                struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
                const char *name = qemu_plugin_insn_symbol(instruction);
                struct function *f = find(name && *name ? name : "?");
                if (begin && !strcmp(f->name, begin))
                        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_begin, 0, NULL);
                else if (end && !strcmp(f->name, end))
                        qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_end, 0, NULL);
                else
                        qemu_plugin_register_vcpu_insn_exec_inline(instruction, INLINE_ADD_U64, &f->count, 1);
        }
}

static void report(plugin_id id, void *context)
{
        (void)id, (void)context;
        for (const struct function *f = functions; f; f = f->next) {
                char line[512];
                if (end && !f->kept)
                        continue;
                snprintf(line, sizeof line, "%" PRIu64 " %s\n", end ? f->kept : f->count, f->name);
                qemu_plugin_outs(line);
        }
        if (end) {
                char line[64];
                snprintf(line, sizeof line, "%" PRIu64 " [most]\n", most);
                qemu_plugin_outs(line);
        }
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count, char **options)
{
        (void)info;
        for (int i = 0; i < count; i++) {
                const char **name = strncmp(options[i], "begin=", 6) ? strncmp(options[i], "end=", 4) ? NULL : &end : &begin;
                if (!name || !(*name = strdup(strchr(options[i], '=') + 1)))
                        return -1;
        }
        qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
        qemu_plugin_register_atexit_cb(id, report, NULL);
        return 0;
}
