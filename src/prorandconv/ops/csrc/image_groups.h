// How groups of images are shared out among threads, and the memory they need. Part of kernel.h.

struct Job {
    const Call *call;
    Plan plan;
    Reach reach[64];
    Barrier barrier;
};

inline void scan_task(void *argument, int thread, int threads) {
    Job &job = *static_cast<Job *>(argument);
    const int rows = job.plan.offsets ? job.plan.height : 1;
    Offsets offsets(*job.call, job.plan.taps);
    Carver carver;
    carver.memory = job.plan.scan_memory + job.plan.scan_bytes * thread;
    offsets.lay_out(carver, 1);
    offsets.prepare();
    job.reach[thread] = scan_offsets(job.plan, offsets, int(int64_t(rows) * thread / threads),
                                     int(int64_t(rows) * (thread + 1) / threads));
}

template <int C, int V>
struct GroupJob : Job {
    int64_t first_image, groups;
    int teams, threads;
    Team team[64];
    char *band_memory;
    size_t band_bytes;

    void choose_teams() {
        const size_t group_bytes = size_t(plan.height) * plan.width * plan.channels * V * LANES * 4;
        teams = 1;
        for (int t = 2; t <= threads && t <= groups; t++)
            if (threads % t == 0 && groups % t == 0 && t * group_bytes <= MAX_BYTES_OF_GROUPS)
                teams = t;
    }

    void lay_out(Carver &carver) {
        Band<C, V> band(plan, *call);
        const size_t pixel = size_t(plan.channels) * V * LANES;
        for (int t = 0; t < teams; t++) {
            team[t].raw =
                carver.take<float>(size_t(plan.height) * ((plan.width + 3) / 4 * 4) * pixel);
            team[t].whole =
                carver.take<float>(plan.whole ? size_t(plan.height) * band.rows.row_floats : 0);
            team[t].statistics = carver.take<float>(size_t(plan.height) * 3 * pixel);
        }
        if (plan.cached) {
            const int blocks = plan.offsets ? plan.height * plan.blocks : 1;
            BlockOperator *cache = carver.take<BlockOperator>(size_t(blocks));
            BlockOperator unused;
            for (int b = 0; b < blocks; b++)
                lay_out_operator(cache ? cache[b] : unused, plan, carver);
            plan.cache = cache;
        }
        Carver one;
        band.lay_out(one);
        band_bytes = one.used;
        band_memory = carver.take<char>(band_bytes * threads);
    }

    static void task(void *argument, int thread, int threads) {
        GroupJob &job = *static_cast<GroupJob *>(argument);
        Band<C, V> band(job.plan, *job.call);
        Carver carver;
        carver.memory = job.band_memory + job.band_bytes * thread;
        band.lay_out(carver);
        const int teams = smaller(job.teams, threads), most = larger(1, job.plan.height / 8);
        const int bands = smaller(threads / teams, most);
        if (job.plan.cached) {
            const int blocks = job.plan.offsets ? job.plan.height * job.plan.blocks : 1;
            for (int b = thread; b < blocks; b += threads)
                if (job.plan.mergeable[b])
                    build_operator<C>(job.plan, b / job.plan.blocks, b % job.plan.blocks,
                                      band.scratch, job.plan.cache[b]);
            job.barrier.wait(threads);
        }
        if (thread >= teams * bands) return;
        band.team = &job.team[thread / bands];
        band.rows.shared = band.team->whole;
        band.rows.set_band(thread % bands, bands);
        band.rows.clear();
        for (int64_t group = thread / bands; group < job.groups; group += teams)
            band.run(job.first_image + group * V * LANES);
    }
};

template <int C, int V>
int apply_groups(const Job &job, int64_t first_image, int64_t groups) {
    GroupJob<C, V> *group_job = new (std::nothrow) GroupJob<C, V>;
    if (!group_job) return OUT_OF_MEMORY;
    group_job->call = job.call;
    group_job->plan = job.plan;
    group_job->first_image = first_image;
    group_job->groups = groups;
    group_job->threads = smaller(job.call->threads, 64);
    group_job->choose_teams();
    const int status = run_job(*group_job, *job.call, group_job->threads);
    delete group_job;
    return status;
}

// Full groups first, then the rest in the narrowest group that holds it.
template <int C>
int apply_channels(const Job &job) {
    const int64_t images = job.call->images, widest = MAX_VECTORS * LANES, full = images / widest;
    const int64_t rest = images - full * widest;
    int status = OK;
    if (full) status = apply_groups<C, MAX_VECTORS>(job, 0, full);
    if (status || !rest) return status;
    if (rest <= LANES) return apply_groups<C, 1>(job, full * widest, 1);
    if (C && rest <= 2 * LANES)
        return apply_groups < C, C ? 2 : MAX_VECTORS > (job, full * widest, 1);
    return apply_groups<C, MAX_VECTORS>(job, full * widest, 1);
}

inline int apply_images(const Call &call) {
    Job job;
    job.call = &call;
    Carver measure;
    lay_out_plan(job.plan, call, measure);
    char *memory = acquire_workspace(measure.used, *call.workspaces, PLAN);
    if (!memory) return OUT_OF_MEMORY;
    Carver carver;
    carver.memory = memory;
    Plan &plan = job.plan;
    lay_out_plan(plan, call, carver);
    choose_taps(plan, call);
    const int64_t work = int64_t(plan.height) * plan.width * plan.taps.count;
    for (Reach &reach : job.reach) reach = {0, 0, 0, 0, 1};
    run_parallel(work > 100000 ? smaller(call.threads, 64) : 1, scan_task, &job);
    for (const Reach &reach : job.reach) job.reach[0].include(reach);
    const Reach &reach = job.reach[0];
    plan.top = reach.top;
    plan.bottom = reach.bottom;
    plan.left = reach.left;
    plan.right = reach.right;
    plan.max_slots = reach.max_slots;
    plan.whole =
        larger(larger(reach.top, reach.bottom), larger(reach.left, reach.right)) > MAX_REACH;
    if (plan.whole) plan.top = plan.bottom = plan.left = plan.right = 0;
    if (plan.padding != ZEROS) plan.top = plan.bottom = larger(plan.top, plan.bottom);
    const int64_t operator_floats = int64_t(plan.offsets ? plan.height * plan.blocks : 1) *
                                    plan.max_slots * plan.channels * plan.channels * BLOCK;
    plan.cached = !plan.whole && operator_floats * 4 <= MAX_BYTES_OF_OPERATOR;
    int status;
#if PRC_FAST
    if (plan.channels == 3)
        status = apply_channels<3>(job);
    else if (plan.channels == 2)
        status = apply_channels<2>(job);
    else if (plan.channels == 1)
        status = apply_channels<1>(job);
    else
#endif
        status = apply_channels<0>(job);
    release_workspace(memory, *call.workspaces, PLAN);
    return status;
}
