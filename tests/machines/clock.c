/* The time of day, so many seconds off as a file says: for the processes of one machine, whose clock is wrong. Loaded with
 * LD_PRELOAD. Only the time of day is changed: what measures and waits by the monotonic clock stays right.
 *
 * CLOCK_FILE: eight bytes, a signed number of seconds, which may change while the process runs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none = 0;
static const volatile int64_t *off = &none;

__attribute__((constructor)) static void look(void) {
    const char *path = getenv("CLOCK_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (page != MAP_FAILED) off = page;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    int status = (int)syscall(SYS_clock_gettime, clock, at);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += *off;
    return status;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    int status = (int)syscall(SYS_gettimeofday, at, zone);
    if (status == 0) at->tv_sec += *off;
    return status;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
