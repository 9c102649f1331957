/* SPDX-License-Identifier: MIT */
/* Says of what type files are, by what is in them, not by their names.
 *
 *     filetype config.min.json FILE..
 *
 * The network sees the first 1024 bytes behind leading blanks and the last 1024 before trailing ones; 256 stands for none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "net.h"

enum { TYPES = NET_TARGET_LABEL_ELEMS, SIDE = NET_BYTES_ELEMS / 2, BLOCK = 4096, NOTHING = 256, LEAST = 8 };

struct labels {
        char *text;                             /* It is the file, cut into names. */
        const char *name[TYPES];
};

/* Reads the strings of the list "target_labels_space", in the order of the network's outputs. */
static const char *labels_read(struct labels *labels, const char *path)
{
        size_t count;
        const char *error = file_read(path, 1 << 20, (unsigned char **)&labels->text, &count);
        if (error)
                return error;
        char *at = strstr(labels->text, "\"target_labels_space\""), *end = at ? strchr(at, ']') : NULL;
        if (!end)
                return "it has no list target_labels_space";
        *end = 0;
        at = strchr(at, '[');
        for (int k = 0; k < TYPES; k++) {
                char *open = at ? strchr(at, '"') : NULL, *close = open ? strchr(open + 1, '"') : NULL;
                if (!close)
                        return "its list target_labels_space is too short";
                *close = 0;
                labels->name[k] = open + 1;
                at = close + 1;
        }
        return NULL;
}

static int is_blank(int byte)
{
        return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void load(const unsigned char *bytes, size_t count, int32_t input[2 * SIDE])
{
        size_t block = count < BLOCK ? count : BLOCK, begin = 0, end = count;
        while (begin < block && is_blank(bytes[begin]))
                begin++;
        while (end > count - block && is_blank(bytes[end - 1]))
                end--;
        for (size_t i = 0; i < SIDE; i++) {
                input[i] = begin + i < block ? bytes[begin + i] : NOTHING;
                input[2 * SIDE - 1 - i] = end - (count - block) > i ? bytes[end - 1 - i] : NOTHING;
        }
}

static const char *classify(const char *path, const struct labels *labels)
{
        NET_WORKSPACE_DEFINE(workspace);
        int32_t input[NET_BYTES_ELEMS];
        float p[TYPES];
        unsigned char *bytes;
        size_t count;
        int best = 0;
        const char *error = file_read(path, 1 << 30, &bytes, &count);
        if (error)
                return error;
        load(bytes, count, input);
        free(bytes);
        if (count < LEAST) {
                printf("%s: too short to say\n", path);
                return NULL;
        }
        if (net_run(workspace, input, p))
                return "the network does not run";
        for (int k = 1; k < TYPES; k++)
                if (p[k] > p[best])
                        best = k;
        printf("%s: %s %.3f\n", path, labels->name[best], (double)p[best]);
        return NULL;
}

int main(int count, char **arguments)
{
        struct labels labels = { 0 };
        int wrong = 0;
        if (count < 3) {
                fprintf(stderr, "usage: filetype CONFIG FILE..        CONFIG: config.min.json, which lies beside the model\n");
                return 1;
        }
        const char *error = labels_read(&labels, arguments[1]);
        if (error)
                fprintf(stderr, "filetype: %s: %s\n", arguments[1], error);
        for (int i = 2; !error && i < count; i++) {
                const char *failed = classify(arguments[i], &labels);
                if (failed)
                        fprintf(stderr, "filetype: %s: %s\n", arguments[i], failed);
                wrong |= failed != NULL;
        }
        free(labels.text);
        return error || wrong ? 2 : 0;
}
