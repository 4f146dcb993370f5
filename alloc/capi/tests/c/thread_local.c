/* A library with thread-local data, of which many copies are loaded. */
#include <stdlib.h>

static __thread char data[3000];

void *touch(void) {
    data[1]++;
    return malloc((size_t)data[1] * 100);
}
