/* A library as it is loaded into a runtime: it waits where the runtime does not see it, and says so. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <unistd.h>

#include "sleepy_waits.h"

static const sleepy_waits_t *waits;

void library_init(const sleepy_waits_t *given) {
    waits = given;
}

static bool is_readable(void *data) {
    struct pollfd it = {.fd = *(int *)data, .events = POLLIN, .revents = 0};
    /* A look may not begin a wait of its own: nothing happens. */
    waits->start(is_readable, data);
    waits->end();
    return poll(&it, 1, 0) > 0;
}

static int next_byte(int fd) {
    unsigned char byte;
    return read(fd, &byte, 1) == 1 ? byte : -1;
}

/* A byte; -1 at the end. */
int library_read(int fd) {
    waits->start(is_readable, &fd);
    int byte = next_byte(fd);
    waits->end();
    return byte;
}

/* The same for a library that can't look. */
int library_read_blindly(int fd) {
    waits->start(NULL, NULL);
    int byte = next_byte(fd);
    waits->end();
    return byte;
}

/* One that forgets the second half, and calls the first one twice. */
int library_read_carelessly(int fd) {
    waits->end();
    waits->start(is_readable, &fd);
    waits->start(is_readable, &fd);
    return next_byte(fd);
}
