/* SPDX-License-Identifier: MIT */
/* A plugin of QEMU that counts instructions by function: exactly, and the same again each time.
 *
 *      gcc -std=gnu11 -O2 -fPIC -shared -o instructions.so instructions.c
 *      qemu-aarch64 -plugin ./instructions.so -d plugin -D counts.txt ./program
 *
 * counts.txt has a line for each function, "COUNT NAME", its own instructions without those of what it calls. Debian has QEMU without
 * qemu-plugin.h, so the few entries of version 1 of its interface (QEMU 7.2) that are used stand here. */
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
static struct function { char *name; uint64_t count; struct function *next; } *functions;

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
                qemu_plugin_register_vcpu_insn_exec_inline(instruction, INLINE_ADD_U64, &f->count, 1);
        }
}

static void report(plugin_id id, void *context)
{
        (void)id, (void)context;
        for (const struct function *f = functions; f; f = f->next) {
                char line[512];
                snprintf(line, sizeof line, "%" PRIu64 " %s\n", f->count, f->name);
                qemu_plugin_outs(line);
        }
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int count, char **options)
{
        (void)info, (void)count, (void)options;
        qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
        qemu_plugin_register_atexit_cb(id, report, NULL);
        return 0;
}
