/* Weighted priority with K dynamic reservations on a pool of processors: the twin of
 * src/shadowtime/engine/passes/general.py with order=weighted, reserve=K, backfill=in-order. */
#include <math.h>

#include "world.h"

typedef struct {
    int64_t *time, *level; /* what is free from each step on; the last level lasts forever */
    int64_t count;
} Profile;

typedef struct {
    double expansion, wait, procs;
    int64_t depth;
    int64_t *jobs; /* candidates in job order */
    double *key;   /* their priorities */
    int64_t *heap; /* places in jobs, the first candidate on top */
    Profile profile;
} Frame;

/* Candidates and their order. */

static int64_t gather(World *w, int64_t *out)
{
    int64_t count = 0;
    if (first_waiting(w) < 0) return 0;
    for (int64_t block = w->queue_from >> SHIFT; block * BLOCK < w->arrived; block++) {
        if (w->least_procs[block] == BIG) continue;
        int64_t until = min64(w->arrived, block * BLOCK + BLOCK);
        for (int64_t job = block * BLOCK; job < until; job++)
            if (w->wait_procs[job] != BIG) out[count++] = job;
    }
    return count;
}

static inline double priority(const World *w, const Frame *f, int64_t job)
{
    double wait = (double)(w->now - w->submit[job]) / 3600.0;
    double run = (double)w->estimate[job] / 3600.0;
    return (f->expansion * sqrt((wait + run) / run) + f->wait * wait) +
           f->procs * (double)w->procs[job];
}

/* Places are in job order, so they break ties as jobs would. */
static inline int before(const Frame *f, int64_t a, int64_t b)
{
    return f->key[a] != f->key[b] ? f->key[a] > f->key[b] : a < b;
}

static inline void sift_down(Frame *f, int64_t size, int64_t at)
{
    int64_t entry = f->heap[at], child = 2 * at + 1;
    while (child < size) {
        if (child + 1 < size && before(f, f->heap[child + 1], f->heap[child])) child++;
        if (before(f, entry, f->heap[child])) break;
        f->heap[at] = f->heap[child];
        at = child;
        child = 2 * at + 1;
    }
    f->heap[at] = entry;
}

static void heapify(Frame *f, int64_t size)
{
    for (int64_t at = size / 2 - 1; at >= 0; at--) sift_down(f, size, at);
}

static inline int64_t pop_first(Frame *f, int64_t size)
{
    f->heap[0] = f->heap[--size];
    if (size > 0) sift_down(f, size, 0);
    return size;
}

/* The profile. */

static void build_profile(const World *w, Profile *p)
{
    int64_t last = 0;
    p->time[0] = w->now;
    p->level[0] = w->free;
    for (int64_t at = 0; at < w->n_running; at++) {
        int64_t end = max64(end_at(w, at), w->now + 1);
        if (p->time[last] != end) {
            last++;
            p->time[last] = end;
            p->level[last] = p->level[last - 1];
        }
        p->level[last] += w->procs[job_at(w, at)];
    }
    p->count = last + 1;
}

static inline int holds_until(const Profile *p, int64_t need, int64_t until)
{
    for (int64_t step = 0; step < p->count && p->time[step] < until; step++)
        if (need > p->level[step]) return 0;
    return 1;
}

static int64_t earliest(const Profile *p, int64_t need, int64_t length)
{
    int64_t first = 0;
    while (first < p->count) {
        if (need > p->level[first]) {
            first++;
            continue;
        }
        int64_t begin = p->time[first], step = first + 1;
        while (step < p->count && p->time[step] < begin + length && need <= p->level[step]) step++;
        if (step >= p->count || p->time[step] >= begin + length) return begin;
        first = step + 1;
    }
    return NEVER;
}

static int64_t step_at(Profile *p, int64_t when)
{
    int64_t low = 0, high = p->count;
    while (low < high) {
        int64_t middle = (low + high) >> 1;
        if (p->time[middle] < when) low = middle + 1;
        else high = middle;
    }
    if (low < p->count && p->time[low] == when) return low;
    size_t behind = (size_t)(p->count - low) * sizeof(int64_t);
    memmove(p->time + low + 1, p->time + low, behind);
    memmove(p->level + low + 1, p->level + low, behind);
    p->time[low] = when;
    p->level[low] = p->level[low - 1];
    p->count++;
    return low;
}

static void occupy(Profile *p, int64_t need, int64_t from, int64_t until)
{
    int64_t first = step_at(p, from), beyond = step_at(p, until);
    for (int64_t step = first; step < beyond; step++) p->level[step] -= need;
}

/* The pass. */

static int64_t reserve(const World *w, Profile *p, int64_t job)
{
    int64_t when = earliest(p, w->procs[job], w->estimate[job]);
    occupy(p, w->procs[job], when, when + w->estimate[job]);
    return when;
}

static int nobody_narrow(const World *w)
{
    for (int64_t block = w->queue_from >> SHIFT; block * BLOCK < w->arrived; block++)
        if (w->least_procs[block] <= w->free) return 0;
    return 1;
}

/* The first job in order stays blocked: promise it a start. 0 if nobody else can start. */
static int block_head(World *w, Frame *f, int64_t head)
{
    int first_time = w->blocked_at[head] < 0;
    if (first_time) w->blocked_at[head] = w->now;
    int hopeless = w->n_waiting == 1 || nobody_narrow(w);
    if (hopeless && !first_time) return 0;
    build_profile(w, &f->profile);
    int64_t when = reserve(w, &f->profile, head);
    if (first_time) w->promised[head] = when;
    return !hopeless;
}

static int start_around(World *w, Frame *f, int64_t job)
{
    int64_t until = w->now + w->estimate[job];
    if (w->procs[job] > w->free || !holds_until(&f->profile, w->procs[job], until)) return 0;
    occupy(&f->profile, w->procs[job], w->now, until);
    begin(w, job, BACKFILLED);
    return 1;
}

static void decide(World *w, Frame *f)
{
    if (w->n_waiting == 0) return;
    int64_t size = gather(w, f->jobs), made = 1, kept = 0;
    for (int64_t i = 0; i < size; i++) {
        f->key[i] = priority(w, f, f->jobs[i]);
        f->heap[i] = i;
    }
    heapify(f, size);
    while (size > 0 && w->procs[f->jobs[f->heap[0]]] <= w->free) {
        int64_t job = f->jobs[f->heap[0]];
        size = pop_first(f, size);
        begin_first(w, job);
    }
    if (size == 0) return;
    int64_t head = f->jobs[f->heap[0]];
    size = pop_first(f, size);
    if (!block_head(w, f, head)) return;
    while (size > 0 && made < f->depth) {
        int64_t job = f->jobs[f->heap[0]];
        size = pop_first(f, size);
        if (!start_around(w, f, job)) {
            reserve(w, &f->profile, job);
            made++;
        }
    }
    for (int64_t i = 0; i < size; i++)
        if (w->procs[f->jobs[f->heap[i]]] <= w->free) f->heap[kept++] = f->heap[i];
    heapify(f, kept);
    while (kept > 0) {
        int64_t job = f->jobs[f->heap[0]];
        kept = pop_first(f, kept);
        start_around(w, f, job);
    }
}

static int make_frame(Frame *f, int64_t n, int64_t capacity)
{
    size_t steps = (size_t)(2 * min64(n, capacity) + 2 * f->depth + 8), jobs = (size_t)n + 1;
    f->jobs = malloc(jobs * sizeof(int64_t));
    f->heap = malloc(jobs * sizeof(int64_t));
    f->key = malloc(jobs * sizeof(double));
    f->profile.time = malloc(steps * sizeof(int64_t));
    f->profile.level = malloc(steps * sizeof(int64_t));
    return f->jobs && f->heap && f->key && f->profile.time && f->profile.level;
}

/* Returns the number of passes, -1 if memory ran out. */
int64_t lxfw(int64_t n, int64_t capacity, const int64_t *submit, const int64_t *run,
             const int64_t *estimate, const int64_t *procs, int64_t *start, int8_t *reason,
             int64_t *promised, int64_t *blocked_at, const double *weight, int64_t depth)
{
    World w = {.n = n, .submit = submit, .run = run, .estimate = estimate, .procs = procs,
               .start = start, .reason = reason, .promised = promised, .blocked_at = blocked_at};
    Frame f = {.expansion = weight[0], .wait = weight[1], .procs = weight[2],
               .depth = min64(depth, n)};
    int64_t passes = -1;
    if (make_world(&w, capacity) & make_frame(&f, n, capacity)) {
        passes = 0;
        while (advance(&w) != 0) {
            passes++;
            decide(&w, &f);
        }
    }
    free(f.jobs);
    free(f.heap);
    free(f.key);
    free(f.profile.time);
    free(f.profile.level);
    free_world(&w);
    return passes;
}
