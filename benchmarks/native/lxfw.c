/* Weighted priority with K dynamic reservations on a pool of processors: the twin of
 * src/shadowtime/engine/passes/priority.py with order=weighted, reserve=K, backfill=in-order.
 *
 * Jobs of one kind have the same estimate and width; of them only the first is looked at. Jobs of
 * one line have the same priority but for their wait: the estimate, and the width where it counts.
 */
#include <math.h>

#include "world.h"

typedef struct {
    int64_t *time, *level; /* what is free from each step on; the last level lasts forever */
    int64_t count;
} Profile;

typedef struct {
    int64_t first, last, place, length, width, line;
} Queue;

typedef struct {
    double expansion, wait, procs;
    int64_t depth;
    int64_t *table[2], mask; /* hash tables of kinds and lines: number + 1 */
    Queue *kind, *line;
    int64_t n_kinds, n_lines, waiting_kinds, waiting_lines, since;
    int64_t *of_job, *after[2]; /* kind of a job; the next of its kind, of its line */
    int64_t *kinds, *lines;     /* those with waiting jobs */
    int32_t *width, *length;    /* of these kinds */
    int64_t *job, *heap, *hope; /* whose turn it is; places; kinds that may start */
    double *key;
    int8_t *open;
    int64_t *started, n_started;
    Profile profile;
} Frame;

/* Queues of jobs that are alike. */

static inline int64_t mixed(int64_t so_far, int64_t value, int64_t mask)
{
    return (so_far * 1000003 ^ value ^ value >> 15 ^ value >> 30) & mask;
}

static int64_t queue_of(Frame *f, int row, Queue *queues, int64_t *known, int64_t length,
                        int64_t width)
{
    int64_t at = mixed(width, length, f->mask);
    while (f->table[row][at] != 0) {
        int64_t number = f->table[row][at] - 1;
        if (queues[number].length == length && queues[number].width == width) return number;
        at = (at + 1) & f->mask;
    }
    int64_t number = (*known)++;
    f->table[row][at] = number + 1;
    queues[number] = (Queue){.place = -1, .length = length, .width = width, .line = -1};
    return number;
}

static inline void append(Frame *f, int row, Queue *queue, int64_t job)
{
    f->after[row][job] = -1;
    if (queue->place < 0) queue->first = job;
    else f->after[row][queue->last] = job;
    queue->last = job;
}

static void let_in(const World *w, Frame *f)
{
    for (int64_t job = f->since; job < w->arrived; job++) {
        if (w->wait_procs[job] == BIG) continue;
        int64_t length = w->estimate[job], width = w->procs[job];
        int64_t number = queue_of(f, 0, f->kind, &f->n_kinds, length, width);
        Queue *kind = f->kind + number;
        if (kind->line < 0)
            kind->line = queue_of(f, 1, f->line, &f->n_lines, length, f->procs != 0 ? width : 0);
        Queue *line = f->line + kind->line;
        f->of_job[job] = number;
        append(f, 0, kind, job);
        append(f, 1, line, job);
        if (kind->place < 0) {
            kind->place = f->waiting_kinds++;
            f->kinds[kind->place] = number;
            f->width[kind->place] = (int32_t)width;
            f->length[kind->place] = (int32_t)length;
        }
        if (line->place < 0) {
            line->place = f->waiting_lines++;
            f->lines[line->place] = kind->line;
        }
    }
    f->since = w->arrived;
}

static inline int64_t first_of(const World *w, const Frame *f, int row, Queue *queue)
{
    while (queue->first >= 0 && w->wait_procs[queue->first] == BIG)
        queue->first = f->after[row][queue->first];
    return queue->first;
}

static inline int64_t next_in_line(const World *w, const Frame *f, int64_t job)
{
    job = f->after[1][job];
    while (job >= 0 && w->wait_procs[job] == BIG) job = f->after[1][job];
    return job;
}

static void let_out(const World *w, Frame *f)
{
    for (int64_t i = 0; i < f->n_started; i++) {
        Queue *kind = f->kind + f->of_job[f->started[i]], *line = f->line + kind->line;
        if (kind->place >= 0 && first_of(w, f, 0, kind) < 0) {
            int64_t last = --f->waiting_kinds;
            f->kinds[kind->place] = f->kinds[last];
            f->width[kind->place] = f->width[last];
            f->length[kind->place] = f->length[last];
            f->kind[f->kinds[last]].place = kind->place;
            kind->place = -1;
        }
        if (line->place >= 0 && first_of(w, f, 1, line) < 0) {
            int64_t last = --f->waiting_lines;
            f->lines[line->place] = f->lines[last];
            f->line[f->lines[last]].place = line->place;
            line->place = -1;
        }
    }
    f->n_started = 0;
}

/* Their order. */

static inline double priority(const World *w, const Frame *f, int64_t job)
{
    double wait = (double)(w->now - w->submit[job]) / 3600.0;
    double run = (double)w->estimate[job] / 3600.0;
    return (f->expansion * sqrt((wait + run) / run) + f->wait * wait) +
           f->procs * (double)w->procs[job];
}

static inline void give_turn(const World *w, Frame *f, int64_t place, int64_t job)
{
    f->job[place] = job;
    if (job >= 0) f->key[place] = priority(w, f, job);
}

static inline int before(const Frame *f, int64_t a, int64_t b)
{
    return f->key[a] != f->key[b] ? f->key[a] > f->key[b] : f->job[a] < f->job[b];
}

static int64_t first_place(const Frame *f)
{
    int64_t first = -1;
    for (int64_t place = 0; place < f->waiting_lines; place++)
        if (f->job[place] >= 0 && (first < 0 || before(f, place, first))) first = place;
    return first;
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

static inline int64_t next_turn(const World *w, Frame *f, int64_t size, int64_t job)
{
    give_turn(w, f, f->heap[0], job);
    if (job < 0) f->heap[0] = f->heap[--size];
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

/* Kinds within free, and within extra or no longer than left: how many, in hope. */
static int64_t narrow_and_short(Frame *f, int64_t free, int64_t extra, int64_t left)
{
    int32_t narrow = (int32_t)free, spare = (int32_t)extra, brief = (int32_t)min64(left, BIG - 1);
    int64_t count = 0;
    for (int64_t at = 0; at < f->waiting_kinds; at += BLOCK) {
        int64_t stop = min64(at + BLOCK, f->waiting_kinds);
        int hit = 0;
        for (int64_t i = at; i < stop; i++)
            hit |= (f->width[i] <= narrow) & ((f->length[i] <= brief) | (f->width[i] <= spare));
        for (int64_t i = at; hit && i < stop; i++)
            if (f->width[i] <= narrow && (f->length[i] <= brief || f->width[i] <= spare))
                f->hope[count++] = f->kinds[i];
    }
    return count;
}

/* The first job in order stays blocked: promise it a start. How many kinds may start now. */
static int64_t block_head(World *w, Frame *f, int64_t head)
{
    int first_time = w->blocked_at[head] < 0;
    int64_t kept = 0;
    if (first_time) w->blocked_at[head] = w->now;
    else if (narrow_and_short(f, w->free, w->free, 0) == 0) return 0;
    build_profile(w, &f->profile);
    int64_t when = reserve(w, &f->profile, head), step = 0;
    if (first_time) w->promised[head] = when;
    while (step + 1 < f->profile.count && f->profile.time[step + 1] <= when) step++;
    int64_t count = narrow_and_short(f, w->free, f->profile.level[step], when - w->now);
    for (int64_t i = 0; i < count; i++)
        if (first_of(w, f, 0, f->kind + f->hope[i]) >= 0) f->hope[kept++] = f->hope[i];
    return kept;
}

static int start_around(World *w, Frame *f, int64_t job)
{
    int64_t until = w->now + w->estimate[job];
    if (w->procs[job] > w->free || !holds_until(&f->profile, w->procs[job], until)) return 0;
    occupy(&f->profile, w->procs[job], w->now, until);
    begin(w, job, BACKFILLED);
    f->started[f->n_started++] = job;
    return 1;
}

static int64_t reserve_more(World *w, Frame *f, int64_t place, int64_t hopes)
{
    int64_t size = 0, made = 1;
    give_turn(w, f, place, next_in_line(w, f, f->job[place]));
    for (int64_t at = 0; at < f->waiting_lines; at++)
        if (f->job[at] >= 0) f->heap[size++] = at;
    heapify(f, size);
    while (hopes > 0 && size > 0 && made < f->depth) {
        int64_t job = f->job[f->heap[0]], number = f->of_job[job];
        int64_t following = next_in_line(w, f, job);
        int open = f->open[number];
        if (open && start_around(w, f, job)) {
            open = first_of(w, f, 0, f->kind + number) >= 0;
        } else {
            open = 0;
            reserve(w, &f->profile, job);
            made++;
        }
        hopes -= f->open[number] - open;
        f->open[number] = (int8_t)open;
        size = next_turn(w, f, size, following);
    }
    return hopes;
}

static void backfill(World *w, Frame *f, int64_t hopes)
{
    int64_t size = 0;
    for (int64_t i = 0; i < hopes; i++) {
        if (!f->open[f->hope[i]]) continue;
        f->heap[size] = size;
        give_turn(w, f, size, first_of(w, f, 0, f->kind + f->hope[i]));
        size++;
    }
    heapify(f, size);
    while (size > 0) {
        int64_t job = f->job[f->heap[0]], following = -1;
        if (start_around(w, f, job)) following = first_of(w, f, 0, f->kind + f->of_job[job]);
        size = next_turn(w, f, size, following);
    }
}

static void decide(World *w, Frame *f)
{
    if (w->n_waiting == 0) return;
    if (w->n_waiting == 1 && w->arrived - w->fresh == 1 && w->procs[w->fresh] <= w->free) {
        begin_first(w, w->fresh);
        f->since = w->arrived;
        return;
    }
    let_in(w, f);
    for (int64_t place = 0; place < f->waiting_lines; place++)
        give_turn(w, f, place, f->line[f->lines[place]].first);
    int64_t place = first_place(f);
    while (place >= 0 && w->procs[f->job[place]] <= w->free) {
        int64_t job = f->job[place];
        begin_first(w, job);
        f->started[f->n_started++] = job;
        give_turn(w, f, place, next_in_line(w, f, job));
        place = first_place(f);
    }
    if (place >= 0) {
        int64_t hopes = block_head(w, f, f->job[place]), left = hopes;
        for (int64_t i = 0; i < hopes; i++) f->open[f->hope[i]] = 1;
        if (hopes > 0 && f->depth > 1) left = reserve_more(w, f, place, hopes);
        if (left > 0) backfill(w, f, hopes);
        for (int64_t i = 0; i < hopes; i++) f->open[f->hope[i]] = 0;
    }
    let_out(w, f);
}

/* One piece of memory for all tables: freed as one. */
static void *make_frame(Frame *f, int64_t n, int64_t capacity)
{
    size_t jobs = (size_t)n + 1, steps = (size_t)(2 * min64(n, capacity) + 2 * f->depth + 8);
    size_t size = 1;
    while (size < 2 * jobs) size *= 2;
    size_t words = 2 * size + 11 * jobs + 2 * steps + 2 * jobs * (sizeof(Queue) / sizeof(int64_t));
    int64_t *at = calloc(words + 2 * jobs, sizeof(int64_t)), *whole = at;
    if (at == NULL) return NULL;
    f->mask = (int64_t)size - 1;
    int64_t **tables[] = {&f->table[0], &f->table[1]};
    for (int i = 0; i < 2; i++, at += size) *tables[i] = at;
    int64_t **numbers[] = {&f->of_job, &f->after[0], &f->after[1], &f->kinds, &f->lines,
                           &f->job,    &f->heap,     &f->hope,     &f->started};
    for (int i = 0; i < 9; i++, at += jobs) *numbers[i] = at;
    f->key = (double *)at, at += jobs;
    f->width = (int32_t *)at, at += jobs;
    f->length = (int32_t *)at, at += jobs;
    f->open = (int8_t *)at, at += jobs;
    f->profile.time = at, at += steps;
    f->profile.level = at, at += steps;
    f->kind = (Queue *)at, at += jobs * (sizeof(Queue) / sizeof(int64_t));
    f->line = (Queue *)at;
    return whole;
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
    void *tables = make_frame(&f, n, capacity);
    if (make_world(&w, capacity) && tables != NULL) {
        passes = 0;
        while (advance(&w) != 0) {
            passes++;
            decide(&w, &f);
        }
    }
    free(tables);
    free_world(&w);
    return passes;
}
