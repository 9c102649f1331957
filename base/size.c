/* SPDX-License-Identifier: MIT */
#include "base/size.h"

#include <ctype.h>
#include <string.h>

bool size_elements(const int64_t *dims, int rank, int64_t *count)
{
        int64_t product = 1, guard = 1;
        for (int i = 0; i < rank; i++) {
                if (dims[i] < 0 || dims[i] > INT32_MAX)
                        return false;
                if (!int_mul(guard, dims[i] ? dims[i] : 1, &guard) || guard > INT64_C(1) << 62)
                        return false;
                product *= dims[i];
        }
        *count = product;
        return true;
}

bool int_parse(const char *text, int64_t *value)
{
        bool negative = *text == '-';
        const char *p = text + negative;
        int64_t v = 0;
        if (!*p)
                return false;
        for (; *p; p++) {
                if (*p < '0' || *p > '9')
                        return false;
                /* The number is negative all the way, so INT64_MIN fits. */
                if (!int_mul(v, 10, &v) || !int_sub(v, *p - '0', &v))
                        return false;
        }
        if (!negative && v == INT64_MIN)
                return false;
        *value = negative ? v : -v;
        return true;
}

/* Reads "", "K", "KB", "KiB", "B", in letters of any case; returns false where it is none of
 * them. */
static bool unit_parse(const char *text, int *shift)
{
        static const char units[] = "kmgt";
        const char *found = *text ? strchr(units, tolower((unsigned char)*text)) : NULL;
        *shift = found ? 10 * (int)(found - units + 1) : 0;
        text += found != NULL;
        text += found && tolower((unsigned char)text[0]) == 'i' && text[1];
        return !*text || (tolower((unsigned char)*text) == 'b' && !text[1]);
}

bool size_parse(const char *text, uint64_t *bytes)
{
        char digits[32];
        size_t length = strspn(text, "0123456789");
        int64_t value;
        int shift;
        if (!length || length >= sizeof digits || !unit_parse(text + length, &shift))
                return false;
        memcpy(digits, text, length);
        digits[length] = 0;
        if (!int_parse(digits, &value) || value > INT64_MAX >> shift)
                return false;
        *bytes = (uint64_t)value << shift;
        return true;
}

/* Reads the number that is `length` characters long. */
static bool part_parse(const char *text, size_t length, int64_t *value)
{
        char part[24];
        if (length >= sizeof part)
                return false;
        memcpy(part, text, length);
        part[length] = 0;
        return int_parse(part, value);
}

bool int_list_next(const char **text, int64_t *value)
{
        const size_t length = strcspn(*text, ",");
        if (!part_parse(*text, length, value))
                return false;
        *text += length;
        *text = **text ? *text + 1 : NULL;
        return true;
}

bool int_range_parse(const char *text, int64_t *least, int64_t *most, const char **likely)
{
        const char *dots = strstr(text, ".."), *colon = dots ? strchr(dots, ':') : NULL;
        if (!dots || !part_parse(text, (size_t)(dots - text), least) ||
            !part_parse(dots + 2, colon ? (size_t)(colon - dots - 2) : strlen(dots + 2), most) ||
            *least < 0 || *most < *least || *most < 1 || *most > INT32_MAX)
                return false;
        if (likely)
                *likely = colon ? colon + 1 : NULL;
        int64_t value;
        for (const char *rest = colon ? colon + 1 : NULL; rest;)
                if (!int_list_next(&rest, &value) || value < *least || value > *most)
                        return false;
        return true;
}
