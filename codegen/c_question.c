/* SPDX-License-Identifier: MIT */
/* Prints what generated code asks of the processor: CPUID on x86; on ARM and RISC-V the system,
 * Linux or macOS, whose answer in `has` has a bit for each capability (codegen/cpu.h).
 *
 *     const uint64_t has = getauxval(AT_HWCAP);
 *
 * Functions that the headers of Linux and macOS hide from strict C are declared before the
 * function. */
#include "codegen/c_writer.h"

static void put_leaf(struct c_writer *w, const struct cpu_leaf *leaf, int number)
{
        c_put(w, "__cpuid_count(0x%xu, %u", (unsigned)leaf->leaf, (unsigned)leaf->subleaf);
        for (int r = 0; r < 4; r++)
                c_put(w, "," C_SOFT "has[%d][%d]", number, r);
        c_put(w, ");");
        c_end(w);
}

/* Returns the first of the capabilities that macOS, or riscv_hwprobe, reports; -1: there is
 * none. */
static int first_told(const struct cpu_needs *needs, bool probed)
{
        for (int bit = 0; bit < 64; bit++)
                if (needs->capabilities >> bit & 1 &&
                    (probed ? cpu_probe(needs->word, bit) >= 0
                            : cpu_sysctl(needs->word, bit) != NULL))
                        return bit;
        return -1;
}

void c_question_declarations(struct c_writer *w, const struct cpu_needs *all)
{
        if (first_told(all, true) >= 0)
                text_add(w->out, "#if defined(__linux__)\n"
                                 "extern long syscall(long number, ...);\n"
                                 "#endif\n");
        if (first_told(all, false) >= 0)
                text_add(w->out,
                         "#if defined(__APPLE__)\n"
                         "extern int sysctlbyname(const char *name, void *old, size_t *old_size, "
                         "void *new_value, size_t new_size);\n"
                         "static uint64_t has_feature(const char *name)\n"
                         "{\n"
                         "        int is = 0;\n"
                         "        size_t size = sizeof is;\n"
                         "        return sysctlbyname(name, &is, &size, NULL, 0) == 0 && is != 0;\n"
                         "}\n"
                         "#endif\n");
}

static void put_question_to_linux(struct c_writer *w, const struct cpu_needs *all)
{
        const int probed = first_told(all, true);
        if (all->capabilities >> CPU_SECOND_WORD)
                c_line(w,
                       "const uint64_t has = (uint64_t)getauxval(AT_HWCAP2) << %d | "
                       "(uint32_t)getauxval(AT_HWCAP);",
                       CPU_SECOND_WORD);
        else if (probed < 0)
                c_line(w, "const uint64_t has = getauxval(AT_HWCAP);");
        else {
                c_line(w,
                       "struct { int64_t key; uint64_t value; } answer = { %d, 0 };    /* This "
                       "asks riscv_hwprobe, which Linux has from 6.4 on. */",
                       CPU_PROBE_KEY);
                c_line(w,
                       "const int told = syscall(%d, &answer, (size_t)1, (size_t)0, (void *)NULL, "
                       "0u) == 0 && answer.key == %d;",
                       CPU_PROBE_CALL, CPU_PROBE_KEY);
                c_line(w,
                       "const uint64_t has = told ? (answer.value >> %d & 1) << %d : "
                       "getauxval(AT_HWCAP);",
                       cpu_probe(all->word, probed), probed);
        }
}

static void put_question_to_system(struct c_writer *w, const struct cpu_needs *all)
{
        text_add(w->out, "#if defined(__linux__)\n");
        put_question_to_linux(w, all);
        if (first_told(all, false) >= 0) {
                text_add(w->out, "#elif defined(__APPLE__)\n");
                c_line(w, "uint64_t has = 0;");
                for (int bit = 0; bit < 64; bit++)
                        if (all->capabilities >> bit & 1 && cpu_sysctl(all->word, bit))
                                c_line(w, "has |= has_feature(\"%s\") << %d;",
                                       cpu_sysctl(all->word, bit), bit);
        }
        text_add(w->out, "#else\n");
        c_line(w, "const uint64_t has = 0;    /* Nothing is known of this system. */");
        text_add(w->out, "#endif\n");
}

/* Leaf 1 says whether XGETBV exists; processors that have it have all leaves up to 13. */
void c_question(struct c_writer *w, const struct cpu_needs *all)
{
        if (all->capabilities) {
                put_question_to_system(w, all);
                return;
        }
        c_line(w,
               "unsigned has[%d][4] = { { 0 } }, saved = 0, above = 0;    /* `has` are eax, ebx, "
               "ecx and edx of each leaf, the others XCR0. */",
               all->count);
        put_leaf(w, &all->leaves[0], 0);
        c_line(w, "if (has[0][2] >> 27 & 1)");
        w->indent++;
        c_line(w, "__asm__ volatile (\"xgetbv\" : \"=a\" (saved), \"=d\" (above) : \"c\" (0));");
        w->indent--;
        c_line(w, "(void)above;");
        if (all->count > 1)
                c_line(w, "if (saved & 0x%xu) {", (unsigned)all->saved);
        w->indent++;
        for (int i = 1; i < all->count; i++)
                put_leaf(w, &all->leaves[i], i);
        w->indent--;
        if (all->count > 1)
                c_line(w, "}");
}
