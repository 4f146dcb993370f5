/* What the test programs share: a check that says where it failed, and numbers by chance that are always the same. */
#ifndef CHECK_H
#define CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Prints without stdio, which may allocate, and ends the process at once, in whichever thread or child it is. */
#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            dprintf(2, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);           \
            _exit(1);                                                                      \
        }                                                                                  \
    } while (0)

static inline uint32_t chance(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

#endif
