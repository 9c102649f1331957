/* SPDX-License-Identifier: MIT */
/* Says of each row of a table of which class it is: a row has 13 numbers of a chemical analysis,
 * and the class is which of three growers made the wine.
 *
 *     table wine.csv
 *
 * Rows are numbers with commas between them. A row of 14 says its class itself, and the answers are
 * counted. The first row may be names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"

enum { COLUMNS = NET_INPUT_ELEMS, CLASSES = NET_PROBABILITIES_ELEMS, LONGEST = 4096 };

/* Reads the numbers of a row; returns -1 where it is none, or has more than `most`. */
static int parse(char *line, float *numbers, int most)
{
        int count = 0;
        line[strcspn(line, "\r\n")] = 0;
        for (char *at = line, *end;; at = end + 1) {
                if (count == most)
                        return -1;
                numbers[count++] = strtof(at, &end);
                if (end == at || (*end && *end != ','))
                        return -1;
                if (!*end)
                        return count;
        }
}

struct tally {
        long known, right;
};

static const char *classify(const float *row, int count, struct tally *tally)
{
        NET_WORKSPACE_DEFINE(workspace);
        int64_t class;
        float p[CLASSES];
        if (net_run(workspace, row, &class, p))
                return "the network does not run";
        printf("%d %.3f\n", (int)class, (double)p[class]);
        if (count > COLUMNS) {
                tally->known++;
                tally->right += row[COLUMNS] == (float)class;
        }
        return NULL;
}

int main(int count, char **arguments)
{
        char line[LONGEST];
        float row[COLUMNS + 1];
        struct tally tally = { 0, 0 };
        const char *error = NULL;
        long number = 0;
        if (count != 2) {
                fprintf(stderr, "usage: table TABLE        CSV; -: standard input\n");
                return 1;
        }
        FILE *file = strcmp(arguments[1], "-") ? fopen(arguments[1], "r") : stdin;
        if (!file) {
                fprintf(stderr, "table: %s: cannot open it\n", arguments[1]);
                return 2;
        }
        while (!error && fgets(line, sizeof line, file)) {
                int columns = parse(line, row, COLUMNS + 1);
                if (++number == 1 && columns < COLUMNS)
                        continue;
                error = columns < COLUMNS ? "a row has 13 numbers, or 14" : classify(row, columns, &tally);
        }
        if (!error && ferror(file))
                error = "cannot read it";
        if (file != stdin)
                fclose(file);
        if (error)
                fprintf(stderr, "table: %s, row %ld: %s\n", arguments[1], number, error);
        else if (tally.known)
                printf("%ld of %ld are right\n", tally.right, tally.known);
        return error ? 2 : 0;
}
